"""Verdicts: their names, which of several counts, and that nobody else decides on a claim."""

import ast
import re
from pathlib import Path

import pytest

import tedaudit
from tedaudit.results.verdict import (
    GATES,
    Decision,
    Verdict,
    any_named,
    any_violation,
    count_decisions,
    explain_decision,
    strongest,
)

SOURCE = Path(tedaudit.__file__).parent
NAMES = {decision.value for decision in Decision}
DECIDE = {"results/verdict.py", "results/family.py", "results/gates.py"}  # the names, and who gives them


def test_the_names_are_those_that_files_use():
    assert [decision.value for decision in Decision] == [
        "violated", "no violation found", "not tested", "out of reach", "no claim",
    ]  # fmt: skip
    assert [decision.flag for decision in GATES] == ["violated", "not-tested", "out-of-reach"]


def test_the_first_decision_in_their_order_counts_for_a_claim():
    given = [Verdict(decision) for decision in Decision]
    for first in range(len(given)):
        assert strongest(reversed(given[first:])) is given[first]


def test_among_equal_decisions_the_smallest_p_value_is_the_witness():
    first, second = (Verdict(Decision.VIOLATED, p_value=p) for p in (1e-4, 1e-9))
    assert strongest([first, second]) is second


def test_only_a_violation_is_one_and_only_without_a_claim_is_there_none():
    assert [d.name for d in Decision if Verdict(d).is_violation] == ["VIOLATED"]
    assert [d.name for d in Decision if not Verdict(d).has_claim] == ["NO_CLAIM"]
    assert any_violation(map(Verdict, Decision))
    assert not any_violation(Verdict(d) for d in Decision if d is not Decision.VIOLATED)


def test_a_gate_asks_for_verdicts_by_their_flags():
    untested = [Verdict(Decision.NOT_TESTED), Verdict(Decision.NO_CLAIM)]
    assert any_named(untested, ["violated", "not-tested"])
    assert not any_named(untested, ["violated", "out-of-reach"])
    assert not any_named([], ["violated"])
    assert str(untested[0]) == untested[0].name == "not tested"


def test_decisions_are_counted_in_order_and_explained_without_promising_safety():
    given = [Verdict(Decision.OUT_OF_REACH), Verdict(Decision.VIOLATED), Verdict(Decision.OUT_OF_REACH)]
    assert list(count_decisions(given).items()) == [("violated", 1), ("out of reach", 2)]
    for decision in Decision:
        assert explain_decision(decision).endswith(".")
        assert not re.search(r"\b(safe|private|secure)\b", explain_decision(decision))


# --- nobody else decides


def compared_strings(node):
    """Return the strings that a comparison, a case or a lookup in a table of answers asks for."""
    if isinstance(node, ast.Compare):
        inside = [node.left, *node.comparators]
    elif isinstance(node, ast.MatchValue):
        inside = [node.value]
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
        inside = [key for key in node.value.keys if key is not None]
    else:
        return set()
    found = (part for one in inside for part in ast.walk(one))
    return {part.value for part in found if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def decisions_in(source):
    """Return where Python code compares the name of a verdict, or names a decision."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if compared_strings(node) & NAMES or (isinstance(node, ast.Name) and node.id == "Decision")
    ]


def decisions_in_script(source):
    """Return comparisons with the name of a verdict in JavaScript, on either side."""
    name = rf"""["'`](?:{"|".join(NAMES)})["'`]"""
    compared = rf"[!=]==?\s*{name}|{name}\s*[!=]==?|\bcase\s+{name}|\[[^\]]*{name}[^\]]*\]\.includes"
    return re.findall(compared, source)


def test_no_other_module_compares_the_name_of_a_verdict():
    modules = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    scripts = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.js")}
    found = {
        str(p.relative_to(SOURCE)): lines for p, text in modules.items() if (lines := decisions_in(text))
    }
    assert set(found) == DECIDE
    assert scripts
    assert {p.name: found for p, text in scripts.items() if (found := decisions_in_script(text))} == {}


@pytest.mark.parametrize(
    "code",
    [
        'finding.verdict == "violated"', '"out of reach" != name', 'name in ("violated", "broken")',
        "match name:\n    case 'no claim':\n        pass", '{"violated": 1}[name]', "Decision.VIOLATED",
    ],
)  # fmt: skip
def test_the_check_finds_a_comparison_in_python(code):
    assert decisions_in(code)


@pytest.mark.parametrize(
    "code",
    [
        'f.verdict === "violated"',
        "'violated' == f.verdict",
        'case "no claim":',
        '["violated"].includes(name)',
    ],
)
def test_the_check_finds_a_comparison_in_a_script(code):
    assert decisions_in_script(code)


def test_the_check_leaves_keys_classes_and_options_alone():
    plain = 'shown = {"violated": result.violated}\nfail_on: Literal["violated"] | None = None\n'
    assert decisions_in(plain) == []
    assert decisions_in_script('make("tr", { class: finding.is_violation ? "violated" : "" })') == []
