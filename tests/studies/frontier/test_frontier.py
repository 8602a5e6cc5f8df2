"""Utility at equal measured privacy."""

import math
import shutil
from dataclasses import replace

import pytest

import tedaudit
from tedaudit.errors import SpecError
from tedaudit.reports.writers.markdown import write_section
from tedaudit.runs.checking import find_damage
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.calibrate import telling as calibrate_figure
from tedaudit.studies.calibrate.calibrator import rename_answers, write_answers
from tedaudit.studies.calibrate.result import Answer
from tedaudit.studies.calibrate.telling import draw_curves
from tedaudit.studies.frontier import telling as frontier_figure
from tedaudit.studies.frontier.result import Frontier, list_scored, range_over_ends
from tedaudit.studies.frontier.runner import rename_points, write_frontier
from tedaudit.studies.frontier.telling import draw_frontier, tell
from tedaudit.studies.utility.results import Scores

DEMO = {"name": "demo", "size": 300}
SETTINGS = {
    "target": [0.69, 0.832], "attack": "lexical", "trials": 400, "searched": (0.5, 60), "encoder": "lexical",
    "tasks": ["topic"], "private": ["gender"], "classifier": "tfidf", "seeds": 2,
}  # fmt: skip


def flood(text, epsilon, seed):
    """Keep everything at every epsilon."""
    return text


def hide(text, epsilon, seed):
    """Keep nothing at any epsilon."""
    return "nothing"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Two ways to run word-rr, one that gives all away and one that gives nothing, at two targets."""
    mechanisms = ["word-rr", {"name": "word-rr", "label": "short", "slots": 6}, flood, hide]
    folder = tmp_path_factory.mktemp("frontier") / "run"
    return tedaudit.frontier(mechanisms, DEMO, **SETTINGS, out=str(folder), announce=lambda _: None)


def test_every_task_target_and_mechanism_has_its_scores_at_both_ends(found):
    assert len(found.points) == 2 * 2 * 4
    measured = {(m.mechanism, m.epsilon, m.task): m.scores for m in found.utility}
    for point in found:
        answer = point.answer
        if answer.answer is Answer.INTERVAL:
            assert point.low == measured[answer.label, answer.low, point.task.name]
            assert point.high == measured[answer.label, answer.high, point.task.name]
    kinds = {point.answer.label: point.answer.answer for point in found}
    assert kinds == {
        "word-rr": Answer.INTERVAL, "short": Answer.INTERVAL, "flood": Answer.ABOVE, "hide": Answer.BELOW,
    }  # fmt: skip


def test_what_is_above_at_once_is_not_scored_and_what_stays_below_is_scored_at_its_largest_epsilon(found):
    answers = {answer.label: answer for answer in found.calibrated}
    assert list_scored(answers["flood"]) == []
    assert list_scored(answers["hide"]) == [answers["hide"].limits[1]]
    assert all(point.low is None and point.high is None for point in found if point.answer.label == "flood")
    assert not any(m.mechanism == "flood" for m in found.utility)


def test_differences_are_against_the_first_mechanism_at_the_same_target(found):
    pairs = {
        (first.answer.label, point.answer.label, point.task.name, point.answer.target.value)
        for first, point, _ in found.differences
    }
    tasks = [(task, target) for task in ("topic", "gender") for target in (0.69, 0.832)]
    assert pairs == {("word-rr", label, *where) for label in ("short", "hide") for where in tasks}
    for first, point, change in found.differences:
        assert change.value == pytest.approx(point.low.mean - first.low.mean)
        assert math.isfinite(change.low)


def test_the_section_says_what_equal_means_and_names_no_text(found):
    [section] = tell(found)
    assert "Equal measured privacy is not equal privacy" in section.remarks[0]
    assert "safe" not in write_section(section)
    first, point = (p for p in found.points[:2])
    least = point.low.mean - first.high.mean
    assert f"over both ends {least:+.3f} to" in " ".join(section.remarks)
    assert len(section.table.rows) == len(found.points)
    assert len(section.redact().remarks) == 1


def test_the_range_over_both_ends_holds_for_scores_that_fall_with_epsilon_too(found):
    first, point = found.points[:2]
    low, high, lower, lowest = (Scores((mean,), (mean, mean)) for mean in (0.553, 0.565, 0.505, 0.490))
    first, point = replace(first, low=low, high=high), replace(point, low=lower, high=lowest)
    assert range_over_ends(first, point) == pytest.approx((0.490 - 0.565, 0.505 - 0.553))
    assert range_over_ends(point, first) == pytest.approx((0.553 - 0.505, 0.565 - 0.490))
    assert range_over_ends(first, replace(point, high=None)) is None
    [section] = tell(Frontier(found.calibrated, found.utility, (first, point)))
    told = " ".join(section.remarks)
    assert "over both ends -0.075 to -0.048" in told


def test_every_difference_lies_in_its_range_over_both_ends(found):
    told = found.to_dict()["differences"]
    assert [row["over_both_ends"] is None for row in told] == [row["mechanism"] == "hide" for row in told]
    for row in told:
        if row["over_both_ends"] is not None:
            least, most = row["over_both_ends"]
            assert least <= row["difference"] <= most


def test_eps_emp_at_both_ends_is_told_beside_the_scores_and_is_not_what_is_equal(found):
    assert {point.answer.target.by for point in found} == {"success"}
    [section] = tell(found)
    rows = [dict(zip(section.table.headings, row, strict=True)) for row in section.table.rows]
    for row, point, told in zip(rows, found, found.to_dict()["points"], strict=True):
        answer = point.answer
        assert row["eps_emp there"] == (answer.eps_emp_low if answer.low else None)
        assert row["eps_emp at that"] == (answer.eps_emp_high if answer.answer is Answer.INTERVAL else None)
        assert (told["eps_emp_low"], told["eps_emp_high"]) == (answer.eps_emp_low, answer.eps_emp_high)
    assert any(row["eps_emp at that"] for row in rows)


def test_labels_that_cannot_be_learnt_are_refused_before_anything_is_rewritten(tmp_path):
    with pytest.raises(SpecError, match="no column 'mood'"):
        tedaudit.frontier("word-rr", DEMO, **(SETTINGS | {"tasks": ["mood"]}), out=str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_frontier_without_any_epsilon_says_so(tmp_path):
    changes = {"target": 9.0, "out": str(tmp_path / "run")}
    found = tedaudit.frontier("word-rr", DEMO, **(SETTINGS | changes))
    assert (found.utility, found.points) == (None, ())
    [section] = tell(found)
    assert "No mechanism has an epsilon" in " ".join(section.remarks)


def test_figures_of_a_redacted_run_show_no_label_or_task_that_could_be_a_text(found, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.text import Text

    run = RunDirectory(shutil.copytree(found.calibrated.folder, tmp_path / "run"))
    long = {"short": "what my sister told"}
    answers = tuple(replace(a, label=long.get(a.label, a.label)) for a in found.calibrated)
    calibrated = replace(found.calibrated, answers=answers)
    tasks = {point.task.name: replace(point.task, name=f"{point.task.name} she lost") for point in found}
    utility = replace(found.utility, tasks=tuple(tasks.values()))
    points = tuple(
        replace(p, answer=answers[found.calibrated.answers.index(p.answer)], task=tasks[p.task.name])
        for p in found
    )
    named = Frontier(calibrated, utility, points)

    def texts(drawn):
        return " ".join(text.get_text() for text in drawn.findobj(Text))

    for redacted in (False, True):
        run.note_redaction(redacted=redacted)
        shown = texts(draw_frontier(rename_points(named, run)))
        shown += texts(draw_curves(rename_answers(calibrated, run)))
        assert ("my sister" in shown) is not redacted
        assert ("she lost" in shown) is not redacted
        assert "word-rr" in shown
    saved = []
    for module in (calibrate_figure, frontier_figure):
        save = module.save_figure
        monkeypatch.setattr(module, "save_figure", lambda d, *a, s=save: saved.append(texts(d)) or s(d, *a))
    write_frontier(replace(named, calibrated=replace(calibrated, folder=run.root)))
    write_answers(replace(calibrated, folder=run.root))
    assert len(saved) == 2
    assert not any(text in shown for shown in saved for text in ("my sister", "she lost"))
    told = "".join(path.read_text() for path in [run.page, run.report, *run.sections.iterdir()])
    assert not any(text in told for text in ("my sister", "she lost"))
    assert find_damage(run)[1] == []
