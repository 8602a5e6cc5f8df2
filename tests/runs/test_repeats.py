"""Functions are called a second time, and the report says if they then give something else."""

import random

import pytest

from helpers import SharedWords, make_spec, sentences
from rule_keepers import refusal
from tedaudit.api import load_run, run
from tedaudit.attacks._practice import make_rewrites
from tedaudit.mechanisms.function import Function
from tedaudit.testing import check_mechanism

CALLS: list[str] = []


def seeded(text, seed):
    CALLS.append(text)
    return f"{text} {random.Random(seed).random()}"


def keyed(text, draw_key):
    return f"{text} {random.Random(draw_key).random()}"


def plain(text):
    return text.upper()


def counts_its_calls(text, seed):
    CALLS.append(text)
    return f"{text} {len(CALLS)}"


def remembers_the_last(text, seed):
    CALLS.append(text)
    return " ".join(CALLS[-2:])


def draws_elsewhere(text, seed):
    return f"{text} {random.SystemRandom().random()}"


def fails_later(text, draw_key):
    CALLS.append(text)
    if len(CALLS) > 90:
        raise ValueError("tired")
    return text


def draws_noise(text):
    return f"{text} {random.SystemRandom().random()}"


def _spec(folder, function, **changes):
    return make_spec(folder, mechanisms=[function], attacks=[SharedWords()], epsilons=[], **changes)


def _noted(folder, function, **changes):
    CALLS.clear()
    result = run(_spec(folder, function, **changes))
    assert load_run(folder).notes == result.notes
    return [note for note in result.notes if "called again" in note]


@pytest.mark.parametrize("function", [seeded, keyed, plain])
def test_a_function_that_repeats_itself_is_not_spoken_of(function, tmp_path):
    assert _noted(tmp_path, function) == []


@pytest.mark.parametrize("function", [counts_its_calls, remembers_the_last, draws_elsewhere, fails_later])
def test_state_between_calls_and_other_noise_are_told(function, tmp_path):
    [note] = _noted(tmp_path, function)
    assert note.startswith(
        f"{function.__name__}: 8 of 8 outputs differed when called again with the same text"
    )
    assert "the same text and seed: it is not repeatable, but keeps state between calls or draws" in note
    assert "bounds assume that no call depends on another" in note


def test_of_a_function_without_a_seed_it_is_said_that_nothing_can_be_told(tmp_path):
    [note] = _noted(tmp_path, draws_noise)
    assert "takes neither `seed` nor `draw_key`, so its own noise cannot be told from state" in note


def test_only_a_few_calls_are_made_again_and_only_by_a_run_that_has_rewritten(tmp_path):
    _noted(tmp_path, seeded)
    assert len(CALLS) == 100 + 8
    assert _noted(tmp_path, seeded) == []
    assert CALLS == []
    _noted(tmp_path, seeded, trials=130)
    assert len(CALLS) == 30 + 8
    _noted(tmp_path / "few", seeded, trials=3)
    assert len(CALLS) == 6


def test_what_was_noted_stays_when_a_finished_run_is_opened_again(tmp_path):
    first = _noted(tmp_path, counts_its_calls)
    assert _noted(tmp_path, counts_its_calls) == first != []


def test_every_function_of_a_run_is_noted(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[counts_its_calls, draws_noise, seeded], epsilons=[])
    notes = [note.split(":")[0] for note in run(spec).notes if "called again" in note]
    assert notes == ["counts_its_calls", "draws_noise"]


def test_the_contract_suite_refuses_a_function_with_state():
    assert check_mechanism(Function(seeded)).random
    assert "when the same batch comes again" in refusal(check_mechanism, Function(counts_its_calls))


def test_an_adversarys_draws_are_in_no_order_of_their_texts():
    CALLS.clear()
    texts = sorted(sentences(40))
    pairs = make_rewrites(Function(seeded), 1.0, texts, 100)
    assert [text for text, _ in pairs] == CALLS
    assert sorted(CALLS) != CALLS
    assert all(rewrite.text.startswith(text) for text, rewrite in pairs)
