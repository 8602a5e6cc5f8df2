"""Audits whose answer is known before they are run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import binom

import tedaudit
from helpers import NEVER, make_spec, sentences, within
from tedaudit.api import run
from tedaudit.estimators import baseline, reduced_form, success_from_epsilon
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Guess, Observation
from tedaudit.runs.directory import RunDirectory
from tedaudit.seeding import uniforms

TRIALS = 10_000
LETTERS = "abcdefghijklmnopqrstuvwxyzàèìòùáéíóúâêîôûäëïöüãõñçøåæšžčřďťň"


def _words(number):
    """Return words that share no letter with each other, and so no feature of the lexical attack."""
    assert number <= len(LETTERS)
    return [letter * 3 for letter in LETTERS[:number]]


def _randomised_response(items, k, attack="lexical", estimator="reduced"):
    """Audit one slot over `items` items, the empty one included; the last text is in no vocabulary."""
    *vocabulary, outsider = _words(items)
    [finding] = tedaudit.audit(
        WordRR(slots=1, vocabulary=tuple(vocabulary)), [*vocabulary, outsider], epsilon=2.0, attack=attack,
        trials=TRIALS, k=k, lambda_=0, estimator=estimator,
    )  # fmt: skip
    return finding


@cache
def _success(items, k, *, knows_the_mechanism):
    """Return the success rate on randomised response, by summing over secrets and outputs.

    With k candidates out of `items` texts, the output is the source's item with probability q and
    any other one with probability r. An attack that matches words names the candidate whose word
    it sees, and guesses blindly where it sees none of them; the empty output says nothing to it,
    but tells one that knows the mechanism that the text outside the vocabulary was the source.
    """
    r = 1 / (math.exp(2.0) + items - 1)
    q = math.exp(2.0) * r
    told = q + (items - k) * r / k  # the outsider is no candidate, or its empty output is understood
    if knows_the_mechanism:
        return told
    has_outsider = k / items
    # Where the outsider is a candidate, k - 1 outputs name a candidate; the empty one and the
    # items - k others name nobody, and a blind guess is right once in k.
    blind = (1 / k) * q + (k - 1) / k * r + (items - k) * r
    with_outsider = (k - 1) / k * q + blind / k
    return (1 - has_outsider) * told + has_outsider * with_outsider


@dataclass(frozen=True)
class Likelihood:
    """Names the candidate under which the drawn items are likeliest: nothing can do better."""

    words: tuple[str, ...]
    card: ClassVar[Card] = Card(name="likelihood-test", summary="Exact likelihood.", sees=("tokens",))

    def guess(self, seen: Sequence[Observation]) -> list[Guess]:
        mechanism = WordRR(slots=1, vocabulary=self.words)
        return [Guess(mechanism.log_likelihood(o.output.tokens, o.candidates, 2.0)) for o in seen]


# --- the two ends


@pytest.mark.parametrize(("k", "ceiling"), [(2, 7.54), (4, 8.64), (8, 9.49), (16, 10.25)])
def test_releasing_the_text_reaches_the_ceiling(tmp_path, k, ceiling):
    trials = TRIALS if k == 2 else 2000
    plans = [{"k": k, "lambda": 0}]
    [finding] = run(make_spec(tmp_path, mechanisms=["identity"], plans=plans, trials=trials, block=0))
    assert round(reduced_form(TRIALS, TRIALS, k).ceiling, 2) == ceiling
    assert finding.bound.correct == trials
    assert finding.bound.lower == finding.bound.ceiling
    if trials == TRIALS:
        assert round(finding.teda.lower, 2) == ceiling
    assert finding.verdict.name == "no claim"


def test_against_the_whole_corpus_the_ceiling_rises_by_the_logarithm_of_its_size(tmp_path):
    [finding] = run(make_spec(tmp_path, mechanisms=["identity"], plans=[{"k": "all"}], trials=1000))
    assert finding.bound.candidates == 40
    assert finding.bound.lower == finding.bound.ceiling
    assert math.isclose(finding.teda.lower, reduced_form(1000, 1000, 2).lower + math.log(39))


@pytest.mark.parametrize("k", [2, 8, "all"])
def test_releasing_a_constant_gives_zero_and_does_not_refute_a_claim_of_zero(tmp_path, k):
    plans = [{"k": k, "lambda": -1e4}]
    result = run(make_spec(tmp_path, mechanisms=["constant"], plans=plans, trials=3000, block=0))
    [finding] = result
    assert finding.bound.lower == 0
    assert finding.verdict.name == "no violation found"
    assert finding.claim.total == 0
    assert not result.violated
    assert within(finding.bound.correct, 3000, 1 / finding.bound.candidates)


# --- randomised response: the claim is exact


@pytest.mark.parametrize("items", [8, 32])
def test_the_best_attack_on_randomised_response_finds_nearly_all_of_its_epsilon_and_never_more(items):
    attack = Likelihood(tuple(_words(items)[:-1]))
    finding = _randomised_response(items, "all", attack)
    assert finding.bound.candidates == items
    assert within(finding.bound.correct, TRIALS, _success(items, items, knows_the_mechanism=True))
    assert finding.bound.lower >= 0.9 * 2
    assert finding.claim.total == 2
    assert finding.verdict.name == "no violation found"


@pytest.mark.parametrize("items", [16, 32, 60])
def test_the_lexical_attack_on_the_whole_corpus_finds_nine_tenths_of_epsilon(items):
    finding = _randomised_response(items, "all")
    assert within(finding.bound.correct, TRIALS, _success(items, items, knows_the_mechanism=False))
    assert finding.bound.lower >= 0.9 * 2
    assert finding.verdict.name == "no violation found"


def test_in_a_small_vocabulary_the_lexical_attack_loses_what_empty_outputs_would_tell_it():
    finding = _randomised_response(8, "all")
    success = _success(8, 8, knows_the_mechanism=False)
    assert within(finding.bound.correct, TRIALS, success)
    assert success < _success(8, 8, knows_the_mechanism=True) - 0.04
    assert 1.6 < finding.bound.lower < 2
    assert finding.verdict.name == "no violation found"


@pytest.mark.parametrize("items", [8, 32])
@pytest.mark.parametrize("k", [2, 3])
def test_few_candidates_give_the_success_that_the_formula_says(items, k):
    finding = _randomised_response(items, k)
    assert within(finding.bound.correct, TRIALS, _success(items, k, knows_the_mechanism=False))
    assert finding.bound.lower < 2
    assert finding.verdict.name == "no violation found"


def test_the_formula_is_the_largest_success_that_epsilon_allows_where_everybody_stands_in_line():
    for items in (8, 32):
        assert math.isclose(
            _success(items, items, knows_the_mechanism=True), success_from_epsilon(2.0, items)
        )


def test_the_reduced_form_and_the_baseline_nearly_coincide_on_the_same_plan():
    """Both counts lie where the same success rate puts them, and there both bounds are close together."""
    success = _success(8, 2, knows_the_mechanism=False)
    reduced = _randomised_response(8, 2)
    base = _randomised_response(8, 2, estimator="baseline")
    assert within(reduced.bound.correct, TRIALS, success)
    true_positives, true_negatives = base.counts.right
    assert within(true_positives, TRIALS, success)
    assert within(TRIALS - true_negatives, TRIALS, 1 - success)
    low, high = (int(binom.ppf(p, TRIALS, success)) for p in (NEVER / 2, 1 - NEVER / 2))
    assert reduced_form(low, TRIALS).lower <= reduced.teda.lower <= reduced_form(high, TRIALS).lower
    least, most = baseline(low, TRIALS - low, TRIALS), baseline(high, TRIALS - high, TRIALS)
    assert least.lower <= base.teda.lower <= most.lower
    middle = round(TRIALS * success)
    assert abs(baseline(middle, TRIALS - middle, TRIALS).lower - reduced_form(middle, TRIALS).lower) < 0.03
    assert abs(base.teda.lower - reduced.teda.lower) < 0.1


# --- planted flaws


def _keeps(text, epsilon):
    return text


def _leaks_the_first_word(text, epsilon):
    return text.split()[0] + " and so on"


@pytest.mark.parametrize("flawed", [_keeps, _leaks_the_first_word])
def test_a_function_that_claims_epsilon_1_but_keeps_the_text_or_a_word_is_found_out(flawed):
    texts = [f"{word} {sentence}" for word, sentence in zip(_words(40), sentences(40), strict=True)]
    result = tedaudit.audit(flawed, texts, epsilon=1.0, trials=500, attack="lexical")
    [finding] = result
    assert finding.verdict.name == "violated"
    assert result.violated
    assert finding.bound.lower > 3


def test_an_honest_function_with_the_same_claim_is_not():
    def honest(text, epsilon, seed):
        words = _words(8)
        keep = uniforms([seed], 2)[0]
        noise = 8 / (math.exp(epsilon) + 7)
        return words[int(keep[1] * 8)] if keep[0] < noise else text

    result = tedaudit.audit(honest, _words(8), epsilon=1.0, trials=2000, k="all", attack="lexical")
    assert [finding.verdict.name for finding in result] == ["no violation found"]


# --- a table of rewrites


def _table(tmp_path, rows):
    path = tmp_path / "table.csv"
    path.write_text("original,rewrite\n" + "".join(f"{a},{b}\n" for a, b in rows))
    return {"name": "recorded", "path": str(path)}


def test_a_table_of_kept_texts_reaches_the_ceiling_of_as_many_trials_as_it_allows(tmp_path):
    texts = sentences(300)
    mechanism = _table(tmp_path, [(text, text) for text in texts])
    [finding] = run(
        make_spec(tmp_path / "run", corpus=None, mechanisms=[mechanism], epsilons=[1], trials=150)
    )
    assert finding.teda == reduced_form(150, 150)
    assert finding.verdict.name == "violated"
    store = RunDirectory(tmp_path / "run")
    [(name, about)] = store.manifest()["plans"].items()
    plan = store.plan(name, about["key"])
    assert sorted(plan.candidates.ravel().tolist()) == list(range(300))
    assert len(set(plan.source.tolist())) == 150


def test_a_table_of_constant_rewrites_tells_nothing(tmp_path):
    texts = sentences(300)
    mechanism = _table(tmp_path, [(text, "nothing to see") for text in texts])
    spec = make_spec(tmp_path / "run", corpus=None, mechanisms=[mechanism], epsilons=[], trials=150)
    [finding] = run(spec)
    assert within(finding.bound.correct, 150, 1 / 2)
    assert finding.bound.lower == 0


# --- failures and unusable answers


@dataclass
class HalfBlind:
    """Right wherever it answers, and has no usable answer for half of the outputs."""

    answered: int = field(default=0, init=False)
    card: ClassVar[Card] = Card(name="half-blind", summary="Answers every other time.")

    def guess(self, seen):
        found = []
        for o in seen:
            usable = uniforms([o.tie_key], 1, start=5)[0, 0] < 0.5
            self.answered += usable
            scores = [float(text == o.output.text) for text in o.candidates] if usable else [math.nan] * 2
            found.append(Guess(np.array(scores), usable=bool(usable)))
        return found


def _fails_on_odd_seeds(text, seed):
    if seed % 2:
        raise ValueError(text)
    return text


@pytest.mark.parametrize("estimator", ["reduced", "baseline"])
def test_a_failed_rewrite_and_an_unusable_guess_count_against_the_bound(estimator):
    trials = 2000
    attack = HalfBlind()
    [finding] = tedaudit.audit(
        _fails_on_odd_seeds, sentences(40), trials=trials, attack=[attack], lambda_=0, estimator=estimator
    )
    rows = trials * (2 if estimator == "baseline" else 1)
    counts = finding.counts
    assert within(counts.failed, rows, 1 / 2)
    assert within(counts.unusable, rows - counts.failed, 1 / 2)
    assert attack.answered == rows - counts.failed - counts.unusable
    assert counts.correct == attack.answered  # right wherever it could answer, wrong elsewhere
    assert finding.bound.guesses == rows
    if estimator == "reduced":
        assert finding.teda == reduced_form(counts.correct, trials)
    else:
        true_positives, true_negatives = counts.right
        assert finding.teda == baseline(true_positives, trials - true_negatives, trials)
    assert finding.teda.lower == 0  # of all guesses; the surest ones were all right


# --- an attack that ignores the output


@dataclass(frozen=True)
class LeastUsed:
    """Names the candidate that is least often a distractor, without a look at the output."""

    used: dict[str, int]
    card: ClassVar[Card] = Card(name="least-used", summary="Avoids common distractors.", sees=())

    def guess(self, seen):
        return [Guess(np.array([-float(self.used.get(text, 0)) for text in o.candidates])) for o in seen]


@pytest.mark.parametrize("k", [2, 4])
def test_knowing_who_serves_as_distractor_does_not_help_in_a_real_audit(tmp_path, k):
    texts = sentences(200)
    settings = {"corpus": texts, "k": k, "lambda_": -1e4, "trials": 3000, "out": str(tmp_path)}
    tedaudit.audit("identity", attack="lexical", **settings)
    store = RunDirectory(tmp_path)
    [(name, about)] = store.manifest()["plans"].items()
    plan = store.plan(name, about["key"])
    counts = np.bincount(plan.candidates[:, 1:].ravel(), minlength=200)
    assert counts.max() > 20 * np.median(counts)  # there is something to know
    attack = LeastUsed(dict(zip(texts, counts.tolist(), strict=True)))
    found = {f.attack: f.bound for f in tedaudit.audit("identity", attack=["lexical", attack], **settings)}
    assert found["lexical"].correct == 3000
    assert within(found["least-used"].correct, 3000, 1 / k)
