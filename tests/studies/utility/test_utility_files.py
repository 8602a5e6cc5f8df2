"""The files of a study, its figure, and the report of an audit that shows it."""

import json
from pathlib import Path

import pytest

from tedaudit.api import run
from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.reports.files import write_reports
from tedaudit.results.reading import read_result
from tedaudit.results.utility import Utility, read_utility
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.spec.model import parse_spec
from tedaudit.studies.utility.results import Measurement, Scores, Task, UtilityResult, caption
from tedaudit.studies.utility.study_folder import check_run, markdown, write_study
from tedaudit.studies.utility.telling import figure, tell

RESULT = UtilityResult(
    "small", Path("unused"), "demo", "tfidf", (100, 50),
    (Task("topic", "utility", 9, Scores((0.7, 0.8)), 0.02),
     Task("gender", "private", 2, Scores((0.6, 0.6)), 0.33)),
    (Measurement("identity", NO_EPSILON, "topic", Scores((0.7, 0.8)), 0, 200),
     Measurement("identity", NO_EPSILON, "gender", Scores((0.6, 0.6)), 0, 200),
     Measurement("word-rr", Nominal(2), "topic", Scores((0.1, 0.2)), 3, 200),
     Measurement("word-rr", Nominal(8), "topic", Scores((0.4, 0.4)), 0, 200),
     Measurement("word-rr", Nominal(2), "gender", Scores((0.5, 0.4)), 3, 200),
     Measurement("word-rr", Nominal(8), "gender", Scores((0.5, 0.6)), 0, 200)),
    ("a note on the corpus",), "SST-2 stands in for Trustpilot.",
)  # fmt: skip


def placed(folder):
    return UtilityResult(**{**vars(RESULT), "folder": folder})


def test_the_standard_deviation_is_of_a_sample():
    assert Scores((0.1, 0.2, 0.3)).spread == pytest.approx(0.1)
    assert Scores((0.5,)).spread == 0


def test_the_table_has_the_mechanisms_between_the_lines():
    [section] = tell(RESULT)
    rows = section.table.rows
    assert [row[1] for row in rows[:5]] == [
        "(not rewritten)", "identity", "word-rr", "word-rr", "(majority class)",
    ]  # fmt: skip
    assert rows[2] == ("topic F1", "word-rr", "2", "0.150", "0.071", "", "3 of 200")
    assert rows[1][2] == "any"


def test_the_caption_says_what_stands_in_and_what_lower_means():
    assert caption(RESULT).endswith("lower is more private. SST-2 stands in for Trustpilot.")
    assert "SST-2 stands in for Trustpilot." in markdown(RESULT)


def test_json_has_the_rows_that_a_report_shows(tmp_path):
    write_study(placed(tmp_path))
    data = json.loads((tmp_path / "utility.json").read_text())
    assert data["tasks"][1]["lower"] == 0.33
    assert data["tasks"][1]["role"] == "private"
    told = read_utility(RunDirectory(tmp_path))
    assert told.tasks["topic F1"]["private"] is False
    assert told.tasks[data["tasks"][1]["task"]] == {
        "upper": data["tasks"][1]["upper"]["score"], "lower": 0.33, "private": True
    }  # fmt: skip
    assert told.caption == caption(RESULT)
    first = told.rows[0]
    assert first == {"mechanism": "identity", "epsilon": None, "task": "topic F1", "score": 0.75,
                     "spread": data["rows"][0]["spread"]}  # fmt: skip


def test_the_figure_is_drawn_twice_the_same(tmp_path):
    pytest.importorskip("matplotlib")
    write_study(placed(tmp_path))
    first = {name: (tmp_path / name).read_bytes() for name in ("utility.pdf", "utility.png")}
    write_study(placed(tmp_path))
    assert {name: (tmp_path / name).read_bytes() for name in first} == first


def test_the_figure_shows_lines_spreads_and_note():
    pytest.importorskip("matplotlib")
    drawn = figure(RESULT)
    assert [axes.get_title() for axes in drawn.axes] == ["topic F1", "gender F1 (private: lower is better)"]
    topic = drawn.axes[0]
    assert topic.get_xscale() == "log"
    dashed = [line.get_ydata()[0] for line in topic.lines if line.get_linestyle() == "--"]
    assert dashed == [0.75, 0.02]
    assert len(topic.containers) == 2
    assert all(container.has_yerr for container in topic.containers)
    assert "stands in" in drawn.get_supxlabel().replace("\n", " ")


def test_a_figure_needs_no_epsilon():
    pytest.importorskip("matplotlib")
    only = UtilityResult(**{**vars(RESULT), "measured": RESULT.measured[:2]})
    assert len(figure(only).axes) == 2


@pytest.fixture
def audit(tmp_path):
    out = tmp_path / "audit"
    run(parse_spec({"mechanisms": ["word-rr"], "epsilons": [2], "trials": 100, "out": str(out),
                    "encoder": "lexical"}))  # fmt: skip
    return out


def shown(folder):
    page = (folder / "report.html").read_text()
    start = page.index('"utility":') + len('"utility":')
    return json.JSONDecoder().raw_decode(page[start:])[0]


def write_redacted(audit, utility):
    run = RunDirectory(audit)
    run.note_redaction(redacted=True)
    write_reports(read_result(run), utility=utility)


def test_the_report_of_an_audit_shows_the_study_in_it(audit, tmp_path):
    assert shown(audit)["rows"] == []
    write_study(placed(tmp_path / "study"), audit)
    write_reports(read_result(RunDirectory(audit)))
    assert [row["mechanism"] for row in shown(audit)["rows"]] == [row.mechanism for row in RESULT.measured]
    assert shown(audit)["caption"] == caption(RESULT)


def test_a_redacted_report_names_no_column_or_mechanism_that_could_be_a_text(audit):
    rows = [
        {
            "mechanism": "my sister called",
            "epsilon": 2.0,
            "task": "she lost it F1",
            "score": 0.5,
            "spread": 0,
        },
        {"mechanism": "word-rr", "epsilon": 2.0, "task": "topic F1", "score": 0.5, "spread": 0},
    ]
    tasks = {"she lost it F1": {"upper": 0.9, "lower": 0.1, "private": True}}
    utility = Utility(rows, tasks, "my sister called again")
    write_redacted(audit, utility)
    told = shown(audit)
    assert (list(told["tasks"]), told["caption"]) == (["task 1 F1"], "")
    assert [(row["mechanism"], row["task"]) for row in told["rows"]] == [
        ("mechanism 2", "task 1 F1"),
        ("word-rr", "topic F1"),
    ]


def test_what_follows_the_score_in_a_title_is_shown_only_if_it_is_ours(audit):
    rows = [{"mechanism": "word-rr", "epsilon": 2.0, "task": task, "score": 0.5, "spread": 0}
            for task in ("x F1 of jane doe", "sex F1 (private: lower is better)")]  # fmt: skip
    write_redacted(audit, Utility(rows))
    assert [row["task"] for row in shown(audit)["rows"]] == ["task 1", "sex F1 (private: lower is better)"]


def test_a_table_of_utility_without_a_caption_is_read(tmp_path):
    (tmp_path / "utility.json").write_text('{"rows": [], "tasks": []}')
    assert read_utility(RunDirectory(tmp_path)) == Utility([], {}, "")


def test_a_damaged_table_of_utility_is_named(tmp_path):
    (tmp_path / "utility.json").write_text('{"rows": [{"mechanism": "a"}]}')
    with pytest.raises(RunDirectoryError, match="is damaged"):
        read_utility(RunDirectory(tmp_path))


def test_an_audit_must_be_there_to_take_a_study_in(tmp_path):
    with pytest.raises(RunDirectoryError, match="not the run directory of an audit"):
        check_run(tmp_path)
