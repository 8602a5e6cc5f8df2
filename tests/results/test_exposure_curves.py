"""Several rewrites of one secret: bound, loss and curve against exact composition of randomised response."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tedaudit
from tedaudit.api import load_run, run
from tedaudit.errors import SpecError, TedauditError
from tedaudit.results.examples import choose_example, take_sample
from tedaudit.results.exposure import read_exposures
from tedaudit.results.losses import read_losses

WORDS = tuple(f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmn")  # 75 texts of one word
MECHANISM = {"name": "word-rr", "slots": 1, "vocabulary": WORDS}
AUTHORS = [("ann", "bob", "cy")[i % 3] if i < 60 else "bob" for i in range(len(WORDS))]  # uneven
EPSILON, TRIALS = 3.0, 3000


def compose(n: int, epsilon: float = EPSILON) -> dict[int, float]:
    """Return how probable each sum of losses, in units of epsilon, is for the secret, by convolution."""
    other = 1 / (math.exp(epsilon) + len(WORDS))
    step = {1: math.exp(epsilon) * other, -1: other, 0: (len(WORDS) - 1) * other}
    total = {0: 1.0}
    for _ in range(n):
        new: dict[int, float] = {}
        for loss, mass in total.items():
            for change, probability in step.items():
                new[loss + change] = new.get(loss + change, 0.0) + mass * probability
        total = new
    return total


def exact_success(n: int) -> float:
    return sum(mass * (1.0 if loss > 0 else 0.5 if loss == 0 else 0.0) for loss, mass in compose(n).items())


def exact_delta(n: int, at: float) -> float:
    return sum(mass * max(0.0, 1 - math.exp(at - EPSILON * loss)) for loss, mass in compose(n).items())


def exact_epsilon(n: int, delta: float) -> float:
    low, high = 0.0, EPSILON * n
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_delta(n, middle) > delta else (low, middle)
    return high


def make_audit(**settings: object) -> tedaudit.Result:
    return tedaudit.audit(
        MECHANISM, list(WORDS), epsilon=EPSILON, trials=TRIALS, attack=["likelihood", "lexical"], seed=4,
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.fixture(scope="module", params=["author", "releases"])
def result(request: pytest.FixtureRequest) -> tedaudit.Result:
    if request.param == "author":
        return make_audit(author=AUTHORS, texts=16)
    return make_audit(releases=16, lambda_=0)


def test_success_of_the_likelihood_is_that_of_exact_composition_for_every_n(result: tedaudit.Result) -> None:
    points = [f for f in result if f.attack == "likelihood"]
    assert [f.rewrites for f in points] == [1, 2, 4, 8, 16]
    for finding in points:
        exact = exact_success(finding.rewrites)
        spread = math.sqrt(exact * (1 - exact) / TRIALS)
        assert abs(finding.bound.success - exact) < 4 * spread + 1e-9
        assert finding.measures.attainable == pytest.approx(exact, abs=5 * spread + 1e-3)


def test_the_loss_of_n_rewrites_is_the_exact_one_within_its_ends(result: tedaudit.Result) -> None:
    rows = read_losses(result)
    assert [row.finding.rewrites for row in rows] == [1, 2, 4, 8, 16]
    for row in rows:
        for at in row.epsilons:
            assert at.lower - 1e-3 <= exact_epsilon(row.finding.rewrites, at.delta) <= at.upper + 1e-3
        assert row.supremum is not None
        assert row.supremum.largest == pytest.approx(EPSILON * row.finding.rewrites)


def test_the_claim_is_n_times_that_of_a_text_and_the_bound_is_below_it(result: tedaudit.Result) -> None:
    for finding in result:
        assert finding.claim is not None
        assert finding.claim.total == pytest.approx(EPSILON * finding.rewrites)
        assert finding.eps_emp <= finding.claim.total
    assert not result.violated


def test_the_curve_says_from_how_many_rewrites_on_a_secret_is_known(result: tedaudit.Result) -> None:
    [curve] = [curve for curve in read_exposures(result) if curve.attack == "likelihood"]
    known = [n for n in (1, 2, 4, 8, 16) if exact_success(n) > 0.95]
    assert curve.enough
    shown = [n for n in known if exact_success(n) > 0.95 + 4 * math.sqrt(0.95 * 0.05 / TRIALS)]
    assert curve.known_from == min(shown, default=None) or curve.known_from in known
    assert (curve.known_from is None) <= (not shown)
    for first, second in pairwise(curve.points):
        assert second.finding.bound.correct > first.finding.bound.correct
    assert "Several rewrites" in str(result)


def test_scores_of_a_trial_are_the_sums_of_its_rewrites(result: tedaudit.Result) -> None:
    last = next(f for f in result if f.attack == "likelihood" and f.rewrites == 16)
    rows = result.run.guesses(last.series, last.label, last.epsilon, last.attack).read(["scores"])["scores"]
    added = result.guesses(last).read(["scores"])["scores"]
    assert np.allclose(np.asarray(rows, dtype=np.float64).reshape(-1, 16, 2).sum(axis=1), added, atol=2e-3)


def test_an_author_with_too_few_texts_is_no_candidate() -> None:
    with pytest.raises(SpecError, match="only 1 authors"):
        tedaudit.audit(_say_nothing, list("abcdef"), author=list("AAAAAB"), texts=5, epsilon=0)


def test_a_limit_for_a_text_is_n_times_that_for_n_rewrites(result: tedaudit.Result) -> None:
    """As the claim is: otherwise any rewriter would fail a gate once enough of its rewrites are seen."""
    last = max(result, key=lambda finding: finding.rewrites)
    limit = last.eps_emp / 2
    assert last.rewrites > 2
    by_row = dict(zip([(f.rewrites, f.attack) for f in result], result.judge_limit(limit), strict=True))
    assert not by_row[last.rewrites, last.attack].is_violation
    for finding in result:
        verdict = by_row[finding.rewrites, finding.attack]
        assert verdict.is_violation == (finding.eps_emp > limit * finding.rewrites)


def test_more_trials_extend_a_run_and_leave_its_first_trials_as_they_were(tmp_path: Path) -> None:
    settings = {
        "mechanisms": [MECHANISM], "epsilons": [2.0], "attacks": ["lexical"],
        "corpus": {"name": "demo"}, "plans": [{"author": "topic", "texts": 4}],
    }  # fmt: skip
    first = run({**settings, "trials": 40, "out": str(tmp_path / "a")}, page=False)
    few = {f.plan: first.guesses(f).choices().choice for f in first}
    more = run({**settings, "trials": 100, "out": str(tmp_path / "a")}, page=False)
    whole = run({**settings, "trials": 100, "out": str(tmp_path / "b")}, page=False)
    for finding, other in zip(more, whole, strict=True):
        choice = more.guesses(finding).choices().choice
        assert np.array_equal(choice[:40], few[finding.plan])
        assert np.array_equal(choice, whole.guesses(other).choices().choice)
        assert finding.bound.any_time
    assert not any(curve.enough for curve in read_exposures(load_run(tmp_path / "a")))


def test_knowing_other_texts_is_a_bound_without_a_loss_beside_the_originals(tmp_path: Path) -> None:
    texts = [f"{name} wrote {word} {name}" for name in ("ann", "bob", "cy", "di") for word in WORDS[:20]]
    authors = [text.split()[0] for text in texts]
    found = tedaudit.audit(
        {"name": "word-rr", "slots": 4, "vocabulary": (*WORDS, "ann", "bob", "cy", "di", "wrote")}, texts,
        epsilon=8.0, attack=["likelihood", "lexical"], author=authors, knows="other", trials=300,
        out=str(tmp_path / "run"),
    )  # fmt: skip
    assert {f.label for f in found} == {"word-rr"}
    assert {f.label for f in found.originals} == {"originals"}
    assert read_losses(found) == ()
    assert all(f.measures.attainable is None for f in found)
    last = [f for f in found if f.rewrites == 8]
    assert all(f.bound.success > 0.9 for f in last)
    assert "not rewritten" in (tmp_path / "run" / "report.md").read_text()


def test_a_table_of_rewrites_allows_trials_that_share_no_author(tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    lines = [f"{name} said {word},{name} said {word},{name}" for name in "pqrstuvwxyz" for word in WORDS[:4]]
    table.write_text("\n".join(["original,rewrite,who", *lines]))
    settings = {"name": "recorded", "path": str(table)}
    found = tedaudit.audit(settings, author="who", trials=5, attack="lexical", texts=4)
    assert [f.bound.correct for f in found] == [5, 5, 5]
    with pytest.raises(TedauditError, match="at most 5"):
        tedaudit.audit(settings, author="who", trials=6, attack="lexical", texts=4)


def test_a_table_with_several_rewrites_of_a_text_is_read_as_several_releases(tmp_path: Path) -> None:
    """Each rewrite shows another word of its text, so that all four together show it whole."""
    texts = [
        "red green blue grey",
        "oak elm ash yew",
        "one two six ten",
        "ham jam tea pie",
        "far near up down",
    ]
    lines = [f"{text},{word}" for text in texts for word in text.split()]
    table = tmp_path / "pairs.csv"
    table.write_text("\n".join(["original,rewrite", *lines]))
    settings = {"name": "recorded", "path": str(table)}
    found = tedaudit.audit(settings, releases=4, trials=2, attack="lexical", out=str(tmp_path / "run"))
    last = found.findings[-1]
    assert [f.rewrites for f in found] == [1, 2, 4]
    assert [f.bound.correct for f in found] == [2, 2, 2]
    plan = found.run.read_plan(last.series)
    released = found.rewrites(last).fetch(plan.source, plan.replicate, ()).texts
    corpus = found.run.corpus().texts
    assert [" ".join(released[i : i + 4]) for i in (0, 4)] == [corpus[plan.source[i]] for i in (0, 4)]
    with pytest.raises(TedauditError, match="5 rewrites of 0 texts"):
        tedaudit.audit(settings, releases=5, trials=2, attack="lexical")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"author": "topic", "lambda": 0}, "leave out lambda"),
        ({"author": "topic", "releases": 2}, "leave out releases"),
        ({"texts": 4}, "name the column of authors"),
        ({"author": "topic", "k": "all"}, "should be 64 or less"),
        ({"author": "topic", "estimator": "baseline"}, "reads one rewrite"),
    ],
)
def test_settings_that_cannot_be_combined_are_refused_with_the_way_out(
    plan: dict[str, object], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        run({"mechanisms": ["identity"], "plans": [plan]})


@pytest.mark.parametrize("claim", [0.0, 2.0])
def test_what_keeps_its_claim_is_accused_no_more_often_than_the_error_allows(claim: float) -> None:
    """Uneven authors who recur, texts that depend on each other; error .2 for all rows of a run together."""
    rounds, alarms = 60, 0
    for seed in range(rounds):
        kind = {"name": "word-rr", "slots": 1, "vocabulary": WORDS} if claim else _say_nothing
        attack = "likelihood" if claim else "lexical"
        found = tedaudit.audit(
            kind,
            list(WORDS),
            epsilon=claim,
            attack=attack,
            author=AUTHORS,
            texts=4,
            trials=60,
            alpha=0.4,
            seed=seed,
        )
        alarms += found.violated
    assert alarms <= rounds * 0.2 + 3 * math.sqrt(rounds * 0.16)


def _say_nothing(_: str) -> str:
    return "nothing"


def test_what_several_rewrites_show_is_not_told_of_one_and_no_other_text_is_shown_as_a_source(
    tmp_path: Path,
) -> None:
    texts = [f"{name} wrote {word}" for name in ("ann", "bob", "cy", "di") for word in WORDS[:20]]
    found = tedaudit.audit(
        lambda text: text.split()[0], texts, author=[text.split()[0] for text in texts], knows="other",
        trials=300, attack="lexical", texts=4, out=str(tmp_path / "run"),
    )  # fmt: skip
    report = (tmp_path / "run" / "report.md").read_text()
    best = found.largest
    assert best is not None
    assert ("rewrites together" in report) == (best.rewrites > 1)
    assert "candidate authors" in (tmp_path / "run" / "report.html").read_text()
    assert choose_example(found) is None
    assert take_sample(found).texts == []


def test_the_example_of_a_run_about_authors_is_of_one_rewrite(result: tedaudit.Result) -> None:
    example = choose_example(result)
    assert example is not None
    assert sum(candidate["source"] for candidate in example.candidates) == 1
    sample = take_sample(result)
    seen = [bool(table["rows"] if "rows" in table else table["guess"]) for table in sample.tables]
    assert seen == [finding.rewrites == 1 for finding in result]
