"""Definitions of experiments: where the paper shows them, what runs on which corpus, and their command."""

from typing import get_args

import pytest

from tedaudit.paper.definition import Experiment, Kind, Workspace, load, names
from tedaudit.paper.reproduction import MAKERS, train_on_rewrites

SHOWN = {
    "fig-llm": "figure 2", "fig-embedding": "figure 3", "fig-downstream": "figure 4",
    "abl-trials": "figure 5", "abl-lambda": "figure 6", "cross-convention": "figure 7", "abl-k": "figure 8",
    "abl-estimator": "figure 9", "fig-snr": "figure 10", "fig-first-token": "figure 11",
    "tab-examples": "tables 1 and 3",
    "tab-complementarity": "table 2", "tab-variance": "table 4", "tab-tokenization": "table 5",
}  # fmt: skip
"""In the order of the figures and tables in the paper's source; figure 1 is its teaser."""
SOME = {"id": "x", "title": "x", "paper": "x", "mechanisms": ["constant", "identity"], "epsilons": [1]}


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, ""),
        ({"trials": None, "corpora": []}, ""),
        ({"trials": 500}, " --trials 500"),
        ({"corpora": [{"name": "snips"}, {"name": "files", "path": "my texts.csv"}], "trials": 500},
         " --corpus snips --corpus 'my texts.csv' --trials 500"),
    ],
)  # fmt: skip
def test_the_command_has_the_changes(changes, more):
    assert load("abl-k", "zoo", changes).command == f"tedaudit reproduce abl-k --scale zoo{more}"


def test_every_kind_of_experiment_can_be_made():
    assert sorted(MAKERS) == sorted(get_args(Kind))


def test_every_experiment_says_where_the_paper_shows_it():
    papers = {name: load(name).paper for name in names()}
    assert {name: paper.split(" and section")[0].split(",")[0] for name, paper in papers.items()} == SHOWN


def test_dp_st_runs_on_trustpilot_alone_as_in_the_paper():
    shown = {}
    for name in names():
        experiment = load(name)
        on = [c for c in experiment.corpora for one in experiment.mechanisms_on(c) if one["name"] == "dp-st"]
        shown |= {name: on} if on else {}
    assert shown.pop("tab-examples")  # two texts, whatever the corpus
    assert sorted(shown) == ["abl-k", "fig-downstream", "fig-embedding", "fig-llm"]
    assert all(corpora == ["trustpilot"] for corpora in shown.values())


def test_an_audit_has_the_mechanisms_of_its_corpus_alone(tmp_path):
    more = {"corpora": ["demo"], "only": {"identity": ["atis"]}, "attacks": ["lexical"], "trials": 20}
    experiment = Experiment(**SOME, **more, kind="calibration")
    found = Workspace(tmp_path, engine="serial").audit(experiment, "demo")
    assert {finding.label for finding in found} == {"constant"}


def test_classifiers_learn_from_the_mechanisms_of_their_corpus_alone(tmp_path):
    study = {"corpus": "demo", "tasks": ["topic"]}
    options = {"classifier": "tfidf", "seeds": 1, "limit": 40, "studies": [study]}
    experiment = Experiment(**SOME, only={"identity": ["atis"]}, options=options, kind="downstream")
    [section] = train_on_rewrites(experiment, Workspace(tmp_path)).sections
    told = " ".join(str(cell) for row in section.table.rows for cell in row)
    assert "constant" in told
    assert "identity" not in told
