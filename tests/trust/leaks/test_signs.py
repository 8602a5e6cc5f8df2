"""The test of signs: exact under chance, by enumeration, for all pairs and for the clearest."""

from itertools import product

import pytest

from tedaudit.trust.leaks.signs import LEAST, allowed_rate, judge_signs, list_subsets, smallest_p_value


@pytest.mark.parametrize("rate", [0.5, 0.7])
@pytest.mark.parametrize("sizes", [[1.0] * 9, [5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.0]])
def test_a_p_value_is_at_most_a_with_probability_at_most_a(sizes, rate):
    law = {}
    for signs in product((1, -1), repeat=len(sizes)):
        weight = 1.0
        for sign in signs:
            weight *= rate if sign > 0 else 1 - rate
        p_value = judge_signs([sign * size for sign, size in zip(signs, sizes, strict=True)], rate).p_value
        law[p_value] = law.get(p_value, 0.0) + weight
    below = 0.0
    for p_value in sorted(law):
        below += law[p_value]
        assert below <= p_value + 1e-12


def test_subsets_of_the_largest_margins_keep_the_error(monkeypatch):
    monkeypatch.setattr("tedaudit.trust.leaks.signs.LEAST", 2)
    sizes = [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.9, 0.8]
    assert len(list_subsets(len(sizes))) == 3
    counts = {}
    for signs in product((1, -1), repeat=len(sizes)):
        p_value = judge_signs([a * b for a, b in zip(signs, sizes, strict=True)]).p_value
        counts[p_value] = counts.get(p_value, 0) + 1
    below = 0
    for p_value in sorted(counts):
        below += counts[p_value]
        assert below / 2 ** len(sizes) <= p_value + 1e-12


def test_a_leak_of_few_pairs_shows_in_the_largest_margins():
    few = [9.0] * 20 + [0.1, -0.1] * 90
    assert judge_signs(few).p_value < 1e-4
    assert judge_signs(few).clearest < 60
    assert judge_signs([1.0, -1.0] * 100).p_value > 0.3


def test_pairs_without_a_difference_count_for_nothing():
    signs = judge_signs([0.0] * 50)
    assert (signs.p_value, signs.same, signs.share, signs.pairs) == (1.0, 50, 0.0, 50)
    assert judge_signs([]).p_value == 1.0


def test_a_claim_allows_what_two_exchanged_outputs_can_tell():
    assert allowed_rate(0.0) == 0.5
    assert allowed_rate(1.0) == pytest.approx(0.880797, abs=1e-6)
    assert allowed_rate(1e9) == 1.0
    assert judge_signs([1.0] * 40, allowed_rate(1.0)).p_value == pytest.approx(2 * 0.880797**40, rel=1e-4)


def test_the_smallest_p_value_is_what_all_pairs_together_would_give():
    for pairs in (0, 5, LEAST, 100):
        assert smallest_p_value(pairs, 0.6) == pytest.approx(judge_signs([1.0] * pairs, 0.6).p_value)


def test_the_interval_is_of_all_pairs():
    low, high = judge_signs([1.0] * 30 + [0.0] * 10).interval
    assert low < 0.75 < high
