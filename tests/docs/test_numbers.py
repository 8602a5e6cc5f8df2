"""Numbers that pages quote from their own tables, or from a command that they show, computed again."""

import json
import re

import pytest

from command_line import call
from doc_pages import PROJECT

RESULTS = PROJECT / "docs" / "results"


def read_row(page, first):
    """Return the cells of the first row of a table that begins with this cell."""
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines())
    return next(row for row in rows if row[0] == first and len(row) > 2)


def read_released(folder, epsilon):
    """Yield the TeDA bounds of released mechanisms by text, by corpus: ADePT and DP-BART, the others."""
    tables = json.loads((RESULTS / folder / "fig-embedding.json").read_text("utf-8"))["tables"]
    for table in tables:
        if "TeDA bound" in table["title"]:
            rows = [dict(zip(table["headings"], row, strict=True)) for row in table["rows"]]
            bounds = {
                row["mechanism"].removesuffix("-zoo"): row[epsilon]
                for row in rows
                if row["attack"] == "embedding" and not row["mechanism"].endswith(("-sound", "pivot"))
            }
            yield [bounds.pop(name) for name in ("adept", "dp-bart") if name in bounds], list(bounds.values())


@pytest.mark.parametrize(("folder", "column"), [("zoo", -2), ("real", -1)])
def test_both_groups_of_mechanisms_are_apart_at_250_and_the_list_of_claims_says_so(folder, column):
    groups = list(read_released(folder, "250"))
    assert all(max(sentences) < min(tokens) for sentences, tokens in groups)
    lines = (RESULTS / "README.md").read_text("utf-8").splitlines()
    rule = next(line for line in lines if "bound under embedding above adept, dp-bart" in line)
    told = rule.strip("| ").split(" | ")[column]
    assert told.startswith("[seen]") or "250" in told.partition("holds at")[2]


@pytest.mark.parametrize("sections", [("Demo", "UD-EWT"), ("Several releases of one text",)])
def test_what_n_rewrites_lose_is_told_as_so_many_times_what_one_loses(sections):
    text = (RESULTS / "persons.md").read_text("utf-8")
    parts = {part.partition("\n")[0]: part for part in text.split("\n## ")}
    losses = [
        [float(number.replace(",", "")) for number in cell.split(" / ")]
        for cell in re.findall(r"\| ([\d.,]+(?: / [\d.,]+){3,4}) \|", "".join(map(parts.get, sections)))
    ]
    times = [row[-1] / row[0] for row in losses]
    assert f"{min(times):.1f} to {max(times):.1f} times" in " ".join(text.split())


def test_the_fewest_trials_of_a_gate_are_those_that_the_command_prints(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "gated.py").write_text("def hide(text):\n    return text[::2]\n")
    page = (PROJECT / "docs" / "gate.md").read_text("utf-8")
    limits, trials = read_row(page, "limit"), read_row(page, "trials")
    attacks = ("-a", "lexical", "-a", "resample", "-a", "trained")
    for limit, written in zip(limits[1:], trials[1:], strict=True):
        asked = ("-m", "py:gated:hide", *attacks, "--dry-run", "--ceiling", limit, "--json")
        assert call("run", *asked) == 0
        [prospect] = json.loads(capfd.readouterr().out)["prospects"]
        assert f"{prospect['trials_for_ceiling']:,}" == written, limit
