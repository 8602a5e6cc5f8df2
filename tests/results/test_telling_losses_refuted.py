"""A loss whose likelihood the trials refute is marked wherever it would stand, without its figures."""

from dataclasses import replace

import jsonschema
import pytest

import tedaudit
from command_line import call
from engine_plugins import Scaled
from helpers import make_spec, sentences, strict, summary
from pages import embedded
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.reports.export.frames import frame_losses
from tedaudit.reports.export.schemas import read_schema
from tedaudit.reports.first_screen import REFUTED, explain_losses, make_loss_pivots
from tedaudit.reports.loss_figures import draw_sandwich, write_loss_figures
from tedaudit.results.losses import read_losses
from tedaudit.results.telling_audit import tell_claims, tell_plans
from tedaudit.results.telling_losses import read_parts, tell_losses, tell_parts
from tedaudit.studies.record_losses import find_record_losses
from tedaudit.studies.telling import describe_record_losses

WORDS = tuple(sorted({word for text in sentences(40) for word in text.split()}))[:12]


class Right(WordRR):
    pass


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """One mechanism with right likelihoods, and one whose losses are 1.3 times as large as it says."""
    wrong, right = Scaled(slots=4, vocabulary=WORDS), Right(slots=4, vocabulary=WORDS)
    mechanisms = [
        {"name": "wrong", "live": wrong, "label": "wrong"}, {"name": "right", "live": right, "label": "right"}
    ]  # fmt: skip
    settings = {"trials": 1000, "block": 0, "attacks": ["likelihood", "lexical"], "epsilons": [2]}
    out = tmp_path_factory.mktemp("refuted") / "run"
    return tedaudit.run(make_spec(out, mechanisms=mechanisms, **settings))


def test_a_narrow_terminal_always_shows_whose_row_it_is(result):
    told = [tell_losses(result, read_losses(result)), *tell_plans(result), *tell_claims(result)]
    told += tell_parts(read_parts(result, read_losses(result)))
    for section in told:
        ranks = {column.name: column.rank for column in section.table.columns}
        assert (section.title, ranks["mechanism"], ranks["epsilon"]) == (section.title, 0, 0)


@pytest.fixture(scope="module")
def rows(result):
    return {row.finding.label: row for row in read_losses(result)}


def test_the_row_of_the_table_says_why_in_the_place_of_every_figure(result, rows):
    section = tell_losses(result, list(rows.values()))
    told = {row[0]: dict(zip(section.table.headings, row, strict=True)) for row in section.table.cells}
    wrong, right = told["wrong"], told["right"]
    assert wrong["likelihoods"] == rows["wrong"].refuted != ""
    figures = {"slack", "eps at delta 0.05", "eps at delta 0.01", "eps at delta 0.001", "median loss"}
    figures |= {"largest loss", "most possible"}
    assert {wrong[name] for name in figures} == {"refuted"}
    assert right["slack"] == "at most 2.0x"  # these texts share two of four words
    assert right["likelihoods"] == ""
    assert not any("refuted" in cell for cell in right.values())
    assert "Refuted: guesses were not right as often" in section.remarks[0]


def test_nothing_of_it_is_in_json_either(result, rows):
    told = {row["mechanism"]: row for row in summary(result.folder)["losses"]}
    wrong, right = told["wrong"], told["right"]
    assert wrong["likelihood"]["refuted"]
    assert wrong["likelihood"]["told"] == rows["wrong"].refuted
    for name in ("impossible", "mean", "largest", "worst_row", "slack", "supremum"):
        assert wrong[name] is None
        assert right[name] is not None
    assert set(wrong["quantiles"].values()) == {None}
    assert all(at["point"] is at["lower"] is at["upper"] is None for at in wrong["epsilon_at"])
    assert right["slack"] == {"at_most": 2.0, "lost": 4.0, "delta": 0.0, "source": "supremum"}
    jsonschema.validate(summary(result.folder), read_schema("summary"))
    frame = frame_losses(result)
    cells = frame.filter(frame["mechanism"] == "wrong")
    assert len(cells) == 3
    assert cells["refuted"].to_list() == [rows["wrong"].refuted] * 3
    assert cells["point"].null_count() == cells["slack"].null_count() == 3
    assert frame.filter(frame["mechanism"] == "right")["slack"].to_list() == [2.0] * 3


def test_the_first_screen_says_so(rows):
    [pivot] = make_loss_pivots(list(rows.values()))
    cells = {label: cell.value for (label, _), cell in pivot.cells.items()}
    assert cells["wrong"] == REFUTED
    assert float(cells["right"]) > 0
    assert "Refuted: guesses do not fit" in explain_losses([pivot])
    assert "Refuted" not in explain_losses(make_loss_pivots([rows["right"]]))
    elsewhere = replace(rows["right"], finding=replace(rows["right"].finding, label="wrong"))
    for plans in ([rows["wrong"], elsewhere], [elsewhere, rows["wrong"]]):  # refuted in one plan is enough
        assert {cell.value for cell in make_loss_pivots(plans)[0].cells.values()} == {REFUTED}


def test_figures_and_the_page_draw_no_such_loss(result, rows):
    right, wrong = embedded(result.folder)["losses"]["rows"]
    assert (right["mechanism"], wrong["mechanism"]) == ("right", "wrong")
    assert wrong["refuted"] == rows["wrong"].refuted
    assert wrong["point"] is wrong["lower"] is wrong["upper"] is wrong["supremum"] is wrong["slack"] is None
    assert right["refuted"] == ""
    assert right["slack"] == 2.0
    drawn = draw_sandwich(list(rows.values()), result.findings)
    panels = {panel.get_title(): panel for panel in drawn.axes}
    words = {title: [text.get_text() for text in panel.texts] for title, panel in panels.items()}
    assert words == {"wrong": ["loss: refuted"], "right": []}
    lines = {line.get_label(): line for line in panels["wrong"].get_lines()}
    assert not len(lines["loss of the draw, at delta 0.05"].get_ydata())
    assert {"claim", "likelihood", "lexical"} <= set(lines)
    assert write_loss_figures(result)


def test_records_are_not_ranked_by_it(result):
    losses = find_record_losses(result, 5)
    assert {record.label for record in losses} == {"right"}
    [left_out] = losses.left_out
    assert left_out.startswith("wrong at epsilon 2: refuted (")
    assert describe_record_losses(losses).remarks[-1] == left_out
    assert losses.to_dict()["left_out"] == [left_out]


def test_the_command_tells_it(result, capsys):
    capsys.readouterr()
    assert call("loss", result.folder, "--json") == 0
    told = {row["mechanism"]: row for row in strict(capsys.readouterr().out)["losses"]}
    assert told["wrong"]["likelihood"]["refuted"]
    assert call("records", result.folder, "--loss", "--json") == 0
    assert strict(capsys.readouterr().out)["losses"]["left_out"]
