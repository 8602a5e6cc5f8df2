from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from tedaudit.api import load_run
from tedaudit.paper.convention import convert_units
from tedaudit.paper.definition import Experiment, Workspace
from tedaudit.plugins.values import Card, Claim, Rewrite
from tedaudit.runs.directory import RunDirectory


@dataclass(frozen=True)
class Spelled:
    """Spends its epsilon on every letter that it releases: on every second one of the source."""

    card: ClassVar[Card] = Card(name="spelled", summary="Every second letter.")

    def claim(self, epsilon):
        return Claim(epsilon, "token")

    def rewrite(self, draws):
        return [Rewrite(draw.text[::2], units=len(draw.text[::2])) for draw in draws]

    def pieces(self, text):
        return tuple(text)


@dataclass(frozen=True)
class Silent(Spelled):
    """Does not tell what it released."""

    card: ClassVar[Card] = Card(name="silent", summary="Every second letter.")

    def rewrite(self, draws):
        return [Rewrite(draw.text[::2]) for draw in draws]


@dataclass(frozen=True)
class Whole:
    """Spends its epsilon on the whole text."""

    card: ClassVar[Card] = Card(name="whole", summary="The length.")

    def claim(self, epsilon):
        return Claim(epsilon, "document")

    def rewrite(self, draws):
        return [Rewrite("x" * len(draw.text)) for draw in draws]


def experiment(**more):
    return Experiment(
        id="cross-convention", title="t", paper="p", kind="convention", corpora=["demo"],
        mechanisms=["py:test_convention:Spelled", "py:test_convention:Whole"], epsilons=[2.0, 20.0],
        attacks=["lexical"], trials=30, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    place = Workspace(tmp_path_factory.mktemp("convention"))
    return place, convert_units(experiment(), place)


def rows(outcome):
    [section] = outcome.sections
    table = section.table
    return {(row[0], row[1]): dict(zip(table.headings, row, strict=True)) for row in table.rows}


def test_an_epsilon_per_token_is_multiplied_by_the_mechanisms_own_tokens(found):
    place, outcome = found
    texts = RunDirectory(place.folder("demo", 30)).corpus().texts
    mean = np.mean([len(text) for text in texts])
    row = rows(outcome)["Spelled", 20.0]
    assert row["tokens a text"] == pytest.approx(mean)
    assert row["x sentence tokens"] == pytest.approx(20 * mean)


def test_what_was_released_counts_the_rewrites_of_the_plan_alone(found):
    place, outcome = found
    before = rows(outcome)["Spelled", 2.0]
    assert before["x released tokens"] == pytest.approx(2 * before["released a text"])
    place.audit(experiment(plans=[{"k": 3, "lambda": 10_000}]), "demo")  # other sources, in the same run
    again = rows(convert_units(experiment(), place))["Spelled", 2.0]
    assert again == before


def test_an_epsilon_of_a_whole_text_stays_as_it_is(found):
    row = rows(found[1])["Whole", 20.0]
    assert (row["x sentence tokens"], row["x released tokens"], row["tokens a text"]) == (20.0, 20.0, None)


def test_what_is_not_known_stays_empty(tmp_path):
    some = experiment().model_copy(update={"mechanisms": ["py:test_convention:Silent"]})
    outcome = convert_units(some, Workspace(tmp_path))
    row = rows(outcome)["Silent", 20.0]
    assert (row["released a text"], row["x released tokens"]) == (None, None)
    assert row["x sentence tokens"] > 20


def test_bounds_of_experiments_are_those_of_the_paper_and_are_called_so(found):
    place, outcome = found
    own = place.audit(experiment(), "demo")
    for finding in load_run(own.folder):
        if finding.label == "Spelled" and finding.plan == own.findings[0].plan:
            assert rows(outcome)["Spelled", finding.epsilon]["TeDA bound"] == finding.teda.lower
            assert finding.eps_emp < finding.teda.lower
    assert outcome.figures["demo-sentence"].axes[0].get_ylabel() == "TeDA bound (lower bound)"


def test_both_scales_are_drawn_on_an_axis_of_decades(found):
    figures = found[1].figures
    assert list(figures) == ["demo-sentence", "demo-released"]
    axes = figures["demo-sentence"].axes[0]
    assert axes.get_xscale() == "log"
    assert "sentence tokens" in axes.get_xlabel()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels
    assert set(labels) <= {"1", "10", "100", "1,000", "10,000"}
