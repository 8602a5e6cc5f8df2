"""A trial done again: the same candidates, noise and guess as stored, or a word on what differs."""

import json
import math
import sys

import numpy as np
import polars as pl
import pytest

from tedaudit.api import run
from tedaudit.cli import main
from tedaudit.errors import PluginError, SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.spec.model import parse_spec
from tedaudit.studies.replay import replay

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
PLUGINS = '''\
import itertools
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from tedaudit import Card, Guess

count = itertools.count()

def shout(text):
    return text.upper()

def restless(text):
    return f"{text} {next(count)}"

def fragile(text):
    raise KeyError(text)

@dataclass
class Certain:
    """Is sure of one candidate, and unusable where the output names a ring."""
    card: ClassVar[Card] = Card("certain", "Minus infinity for all but one.")
    def guess(self, seen):
        rows = [np.where(np.arange(len(one.candidates)) == 0, 0.0, -np.inf) for one in seen]
        return [Guess(row, usable="ring" not in one.output.text) for row, one in zip(rows, seen, strict=True)]
'''


@pytest.fixture
def audited(tmp_path, monkeypatch):
    """A function that runs an audit and returns its directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_plugins", raising=False)
    (tmp_path / "my_plugins.py").write_text(PLUGINS)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))

    def audit(**changes):
        settings = {
            "corpus": {"name": "files", "path": "texts.txt"},
            "trials": 30,
            "out": "made",
            "block": 10,
        }
        run(parse_spec({**settings, **changes}))
        return RunDirectory(tmp_path / "made")

    return audit


def table(made, *names, rewrites=False):
    """Return a stored table of guesses or of rewrites."""
    folder = made.root.joinpath("rewrites" if rewrites else "guesses", *names)
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet"))])


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def test_a_trial_done_again_is_the_trial_that_was_stored(audited):
    made = audited(
        mechanisms=[{"name": "word-rr", "slots": 5}], epsilons=[2, 7], plans=[{"k": 4, "lambda": 0}], seed=3
    )
    plan = pl.read_parquet(made.root / "plans" / "k4-lambda0.parquet")
    for trial in (0, 9, 10, 29):
        both = replay(made, trial, {})
        assert [(one.epsilon, one.attack) for one in both] == [(2.0, "lexical"), (7.0, "lexical")]
        for one in both:
            stored = table(made, "k4-lambda0", "word-rr", f"{one.epsilon:g}", "lexical")[trial].to_dicts()[0]
            assert list(one.positions) == plan["candidates"][trial].to_list()
            assert one.candidates == tuple(TEXTS[position] for position in one.positions)
            assert one.secret == plan["secret"][trial]
            assert one.choice == stored["choice"]
            assert one.right == (stored["choice"] == one.secret)
            assert np.allclose(one.scores, stored["scores"], atol=1e-5)
            assert np.isclose(max(one.scores), one.scores[one.choice], atol=1e-5)
            assert one.same
            assert one.stored == one.again


def test_what_is_shown_as_stored_comes_from_the_table(audited):
    made = audited(mechanisms=[{"name": "word-rr", "slots": 5}], epsilons=[6])
    (one,) = replay(made, 4, {})
    rewrites = table(made, "word-rr", "6", rewrites=True)
    source = one.positions[one.secret]
    outputs = rewrites.filter(pl.col("text") == source)["output"].to_list()
    assert one.stored.text in outputs
    assert one.stored.tokens is not None
    assert len(one.stored.tokens) == 5


def test_more_trials_do_not_change_the_earlier_ones(audited):
    settings = {"mechanisms": [{"name": "word-rr", "slots": 5}], "epsilons": [3]}
    before = [replay(audited(**settings), trial, {}) for trial in (0, 29)]
    made = audited(**settings, trials=60)
    assert [replay(made, trial, {}) for trial in (0, 29)] == before
    assert replay(made, 59, {})[0].same


def test_a_trial_of_the_baseline_has_two_rows(audited):
    made = audited(mechanisms=["identity"], plans=[{"k": 2, "lambda": 0, "estimator": "baseline"}])
    first, second = replay(made, 7, {})
    assert (first.row, second.row) == (14, 15)
    assert (first.secret, second.secret) == (0, 1)
    assert first.candidates == second.candidates
    assert (first.stored.text, second.stored.text) == first.candidates
    assert first.right
    assert second.right
    with pytest.raises(SpecError, match="There is no trial 30; plan 'k2-lambda0-baseline' has 0 to 29"):
        replay(made, 30, {})


def test_the_whole_corpus_may_stand_in_line(audited):
    (one,) = replay(audited(mechanisms=["identity"], plans=[{"k": "all"}]), 5, {})
    assert one.candidates == tuple(TEXTS)
    assert one.candidates[one.secret] == one.stored.text
    assert len(one.scores) == len(TEXTS)
    assert one.choice == one.secret


@pytest.fixture
def several(audited):
    return audited(
        mechanisms=["identity", {"name": "word-rr", "slots": 5}], epsilons=[2, 7],
        attacks=["lexical", "py:my_plugins:Certain"], plans=[{"lambda": 0}, {"k": 3, "lambda": 0}],
    )  # fmt: skip


def test_all_that_the_run_did_with_a_trial_is_shown_unless_told(several):
    assert len(replay(several, 0, {})) == 2 * 2 * (1 + 2)
    for only, many in {
        (("plan", "k3-lambda0"),): 6,
        (("mechanism", "identity"),): 4,
        (("epsilon", "any"),): 4,
        (("epsilon", "7"), ("attack", "Certain")): 2,
        (("plan", "k2-lambda0"), ("mechanism", "word-rr"), ("epsilon", "2"), ("attack", "lexical")): 1,
    }.items():
        found = replay(several, 0, dict(only))
        assert len(found) == many
        for one in found:
            shown = one.to_dict()
            assert all(str(shown[key]) == value for key, value in only)


def test_what_is_not_there_is_told_with_what_is(several):
    with pytest.raises(SpecError) as caught:
        replay(several, 0, {"epsilon": "3", "mechanism": "word-rr"})
    assert str(caught.value) == (
        "The run, as last called, has nothing with epsilon 3, mechanism word-rr. "
        "It has epsilon: 2, 7, any; mechanism: identity, word-rr."
    )


@pytest.mark.parametrize("trial", [-1, 30, 10**9])
def test_a_trial_that_is_not_there_is_told_with_those_that_are(several, trial):
    with pytest.raises(SpecError, match=f"There is no trial {trial}; plan 'k2-lambda0' has 0 to 29."):
        replay(several, trial, {})


def test_a_trial_that_is_not_done_yet_is_said_to_be_so(audited):
    made = audited(mechanisms=["identity"])
    for part in made.root.glob("guesses/*/*/*/*/part-*-000000030.parquet"):
        part.unlink()
    assert replay(made, 19, {})[0].right
    with pytest.raises(
        SpecError, match="Row 20 of plan 'k2-lambda-10000' has not been done yet; finish the run"
    ):
        replay(made, 20, {})


def test_an_unsure_attack_is_replayed_and_written_as_json(several):
    found = replay(several, 1, {"attack": "Certain", "mechanism": "identity"})
    written = json.loads(json.dumps([one.to_dict() for one in found]), parse_constant=refuse)
    for one, shown in zip(found, written, strict=True):
        assert one.scores[1:] == (-math.inf,) * (len(one.candidates) - 1)
        assert shown["scores"] == [0.0] + [None] * (len(one.candidates) - 1)
        assert shown["choice"] == one.choice == (-1 if "ring" in one.stored.text else 0)
        assert shown["candidates"][shown["secret"]] == shown["output"] == shown["output_again"]


def test_a_rewriter_with_noise_of_its_own_is_said_to_differ(audited, capsys):
    made = audited(mechanisms=["py:my_plugins:restless"])
    (one,) = replay(made, 2, {})
    assert not one.same
    assert one.stored.text != one.again.text
    assert one.right


def test_a_rewrite_that_failed_is_replayed_with_its_code(audited):
    (one,) = replay(audited(mechanisms=["py:my_plugins:fragile"]), 2, {})
    assert (one.stored.text, one.stored.error) == ("", "raised-KeyError")
    assert one.same
    assert one.choice == -1
    assert not one.right


def test_a_function_that_can_be_imported_again_is_replayed(audited):
    from importlib import import_module

    sys.path.append(".")
    shout = import_module("my_plugins").shout
    (one,) = replay(audited(mechanisms=[shout]), 0, {})
    assert one.stored.text == one.candidates[one.secret].upper()
    assert one.same


@pytest.mark.parametrize("what", ["lambda", "local function", "plug-in"])
def test_what_lived_in_another_process_cannot_be_replayed_and_is_said_so(what, audited):
    def local(text):
        return text

    made = {"lambda": lambda text: text, "local function": local, "plug-in": WordRR(slots=3)}[what]
    directory = audited(mechanisms=[made], epsilons=[1])
    with pytest.raises(SpecError) as caught:
        replay(directory, 0, {})
    message = str(caught.value)
    assert f"The trials of '{directory.root}' cannot be done again here." in message
    assert "handed over in Python is known to that process only" in message
    assert "py:package.module:name" in message


def test_a_mechanism_that_changed_is_not_replayed_as_if_it_were_the_same(audited, tmp_path, monkeypatch):
    made = audited(mechanisms=["py:my_plugins:shout"])
    (tmp_path / "my_plugins.py").write_text(PLUGINS.replace("text.upper()", "text.lower() # other"))
    monkeypatch.delitem(sys.modules, "my_plugins")
    with pytest.raises(SpecError, match="function source"):
        replay(made, 0, {})


def test_a_mechanism_that_is_gone_is_named(audited, tmp_path, monkeypatch):
    made = audited(mechanisms=["py:my_plugins:shout"])
    (tmp_path / "my_plugins.py").rename(tmp_path / "elsewhere.py")
    monkeypatch.delitem(sys.modules, "my_plugins")
    with pytest.raises(SpecError, match="cannot import my_plugins") as caught:
        replay(made, 0, {})
    assert isinstance(caught.value.__cause__, PluginError)


def test_replaying_changes_nothing(several):
    def state():
        return {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
                for path in several.root.rglob("*")}  # fmt: skip

    before = state()
    replay(several, 3, {})
    assert state() == before


def test_texts_are_taken_from_the_run_and_not_from_where_they_came(audited, tmp_path):
    made = audited(mechanisms=[{"name": "word-rr", "slots": 5}], epsilons=[3])
    before = replay(made, 1, {})
    (tmp_path / "texts.txt").unlink()
    assert replay(made, 1, {}) == before


NASTY = [f"[bold]{n}[/] [/x] :smile: \x1b[31m \u202e {n}" for n in range(12)]


def test_markup_and_control_characters_in_texts_are_printed_safely(audited, tmp_path, monkeypatch, capsys):
    (tmp_path / "texts.txt").write_text("\n".join(NASTY), encoding="utf-8")
    audited(mechanisms=["identity"])
    for arguments in (["--json"], []):
        monkeypatch.setattr(sys, "argv", ["tedaudit", "replay", "made", "0", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
        out, err = capsys.readouterr()
        assert err == ""
        if arguments:
            (one,) = json.loads(out, parse_constant=refuse)
            assert set(one["candidates"]) <= set(NASTY)
    lines = out.splitlines()
    assert lines[0] == "identity at epsilon any, lexical: right"
    for candidate in one["candidates"]:
        assert candidate.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") in out
    assert "\x1b" not in out
    assert "\u202e" not in out
