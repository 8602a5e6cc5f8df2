"""LaTeX: what is printed is what was found, names are printed as they are, and the table compiles."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from tedaudit.reports.export.writing import make_latex
from tedaudit.reports.writers.latex import escape_latex, write_section
from tedaudit.results.section import Column, Marked, Section, Table
from tedaudit.results.telling_audit import tell_bounds

EVERY = "".join(map(chr, range(32, 127)))
NASTY = (
    "[x] *y*", "*", "[", "50%", "a&b", r"\input{/etc/passwd}", "a_b^c~d#e$f{g}", "--", ",,", "``''", '"a"',
    "?`!`<<>>", "\ttab", "ünïcode é", "-1", r"\\", "%", EVERY,
)  # fmt: skip
DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{booktabs}
\begin{document}
%s
\end{document}
"""


def rename(result, labels):
    """Return a result whose findings have these labels, one after the other."""
    findings = [replace(f, label=labels[i % len(labels)]) for i, f in enumerate(result)]
    return replace(result, findings=tuple(findings), name=labels[0])


def test_a_line_has_the_setting_and_a_bound_per_attack(made):
    text = make_latex(made)
    assert text.count(r"\begin{table}") == 2  # plans
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 2
    [bound] = [finding.bound for finding in made if finding.label == "identity"][:1]
    assert rf"identity & any & none & {bound.lower:.2f}" in text


def test_a_name_that_stands_above_is_not_written_again():
    table = Table((Column("mechanism", "label"), Column("epsilon")), (("a", "1"), ("a", "2"), ("b", "2")))
    text = write_section(Section("x", table), ("run", "plan"))
    assert [line for line in text.splitlines() if "&" in line][1:] == [r"a & 1 \\", r" & 2 \\", r"b & 2 \\"]
    assert r"\label{tab:run-plan}" in text


def test_a_bound_at_the_ceiling_is_marked_and_no_other(made):
    text = make_latex(made)
    for finding in made:
        marked = rf"& {finding.bound.lower:.2f}\textsuperscript{{\dag}} \\"
        at_ceiling = finding.bound.correct == finding.bound.guesses
        assert (finding.bound.lower == finding.bound.ceiling) == at_ceiling
        if at_ceiling:
            assert marked in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\") and r"\dag" in line]
    assert len(lines) == sum(f.bound.correct == f.bound.guesses for f in made)
    assert 0 < len(lines) < len(made)


def test_a_claim_that_is_refuted_is_marked_and_no_other(made):
    refuted = {(c.witness.label, c.witness.epsilon.label): c.verdict.is_violation for c in made.claims}
    for section in tell_bounds(made):
        for label, epsilon, claim, *_ in section.table.rows:
            assert isinstance(claim, Marked) == refuted.get((label, epsilon), False)
    assert set(refuted.values()) == {True, False}
    starred = [line for line in make_latex(made).splitlines() if r"\textsuperscript{*} &" in line]
    assert len(starred) == 2 * sum(refuted.values())


def test_the_notes_say_what_the_numbers_are(made):
    text = make_latex(made)
    assert rf"That any eps\_emp here is too large has probability 0.005 at most, all {len(made)} rows" in text
    assert "A low one does not prove privacy." in text
    ceiling = next(f.bound.ceiling for f in made if f.bound.method == "reduced form")
    assert rf"300 trials with 2 candidates. Ceiling of eps\_emp: {ceiling:.2f}." in text
    assert "At the ceiling: the most that so many trials can show." in text
    unmarked = replace(made, findings=tuple(f for f in made if f.label == "constant"))
    assert "At the ceiling" not in make_latex(unmarked)


@pytest.mark.parametrize("name", NASTY)
def test_no_name_holds_a_character_that_latex_obeys(name):
    shown = escape_latex(name)
    bare = re.sub(r"\\text[a-z]+\{\}|\\[{}&%$#_]|\{[][*,-]\}", "", shown)
    assert not set(bare) & set("\\{}&%$#_~^<>|\"'`[]*")
    assert "--" not in shown
    assert ",," not in shown
    assert "\n" not in escape_latex("a\nb\x00c\u2028")


def test_a_run_without_a_bound_is_a_comment(made):
    assert "there is nothing to estimate from" in make_latex(replace(made, findings=()))


def compile_latex(text, folder):
    (folder / "paper.tex").write_text(DOCUMENT % text, encoding="utf-8")
    command = [shutil.which("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    from pypdf import PdfReader

    pages = [page.extract_text() for page in PdfReader(folder / "paper.pdf").pages]
    return "\n".join(pages)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_tables_compile_and_show_names_as_they_are(made, tmp_path):
    shown = compile_latex(make_latex(made), tmp_path)
    assert "identity" in shown
    assert all(f"{finding.bound.lower:.2f}" in shown for finding in made)
    shown = compile_latex(make_latex(rename(made, NASTY)), tmp_path)
    for name in ("[x] *y*", "50%", "a&b", r"\input{/etc/passwd}", "a_b", "{g}", "--", ",,", "<<>>"):
        assert name in shown, shown
