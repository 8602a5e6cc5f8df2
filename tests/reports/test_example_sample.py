"""The trials that a page shows: the worst leaks first, and never more than a page can hold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pages import TEXTS, embedded, list_trials
from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.plugins.values import Card, Guess
from tedaudit.results.examples import BYTES, LONGEST, PER_TABLE, choose, rank_right, shorten_text
from tedaudit.results.redaction import safe_json
from tedaudit.runs.spec.model import parse_spec


def test_the_worst_leaks_are_always_in_the_sample(made):
    rng = np.random.default_rng(0)
    right, margin = rng.random(5000) < 0.7, rng.random(5000).astype(np.float32)
    worst, chance = choose(right, rank_right(right, margin, 1000), 200, 7)
    expected = sorted(np.flatnonzero(right), key=lambda row: -margin[row])[:100]
    assert worst.tolist() == expected
    assert len(set(worst.tolist()) | set(chance.tolist())) == 200
    assert right[chance].any()
    assert (~right)[chance].any()


def test_a_sample_takes_everything_if_there_is_little():
    right = np.array([True, False, True])
    worst, chance = choose(right, rank_right(right, np.array([0.1, 0.5, np.nan]), 1000), 200, 1)
    assert worst.tolist() == [0, 2]
    assert chance.tolist() == [1]


def test_the_worst_leak_is_the_one_that_says_most_and_not_the_shortest(tmp_path):
    long = [f"the {who} of {at} lost a {thing}" for who in ("baker", "mayor") for at in ("Delft", "Graz")
            for thing in ("ring", "boat")]  # fmt: skip
    texts = [*long, "yes", "no", "so", "well"]
    run(parse_spec({
        "corpus": {"name": "given", "live": Given(texts)}, "mechanisms": ["identity"], "attacks": ["lexical"],
        "trials": 60, "plans": [{"k": 2, "lambda": 0}], "out": str(tmp_path / "run"),
    }))  # fmt: skip
    data = embedded(tmp_path / "run")
    ranked = [trial for trial in list_trials(data) if trial["worst"] is not None]
    words = [len(data["sample"]["texts"][trial["output"]].split()) for trial in ranked]
    assert min(words) == 1 < words[0]
    assert all(count > 1 for count in words[: len(words) // 3])
    assert ranked[0]["margin"] <= max(trial["margin"] for trial in ranked)


def test_a_long_text_is_cut_and_no_emoji_in_two():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    before = "x" * (LONGEST - 3)
    assert shorten_text(f"{before}{family} and more") == f"{before} …"
    assert shorten_text("x" * LONGEST) == "x" * LONGEST
    assert shorten_text("x" * LONGEST + "y") == "x" * LONGEST + " …"


def test_many_candidates_are_cut_to_those_that_matter(tmp_path):
    texts = [f"{text} number {n}" for n in range(5) for text in TEXTS]
    run(parse_spec({
        "corpus": {"name": "given", "live": Given(texts)}, "mechanisms": ["word-rr"], "epsilons": [1],
        "trials": 40, "plans": [{"k": "all"}], "out": str(tmp_path / "run"),
    }))  # fmt: skip
    for trial in list_trials(embedded(tmp_path / "run")):
        assert 1 <= len(trial["candidates"]) <= 7
        assert sum(candidate["source"] for candidate in trial["candidates"]) == 1


def test_a_trial_takes_few_bytes_of_a_page_and_what_trials_share_is_there_once(made):
    data = embedded(made.folder)
    sample = data["sample"]
    assert len(safe_json(sample["tables"])) < 60 * len(list_trials(data))
    for shared in (sample["texts"], list(map(tuple, sample["sets"]))):
        assert len(set(shared)) == len(shared)


def test_attacks_on_the_same_rewrites_are_shown_on_the_same_random_trials():
    right = np.random.default_rng(1).random((2, 5000)) < 0.5
    chance = [set(choose(one, np.flatnonzero(one)[:100], 200, 7)[1].tolist()) for one in right]
    assert len(chance[0] & chance[1]) > 90


@dataclass(frozen=True)
class First:
    """An attack that always names the first candidate, at no cost."""

    card: ClassVar[Card] = Card(name="first", summary="Names the first candidate.")

    def guess(self, seen):
        return [Guess(-np.arange(len(one.candidates), dtype=np.float64)) for one in seen]


def test_the_page_of_a_hundred_thousand_trials_of_long_texts_stays_small(tmp_path):
    texts = [f"{n} " + "<" * 700 for n in range(3000)]  # every mark is six bytes long in the page
    run(parse_spec({
        "corpus": {"name": "given", "live": Given(texts)}, "mechanisms": ["constant", "identity"],
        "attacks": [First()], "trials": 50_000, "plans": [{"k": 8, "lambda": 0}],
        "out": str(tmp_path / "run"),
    }))  # fmt: skip
    data = embedded(tmp_path / "run")
    sample, trials = data["sample"], list_trials(data)
    assert sample["of"] == 100_000
    assert sample["cut"] is True
    assert 100 < len(trials) < 2 * PER_TABLE
    kept = [sum(trial["finding"] == number for trial in trials) for number in (0, 1)]
    assert abs(kept[0] - kept[1]) <= 1
    assert len(safe_json(sample)) < 1.1 * BYTES
    assert (tmp_path / "run" / "report.html").stat().st_size < 10_000_000
