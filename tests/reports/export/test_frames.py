"""Frames: they say what the findings say, with the same columns and types whatever was found."""

import sys
from dataclasses import replace

import polars as pl
import pytest

from helpers import Failing, SharedWords, audited, given, make_spec, sentences
from tedaudit.api import run
from tedaudit.errors import SpecError
from tedaudit.plugins.values import Claim
from tedaudit.reports.export.documents import ROW, LossAt, TextTrial, Trial
from tedaudit.reports.export.frames import (
    frame_losses,
    frame_rows,
    frame_trials,
    list_columns,
    list_documents,
    to_pandas,
)
from tedaudit.results.findings import Finding
from tedaudit.results.redaction import redact_result
from tedaudit.text.plain_data import list_members

SETTING = ["plan", "mechanism", "epsilon", "attack"]


@pytest.fixture(scope="module")
def losing(tmp_path_factory):
    """A run whose losses are known."""
    out = tmp_path_factory.mktemp("losing") / "run"
    return run(make_spec(out, attacks=["lexical", "likelihood"], epsilons=[1, 3]))


def keys(frame):
    return [tuple(row) for row in frame.select(SETTING).iter_rows()]


def test_a_row_is_a_finding_with_all_its_figures(made):
    frame = frame_rows(made)
    assert len(frame) == len(made) == 12
    assert keys(frame) == [(f.plan, f.label, f.epsilon.json, f.attack) for f in made]
    assert frame["lower"].to_list() == [finding.bound.lower for finding in made]
    assert frame["verdict"].to_list() == [finding.verdict.name for finding in made]
    promised = [None if f.claim is None else f.claim.total for f in made]
    assert frame["claim_total"].to_list() == promised


def test_no_figure_of_a_finding_is_left_out(made):
    told, left_out = made.findings[0].to_dict(), {"gaussian_error", "gaussian_assumption"}
    nested = {"claim": claim_members(), "surest": ("size", "right"), "gaussian": told["gaussian"]}
    flat = {f"{part}_{name}" for part, names in nested.items() for name in names} - left_out
    assert (set(told) - set(nested)) | flat == set(list_columns(Finding, ROW))


def claim_members():
    return [member.name for member in list_members(Claim)]


def test_types_do_not_depend_on_what_was_found(made, losing):
    assert frame_rows(made).schema == frame_rows(losing).schema == list_columns(Finding, ROW)
    assert len(pl.concat([frame_rows(made), frame_rows(losing)])) == len(made) + len(losing)
    assert pl.Null not in list_columns(Finding, ROW).values()


def test_the_stored_estimates_are_this_frame(made):
    assert pl.read_parquet(made.run.estimates).equals(frame_rows(made))


def test_trials_add_up_to_the_findings(made):
    frame = frame_trials(made)
    assert frame.schema == list_columns(Trial)
    counted = frame.filter("counted").group_by(SETTING, maintain_order=True)
    told = counted.agg(pl.col("right").sum(), pl.len(), pl.col("trial").n_unique())
    assert keys(told) == keys(frame_rows(made))
    assert told["right"].to_list() == [finding.bound.correct for finding in made]
    assert told["len"].to_list() == [finding.bound.guesses for finding in made]
    assert told["trial"].to_list() == [finding.bound.trials for finding in made]
    assert {f.bound.guesses // f.bound.trials for f in made} == {1, 2}  # the baseline has two rows a trial


def test_a_trial_is_right_if_it_names_the_text_that_was_rewritten(made):
    frame = frame_trials(made).filter("usable")
    assert (frame["right"] == (frame["source"] == frame["guess"])).all()
    assert (frame["right"] == (frame["secret"] == frame["choice"])).all()
    assert frame["rank"].min() == 1


def test_trials_hold_no_text_unless_asked(made):
    plain, full = frame_trials(made), frame_trials(made, texts=True)
    strings = {name for name, kind in plain.schema.items() if kind == pl.String}
    assert strings == {"plan", "mechanism", "attack"}
    assert full.schema == list_columns(TextTrial)
    assert full.select(plain.columns).equals(plain)
    texts = made.run.corpus().texts
    assert full["source_text"].to_list() == [texts[position] for position in full["source"]]
    copied = full.filter(pl.col("mechanism") == "identity")
    assert (copied["rewrite"] == copied["source_text"]).all()
    shouted = full.filter(pl.col("rewrite") == pl.col("source_text").str.to_uppercase())
    assert len(shouted) > 0


def test_a_trial_without_an_answer_has_no_choice(tmp_path):
    result = audited(tmp_path / "run", Failing(), epsilons=[1])
    frame = frame_trials(result, texts=True)
    failed = frame.filter("failed")
    assert len(failed) == result.findings[0].counts.failed > 0
    assert not failed["usable"].any()
    assert not failed["right"].any()
    for name in ("choice", "rank", "margin", "guess", "guess_text"):
        assert failed[name].null_count() == len(failed)
    assert frame.filter("usable")["choice"].null_count() == 0


def test_trials_that_a_bound_does_not_use_are_there_and_not_counted(tmp_path):
    """An attack of one's own that is added after a look is judged on fresh trials alone."""
    spec = {"mechanisms": ["identity"], "corpus": given(sentences(40))}
    out = tmp_path / "run"
    run(make_spec(out, **spec, attacks=["lexical"], trials=60))
    result = run(make_spec(out, **spec, attacks=["lexical", SharedWords()], trials=90))
    frame = frame_trials(result).filter(pl.col("attack") == "shared-words")
    [finding] = [finding for finding in result if finding.attack == "shared-words"]
    assert finding.bound.trials == 30
    assert frame["counted"].to_list() == [False] * 60 + [True] * 30
    assert frame.filter("counted")["right"].sum() == finding.bound.correct


def test_candidates_of_a_whole_corpus_are_positions_in_it(tmp_path):
    result = run(make_spec(tmp_path / "run", plans=[{"k": "all"}], mechanisms=["identity"], trials=30))
    frame = frame_trials(result)
    assert frame["candidates"].unique().to_list() == [40]
    assert (frame["secret"] == frame["source"]).all()
    assert (frame["choice"] == frame["guess"]).all()
    assert frame["epsilon"].null_count() == len(frame)  # identity takes none


def test_losses_have_a_row_per_delta(losing, made):
    frame = frame_losses(losing)
    assert frame.schema == list_columns(LossAt)
    assert frame["delta"].to_list() == [0.05, 0.01, 0.001] * 2
    assert (frame["most_possible"] >= frame["largest"]).all()
    assert frame_losses(made).schema == frame.schema
    assert len(frame_losses(made)) == 0


def test_trials_of_a_redacted_result_say_why_they_cannot_be_read(made):
    shown = redact_result(made, made.run.manifest())
    assert len(frame_rows(shown)) == len(made)
    with pytest.raises(SpecError, match=r"redacted.*`load_run`"):
        frame_trials(shown)


def test_a_frame_of_pandas_has_the_same_values(losing):
    pandas = pytest.importorskip("pandas")
    frame = frame_rows(losing)
    other = to_pandas(frame)
    assert isinstance(other, pandas.DataFrame)
    assert list(other.columns) == frame.columns
    assert other["lower"].tolist() == frame["lower"].to_list()


def test_without_pandas_it_is_said_how_to_get_it(losing, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SpecError, match="pip install pandas"):
        to_pandas(frame_rows(losing))


def test_numbers_that_json_has_not_become_null():
    frame = pl.DataFrame({"a": [1.0, float("nan"), float("inf")], "b": [1, 2, 3]})
    assert list_documents(frame) == [{"a": 1.0, "b": 1}, {"a": None, "b": 2}, {"a": None, "b": 3}]


def test_a_run_without_a_finding_has_empty_frames(losing):
    result = replace(losing, findings=())
    assert frame_rows(result).shape == (0, len(list_columns(Finding, ROW)))
    assert frame_trials(result).schema == list_columns(Trial)
