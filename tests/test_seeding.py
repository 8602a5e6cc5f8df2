"""Random numbers as a function of key and position: known answers, exact probabilities, pinned values."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from tedaudit import seeding
from tedaudit.seeding import (
    derive,
    derive_numbered,
    derive_replicates,
    key_numbers,
    key_words,
    normals,
    philox,
    rare,
    uniforms,
    words,
)

KEY = derive(7, "pinned")
KEYS = [derive(3, "key", i) for i in range(50)]


def _philox(counter, key):
    """Philox4x32-10 as the paper states it, on whole numbers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_gives_the_known_answers_of_random123(counter, key, answer):
    c = [int(word, 16) for word in counter.split()]
    k = [int(word, 16) for word in key.split()]
    out = philox(tuple(np.array([word], np.uint64) for word in c), tuple(np.array([w], np.uint64) for w in k))
    assert " ".join(f"{int(word[0]):08x}" for word in out) == answer
    assert " ".join(f"{word:08x}" for word in _philox(c, k)) == answer


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**40), st.integers(0, 9))
@settings(max_examples=50)
def test_words_are_philox_of_the_position_under_the_key(key, start, n):
    parts = [key >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)]
    expected = []
    for position in range(start, start + n):
        block = position // 4
        counter = (block & 0xFFFFFFFF, block >> 32, parts[2], parts[3])
        expected.append(_philox(counter, parts[:2])[position % 4])
    assert words([key], n, start)[0].tolist() == expected


parts = st.one_of(st.integers(-(2**70), 2**70), st.text(max_size=4), st.binary(max_size=4))


@given(st.lists(parts, min_size=1, max_size=4), st.lists(parts, min_size=1, max_size=4))
def test_different_purposes_have_different_keys(one, other):
    same = [(type(part), part) for part in one] == [(type(part), part) for part in other]
    assert (derive(0, *one) == derive(0, *other)) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", ""), ("a",)),
        (("", "a"), ("a", "")),
        (("1",), (1,)),
        (("a",), (b"a",)),
        ((0,), (-1,)),
        ((255,), (-1,)),
        ((128,), (-128,)),
        ((1, 2), (1, "2")),
        (("a", "b"), ("asb",)),
        (("a", 98), ("aib",)),
        (("a", "b"), (b"a" + b"s" + (1).to_bytes(8, "little") + b"b",)),
    ],
)
def test_no_purpose_can_be_taken_for_another(one, other):
    assert derive(0, *one) != derive(0, *other)


def test_the_first_key_counts_as_much_as_the_purpose():
    assert derive(0, "a") != derive(1, "a")
    assert derive(derive(0, "a"), "b") != derive(0, "a", "b")


def test_half_a_surrogate_pair_has_a_key_of_its_own():
    assert len({derive(0, "\ud800"), derive(0, "\udc00"), derive(0, "?"), derive(0, "\ufffd")}) == 4


def test_keys_have_128_bits():
    seen = [derive(0, i) for i in range(64)]
    assert all(0 <= key < 2**128 for key in seen)
    assert max(seen).bit_length() == 128


def test_results_are_the_pinned_ones():
    """Whoever changes these numbers changes every result ever stored."""
    assert derive(0) == 0xCE044C26E1841D21227958C730177602
    assert derive(0, "rewrite", "a text", 3) == 0x68A66B0F00D525D4DD4D1E60992D8D80
    assert derive(-1, b"x", 2**200) == 0x75EB22839BEB4985A743D0F2186D53FB
    assert KEY == 0x3520671438986D99F41BB79BB8ECB55B
    assert words([KEY], 5)[0].tolist() == [0x64667E0B, 0x629B4FE2, 0x98D828A5, 0x89EBABBE, 0xBD51CFF5]
    assert [float(value).hex() for value in uniforms([KEY], 3)[0]] == [
        "0x1.9199f8314da7ep-2", "0x1.31b051627aeaep-1", "0x1.7aa39fe76a371p-1",
    ]  # fmt: skip
    pinned = ["-0x1.182f7262d3431p-2", "0x1.f73917aa17cc2p-3", "0x1.48a693d1931cbp-1"]
    expected = [float.fromhex(value) for value in pinned]  # libraries may differ in the last bits
    assert normals([KEY], 3)[0] == pytest.approx(expected, rel=1e-13)
    coins = rare([derive(7, i) for i in range(40)], 1, 0.25)[:, 0]
    assert "".join(map(str, coins.astype(int))) == "0010000011110110101000000000010001001000"


@pytest.mark.parametrize("draw", [uniforms, normals])
def test_a_key_gives_the_same_numbers_alone_in_a_batch_and_at_an_offset(draw):
    whole = draw(KEYS, 33)
    assert whole.shape == (50, 33)
    for row in (0, 7, 49):
        assert (draw([KEYS[row]], 33)[0] == whole[row]).all()
    order = random.Random(0).sample(range(50), 50)
    assert (draw([KEYS[i] for i in order], 33) == whole[order]).all()
    for start in (1, 2, 3, 4, 5, 17, 32):
        assert (draw(KEYS, 33 - start, start) == whole[:, start:]).all()
    assert (draw(KEYS, 5) == whole[:, :5]).all()


def test_other_keys_and_other_positions_give_other_numbers():
    every = uniforms([*KEYS, *(key ^ 1 << bit for key in KEYS[:1] for bit in range(128))], 40)
    assert len(np.unique(every)) == every.size


def test_no_keys_or_no_positions_give_empty_arrays():
    assert uniforms([], 3).shape == (0, 3)
    assert uniforms([1, 2], 0).shape == (2, 0)
    assert uniforms([1], 0, 5).shape == (1, 0)
    assert normals([], 2).shape == (0, 2)
    assert rare([], 2, 0.5).shape == (0, 2)


def test_uniforms_are_multiples_of_2_to_the_minus_53_below_one():
    scaled = uniforms(KEYS, 200) * 2.0**53
    assert (scaled == np.floor(scaled)).all()
    assert scaled.min() >= 0
    assert scaled.max() < 2.0**53
    low_bits = scaled.astype(np.uint64) & np.uint64(0xFF)
    assert len(np.unique(low_bits)) == 256  # the last bits are random too


def test_uniforms_fill_the_unit_interval_evenly():
    counts = np.bincount((uniforms(KEYS, 2000) * 100).astype(int).ravel(), minlength=100)
    statistic = float(((counts - 1000.0) ** 2 / 1000.0).sum())
    assert chi2.ppf(1e-6, 99) < statistic < chi2.isf(1e-6, 99)


def test_uniforms_at_the_ends_have_finite_mirrored_normals(monkeypatch):
    cells = [0, 1, 2, 2**20, 2**52 - 1, 2**52, 2**52 + 1, 2**53 - 2, 2**53 - 1]
    monkeypatch.setattr(seeding, "uniforms", lambda *_: np.array([cells], dtype=np.float64) * 2.0**-53)
    found = normals([0], len(cells))[0]
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()
    assert found[0] == pytest.approx(norm.ppf(2.0**-54), rel=1e-12)
    assert (found == -found[::-1])[[0, 1]].all()  # cell i mirrors cell 2**53 - 1 - i
    assert found[4] == -found[5]


def test_normals_are_the_quantiles_of_their_uniforms():
    uniform = uniforms(KEYS, 100)
    assert norm.cdf(normals(KEYS, 100)) == pytest.approx(uniform + 2.0**-54, rel=1e-12)


def _exact_probability(monkeypatch, probability):
    """Return with which probability the coin is true, as a fraction, from where it turns in its 2**106 cells.

    The coin is true below a point in the order of (first uniform, second uniform) and false above.
    """

    def coin(cell):
        pair = np.array([[(cell >> 53) * 2.0**-53, (cell & (2**53 - 1)) * 2.0**-53]])
        with monkeypatch.context() as patch:
            patch.setattr(seeding, "uniforms", lambda keys, n, start=0: pair[:, start : start + n])
            return bool(rare([0], 1, probability)[0, 0])

    low, high = 0, 2**106  # all cells below `low` are true, none from `high` on
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if coin(middle) else (low, middle)
    return Fraction(low, 2**106)


@pytest.mark.parametrize(
    "probability",
    [1.0, 0.5, 0.3, 1e-3, 2.0**-53, 3 * 2.0**-54, 1.5 * 2.0**-54, 2.0**-60, 2.0**-105, 2.0**-106, 0.0],
)
def test_rare_coins_have_exactly_their_probability(monkeypatch, probability):
    assert _exact_probability(monkeypatch, probability) == Fraction(probability)


@pytest.mark.parametrize("probability", [1e-20, math.exp(-40), math.exp(-70), 1e-17 / 3, 0.1 * 2**-53])
def test_rare_coins_are_right_to_2_to_the_minus_106_and_never_too_rare(monkeypatch, probability):
    excess = _exact_probability(monkeypatch, probability) - Fraction(probability)
    assert 0 <= excess < Fraction(1, 2**106)


@pytest.mark.parametrize("probability", [2.0**-107, math.exp(-100), math.exp(-700), 5e-324])
def test_a_probability_below_every_cell_gets_the_smallest_one(monkeypatch, probability):
    assert _exact_probability(monkeypatch, probability) == Fraction(1, 2**106)


def test_rare_coins_use_two_uniforms_per_coin_and_share_them_over_probabilities():
    pair = uniforms(KEYS, 12)
    coarse = pair[:, :6]
    for probability in (0.01, 0.2, 0.9):
        assert (
            rare(KEYS, 6, probability) == (coarse < probability)
        ).all()  # the fine one decides no such cell
    few, many = rare(KEYS, 6, 0.2), rare(KEYS, 6, 0.4)
    assert (many | ~few).all()  # a coin that is true stays true when the probability grows


def test_no_global_generator_is_read_or_set():
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    uniforms(KEYS, 3)
    normals(KEYS, 3)
    rare(KEYS, 3, 0.1)
    assert before == (random.getstate(), np.random.get_state()[1].tobytes())  # noqa: NPY002


@given(
    st.lists(
        st.one_of(st.sampled_from([0, 1, 2**32, 2**96, 2**128 - 1]), st.integers(0, 2**128 - 1)), max_size=5
    )
)
def test_words_and_numbers_of_keys_say_the_same(keys):
    parts = key_words(keys)
    assert parts.dtype == np.uint32
    assert parts.tolist() == [[key >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)] for key in keys]
    assert key_words(parts) is parts
    assert key_numbers(parts) == keys
    assert all(type(key) is int for key in key_numbers(parts))


def test_keys_give_the_same_numbers_as_words_and_as_whole_numbers():
    keys = [*KEYS, 0, 2**128 - 1]
    parts = key_words(keys)
    for draw in (words, uniforms, normals):
        for n, start in ((7, 0), (3, 5), (0, 0)):
            assert np.array_equal(draw(keys, n, start), draw(parts, n, start))
    assert np.array_equal(rare(keys, 9, 0.3), rare(parts, 9, 0.3))
    assert np.array_equal(uniforms(keys[::2], 3), uniforms(parts[::2], 3))
    assert uniforms(key_words([]), 3).shape == (0, 3)


@pytest.mark.parametrize(
    "keys", [np.zeros((2, 3), np.uint32), np.zeros((2, 4), np.uint64), np.zeros((1, 4, 1))]
)
def test_arrays_of_another_form_are_no_keys(keys):
    with pytest.raises(ValueError, match="four words of type uint32 per key"):
        uniforms(keys, 1)


@pytest.mark.parametrize("key", [-1, 2**128])
def test_a_key_of_more_than_128_bits_is_refused(key):
    with pytest.raises(OverflowError):
        key_words([key])


EDGES = [number for bits in range(63) for number in (2**bits - 1, 2**bits, 2**bits + 1)] + [2**63 - 1]


@pytest.mark.parametrize("key", [0, -5, 2**127 + 3])
def test_numbered_keys_are_those_derived_one_by_one(key):
    """Every number of bytes that a number can take is tried at its edges."""
    assert key_numbers(derive_numbered(key, np.array(EDGES))) == [derive(key, number) for number in EDGES]
    assert key_numbers(derive_numbered(key, range(100, 400))) == [derive(key, n) for n in range(100, 400)]
    assert derive_numbered(key, range(0)).shape == (0, 4)


def test_keys_of_replicates_are_those_derived_one_by_one_in_any_order():
    texts = ["a", "", "\u00e9t\u00e9", "lone \ud800", "a" * 500]
    rng = np.random.default_rng(0)
    which, numbers = rng.integers(0, len(texts), 400), rng.choice(EDGES, 400)
    which[:200].sort()  # some texts in a row, some not
    expected = [derive(7, "rewrite", texts[i], int(n)) for i, n in zip(which, numbers, strict=True)]
    assert key_numbers(derive_replicates(7, "rewrite", texts, which, numbers)) == expected
    assert derive_replicates(7, "rewrite", texts, which[:0], numbers[:0]).shape == (0, 4)


@pytest.mark.parametrize("start", [0, 1, 2, 3, 5])
def test_uniforms_are_made_of_their_own_two_words_wherever_they_begin(start):
    keys = [derive(1, number) for number in range(3)]
    high, low = (words(keys, 2 * 40_000, 2 * start)[:, place::2] for place in (0, 1))
    mantissa = (high >> np.uint64(5)) * 2.0**26 + (low >> np.uint64(6))
    assert np.array_equal(uniforms(keys, 40_000, start), mantissa * 2.0**-53)
