"""Verdicts on claims: when a claim is violated, at which error, and that nobody else decides on it."""

import ast
import re
from pathlib import Path

import pytest

import tedaudit
from helpers import Promising, audited
from tedaudit.estimators import Counts, baseline, estimator_names, find_estimator, reduced_form
from tedaudit.results.verdict import (
    Decision,
    Family,
    Verdict,
    any_named,
    any_violation,
    headline,
    judge_claim,
)
from tedaudit.types import Claim

ALPHA = 0.01
SOURCE = Path(tedaudit.__file__).parent
NAMES = {decision.value for decision in Decision}
VIOLATED, NOT_REFUTED, NO_CLAIM = map(Verdict, (Decision.VIOLATED, Decision.NOT_REFUTED, Decision.NO_CLAIM))


def bounds_of(estimator, counts):
    """Return the bound of some counts as a function of its one-sided error."""
    return lambda error: estimator.bound(counts, estimator.alpha_for(error), 0.0)


# --- one claim


def test_without_a_claim_no_bound_is_asked_for():
    def bound_at(error):
        raise AssertionError(f"a bound was asked for, with error {error}")

    verdict = judge_claim(None, Family(ALPHA, 3), bound_at)
    assert (verdict.name, verdict.is_violation, verdict.is_tested) == ("no claim", False, False)


@pytest.mark.parametrize("tests", [1, 10, 300])
def test_a_claim_is_violated_exactly_if_the_bound_at_its_share_of_the_error_is_above_the_total(tests):
    lower = reduced_form(900, 1000, 2, ALPHA / tests).lower
    bound_at = bounds_of(find_estimator("reduced"), Counts(1000, (900,), 2))
    family = Family(ALPHA, tests)
    verdicts = {total: judge_claim(Claim(total, "document"), family, bound_at)
                for total in (lower - 1e-6, lower, lower + 1e-6)}  # fmt: skip
    assert [verdict.name for verdict in verdicts.values()] == ["violated", "not refuted", "not refuted"]
    assert all(verdict.is_tested for verdict in verdicts.values())
    assert [verdict.is_violation for verdict in verdicts.values()] == [True, False, False]


def test_it_is_the_total_over_all_units_that_a_bound_must_exceed():
    bound_at = bounds_of(find_estimator("reduced"), Counts(1000, (900,), 2))
    family, lower = Family(ALPHA, 1), reduced_form(900, 1000, 2, ALPHA).lower
    names = [
        judge_claim(Claim(lower / 3.5, "word", max_units=units), family, bound_at).name for units in (3, 4)
    ]
    assert names == ["violated", "not refuted"]


def test_the_reason_names_the_error_the_bound_and_the_claim():
    bound_at = bounds_of(find_estimator("reduced"), Counts(1000, (900,), 2))
    lower = reduced_form(900, 1000, 2, ALPHA / 10).lower
    verdict = judge_claim(Claim(1.5, "document"), Family(ALPHA, 10), bound_at)
    assert verdict.reason == f"the bound with error 0.0005 is {lower:.4g}, the claim is 1.5"


# --- the error, and who shares it


@pytest.mark.parametrize(("tests", "error"), [(0, 0.005), (1, 0.005), (10, 0.0005)])
def test_all_tests_of_an_audit_share_its_error(tests, error):
    asked = []

    def bound_at(one_sided):
        asked.append(one_sided)
        return reduced_form(900, 1000, 2, 2 * one_sided)

    judge_claim(Claim(1.0, "document"), Family(ALPHA, tests), bound_at)
    assert asked == pytest.approx([error])


@pytest.mark.parametrize("name", estimator_names())
@pytest.mark.parametrize("any_time", [False, True])
def test_the_alpha_that_an_estimator_asks_for_gives_a_bound_with_that_very_error(name, any_time):
    estimator = find_estimator(name)
    counts = Counts(200, (180,) * estimator.rows_per_trial, 2)
    for error in (0.005, 0.0005):
        bound = estimator.bound(counts, estimator.alpha_for(error), 0.0, any_time=any_time)
        assert bound.error == pytest.approx(error)


@pytest.mark.parametrize("tests", [1, 10])
def test_a_baseline_claim_is_judged_at_half_of_alpha_because_two_ends_can_fail(tests):
    """The bound at alpha refutes this claim, but its error is the whole of alpha: twice what may be spent."""
    total, trials, true_positives = 1.0, 400, 300
    strict, lax = (
        {f: baseline(true_positives, f, trials, alpha).lower for f in range(trials)}
        for alpha in (ALPHA / 2 / tests, ALPHA / tests)
    )
    false_positives = next(f for f in range(trials) if strict[f] <= total < lax[f])
    counts = Counts(trials, (true_positives, trials - false_positives), 2)
    bound_at = bounds_of(find_estimator("baseline"), counts)
    assert judge_claim(Claim(total, "document"), Family(ALPHA, tests), bound_at).name == "not refuted"
    below = Claim(strict[false_positives] - 1e-6, "document")
    assert judge_claim(below, Family(ALPHA, tests), bound_at).is_violation


def test_a_run_judges_baseline_claims_at_half_of_alpha_too(tmp_path):
    strict, lax = (baseline(100, 0, 100, alpha).lower for alpha in (ALPHA / 2, ALPHA))
    assert strict < lax - 0.1
    plan = {"k": 2, "lambda": 0, "estimator": "baseline"}
    for number, (epsilon, name) in enumerate(
        [((strict + lax) / 2, "not refuted"), (strict - 0.01, "violated")]
    ):
        [finding] = audited(tmp_path / str(number), Promising(), epsilons=[epsilon], plans=[plan])
        assert finding.counts.right == (100, 100)
        assert finding.verdict.name == name
        assert finding.bound.lower == lax > epsilon  # what is printed beside it has the error alpha


def test_a_run_shares_the_error_among_baseline_claims(tmp_path):
    shared, alone = (baseline(100, 0, 100, alpha).lower for alpha in (ALPHA / 2 / 4, ALPHA / 2))
    plan = {"k": 2, "lambda": 0, "estimator": "baseline"}
    between, below = (shared + alone) / 2, shared - 0.01
    result = audited(tmp_path, Promising(), epsilons=[between, below, 50, 60], plans=[plan])
    assert {f.epsilon: f.verdict.is_violation for f in result} == {
        between: False, below: True, 50: False, 60: False,
    }  # fmt: skip


# --- all claims together


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "Nothing was claimed, so no claim was tested."),
        ([NO_CLAIM, NO_CLAIM], "Nothing was claimed, so no claim was tested."),
        ([NO_CLAIM, NOT_REFUTED], "No privacy claim was refuted by these attacks."),
        ([NO_CLAIM, NOT_REFUTED, VIOLATED], "At least one privacy claim is violated."),
    ],
)
def test_one_sentence_says_what_was_decided_on_all_claims(verdicts, sentence):
    assert headline(iter(verdicts)) == sentence
    assert any_violation(verdicts) == ("is violated" in sentence)


def test_a_gate_asks_for_a_verdict_by_its_name():
    assert {name for name in NAMES if any_named([NOT_REFUTED, VIOLATED], name)} == {"not refuted", "violated"}
    assert not any_named([], "violated")
    assert str(VIOLATED) == VIOLATED.name == "violated"


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
    assert set(found) == {"results/verdict.py"}
    assert scripts
    assert {p.name: found for p, text in scripts.items() if (found := decisions_in_script(text))} == {}


@pytest.mark.parametrize(
    "code",
    [
        'finding.verdict == "violated"', '"not refuted" != name', 'name in ("violated", "broken")',
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
