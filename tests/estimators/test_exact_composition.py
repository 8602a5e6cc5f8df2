"""Laws of added losses against enumeration of all outputs, and what attacks and losses read of them."""

import importlib.util
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from exact_composition import LossLaw, author_law, average, compose, slot_law, text_law
from tedaudit.mechanisms.word_rr import WordRR

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "persons_exact.py"
TINY = WordRR(slots=2, vocabulary=("yes", "no"))
OUTPUTS = list(itertools.product(range(3), repeat=2))
NORA = ["yes no", "no no", "maybe"]
OMAR = ["yes yes", "yes yes", "no"]


def enumerate_outputs(texts, epsilon):
    """Return the probabilities of all outputs of some texts together, in one fixed order."""
    each = [[math.exp(TINY.log_likelihood(y, [text], epsilon)[0]) for y in OUTPUTS] for text in texts]
    return np.array([math.prod(one) for one in itertools.product(*each)])


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("seed", range(20))
def test_added_losses_are_those_of_the_product_of_two_distributions(seed):
    coins = np.random.default_rng(seed)
    (p, q), (r, s) = coins.dirichlet([0.5] * 4, 2), coins.dirichlet([0.5] * 3, 2)
    p[0], q[1] = 0, 0  # outputs that one of the two never gives
    p, q = p / p.sum(), q / q.sum()
    law = compose([LossLaw.between(p, q), LossLaw.between(r, s)])
    whole, other = np.outer(p, r).ravel(), np.outer(q, s).ravel()
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        assert law.delta(epsilon) == pytest.approx(hockey_stick(whole, other, epsilon), abs=1e-12)
    assert law.success == pytest.approx(np.maximum(whole, other).sum() / 2, abs=1e-12)
    assert law.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_rewrites_of_two_authors_lose_what_enumeration_of_all_outputs_says(epsilon, number):
    law = author_law(TINY, NORA[:number], OMAR[:number], epsilon)
    p, q = (enumerate_outputs(texts[:number], epsilon) for texts in (NORA, OMAR))
    for at in (0.0, 0.7, 2.5):
        assert law.delta(at) == pytest.approx(hockey_stick(p, q, at), abs=1e-12)
    assert law.losses.max() == pytest.approx(np.log(p / q).max())


@pytest.mark.parametrize("times", [1, 2, 3])
def test_releases_of_one_text_lose_what_enumeration_says(times):
    law = text_law(TINY, "yes no", "no no", 1.0).repeat(times)
    p, q = (enumerate_outputs([text] * times, 1.0) for text in ("yes no", "no no"))
    assert law.success == pytest.approx(np.maximum(p, q).sum() / 2, abs=1e-12)


def test_epsilon_is_where_delta_is_reached():
    law = author_law(TINY, NORA, OMAR, 1.5)
    for delta in (0.3, 0.05, 0.01, 1e-4, 1e-9):
        assert law.delta(law.epsilon(delta)) == pytest.approx(delta, rel=1e-9)
    assert law.epsilon(0.0) == pytest.approx(law.losses.max())
    assert law.epsilon(law.delta(0.0)) == 0
    never = LossLaw.between([0.5, 0.5], [0.0, 1.0])
    assert (never.epsilon(0.4), never.epsilon(0.5)) == (math.inf, 0)
    assert LossLaw.between([0.1, 0.9], [0.0, 1.0]).add(slot_law(1, 2)).epsilon(0.2) < 1


def test_equal_texts_lose_nothing_and_one_release_of_two_items_is_warner():
    assert text_law(TINY, "yes maybe", "yes", 3.0).success == 0.5
    assert slot_law(2.0, 2).success == pytest.approx(1 / (1 + math.exp(-2)))
    kept = 1 / (1 + math.exp(-2))
    majority = kept**3 + 3 * kept**2 * (1 - kept)
    assert slot_law(2.0, 2).repeat(3).success == pytest.approx(majority)


def test_adding_averaged_laws_is_not_averaging_added_ones():
    """Half of the pairs are told apart for sure and half never: more releases change nothing."""
    laws = [LossLaw.between([1.0, 0.0], [0.0, 1.0]), LossLaw.of([0.0], [1.0])]
    assert average([law.repeat(8) for law in laws]).success == 0.75
    assert average(laws).repeat(8).success > 0.99
    assert average(laws).success == 0.75


def test_bounds_losses_and_numbers_read_from_the_mechanism_agree_with_exact_composition():
    """Twenty games at error .2 on each side; `benchmarks/persons_exact.py` plays six hundred."""
    module = load_script()
    authors = module.write_authors()
    laws = module.find_laws(authors)
    assert [law.success for law in laws.values()] == sorted(law.success for law in laws.values())
    assert laws[16].success > module.KNOWN > laws[8].success
    counted = module.play_games(authors, laws, games=20)
    for kind, missed in counted.missed.items():
        assert max(missed.values()) <= module.allow(20, module.RATES[kind]), kind
    assert counted.too_small <= module.allow(20, module.ERROR / 2)


def load_script():
    spec = importlib.util.spec_from_file_location("persons_exact", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["persons_exact"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
