import io
import json

import pytest

from tedaudit.errors import ContractError, SpecError
from tedaudit.mechanisms.identity import Identity
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import Card, Rewrite
from tedaudit.runs.release import Order, choose_epsilon, format_of, release, write_released

TEXTS = ["the old house by the sea", "she went home", ""]


def released(**settings):
    return list(release(WordRR(slots=6), TEXTS, Order(4.0, **settings)))


def test_every_text_is_rewritten_as_often_as_asked_in_order():
    assert [(one.row, one.draw) for one in released(draws=2)] == [(r, d) for r in range(3) for d in range(2)]


def test_noise_is_fresh_every_time_unless_there_is_a_seed():
    assert released() != released()
    assert released(seed=7) == released(seed=7) != released(seed=8)


def test_fresh_keys_have_128_bits_of_which_none_repeats():
    keys = {Order(1.0).key("text", 0, 0) for _ in range(200)}
    assert len(keys) == 200
    assert max(key.bit_length() for key in keys) > 120


def test_equal_texts_get_noise_of_their_own_even_with_a_seed():
    same = list(release(WordRR(slots=8), ["the old house"] * 20, Order(0.1, seed=1)))
    assert len({one.rewrite.text for one in same}) == 20


def test_batches_do_not_matter():
    assert released(seed=3, batch_size=1) == released(seed=3, batch_size=512)


def test_the_output_never_holds_the_original_and_keeps_failed_rows():
    class Failing:
        card = Card(name="failing", summary="Fails.")

        def rewrite(self, draws):
            return [Rewrite("", error="too-hard") for _ in draws]

    out = io.StringIO()
    assert write_released(release(Failing(), TEXTS, Order(1.0)), out, "jsonl", 1.0) == (3, 3)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [row["error"] for row in rows] == ["too-hard"] * 3
    assert not any(text in out.getvalue() for text in TEXTS if text)


def test_a_rewrite_of_several_lines_stays_one_line_of_plain_text():
    class Lines:
        card = Card(name="lines", summary="Lines.")

        def rewrite(self, draws):
            return [Rewrite("one\ntwo") for _ in draws]

    out = io.StringIO()
    write_released(release(Lines(), ["a", "b"], Order(1.0)), out, "txt", 1.0)
    assert out.getvalue() == "one two\none two\n"


def test_a_mechanism_that_loses_a_text_is_refused():
    class Short:
        card = Card(name="short", summary="Short.")

        def rewrite(self, draws):
            return [Rewrite("x")] * (len(draws) - 1)

    with pytest.raises(ContractError, match="given 3 draws and returned 2"):
        list(release(Short(), TEXTS, Order(1.0)))


@pytest.mark.parametrize(
    "settings", [{"epsilon": 0.0}, {"epsilon": float("nan")}, {"epsilon": 1.0, "draws": 0}]
)
def test_impossible_orders_are_refused(settings):
    with pytest.raises(SpecError):
        Order(**settings)


def test_an_unknown_format_is_refused_with_the_list():
    with pytest.raises(SpecError, match="csv, jsonl, txt"):
        format_of(None, "docx")


def test_a_mechanism_that_takes_no_epsilon_needs_none_and_its_table_names_none():
    assert choose_epsilon(Identity(), None) == NO_EPSILON
    assert choose_epsilon(WordRR(), 2.0) == 2.0
    with pytest.raises(SpecError, match="'word-rr' takes an epsilon, a number above 0"):
        choose_epsilon(WordRR(), None)
    with pytest.raises(SpecError, match="epsilon is inf; it must be a number above 0"):
        choose_epsilon(WordRR(), float("inf"))
    out = io.StringIO()
    write_released(release(Identity(), ["a"], Order(NO_EPSILON)), out, "jsonl", NO_EPSILON)
    assert json.loads(out.getvalue())["epsilon"] is None
