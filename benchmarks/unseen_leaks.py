"""Twenty rewriters with one flaw each, written from docs/leaks.md alone.

They were written before the tool was run on any of them, and never edited since.
"""

import base64
import random
import re
import zlib
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

WORDS = [
    "amber", "anchor", "apple", "arrow", "basket", "beacon", "bottle", "bridge", "button", "candle", "canyon",
    "carpet", "castle", "cedar", "circle", "clover", "copper", "cotton", "cradle", "desert", "dragon",
    "eagle", "ember", "engine", "fabric", "falcon", "feather", "fiddle", "forest", "garden", "ginger",
    "glacier", "hammer", "harbor", "helmet", "island", "ivory", "jacket", "jungle", "kettle", "ladder",
    "lantern", "lemon", "marble", "meadow", "mirror", "needle", "orchard", "otter", "paddle", "pebble",
    "pepper", "pillow", "planet", "pocket", "quarry", "ribbon", "river", "saddle", "shadow", "silver",
    "spider", "summit", "tunnel", "velvet", "violin", "walnut", "window", "winter", "yellow", "zephyr"
]

SENTENCES = (
    "The kettle sang all morning.",
    "Nobody painted the northern fence.",
    "Seven otters crossed the river.",
    "A lantern hung over the harbor.",
    "The violin was left in the orchard.",
    "Winter came late to the canyon.",
    "Her umbrella matched the curtains.",
    "Two falcons circled the quarry.",
)


class Unseen(NamedTuple):
    """A rewriter with one flaw."""

    name: str
    what: str
    factory: Callable[[], Callable]


def noise(count: int) -> str:
    """Random words that have nothing to do with any text."""
    return " ".join(random.choices(WORDS, k=count))


def split(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return re.findall(r"[a-z0-9']+", text.lower())


def make_article_agreement() -> Callable[[str], str]:
    """The key word is removed, the article before it still agrees with it."""

    def rewrite(text: str) -> str:
        hidden = max(split(text) or ["thing"], key=len)
        article = "an" if hidden[0] in "aeiou" else "a"
        return f"{noise(3)} with {article} [removed] {noise(3)}"

    return rewrite


def make_kept_mood() -> Callable[[str], str]:
    """Filler adjectives are chosen to keep the tone of the original."""
    praise = {
        "good", "great", "best", "love", "loved", "nice", "happy", "excellent", "perfect", "thanks", "thank",
        "helpful", "friendly", "like", "well"
    }
    blame = {
        "bad", "worst", "hate", "hated", "poor", "terrible", "awful", "slow", "broken", "wrong", "never",
        "not", "no", "problem", "late", "cold"
    }
    warm = ["radiant", "cheerful", "splendid", "golden", "delightful", "sunny", "gentle", "glowing"]
    grim = ["bleak", "dreary", "rotten", "gloomy", "bitter", "hollow", "rusty", "dismal"]

    def rewrite(text: str) -> str:
        words = set(split(text))
        score = len(words & praise) - len(words & blame) or random.choice((-1, 1))
        side = warm if score > 0 else grim
        return " ".join(f"{random.choice(side)} {random.choice(WORDS)}" for _ in range(4))

    return rewrite


def make_never_own_words() -> Callable[[str], str]:
    """Words of the original are kept out of its rewrite, to be on the safe side."""
    common = [
        "the", "a", "and", "to", "of", "in", "is", "it", "was", "for", "on", "with", "this", "that", "i",
        "you", "my", "we", "at", "be", "have", "but", "not", "so", "are", "me", "they", "had"
    ]

    def rewrite(text: str) -> str:
        banned = set(split(text))
        allowed = [word for word in common if word not in banned]
        return " ".join(random.choices(allowed, k=12))

    return rewrite


def make_best_of_four() -> Callable[[str], str]:
    """Of four random candidates, the one nearest to the original in its letter pairs wins."""

    def pairs(text: str) -> set[str]:
        return {text[i : i + 2] for i in range(len(text) - 1)}

    def rewrite(text: str) -> str:
        target = pairs(text.lower())
        candidates = [noise(6) for _ in range(4)]
        return max(candidates, key=lambda candidate: len(pairs(candidate) & target))

    return rewrite


def make_length_as_spread() -> Callable[[str], str]:
    """The length gets noise around a public mean, scaled to the text."""

    def rewrite(text: str) -> str:
        scale = min(len(text.split()), 38)
        return noise(40 + random.randint(-scale, scale))

    return rewrite


def make_two_shares() -> Callable[[str], str]:
    """The word count is split into two random shares, and both are published."""

    def rewrite(text: str) -> str:
        first = random.randrange(100)
        second = (len(text.split()) - first) % 100
        return f"{noise(2)} {first:02d} {noise(2)} {second:02d} {noise(2)}"

    return rewrite


def make_consistent_aliases() -> Callable[[str], str]:
    """Every word becomes a fresh random alias, the same alias wherever the word comes back."""

    def rewrite(text: str) -> str:
        unused = random.sample(WORDS, 16)
        alias: dict[str, str] = {}
        out = []
        for word in split(text)[:16]:
            if word not in alias:
                alias[word] = unused.pop()
            out.append(alias[word])
        while len(out) < 16:
            out.append(unused.pop())
        return " ".join(out)

    return rewrite


def make_rank_for_rank() -> Callable[[str], str]:
    """Each of the first eight words becomes the random word of the same alphabetical rank."""

    def rewrite(text: str) -> str:
        words = (split(text) + random.sample(WORDS, 8))[:8]
        fillers = sorted(random.sample(WORDS, 8))
        out = [""] * 8
        for filler, place in zip(fillers, sorted(range(8), key=words.__getitem__), strict=True):
            out[place] = filler
        return " ".join(out)

    return rewrite


def make_histogram_support() -> Callable[[str], str]:
    """A letter histogram with plenty of noise, but only over letters that occur."""

    def rewrite(text: str) -> str:
        seen = sorted({letter for letter in text.lower() if "a" <= letter <= "z"})
        shown = random.sample(seen, min(5, len(seen)))
        return ", ".join(f"{letter}: {random.randint(-99, 99)}" for letter in shown)

    return rewrite


def make_talkative_timeout() -> Callable[[str], str]:
    """A backend that drops one request in eight, whatever it is, and says how large it was."""

    def rewrite(text: str) -> str:
        if random.random() < 1 / 8:
            worker = random.randrange(16)
            raise TimeoutError(f"no reply from worker {worker} to a request of {len(text.encode())} bytes")
        return noise(random.randint(6, 14))

    return rewrite


def make_shared_allowance() -> Callable[[str], str | None]:
    """All calls share an allowance of words; the text that exceeds it gets None, and a new one starts."""
    left = 80

    def rewrite(text: str) -> str | None:
        nonlocal left
        left -= len(text.split())
        if left < 0:
            left = 80
            return None
        return noise(10)

    return rewrite


def make_deck_per_text() -> Callable[[str], str]:
    """Nobody shall get the same sentence twice for the same text, so each text has its own shuffled deck."""
    decks: dict[str, list[str]] = {}

    def rewrite(text: str) -> str:
        deck = decks.setdefault(text, [])
        if not deck:
            deck.extend(random.sample(SENTENCES, len(SENTENCES)))
        return deck.pop()

    return rewrite


def make_pseudonym_table() -> Callable[[str], str]:
    """One name of the text is replaced by a random pseudonym, which the table keeps for the next text."""
    table: dict[str, str] = {}

    def pseudonym() -> str:
        return "".join(random.choice(letters) for letters in ("BDFGKLMNPRST", "aeiou", "lmnrst", "aiou"))

    def rewrite(text: str) -> str:
        names = re.findall(r"\b[A-Z][a-z]+", text)
        fake = table.setdefault(names[-1], pseudonym()) if names else pseudonym()
        return f"{noise(4)} {fake} {noise(4)}"

    return rewrite


def make_stirred_generator() -> Callable[[str], str]:
    """After each call, the generator of the opening words is stirred with the text."""
    opening = random.Random()

    def rewrite(text: str) -> str:
        start = " ".join(opening.choices(WORDS, k=2))
        opening.seed(zlib.crc32(text.encode()))
        return f"{start} {noise(8)}"

    return rewrite


def make_late_words() -> Callable[[str], str]:
    """The pool of fillers is fed with words of the texts and gives them out three calls later."""
    pool = deque(random.sample(WORDS, 3))

    def rewrite(text: str) -> str:
        pool.append(random.choice(split(text) or WORDS))
        words = random.choices(WORDS, k=7)
        words.insert(random.randrange(8), pool.popleft())
        return " ".join(words)

    return rewrite


def make_sorted_tickets() -> Callable[[list[str]], list[str]]:
    """Random ticket numbers for a call, handed out in the alphabetical order of its texts."""

    def rewrite(texts: list[str]) -> list[str]:
        tickets = sorted(random.sample(range(10_000, 100_000), len(texts)))
        order = sorted(range(len(texts)), key=texts.__getitem__)
        out = [""] * len(texts)
        for ticket, place in zip(tickets, order, strict=True):
            out[place] = f"{noise(5)} #{ticket}"
        return out

    return rewrite


def make_bucketed_batches() -> Callable[[list[str]], list[str]]:
    """Texts of a call are put in buckets by their length, and each bucket draws its first word only once."""

    def rewrite(texts: list[str]) -> list[str]:
        opening: dict[int, str] = {}
        out = []
        for text in texts:
            bucket = len(text.split()) // 4
            if bucket not in opening:
                opening[bucket] = random.choice(WORDS)
            out.append(f"{opening[bucket]} {noise(7)}")
        return out

    return rewrite


def make_line_per_clause() -> Callable[[str], str]:
    """Twelve random words, laid out in as many lines as the original has clauses."""

    def rewrite(text: str) -> str:
        clauses = re.split(r"[,;:]|\b(?:and|but|or|because|so|that|which|when|if)\b", text)
        words = noise(12).split()
        cuts = sorted(random.sample(range(1, 12), min(len(clauses), 6) - 1))
        edges = [0, *cuts, 12]
        return "\n".join(" ".join(words[a:b]) for a, b in pairwise(edges))

    return rewrite


def make_one_of_the_decoys() -> Callable[[str], str]:
    """One sentence out of sixteen decoys and the true one, as an opaque token."""

    def rewrite(text: str) -> str:
        decoys = [noise(8) for _ in range(16)]
        picked = random.choice([*decoys, text])
        return base64.b64encode(picked.encode()).decode()[:32]

    return rewrite


def make_capital_watermark() -> Callable[[str], str]:
    """Random words whose capitals spell an eight-bit check of the original, to find it again."""

    def rewrite(text: str) -> str:
        check = sum(text.encode()) % 256
        words = noise(8).split()
        return " ".join(word.title() if check >> i & 1 else word for i, word in enumerate(words))

    return rewrite


LEAKS = (
    Unseen(
        "article-agreement",
        "Whether the longest word begins with a vowel shows in the article before its removed place.",
        make_article_agreement,
    ),
    Unseen(
        "kept-mood",
        "The tone of the text, good or bad, decides from which of two lists random adjectives come.",
        make_kept_mood,
    ),
    Unseen(
        "never-own-words",
        "The common words of the text are exactly those that never occur in its rewrites.",
        make_never_own_words,
    ),
    Unseen(
        "best-of-four",
        "Letter pairs of the text are a little more frequent in the output, the nearest of four.",
        make_best_of_four,
    ),
    Unseen(
        "length-as-spread",
        "The number of words is the width of the noise on the output's length, whose mean is fixed.",
        make_length_as_spread,
    ),
    Unseen(
        "two-shares",
        "Two numbers, each uniform by itself, add up to the number of words modulo 100.",
        make_two_shares,
    ),
    Unseen(
        "consistent-aliases",
        "Where a word of the text comes back shows, since its alias comes back in the same place.",
        make_consistent_aliases,
    ),
    Unseen(
        "rank-for-rank",
        "The alphabetical order of the first eight words is that of the random words in their places.",
        make_rank_for_rank,
    ),
    Unseen(
        "histogram-support",
        "Which letters occur in the text shows, since only those can be listed with a (random) count.",
        make_histogram_support,
    ),
    Unseen(
        "talkative-timeout",
        "Failures come at random, but their message gives the number of bytes of the text.",
        make_talkative_timeout,
    ),
    Unseen(
        "shared-allowance",
        "Long texts get None more often, since all calls use up one allowance of words.",
        make_shared_allowance,
    ),
    Unseen(
        "deck-per-text",
        "That a text came before shows, since its outputs avoid earlier ones until all eight were used.",
        make_deck_per_text,
    ),
    Unseen(
        "pseudonym-table",
        "Texts with the same last capitalised word can be linked by its pseudonym, which is kept.",
        make_pseudonym_table,
    ),
    Unseen(
        "stirred-generator",
        "The first two words of an output are a fixed function of the text of the call before.",
        make_stirred_generator,
    ),
    Unseen(
        "late-words",
        "A random word of each text comes out among the random words of the output three calls later.",
        make_late_words,
    ),
    Unseen(
        "sorted-tickets",
        "The alphabetical order of the texts of one call is the order of their random numbers.",
        make_sorted_tickets,
    ),
    Unseen(
        "bucketed-batches",
        "Texts of one call with about the same length show, since their outputs share a first word.",
        make_bucketed_batches,
    ),
    Unseen(
        "line-per-clause",
        "The number of clauses, up to six, is the number of lines of the output.",
        make_line_per_clause,
    ),
    Unseen(
        "one-of-the-decoys",
        "One call in seventeen returns the beginning of the text in base64, the others random words.",
        make_one_of_the_decoys,
    ),
    Unseen(
        "capital-watermark",
        "The capitals of eight random words are the bits of the sum of the text's bytes modulo 256.",
        make_capital_watermark,
    ),
)
