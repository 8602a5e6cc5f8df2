"""The first lines of a report count, and are true for every kind of run."""

import re
from dataclasses import replace

import pytest

import tedaudit
from helpers import Failing, SharedWords, sentences
from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.estimators.abstaining import Part
from tedaudit.results.family import Family
from tedaudit.results.lead import describe_choice, tell_lead
from tedaudit.results.redaction import redact_result, rename_plans
from tedaudit.results.summary import find_strongest
from tedaudit.runs.spec.model import parse_spec

TEXTS = sentences(40)


def audited(mechanism="identity", texts=TEXTS, **settings):
    settings = {"trials": 150, "attack": "lexical"} | settings
    return tedaudit.audit(mechanism, texts, **settings)


def lead(result):
    return tell_lead(result, result.run.manifest())


@pytest.fixture(scope="module")
def known():
    """Attacks on the text and one that knows the mechanism."""
    attacks = ["lexical", SharedWords(), "likelihood"]
    return audited({"name": "word-rr", "slots": 8}, "demo", epsilon=[0.01, 50.0], attack=attacks, lambda_=0)


@pytest.fixture(scope="module")
def copied():
    return audited(lambda_=-1e4)


def test_it_counts_right_guesses_beside_those_of_a_coin(copied):
    told = lead(copied)
    assert told.headline == (
        "Shown a rewrite by identity and two possible originals, the lexical attack picked the right one 150 "
        "times in 150; a coin gets 75. The tool chose the pairs to be very different."
    )
    assert told.detail == (
        "Attack: lexical; k = 2, lambda = -10000, reduced form. So the true epsilon for a whole text is at "
        f"least {copied.eps_emp:.2f} at error 0.005 (eps_emp). "
        "More trials could show more: this is the most that so many can."
    )
    assert told.tone == "mostly"


def test_the_largest_bound_is_told_with_the_epsilon_its_unit_and_the_number_of_attacks(known):
    told, best = lead(known), find_strongest(known)
    assert best.eps_emp == known.eps_emp
    assert best.attack == "lexical"  # of equals the one that sees no more than the text
    assert told.headline.startswith("Shown a rewrite by word-rr at epsilon 50 per word and two possible")
    assert "the best of two attacks on the text alone picked the right one" in told.headline
    proven = f"at least {best.eps_emp:.2f} at error 0.005 (eps_emp, the largest of 4 rows that see the text"
    assert proven in told.detail
    assert "6 rows" not in told.detail


def test_an_attack_that_knows_the_mechanism_is_said_to_know_it(known):
    only = replace(known, findings=tuple(f for f in known if f.attack == "likelihood"))
    assert (
        "the likelihood attack, which knows the mechanism and sees what it drew, picked"
        in lead(only).headline
    )
    best = find_strongest(only)
    latent = replace(only, findings=(replace(best, score="latent similarity"),))
    assert "which sees the latent that the mechanism drew, picked" in lead(latent).headline
    tried = replace(best, score="", knows="can call it", sees_draw=False)
    assert "which can call the mechanism, picked" in lead(replace(only, findings=(tried,))).headline


def test_surest_guesses_are_told_if_they_prove_the_number(copied):
    [finding] = copied
    rare = replace(copied, findings=(replace(finding, surest=Part(125, 118)),))
    told = lead(rare)
    assert (
        "the lexical attack was right in 118 of its 125 surest guesses; a coin gets about 63."
        in told.headline
    )
    assert "Of all 150 guesses, 150 were right." in told.detail


@pytest.mark.parametrize(
    ("settings", "among", "blind"),
    [
        ({"k": 4}, "and four possible originals", "blind guessing gets about 38"),
        ({"k": 25}, "and 25 possible originals", "blind guessing gets 6"),
        ({"k": "all", "trials": 30}, "and all 40 texts of the corpus", "blind guessing gets less than 1"),
    ],
)
def test_other_numbers_of_candidates_have_no_coin(settings, among, blind):
    told = lead(audited(**settings))
    assert f"identity {among}, the lexical attack" in told.headline
    assert f"; {blind}." in told.headline
    assert told.headline.endswith(".")
    assert "coin" not in told.headline


def test_guesses_are_counted_and_not_trials_if_a_trial_has_two():
    told = lead(audited(estimator="baseline", lambda_=0))
    assert (
        "picked the right one 300 times in 300; a coin gets 150. The tool drew the pairs at r"
        in told.headline
    )


def test_that_nothing_was_found_proves_nothing():
    result = audited("constant")
    told = lead(result)
    assert told.headline.startswith(
        "No attack did provably better than guessing. At best: shown a rewrite by "
    )
    assert told.detail.endswith("This does not show that no attack can do better.")
    assert "at least" not in told.detail
    assert told.tone == "guessing"


def test_at_best_is_the_attack_that_was_right_most_often():
    result = audited("constant", attack=["lexical", SharedWords()], lambda_=0)
    most = max(finding.bound.correct for finding in result)
    assert len({finding.bound.correct for finding in result}) == 2
    assert f"the best of two attacks picked the right one {most} times in 150" in lead(result).headline


def test_nothing_is_concluded_from_rewrites_that_failed_or_from_no_guess(tmp_path):
    failed = lead(audited(Failing(1.0), epsilon=1.0))
    assert failed.headline.startswith("Nothing can be concluded")
    assert failed.tone == "untold"
    spec = {"corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["identity"], "attacks": []}
    empty = lead(run(parse_spec({**spec, "trials": 10, "out": str(tmp_path / "run")})))
    assert empty.headline.startswith("No block of guesses is complete")


def test_an_unfinished_run_says_how_far_it_is_and_one_that_was_not_judged_promises_no_error(copied):
    [finding] = copied
    early = replace(copied, findings=(replace(finding, planned=400),))
    assert "So far 150 of 400 trials are done." in lead(early).detail
    look = replace(copied.family.look, noted=False)
    unjudged = replace(copied, family=Family(copied.alpha, copied.family.rows, look))
    assert f"eps_emp is {copied.eps_emp:.2f}. " in lead(unjudged).detail
    assert "no error is promised" in lead(unjudged).detail
    assert "at error" not in lead(unjudged).detail


def test_a_delta_is_told_with_the_bound(copied):
    [finding] = copied
    result = replace(copied, findings=(replace(finding, bound=replace(finding.bound, delta=1e-5)),))
    assert "the true epsilon for a whole text (delta 1e-05) is at least" in lead(result).detail


def test_recorded_rewrites_are_in_one_pair_each(tmp_path):
    table = tmp_path / "table.csv"
    rows = [f"text {n} of {text},{text}" for n, text in enumerate(TEXTS)]
    table.write_text("original,rewrite\n" + "\n".join(rows))
    result = tedaudit.audit({"name": "recorded", "path": str(table), "label": "a table of mine"},
                            attack="lexical", trials=20, out=str(tmp_path / "run"))  # fmt: skip
    assert "Shown a rewrite by a table of mine and two possible" in lead(result).headline
    assert lead(result).headline.endswith("to be very different, each text in one pair only.")
    shown = redact_result(result, result.run.manifest())
    told = tell_lead(shown, rename_plans(result, shown, result.run.manifest()))
    assert "Shown a rewrite by mechanism 1 and two possible" in told.headline
    assert "table of mine" not in f"{told.headline}{told.detail}"


def test_violated_claims_are_counted_at_once(known):
    assert "violated" not in lead(known).detail
    result = audited(str.upper, epsilon=1.0)
    assert lead(result).detail.endswith(" 1 of 1 privacy claims is violated.")


def test_of_several_plans_the_one_with_the_largest_bound_is_told(tmp_path):
    plans = [{"k": 2, "lambda": 0}, {"k": 8, "lambda": 50}]
    result = run(parse_spec({
        "corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["identity"], "attacks": ["lexical"],
        "trials": 60, "plans": plans, "out": str(tmp_path / "run"),
    }))  # fmt: skip
    assert "and eight possible originals" in lead(result).headline
    assert "drew the candidates at random, similar ones more often." in lead(result).headline
    assert "Attack: lexical; k = 8, lambda = 50, reduced form." in lead(result).detail


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        ({"lambda": 0.0}, "The tool drew the pairs at random."),
        ({"lambda": -10000.0}, "The tool chose the pairs to be very different."),
        ({"lambda": "inf"}, "The tool chose the pairs to be very similar."),
        ({"lambda": -1.0}, "The tool drew the pairs at random, different ones more often."),
        ({"strategy": "nearest", "top": 1},
         "The tool put each text together with the text most similar to it."),
        ({"strategy": "furthest", "top": 10, "k": 3},
         "The tool put each text together with one of the 10 texts most different from those before."),
        ({"strategy": "given"}, "The settings of the run name the pairs."),
        ({"strategy": None, "k": 40}, ""),
    ],
)  # fmt: skip
def test_how_candidates_were_chosen_is_said_as_it_was(drawn, told):
    plan = {"k": 2, "strategy": "transition", "lambda": None, "top": None, "mechanism": None} | drawn
    assert describe_choice(plan) == told


@pytest.mark.parametrize("mechanism", ["constant", "identity"])
def test_no_first_line_calls_anything_safe(mechanism):
    told = lead(audited(mechanism))
    assert not re.search(r"\b(safe|secure|protected)\b", told.headline + told.detail)
