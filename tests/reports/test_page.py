"""The page: one file that needs nothing, holds texts as data only, and shows all that a run has."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pages import LABEL, NASTY, TEXTS, Elements, embedded, list_trials, page
from tedaudit.api import report, run
from tedaudit.corpora.files import Given
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Card, Guess
from tedaudit.reports.files import write_reports
from tedaudit.reports.page import SCRIPTS, _read_asset, chart_plans, show_section
from tedaudit.results.reading import read_result
from tedaudit.results.section import Column, Section, Table
from tedaudit.results.telling_audit import tell_claims, tell_plans
from tedaudit.results.utility import Utility
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.spec.model import parse_spec


def test_a_run_ends_with_a_page_that_holds_every_finding(made):
    data = embedded(made.folder)
    told = [*tell_claims(made), *tell_plans(made)]
    assert [tuple(map(tuple, one["rows"])) for one in data["tables"]] == [one.table.cells for one in told]
    assert [tuple(one["headings"]) for one in data["tables"]] == [one.table.headings for one in told]
    assert len(data["findings"]) == sum(len(one["rows"]) for one in data["tables"][1:]) == len(made)
    assert data["tables"][0]["marked"] == [n for n, one in enumerate(made.claims) if one.verdict.is_violation]
    assert data["strongest"]["headings"][:3] == ["mechanism", "verdict", "epsilon"]
    assert len(data["strongest"]["rows"]) == len({(one.label, one.epsilon) for one in made})
    opened, largest = made.findings[data["opened"]], made.largest
    assert (opened.eps_emp, data["lead"]["tone"]) == (largest.eps_emp, "mostly")


def test_a_run_without_a_name_is_titled_by_its_mechanisms_and_its_corpus(made, clean, tmp_path):
    assert embedded(made.folder)["name"] == f"constant, identity, {LABEL} and 1 more on given texts"
    assert embedded(clean)["name"] == "constant, identity, mechanism 3 and 1 more on given texts"
    (tmp_path / "my reviews.csv").write_text("text\n" + "\n".join(TEXTS), encoding="utf-8")
    corpus = {"name": "files", "path": str(tmp_path / "my reviews.csv")}
    spec = {"corpus": corpus, "mechanisms": ["identity"], "trials": 10, "encoder": "lexical"}
    alone = run(parse_spec({**spec, "out": str(tmp_path / "run")}))
    assert embedded(alone.folder)["name"] == "identity on my reviews"
    report(alone.folder, redact=True)
    assert embedded(alone.folder)["name"] == "identity on files"
    assert run(parse_spec({**spec, "name": "mine", "out": str(tmp_path / "named")})).folder
    assert embedded(tmp_path / "named")["name"] == "mine"


def test_a_chart_names_every_epsilon_that_has_room_and_fewer_on_a_narrow_page(made):
    grid = [0.1, 0.11, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    [finding] = made.findings[:1]
    findings = tuple(replace(finding, epsilon=Nominal(epsilon)) for epsilon in grid)
    [plan] = chart_plans(replace(made, findings=findings), made.run.manifest())
    assert plan["labelled"] == [0.1, *grid[2:]]
    assert {0.1, 10.0} <= set(plan["labelled_narrow"]) < set(plan["labelled"])


def test_the_page_asks_for_nothing_outside_itself(made):
    elements = Elements(page(made.folder)).found
    for tag, attributes in elements:
        assert tag not in ("link", "iframe", "img", "object", "embed")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for t, a in elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    assert "http" not in policy


def test_a_text_cannot_end_the_element_that_holds_it(made):
    scripts = [attributes for tag, attributes in Elements(page(made.folder)).found if tag == "script"]
    assert len(scripts) == 7
    assert NASTY in embedded(made.folder)["sample"]["texts"]
    assert "alert(1)</script>" not in page(made.folder)


def test_the_scripts_never_turn_a_string_into_markup():
    for name in SCRIPTS:
        script = _read_asset(name)
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert way not in script, name


def test_the_summary_says_what_was_audited_and_what_the_largest_bound_means(made):
    data = embedded(made.folder)
    told = " ".join(data["audited"])
    assert told.startswith("Four mechanisms (")
    assert "rewrote texts of the corpus given (31 texts). One attack (lexical) saw each rewrite" in told
    least = f"is at least {made.eps_emp:.2f} at error 0.005 (eps_emp, the largest of {len(made)} rows)."
    assert least in data["lead"]["detail"]
    assert "Five claims: 1 violated, " in told
    assert (
        "guesses were right; under the claim of 0.5 a guess is right with probability 0.6225 at most" in told
    )


def test_a_trial_of_the_page_is_the_trial_of_the_tables(made):
    data = embedded(made.folder)
    run_directory = RunDirectory(made.folder)
    texts, plans = run_directory.corpus().texts, run_directory.manifest()["plans"]
    assert data["sample"]["of"] == sum(finding.bound.guesses for finding in made)
    for trial in list_trials(data)[::17]:
        finding = made.findings[trial["finding"]]
        plan = run_directory.plan(finding.plan, plans[finding.plan]["key"])
        at = [candidate["at"] for candidate in trial["candidates"]]
        assert at == plan.candidates[trial["row"]].tolist()
        assert [c["source"] for c in trial["candidates"]].index(True) == plan.secret[trial["row"]]
        assert [data["sample"]["texts"][c["text"]] for c in trial["candidates"]] == [texts[i] for i in at]
        assert trial["right"] == any(c["source"] and c["guess"] for c in trial["candidates"])
        if finding.label == "identity":
            source = texts[plan.source[trial["row"]]]
            assert data["sample"]["texts"][trial["output"]] == source


def test_a_table_of_utility_is_shown_if_given(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)
    rows = [{"mechanism": "word-rr", "epsilon": 8.0, "task": "intent F1", "score": 0.71, "spread": 0.02}]
    assert embedded(copy)["utility"]["rows"] == []
    write_reports(read_result(RunDirectory(copy)), utility=Utility(rows, caption="as told"))
    assert embedded(copy)["utility"] == {"rows": rows, "tasks": {}, "caption": "as told"}


@dataclass(frozen=True)
class Certain:
    """An attack that rules every candidate out but the first."""

    card: ClassVar[Card] = Card(name="certain", summary="Gives infinite scores.")

    def guess(self, seen):
        return [Guess(np.where(np.arange(len(one.candidates)) == 0, 0.0, -np.inf)) for one in seen]


def test_a_section_of_the_page_says_which_columns_are_texts_or_figures_and_which_rows_are_marked():
    columns = (Column("mechanism", "label"), Column("n", "count"), Column("text", "text"))
    shown = show_section(Section("Pairs", Table(columns, (("a", 1234, "b"),), frozenset({0})), "How."))
    assert shown == {
        "title": "Pairs", "remarks": ("How.",), "headings": ("mechanism", "n", "text"),
        "rows": (("a", "1,234", "b"),), "private": ["text"], "right": ["n"], "marked": [0],
    }  # fmt: skip


def test_scores_that_are_not_finite_do_not_break_the_page(tmp_path):
    out = tmp_path / "run"
    run(parse_spec({
        "corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["identity"], "attacks": [Certain()],
        "trials": 20, "plans": [{"k": 2, "lambda": 0}], "out": str(out),
    }))  # fmt: skip
    data = embedded(out)
    for trial in list_trials(data):
        assert trial["margin"] is None
        assert [candidate["score"] for candidate in trial["candidates"]] == [0.0, None]
    assert data["cards"]["attacks"][0]["summary"] == Certain.card.summary


def test_a_run_without_an_attack_has_a_page_that_says_so(tmp_path):
    spec = {"corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["identity"], "attacks": []}
    run(parse_spec({**spec, "trials": 10, "out": str(tmp_path / "run")}))
    data = embedded(tmp_path / "run")
    assert data["lead"]["headline"].startswith("No block of guesses is complete")
    assert data["findings"] == list_trials(data) == data["strongest"]["rows"] == []


def test_without_plotly_and_matplotlib_everything_else_is_written(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)
    (copy / "report.html").unlink()
    script = (
        "import sys, importlib.util as util\n"
        "found = util.find_spec\n"
        "gone = ('plotly', 'matplotlib')\n"
        "util.find_spec = lambda name, *more: None if name in gone else found(name, *more)\n"
        "sys.modules.update(dict.fromkeys(gone))\n"
        "from tedaudit.cli import main\n"
        f"sys.argv = ['tedaudit', 'report', {str(copy)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "No charts on the page: Plotly is not installed. pip install 'tedaudit[reports]'\n"
    assert done.stdout.count("pip install 'tedaudit[reports]'") == 1  # of figures
    assert "Plotly is not installed" in embedded(copy)["missing"]
    assert (copy / "report.html").stat().st_size < 1_000_000


def test_a_page_is_the_same_when_written_again(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)
    pages = set()
    for _ in range(2):
        write_reports(read_result(RunDirectory(copy)))
        pages.add(page(copy))
    assert len(pages) == 1
