"""The test of signs: exact under chance, by enumeration, for all pairs and for the clearest."""

from itertools import product

import pytest

from tedaudit.leaks.signs import LEAST, Allowed, allow, judge_signs, list_subsets, smallest_p_value


@pytest.mark.parametrize("rate", [0.5, 0.7])
@pytest.mark.parametrize("sizes", [[1.0] * 9, [5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.0]])
def test_a_p_value_is_at_most_a_with_probability_at_most_a(sizes, rate):
    law = {}
    for signs in product((1, -1), repeat=len(sizes)):
        weight = 1.0
        for sign in signs:
            weight *= rate if sign > 0 else 1 - rate
        margins = [sign * size for sign, size in zip(signs, sizes, strict=True)]
        p_value = judge_signs(margins, Allowed(rate)).p_value
        law[p_value] = law.get(p_value, 0.0) + weight
    below = 0.0
    for p_value in sorted(law):
        below += law[p_value]
        assert below <= p_value + 1e-12


def test_subsets_of_the_largest_margins_keep_the_error(monkeypatch):
    monkeypatch.setattr("tedaudit.leaks.signs.LEAST", 2)
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


@pytest.mark.parametrize("rate", [0.5, 0.7])
@pytest.mark.parametrize("excused", [0.02, 0.3])
@pytest.mark.parametrize("size", [0.0, 1.0, 9.0], ids=["tied", "as large", "largest"])
def test_pairs_that_delta_excuses_keep_the_error_wherever_they_stand(rate, excused, size, monkeypatch):
    monkeypatch.setattr("tedaudit.leaks.signs.LEAST", 2)
    law = {}
    outcomes = ((9.0, excused), (1.0, (1 - excused) * rate), (-1.0, (1 - excused) * (1 - rate)))
    for drawn in product(outcomes, repeat=7):
        margins = [size if margin == 9.0 else margin for margin, _ in drawn]
        weight = 1.0
        for _, chance in drawn:
            weight *= chance
        p_value = judge_signs(margins, Allowed(rate, excused)).p_value
        law[p_value] = law.get(p_value, 0.0) + weight
    below = 0.0
    for p_value in sorted(law):
        below += law[p_value]
        assert below <= p_value + 1e-12


def test_a_release_of_one_text_in_twenty_is_what_a_delta_of_a_twentieth_allows():
    margins = [1.0] * 20 + [0.0] * 180
    assert judge_signs(margins).p_value < 1e-5
    assert judge_signs(margins, allow(0.0, 0.05)).p_value > 0.1
    assert judge_signs(margins, allow(0.0, 1e-5)).p_value < 1e-4


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
    assert allow(0.0) == Allowed(0.5, 0.0)
    assert allow(1.0).rate == pytest.approx(0.880797, abs=1e-6)
    assert allow(1e9).rate == 1.0
    assert allow(1.0, 0.1).excused == pytest.approx(0.19)
    assert judge_signs([1.0] * 40, allow(1.0)).p_value == pytest.approx(2 * 0.880797**40, rel=1e-4)


def test_the_smallest_p_value_is_what_all_pairs_together_would_give():
    for allowed in (Allowed(0.6), Allowed(0.6, 0.01)):
        for pairs in (0, 5, LEAST, 100):
            least = judge_signs([1.0] * pairs, allowed).p_value
            assert smallest_p_value(pairs, allowed) == pytest.approx(least)


def test_the_interval_is_of_all_pairs():
    low, high = judge_signs([1.0] * 30 + [0.0] * 10).interval
    assert low < 0.75 < high
