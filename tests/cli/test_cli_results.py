"""estimate, replay and report as their users meet them: what is read from a run that is finished."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import contents
from helpers import strict, summary
from tedaudit.estimators import baseline, reduced_form


def test_an_estimate_of_all_right_is_the_ceiling_with_all_that_belongs_to_it(command):
    code, out, _ = command("estimate", "--correct", "10000", "--trials", "10000", "--candidates", "2")
    lines = {line[2:24].strip(): " ".join(line[24:].split()) for line in out.splitlines()[1:]}
    assert code == 0
    assert out.splitlines()[0] == "reduced form: 10,000 of 10,000 right, 2 candidates, delta 0"
    assert lines["bound, this row alone"] == "7.5427 one-sided error 0.005"
    assert lines["point"] == "inf of this attack's success"
    assert lines["upper end"] == "inf of this attack's success: no attack proves privacy"
    assert lines["ceiling"] == "7.5427 had every guess been right"
    assert lines["success rate"] == "1.0000 0.9995 to 1.0000"
    assert lines["Bayes leakage (k p)"] == "2.0000 at least 1.9989"


def test_an_estimate_with_errors_has_a_point_and_an_upper_end(command):
    _, out, _ = command(
        "estimate", "--correct", "75", "--trials", "100", "--candidates", "4", "--alpha", "0.1"
    )
    bound = reduced_form(75, 100, 4, 0.1)
    assert "one-sided error 0.05" in out
    for figure in (f"{bound.lower:.4f}", f"{bound.point:.2f}", f"{bound.upper:.2f}", f"{bound.ceiling:.4f}"):
        assert f" {figure} " in out
    assert " 3.0000 " in out


def test_an_estimate_from_true_and_false_positives_is_the_baseline(command):
    counts = ("estimate", "--true-positives", "90", "--false-positives", "10", "--trials", "100")
    _, out, _ = command(*counts, "--delta", "0.01")
    bound = baseline(90, 10, 100, 0.01, 0.01)
    assert out.startswith("baseline: 180 of 200 right, 2 candidates, delta 0.01\n")
    assert f"{bound.lower:.4f}   one-sided error 0.01" in out
    assert strict(command(*counts, "--delta", "0.01", "--candidates", "2", "--json")[1]) == bound.to_dict()


def test_a_run_is_estimated_again_at_another_level(made, command):
    before = contents(made)
    _, out, _ = command("estimate", "made", "--alpha", "0.2", "--delta", "0.05", "--json")
    for finding in strict(out)["findings"]:
        expected = reduced_form(finding["correct"], 40, 2, 0.2, 0.05)
        assert (finding["teda_bound"], finding["delta"]) == (expected.lower, 0.05)
    assert contents(made) == before


def test_a_run_whose_mechanism_is_gone_is_still_estimated_and_reported(made, command, here, monkeypatch):
    expected = summary(made)
    (here / "my_plugins.py").unlink()
    shutil.rmtree(here / "__pycache__", ignore_errors=True)
    monkeypatch.delitem(sys.modules, "my_plugins", raising=False)
    (made / "report.md").unlink()
    (made / "summary.json").unlink()
    for verb in ("estimate", "report"):
        code, out, _ = command(verb, "made", "--json")
        assert (code, strict(out)) == (0, expected)
    assert summary(made) == expected
    assert (made / "report.md").is_file()
    code, _, err = command("replay", "made", "0", "--yes")
    assert code == 2
    assert "cannot import my_plugins" in err


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("estimate", {"tedaudit.mechanisms.identity", "tedaudit.attacks.lexical", "matplotlib"}),
        ("report", set()),
        ("export", {"matplotlib"}),
    ],
)
def test_estimates_and_reports_load_no_model_and_no_code_of_the_user(made, verb, more):
    script = (
        "import sys, tedaudit.cli as cli\n"
        "try:\n"
        f"    sys.argv = ['tedaudit', {verb!r}, {str(made)!r}, *sys.argv[1:]]; cli.main()\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code\n"
        f"heavy = {{'torch', 'sklearn', 'transformers', 'my_plugins', *{sorted(more)!r}}}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    flags = ["-f", "card"] if verb == "export" else []
    done = subprocess.run([sys.executable, "-c", script, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_report_says_where_page_and_figures_are(made, command):
    pytest.importorskip("matplotlib")
    code, out, _ = command("report", "made", "--no-figures")
    assert code == 0
    assert f"To read in a browser: {Path('made', 'report.html')}\n" in out
    assert not (made / "figures").exists()
    code, out, _ = command("report", "made")
    drawn = {path.suffix for path in (made / "figures").iterdir()}
    assert drawn == {".pdf", ".png"}
    assert f"Figures: {Path('made', 'figures')} (" in out


def test_a_redacted_report_leaves_texts_out(made, command):
    (trial, *_) = strict(command("replay", "made", "0", "--yes", "--json")[1])
    page = made / "report.html"
    assert json.dumps(trial["candidates"][0]) in page.read_text(encoding="utf-8")
    assert command("report", "made", "--redact", "--no-figures")[0] == 0
    assert not any(text in page.read_text(encoding="utf-8") for text in trial["candidates"])


def test_the_table_shows_findings_reading_and_notes(made, command):
    code, out, _ = command("report", "made", "--table", "full")
    flat = " ".join(out.split())
    assert code == 0
    assert re.search(r"│ shout │ violated │ 0.5 │ 0.5 per( document)? │ lexical │ nothing │ 40 / 40 │", flat)
    assert "violated" in flat
    assert "as in the TeDA paper, wrong with probability at most 0.005 per row" in flat
    assert "30 distinct texts of 30 rows" in flat
    assert "Everything is in made" in flat
