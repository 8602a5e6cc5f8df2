import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import tedaudit
from tedaudit import Card, Claim, ContractError, Rewrite, SpecError, TextLikelihoods
from tedaudit.attacks.text_likelihood import TextLikelihood
from tedaudit.estimators.likelihood_check import bound_losses
from tedaudit.mechanisms.identity import Identity
from tedaudit.plugins.protocols import knows_texts
from tedaudit.plugins.values import Observation
from tedaudit.results.losses import find_contradictions
from tedaudit.seeding import uniforms
from tedaudit.testing import check_attack, check_mechanism

ITEMS = ("", "a", "b", "ab", "ba")
TEXTS = ("a b", "b a", "a a", "b b", "ab a", "ba b", "ab ba", "ba ab", "a ba", "b ab")


@dataclass(frozen=True)
class Syllables:
    """Two slots of randomised response, written together: "ab" is drawn as (a, b), (ab, ) or (, ab)."""

    grade: str = "exact"
    card: ClassVar[Card] = Card(name="syllables", summary="Randomised response on two syllables.")
    forbids_by_rule: ClassVar[bool] = True

    def claim(self, epsilon):
        return Claim(epsilon, "token", max_units=2)

    def rewrite(self, draws):
        return [self._rewrite(draw) for draw in draws]

    def _rewrite(self, draw):
        coins = uniforms([draw.key], 4)[0]
        keep = math.exp(draw.epsilon) / (math.exp(draw.epsilon) + len(ITEMS) - 1)
        items = []
        for slot, item in enumerate(self._cut(draw.text)):
            others = [other for other in range(len(ITEMS)) if other != item]
            items.append(item if coins[2 * slot] < keep else others[int(coins[2 * slot + 1] * len(others))])
        return Rewrite("".join(ITEMS[item] for item in items), tokens=tuple(items), units=2)

    def log_likelihood(self, tokens, candidates, epsilon):
        rest = -math.log(math.exp(epsilon) + len(ITEMS) - 1)
        return np.array(
            [sum(rest + epsilon * (a == b) for a, b in zip(tokens, self._cut(text), strict=True))
             for text in candidates]
        )  # fmt: skip

    def text_log_likelihood(self, texts, candidates, epsilon):
        values = [self._add_up(text, given, epsilon) for text, given in zip(texts, candidates, strict=True)]
        if self.grade == "lossy":
            return TextLikelihoods.exact([row - 0.5 for row in values])
        if self.grade == "generous":
            return TextLikelihoods.exact([row + 0.5 for row in values])
        if self.grade == "overstated":
            return TextLikelihoods.exact([row * 3 + 20 for row in values])
        if self.grade == "between":
            return TextLikelihoods.between([row - 0.03 for row in values], [row + 0.01 for row in values])
        return getattr(TextLikelihoods, self.grade)(values)

    def _add_up(self, text, candidates, epsilon):
        draws = [
            draw
            for draw in itertools.product(range(len(ITEMS)), repeat=2)
            if "".join(ITEMS[i] for i in draw) == text
        ]
        return np.logaddexp.reduce([self.log_likelihood(draw, candidates, epsilon) for draw in draws])

    def _cut(self, text):
        words = [*text.split()[:2], "", ""][:2]
        return [ITEMS.index(word) if word in ITEMS else 0 for word in words]


def audit(mechanism, epsilon=1.5, trials=3000, **settings):
    attacks = settings.pop("attack", ["likelihood", "text-likelihood", "lexical"])
    return tedaudit.audit(mechanism, TEXTS, epsilon=epsilon, attack=attacks, trials=trials, **settings)


def right(result):
    return {finding.attack: finding.bound.correct for finding in result}


def list_pairs(result):
    """Return the pairs of texts of all trials, and how often each occurs."""
    plan = result.run.read_plan(result.findings[0].plan)
    pairs, counts = np.unique(plan.candidates, axis=0, return_counts=True)
    return [tuple(TEXTS[i] for i in pair) for pair in pairs.tolist()], counts / counts.sum()


def add_masses(pair, epsilon, *, by_text):
    """Return the probabilities of every text, or of every draw, for both texts of a pair."""
    mechanism, mass = Syllables(), {}
    for draw in itertools.product(range(len(ITEMS)), repeat=2):
        seen = "".join(ITEMS[i] for i in draw) if by_text else draw
        mass[seen] = mass.get(seen, 0.0) + np.exp(mechanism.log_likelihood(draw, pair, epsilon))
    return np.array(list(mass.values()))


def exact_success(result, *, by_text):
    """Return how often the best adversary is right on the pairs of a run, by enumeration."""
    pairs, weights = list_pairs(result)
    best = [add_masses(pair, 1.5, by_text=by_text).max(axis=1).sum() / 2 for pair in pairs]
    return float(weights @ best)


def test_the_contract_is_kept():
    assert check_attack(TextLikelihood(), mechanism=Syllables()).unusable == 0


@pytest.mark.parametrize("grade", ["exact", "between", "scores"])
def test_a_mechanism_with_right_probabilities_of_texts_keeps_the_contract(grade):
    check_mechanism(Syllables(grade), TEXTS)


@pytest.mark.parametrize(("grade", "reason"), [("lossy", "written as it"), ("generous", "made again")])
def test_a_mechanism_with_wrong_probabilities_of_texts_is_refused(grade, reason):
    with pytest.raises(ContractError, match=reason):
        check_mechanism(Syllables(grade), TEXTS)


def test_a_mechanism_without_the_ability_is_refused():
    with pytest.raises(SpecError, match="text_log_likelihood"):
        audit(Identity(), attack="text-likelihood")


def test_its_success_is_that_of_the_best_reader_of_texts():
    result = audit(Syllables(), trials=6000)
    best, best_of_draws = (exact_success(result, by_text=by_text) for by_text in (True, False))
    assert best < best_of_draws - 0.02  # different draws are written as one text
    rates = {attack: count / 6000 for attack, count in right(result).items()}
    assert rates["text-likelihood"] == pytest.approx(best, abs=3.3 * math.sqrt(0.25 / 6000))
    assert rates["likelihood"] == pytest.approx(best_of_draws, abs=3.3 * math.sqrt(0.25 / 6000))


def test_it_is_shown_the_text_alone():
    seen = [Observation(Rewrite("ab", tokens=(3, 0)), ("a b", "ab a"), 0)]
    assert tuple(TextLikelihood.card.sees) == ("text",)
    attack = TextLikelihood()
    attack.meet(Syllables(), 1.5)
    bare = [replace(seen[0], output=Rewrite("ab"))]
    np.testing.assert_array_equal(attack.guess(seen)[0].scores, attack.guess(bare)[0].scores)


def test_the_loss_of_the_text_stands_below_that_of_the_draw():
    [row] = tedaudit.read_losses(audit(Syllables(), trials=6000))
    assert row.text is not None
    assert row.text.exact
    assert row.text.resolved == 1.0
    assert not row.text.refuted
    assert row.text.high.mean < row.sample.mean
    for of_text, of_draw in zip(row.text.epsilon_at, row.epsilons, strict=True):
        assert of_text.lower <= of_text.point <= of_text.upper
        assert of_text.upper <= of_draw.upper + 0.2  # half of the error each
    told = row.to_dict()["text"]
    assert told["exact"] is True
    assert told["attack"] == "text-likelihood"


def test_delta_of_texts_is_the_exact_one():
    result = audit(Syllables(), trials=20_000)
    [row] = tedaudit.read_losses(result)
    pairs, weights = list_pairs(result)
    masses = [add_masses(pair, 1.5, by_text=True) for pair in pairs]
    excess = [np.maximum(0, mass - math.exp(0.5) * mass[:, ::-1]).sum() / 2 for mass in masses]
    exact = float(weights @ excess)
    assert row.text.high.delta_lower(0.5) <= exact <= row.text.high.delta_upper(0.5)
    assert row.text.high.delta(0.5) == pytest.approx(exact, abs=0.02)
    assert find_contradictions(result, [row]) == ()


def test_ends_count_as_the_worse_one():
    rows = {grade: tedaudit.read_losses(audit(Syllables(grade)))[0].text for grade in ("exact", "between")}
    assert not rows["between"].exact
    assert rows["between"].width == pytest.approx(0.08)
    assert rows["between"].resolved == 1.0
    np.testing.assert_allclose(rows["between"].high.losses, rows["exact"].high.losses + 0.04)
    np.testing.assert_allclose(rows["between"].low.losses, rows["exact"].high.losses - 0.04)


def test_a_score_has_no_loss():
    [row] = tedaudit.read_losses(audit(Syllables("scores")))
    assert row.text is None
    assert row.to_dict()["text"] is None


def test_a_likelihood_that_misses_draws_is_found_out():
    result = audit(Syllables("lossy"))
    [row] = tedaudit.read_losses(result)
    assert row.text.outside > 0
    assert "less probable than a draw" in row.text.refuted
    assert row.believed_text is None


def test_a_likelihood_that_overstates_losses_is_refuted_on_fresh_trials():
    result = audit(Syllables("overstated"), epsilon=0.5)
    [row] = tedaudit.read_losses(result)
    assert "overstated" in row.text.refuted
    assert not row.refuted  # what was drawn has other likelihoods
    assert result.findings[0].measures.attainable is not None


def test_ends_of_a_text_that_neither_can_have_are_unknown():
    none = -math.inf
    low, high = bound_losses(np.array([[none, none, none, none], [0.0, none, 0.0, none], [-2, -3, -1, -2.5]]))
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1:].tolist(), high[1:].tolist()) == ([math.inf, 0.5], [math.inf, 2.0])


def test_more_candidates_have_scores_and_no_loss():
    result = audit(Syllables(), k=4, trials=500)
    assert tedaudit.read_losses(result) == ()
    assert right(result)["text-likelihood"] > 500 / 4


def test_ends_that_are_the_wrong_way_round_are_refused():
    with pytest.raises(ValueError, match="lower end"):
        TextLikelihoods.between([np.array([0.0, 1.0])], [np.array([0.0, 0.5])])


class Shouting(Syllables):
    """Releases other texts than those whose probabilities it inherits."""

    def rewrite(self, draws):
        return [replace(rewrite, text=rewrite.text.upper()) for rewrite in super().rewrite(draws)]


class Known(Shouting):
    """Has probabilities of its own texts again."""

    def text_log_likelihood(self, texts, candidates, epsilon):
        return super().text_log_likelihood([text.lower() for text in texts], candidates, epsilon)


def test_a_class_that_changes_what_is_released_does_not_inherit_what_is_known_of_its_texts():
    assert knows_texts(Syllables())
    assert not knows_texts(Shouting())
    assert knows_texts(Known())
