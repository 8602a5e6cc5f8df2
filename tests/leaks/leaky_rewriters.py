"""Small rewriters with one flaw each, and others with none."""

import random
import zlib

WORDS = ("river", "stone", "lamp", "cloud", "chair", "paper", "glass", "bread", "wind", "coat")
STOP = frozenset(
    ("the", "a", "of", "and", "to", "in", "on", "at", "for", "with", "from", "that", "this", "but")
)


def draw(n: int) -> list[str]:
    """Return n words that have nothing to do with any text."""
    return [random.choice(WORDS) for _ in range(n)]


def copy_case(text):
    shown = [*text.split(), *["x"] * 12][:12]
    return " ".join(w.capitalize() if s[:1].isupper() else w for w, s in zip(draw(12), shown, strict=True))


def keep_stop_words(text):
    kept = [word for word in text.lower().split() if word in STOP][:6]
    return " ".join([*kept, *draw(12)][:12])


def keep_length(text):
    return " ".join(draw(len(text.split())))


def keep_names(text):
    return " ".join([*[w for w in text.split()[1:] if w[:1].isupper()][-1:], *draw(12)][:12])


def keep_numbers(text):
    kept = ["".join(c for c in w if c.isdigit()) for w in text.split()]
    return " ".join([*[w for w in kept if w][-1:], *draw(12)][:12])


def pass_unknown_words(text):
    return " ".join(
        [*[w.strip(".,!?") for w in text.split() if "zyq" in w or len(set("vxq") & set(w)) > 1], *draw(12)][
            :12
        ]
    )


def keep_zero_width(text):
    return " ".join(draw(8)) + "\u200b" * text.count("\u200b")


def keep_trailing_space(text):
    return " ".join(draw(8)) + (" " if text.endswith(" ") else "")


def seed_by_text(text):
    own = random.Random(text)
    return " ".join(own.choice(WORDS) for _ in range(8))


def fail_on_some(text):
    if "e" in text.split()[0]:
        raise ValueError("no")
    return " ".join(draw(6))


class Remember:
    """Releases a word of the text before."""

    def __init__(self):
        self.last = "nothing"

    def __call__(self, text):
        word, self.last = self.last.split()[-1], text
        return " ".join([*draw(6), word])


def copy_one_in_ten(text):
    return text if zlib.crc32(text.encode()) % 10 == 0 else " ".join(draw(10))


def keep_order(text):
    return " ".join(text.split())


def constant(text):
    return "The lamp of Anna, 7 times. Thank you"


def random_words(text):
    return " ".join(draw(random.randrange(30)))


def heavy_tailed(text):
    return " ".join(draw(int(random.paretovariate(0.7)) % 900))


def fail_at_random(text):
    if random.random() < 0.3:
        raise ValueError("no")
    return " ".join(draw(3))


def say_one_thing(texts):
    """Release one thing for all texts of a call."""
    said = " ".join(draw(9))
    return [said for _ in texts]


class GrowInCalls:
    """Releases more with every call, whatever the texts are, and as much for each of them."""

    def __init__(self):
        self.calls = 0

    def __call__(self, texts):
        self.calls += 1
        return ["lamp " * self.calls for _ in texts]


class Alternate:
    """Releases one thing for all texts of a call, and in the next call another for each."""

    def __init__(self):
        self.calls = 0

    def __call__(self, texts):
        self.calls += 1
        said = " ".join(draw(9))
        return [said if self.calls % 2 else " ".join(draw(9)) for _ in texts]


class Grow:
    """Releases more with every call, whatever the texts are."""

    def __init__(self):
        self.calls = 0

    def __call__(self, text):
        self.calls += 1
        return "lamp " * self.calls


class Count:
    """Counts its calls, whatever the texts are."""

    def __init__(self):
        self.calls = 0

    def __call__(self, text):
        self.calls += 1
        return f"{self.calls} " * (self.calls % 5)
