"""A short run of every fuzzer; CONTRIBUTING.md says how to run them for long."""

import random
import shutil
from pathlib import Path

import pytest

from fuzz.bits import fuzz_bits
from fuzz.corpora import fuzz_corpora
from fuzz.mutations import Tally, flip, replace_in_tree, spoil, try_case
from fuzz.runs import fuzz_runs
from fuzz.specs import fuzz_specs
from tedaudit.errors import SpecError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("fuzz", "cases"),
    [(fuzz_specs, 150), (fuzz_corpora, 120), (fuzz_runs, 80)],
    ids=["specs", "corpora", "runs"],
)
def test_whatever_is_wrong_is_said_in_one_line_and_nothing_else_happens(fuzz, cases, is_thorough):
    cases = cases if is_thorough else cases // 2
    tally = fuzz(cases, 1)
    assert tally.cases == cases
    assert not tally.broken, str(tally)
    assert tally.accepted > 0
    assert tally.refused > 0


def test_a_flipped_bit_of_any_file_of_a_run_is_named(is_thorough):
    cases = 60 if is_thorough else 25  # one of each kind, at least
    tally = fuzz_bits(cases, 1)
    assert (tally.refused, tally.broken) == (cases, []), str(tally)


# --- a fuzzer that notices nothing would be of no use


def test_a_bit_that_nobody_names_is_noticed(monkeypatch):
    monkeypatch.setattr("fuzz.bits.find_damage", lambda run: (1, []))
    assert "nothing was said of" in str(fuzz_bits(1, 0))


def _fail(error):
    raise error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        RecursionError(),
        SystemExit(1),
        SpecError(""),
        type("Loose", (SpecError,), {"__str__": lambda _: "a\nb"})(),
    ],
    ids=["another error", "recursion", "exit", "nothing is said", "two lines"],
)
def test_a_case_that_breaks_the_rule_is_counted_as_broken(error):
    tally = Tally()
    try_case(tally, "case", lambda: _fail(error))
    assert len(tally.broken) == 1
    assert "case" in str(tally)


def test_a_case_that_keeps_the_rule_is_accepted_or_refused():
    tally = Tally()
    try_case(tally, "case", lambda: None)
    try_case(tally, "case", lambda: _fail(SpecError("one line")))
    assert (tally.cases, tally.accepted, tally.refused, tally.broken) == (2, 1, 1, [])


def test_a_case_that_hangs_is_stopped():
    tally = Tally()
    try_case(tally, "case", _loop, seconds=1)
    assert "TooSlowError" in tally.broken[0][1]


def _loop():
    while True:
        pass


def test_what_is_written_outside_of_the_folder_is_noticed(monkeypatch):
    import fuzz.specs

    monkeypatch.setattr(fuzz.specs, "run", lambda *_, **__: Path("..", "outside").mkdir(exist_ok=True))
    monkeypatch.setattr(fuzz.specs, "_mutate", lambda rng: b"mechanisms: [identity]\ntrials: 5\n")
    tally = fuzz_specs(3, 0)
    assert len(tally.broken) == 3
    assert "outside of its folder: ['outside']" in tally.broken[0][1]


def test_numbers_that_changed_in_silence_are_noticed(monkeypatch):
    import fuzz.runs

    def replace_a_table(rng):
        tables = Path("run", "guesses", "k2-lambda0", "word-rr")
        for path in (tables / "1" / "lexical").glob("part-*"):
            shutil.copy(tables / "4" / "lexical" / path.name, path)
        return "swap"

    monkeypatch.setattr(fuzz.runs, "_mutate", replace_a_table)
    monkeypatch.setattr("tedaudit.runs.files._check_identity", lambda *_: None)
    assert "other numbers were shown" in str(fuzz_runs(1, 0))


def test_the_same_seed_makes_the_same_mutations():
    text, tree = "name: x\ntrials: 5\n", {"a": [1, {"b": 2}], "c": 3}
    for seed in range(50):
        first, second = random.Random(seed), random.Random(seed)
        assert spoil(text, first, ("y",)) == spoil(text, second, ("y",))
        assert replace_in_tree(tree, first, "new") == replace_in_tree(tree, second, "new")
        assert flip(b"abc", first) == flip(b"abc", second) != b"abc"
    assert tree == {"a": [1, {"b": 2}], "c": 3}
