"""What the Python API returns shows itself: as frames, as a figure, in a notebook."""

import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

import tedaudit
from pages import LABEL, TEXTS, Elements
from tedaudit.errors import ModelError, SpecError
from tedaudit.reports.export.frames import frame_losses, frame_rows, frame_trials
from tedaudit.reports.result import Result
from tedaudit.results.reading import read_result


@pytest.fixture(scope="module")
def small():
    return tedaudit.audit("identity", ["a b", "c d", "e f"], trials=30, attack="lexical")


def test_all_ways_in_return_it(made, small, tmp_path):
    assert all(isinstance(result, Result) for result in (made, small))
    assert isinstance(tedaudit.load_run(made.folder), Result)
    copy = small.save(tmp_path / "copy")
    assert isinstance(tedaudit.report(copy), Result)
    assert isinstance(tedaudit.report(tedaudit.load_run(copy), redact=True), Result)
    assert Result.of(made) is made
    assert Result.of(read_result(made.run)).findings == made.findings


def test_a_printed_result_is_a_screen(made):
    lines = str(made).splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= 80 or lines[-1].endswith(str(made.folder))
    for finding in made:
        assert finding.label.split()[0] in str(made)  # a long one is cut
    assert "eps_emp is a lower bound" in str(made)


def test_its_length_is_the_number_of_findings(made, small):
    assert len(small) == 1
    assert len(made) == len(list(made)) == len(made.findings)


def test_frames_are_those_of_the_exports(made):
    assert made.to_frame().equals(frame_rows(made))
    assert made.trials().equals(frame_trials(made))
    assert made.losses().equals(frame_losses(made))
    assert "source_text" in made.trials(texts=True).columns


def test_pandas_is_given_if_it_is_asked_for(small):
    pandas = pytest.importorskip("pandas")
    for frame in (small.to_frame("pandas"), small.trials(library="pandas"), small.losses("pandas")):
        assert isinstance(frame, pandas.DataFrame)
    assert isinstance(small.to_frame(), pl.DataFrame)
    with pytest.raises(SpecError, match="library is 'excel'; it is 'polars' or 'pandas'"):
        small.to_frame("excel")


def test_a_temporary_run_lives_as_long_as_its_result():
    trials = tedaudit.audit("identity", ["a b", "c d", "e f"], trials=30, attack="lexical").trials()
    assert len(trials) == 30


def test_a_notebook_is_shown_every_row_and_no_text(made):
    page = made._repr_html_()
    rows = [tag for tag, _ in Elements(page).found if tag == "tr"]
    assert len(rows) == len(made) + 2  # a heading for each plan
    assert not [text for text in TEXTS if text in page]
    assert "(ceiling)" in page
    assert LABEL in page  # a label is a name that somebody gave


def test_names_cannot_become_markup(made):
    names = {"label": "<img src=x onerror=alert(1)>", "attack": "<b>", "plan": "\"'><i>"}
    findings = tuple(replace(finding, **names) for finding in made)
    odd = replace(made, name="<script>alert(1)</script>", findings=findings)
    tags = {tag for tag, _ in Elements(odd._repr_html_()).found}
    assert tags <= {
        "",
        "div",
        "ul",
        "li",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
        "small",
    }


def test_a_result_without_a_finding_says_so(small):
    assert "nothing to estimate from" in replace(small, findings=())._repr_html_()


def test_a_figure_has_a_panel_per_attack_and_a_picture(small):
    pytest.importorskip("matplotlib")
    drawn = small.plot()
    titles = [axes.get_title() for axes in drawn.axes]
    assert [title for title in titles if title.startswith("lexical, k = 2, 30 trials")]
    assert drawn._repr_png_().startswith(b"\x89PNG")


def test_a_plan_is_named_if_there_are_several(made, small):
    pytest.importorskip("matplotlib")
    known = list(dict.fromkeys(finding.plan for finding in made))
    with pytest.raises(SpecError, match=rf"2 plans; name one: .*{known[0]}"):
        made.plot()
    assert made.plot(known[1])
    with pytest.raises(SpecError, match="There is no plan 'x'"):
        small.plot("x")
    with pytest.raises(SpecError, match="nothing to estimate from"):
        replace(small, findings=()).plot()


def test_without_matplotlib_it_is_said_how_to_get_it(small, monkeypatch):
    monkeypatch.setattr("tedaudit.plugins.extras.is_installed", lambda module: module != "matplotlib")
    with pytest.raises(ModelError, match=r"`plot` needs matplotlib.*tedaudit\[reports\]"):
        small.plot()


def test_a_notebook_of_ipython_finds_both():
    pytest.importorskip("IPython")
    code = (
        "from IPython.core.formatters import DisplayFormatter as F; import tedaudit\n"
        "r = tedaudit.audit('identity', ['a b', 'c d', 'e f'], trials=30, attack='lexical')\n"
        "print(sorted(F().format(r)[0]), sorted(F().format(r.plot())[0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['text/html', 'text/plain'] ['image/png', 'text/plain']"
