"""The attack that compares an output with rewrites of the candidates themselves, on planted leaks."""

import hashlib

import numpy as np
import pytest

from helpers import given, make_spec, sentences, within
from tedaudit.api import run
from tedaudit.attacks.resample import Resample
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.batches import Observations, OwnRewrites, Rewrites
from tedaudit.plugins.values import Observation, Rewrite
from tedaudit.runs.preparation import prepare
from tedaudit.testing import check_attack

TEXTS = [f"{text} {'very ' * (i % 7)}soon" for i, text in enumerate(sentences(100))]
WORDS = sorted({word for text in TEXTS for word in text.split()})
LONGEST = set(sorted(TEXTS, key=len)[-10:])
RARE = {TEXTS[17], TEXTS[63]}
NO_SPACES = ["".join(chr(0x4E00 + (7 * i + 13 * j) % 900) for j in range(20)) for i in range(100)]
RIGHT_TO_LEFT = [" ".join(chr(0x05D0 + (5 * i + 3 * j) % 26) * 3 for j in range(6)) for i in range(100)]


def noise(coins, count=12):
    return " ".join(coins.choice(WORDS, count))


def is_odd(text):
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 1


def fingerprint(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def fixed_noise(text):
    return noise(np.random.default_rng(int(fingerprint(text), 16)))


def play(mechanism, texts=TEXTS, rewrites=8, trials=400, k=2):
    """Return which guesses are right, and their margins, if the candidates have so many own rewrites."""
    coins = np.random.default_rng(11)
    made = [mechanism(text, coins) for text in texts for _ in range(rewrites)]
    text = np.repeat(np.arange(len(texts), dtype=np.int32), rewrites)
    attack = Resample()
    attack.learn(OwnRewrites(texts, text, Rewrites.of([as_rewrite(output) for output in made])))
    candidates = np.stack([coins.choice(len(texts), k, replace=False) for _ in range(trials)])
    secrets = coins.integers(0, k, trials)
    sources = candidates[np.arange(trials), secrets]
    outputs = Rewrites.of([as_rewrite(mechanism(texts[source], coins)) for source in sources])
    keys = np.zeros((trials, 4), dtype=np.uint32)
    guesses = attack.guess(Observations(outputs, texts, candidates.astype(np.int32), keys))
    scores = np.round(np.asarray(guesses.scores), 5) + coins.random((trials, k)) * 1e-7
    ordered = np.sort(scores, axis=1)
    return scores.argmax(axis=1) == secrets, ordered[:, -1] - ordered[:, -2]


def as_rewrite(output):
    return output if isinstance(output, Rewrite) else Rewrite(output)


@pytest.mark.parametrize("candidates", [2, 64])
def test_scores_do_not_depend_on_the_batch_in_a_single_bit(candidates):
    coins = np.random.default_rng(3)
    made = Rewrites.of([Rewrite(f"{text} {noise(coins)}") for text in TEXTS for _ in range(4)])
    attack = Resample()
    attack.learn(OwnRewrites(TEXTS, np.repeat(np.arange(100, dtype=np.int32), 4), made))
    seen = [
        Observation(made[i], tuple(coins.choice(TEXTS, candidates, replace=False)), i) for i in range(101)
    ]
    alone = [attack.guess([one])[0].scores for one in seen]
    assert np.array_equal([guess.scores for guess in attack.guess(seen)], alone)


# --- what the method promises of a crude version, for 1,000 trials: 997, 1000, 605, 771 and 499 right


def test_a_hash_of_the_input_is_found_at_the_end_of_noise():
    right, _ = play(lambda text, coins: f"{noise(coins)} {fingerprint(text)}")
    assert right.mean() >= 0.997


def test_noise_that_is_seeded_from_the_text_is_found():
    right, _ = play(lambda text, coins: fixed_noise(text))
    assert right.all()


def test_a_total_leak_on_the_longest_tenth_has_the_largest_margins():
    right, margins = play(lambda text, coins: text if text in LONGEST else noise(coins))
    assert within(int(right.sum()), 400, 0.595)
    assert right[np.argsort(-margins)[:50]].all()


@pytest.mark.parametrize("leak", [lambda text: text, lambda _: Rewrite("", error="too-long"), fingerprint])
def test_a_rare_total_leak_stands_at_the_top_of_the_margins(leak):
    right, margins = play(lambda text, coins: leak(text) if text in RARE else noise(coins), trials=1000)
    assert right[np.argsort(-margins)[:15]].all()
    assert np.sort(margins)[-15] > 4 * np.median(margins) + 2


def test_an_error_on_some_texts_is_found_by_its_code():
    failed = Rewrite("", error="raised-ValueError")
    right, margins = play(lambda text, coins: failed if is_odd(text) else noise(coins))
    assert right.mean() > 0.7
    assert right[margins > 2].mean() > 0.99


def test_two_codes_are_told_apart_though_every_rewrite_fails():
    right, _ = play(lambda text, _: Rewrite("", error="one" if is_odd(text) else "two"))
    assert right.mean() > 0.7


HARMLESS = {
    "constant": lambda _text, _coins: "nothing to see",
    "empty": lambda _text, _coins: "",
    "words": lambda _text, coins: noise(coins),
    "any length": lambda _text, coins: noise(coins, coins.integers(1, 40)),
    "another text": lambda _text, coins: TEXTS[coins.integers(len(TEXTS))],
    "failing": lambda _text, coins: Rewrite("", error="late") if coins.random() < 0.3 else noise(coins),
}


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize(
    "texts", [TEXTS, NO_SPACES, RIGHT_TO_LEFT], ids=["words", "no spaces", "right to left"]
)
def test_nothing_is_found_in_what_does_not_depend_on_the_text(name, texts):
    right, margins = play(HARMLESS[name], texts, rewrites=4)
    assert within(int(right.sum()), 400, 0.5)
    assert np.median(margins) < 0.5
    assert within(int(right[np.argsort(-margins)[:50]].sum()), 50, 0.5)


# --- side channels in what is kept


CHANNELS = {
    "a trailing blank": lambda text, coins: noise(coins) + " " * is_odd(text),
    "a character of no width": lambda text, coins: (
        noise(coins, 4) + "\u200b" * is_odd(text) + noise(coins, 4)
    ),
    "case": lambda text, coins: noise(coins).upper() if is_odd(text) else noise(coins),
    "a capital at the start": lambda text, coins: noise(coins).capitalize() if is_odd(text) else noise(coins),
    "two blanks": lambda text, coins: noise(coins, 4) + " " * (1 + is_odd(text)) + noise(coins, 4),
    "a homoglyph": lambda text, coins: noise(coins).replace("e", "\u0435" if is_odd(text) else "e"),
    "the order of words": lambda text, coins: " ".join(sorted(noise(coins).split(), reverse=is_odd(text))),
    "an empty output": lambda text, coins: "" if is_odd(text) else noise(coins),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_one_bit_is_found_whatever_carries_it(name):
    right, margins = play(CHANNELS[name], trials=600)
    best = 0.5 + 0.5 * 0.5 * 100 / 99  # two texts that differ in the bit, which is half of all pairs
    assert right.mean() > 0.5 + 0.75 * (best - 0.5)
    assert right[np.argsort(-margins)[:60]].mean() > 0.9


def test_lengths_and_digits_and_single_words_are_found():
    assert play(lambda text, _: "x" * len(text))[0].mean() > 0.85
    roughly = play(lambda text, coins: noise(coins, max(1, len(text.split()) + coins.integers(-1, 2))))
    assert roughly[0].mean() > 0.7
    kept = play(lambda text, coins: " ".join(coins.permutation([*noise(coins).split(), text.split()[1]])))
    assert kept[0].mean() > 0.6


@pytest.mark.parametrize("texts", [NO_SPACES, RIGHT_TO_LEFT], ids=["no spaces", "right to left"])
def test_scripts_without_spaces_and_from_right_to_left_are_read_as_they_are(texts):
    def keep_some(text, coins):
        return "".join(c if coins.random() < 0.5 else coins.choice(list(texts[0])) for c in text)

    assert play(keep_some, texts)[0].mean() > 0.9


# --- few rewrites, many candidates, nothing to go by


@pytest.mark.parametrize("rewrites", [1, 2])
def test_one_or_two_rewrites_of_each_candidate_are_enough_for_a_plain_leak(rewrites):
    right, _ = play(lambda text, coins: f"{noise(coins)} {fingerprint(text)}", rewrites=rewrites)
    assert right.mean() > 0.95
    assert play(lambda text, _: fixed_noise(text), rewrites=rewrites)[0].all()


def test_with_all_texts_as_candidates_scores_are_those_of_small_sets():
    coins = np.random.default_rng(3)
    outputs = Rewrites.of([Rewrite(f"{noise(coins)} {fingerprint(text)}") for text in TEXTS])
    own = OwnRewrites(TEXTS, np.arange(100, dtype=np.int32), outputs)
    attack = Resample()
    attack.learn(own)
    keys = np.zeros((100, 4), dtype=np.uint32)
    whole = np.asarray(attack.guess(Observations(outputs, TEXTS, None, keys)).scores)
    assert (whole.argmax(axis=1) == np.arange(100)).all()
    pairs = np.stack([np.arange(100), (np.arange(100) + 1) % 100], axis=1).astype(np.int32)
    some = np.asarray(attack.guess(Observations(outputs, TEXTS, pairs, keys)).scores)
    assert np.allclose(some, np.take_along_axis(whole, pairs.astype(np.int64), axis=1), atol=1e-6)


def test_candidates_without_own_rewrites_score_0_and_the_others_by_theirs():
    attack = Resample()
    attack.learn(
        OwnRewrites(TEXTS, np.array([0, 1], dtype=np.int32), Rewrites.of([Rewrite("a b"), Rewrite("c d")]))
    )
    [guess] = attack.guess([Observation(Rewrite("a b"), (TEXTS[1], TEXTS[5], TEXTS[0]), 0)])
    assert guess.scores[1] == 0
    assert guess.scores[0] < 0 < guess.scores[2]


def test_without_any_own_rewrite_all_candidates_are_alike():
    attack = Resample()
    nothing = OwnRewrites(TEXTS, np.zeros(0, dtype=np.int32), Rewrites.of([]))
    for prepare_attack in (lambda: None, lambda: attack.learn(nothing)):
        prepare_attack()
        [guess] = attack.guess([Observation(Rewrite("a b"), ("x", "y"), 0)])
        assert guess.usable
        assert guess.scores.tolist() == [0, 0]


def test_very_long_outputs_are_read_at_their_ends_and_compared_as_a_whole():
    long = "many words " * 100_000
    outputs = Rewrites.of([Rewrite(f"{long} first"), Rewrite(f"{long} second"), Rewrite(long + "." + long)])
    attack = Resample()
    attack.learn(OwnRewrites(("a", "b", "c"), np.arange(3, dtype=np.int32), outputs))
    keys = np.zeros((3, 4), dtype=np.uint32)
    scores = np.asarray(attack.guess(Observations(outputs, ("a", "b", "c"), None, keys)).scores)
    assert (scores.argmax(axis=1) == np.arange(3)).all()


# --- as a plug-in


def test_it_keeps_the_contract_with_and_without_a_mechanism():
    assert check_attack(Resample()).unusable == 0
    assert check_attack(Resample(), mechanism=WordRR(slots=4)).unusable == 0


def test_it_is_left_out_for_a_table_of_rewrites_with_a_reason(tmp_path):
    table = tmp_path / "table.csv"
    rows = [f"{text},{text.upper()}" for text in sentences(20)]
    table.write_text("\n".join(["original,rewrite", *rows]))
    recorded = {"name": "recorded", "path": str(table)}
    spec = make_spec(
        tmp_path / "a", mechanisms=[recorded], corpus=None, epsilons=[], attacks=["resample"], trials=8
    )
    with pytest.raises(SpecError, match=r"fits no mechanism.*a mechanism that can make new rewrites"):
        prepare(spec)


def test_at_least_one_rewrite_of_each_candidate_must_be_asked_for():
    with pytest.raises(SpecError, match="rewrites is 0; the attack needs 1 or more"):
        Resample(rewrites=0)


def test_an_audit_finds_what_no_similarity_sees(tmp_path):
    def blank(text, seed):
        return noise(np.random.default_rng(seed), 6) + " " * is_odd(text)

    result = run(
        make_spec(
            tmp_path,
            corpus=given(TEXTS[:40]),
            mechanisms=[blank],
            attacks=["lexical", "resample"],
            trials=300,
        )
    )
    found = {row.attack: row for row in result}
    assert found["lexical"].bound.lower == 0
    assert found["resample"].bound.lower > 0.3
