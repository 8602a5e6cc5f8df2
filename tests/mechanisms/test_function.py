"""Any function from text to text, in all the ways it may be called, and whatever it may do wrong."""

import functools
import math
import random
import sys
import typing
from collections.abc import Sequence

import numpy as np
import pytest

from tedaudit.errors import ContractError, InfrastructureError, PluginError, SpecError
from tedaudit.mechanisms.function import Function
from tedaudit.models import calling as retries
from tedaudit.plugins.values import Draw, Rewrite
from tedaudit.seeding import derive

TEXTS = ["a b", "", "c"]
DRAWS = [Draw(text, 2.0, derive(0, i)) for i, text in enumerate(TEXTS)]
UPPER = [Rewrite("A B"), Rewrite(""), Rewrite("C")]


def seed(draw):
    """Return the seed of an audited draw."""
    return draw.key % 2**31


def one(text):
    return text.upper()


def many(texts):
    return [text.upper() for text in texts]


def annotated(batch: list[str]):
    return many(batch)


def annotated_as_a_sequence(inputs: Sequence[str]):
    return tuple(many(inputs))


def annotated_the_old_way(inputs: typing.List[str]):  # noqa: UP006
    return many(inputs)


def annotated_in_quotes(inputs: "list[str]"):
    return many(inputs)


def yields(texts):
    yield from many(texts)


def an_array(texts):
    return np.array(many(texts))


def with_a_default(text, mark=""):
    return text.upper() + mark


class Callable:
    def __call__(self, text):
        return text.upper()

    def method(self, text):
        return text.upper()

    def batch_method(self, texts):
        return many(texts)


STYLES = [
    one, many, annotated, annotated_as_a_sequence, annotated_the_old_way, annotated_in_quotes, yields,
    an_array, with_a_default, Callable(), Callable().method, Callable().batch_method, str.upper,
    lambda text: text.upper(), functools.partial(with_a_default, mark=""),
    "py:test_function:one", "py:test_function:many",
]  # fmt: skip


@pytest.mark.parametrize("function", STYLES, ids=lambda value: getattr(value, "__name__", str(value)[:30]))
def test_a_function_is_called_in_its_own_way(function):
    assert Function(function).rewrite(DRAWS) == UPPER
    assert Function(function).rewrite([]) == []


def test_a_list_function_is_called_once_per_epsilon_and_not_per_text():
    calls = []

    def watch(texts):
        calls.append(list(texts))
        return texts

    mixed = [Draw(text, epsilon, 0) for text in ("a", "b") for epsilon in (1.0, 2.0)]
    assert [rewrite.text for rewrite in Function(watch).rewrite(mixed)] == ["a", "a", "b", "b"]
    assert calls == [["a", "b"], ["a", "b"]]


def test_the_caller_may_say_how_it_is_called():
    def takes_anything(x):
        return x.upper() if isinstance(x, str) else many(x)

    assert Function(takes_anything).batch is False
    assert Function(takes_anything, batch=True).rewrite(DRAWS) == UPPER
    assert Function(takes_anything, batch=False).rewrite(DRAWS) == UPPER

    def named_texts(texts):
        assert isinstance(texts, str)
        return texts.upper()

    assert Function(named_texts, batch=False).rewrite(DRAWS) == UPPER


def test_epsilon_and_seed_are_passed_if_they_are_asked_for():
    def both(text, epsilon, seed):
        return f"{text}|{epsilon}|{seed}"

    def keyword_only(text, *, seed):
        return f"{text}|{seed}"

    def with_a_key(text, draw_key):
        return f"{text}|{draw_key}"

    assert [r.text for r in Function(both).rewrite(DRAWS)] == [f"{d.text}|2.0|{seed(d)}" for d in DRAWS]
    assert [r.text for r in Function(keyword_only).rewrite(DRAWS)] == [f"{d.text}|{seed(d)}" for d in DRAWS]
    assert [r.text for r in Function(with_a_key).rewrite(DRAWS)] == [f"{d.text}|{d.key}" for d in DRAWS]


def test_the_text_may_come_under_any_name():
    def odd(draw_key, seed=0):
        return f"{draw_key}|{seed}"

    assert [r.text for r in Function(odd).rewrite(DRAWS)] == [f"{d.text}|{seed(d)}" for d in DRAWS]


def test_a_seed_suits_every_generator_and_repeats_its_noise():
    def numpy_global(text, seed):
        np.random.seed(seed)  # noqa: NPY002
        return f"{text} {np.random.rand()}"  # noqa: NPY002

    def python_own(text, seed):
        return f"{text} {random.Random(seed).random()}"

    for function in (numpy_global, python_own):
        rewrites = Function(function).rewrite(DRAWS)
        assert not any(rewrite.error for rewrite in rewrites)
        assert rewrites == Function(function).rewrite(DRAWS)
        assert len({rewrite.text.rpartition(" ")[2] for rewrite in rewrites}) == len(DRAWS)


def test_an_adversary_has_seeds_that_no_audited_draw_has():
    def tell(text, seed, draw_key):
        return f"{seed} {draw_key}"

    many = [Draw("a", 1.0, derive(0, i)) for i in range(500)]
    audited = Function(tell)
    own = audited.for_adversary()
    seeds, others = ([int(r.text.split()[0]) for r in f.rewrite(many)] for f in (audited, own))
    assert 2**30 < max(seeds) < 2**31 <= min(others) < max(others) < 2**32
    assert [other - 2**31 for other in others] == seeds
    assert own == audited  # the same mechanism
    assert audited.rewrite(many)[0].text.split()[1] == str(many[0].key)


def test_a_list_function_gets_each_epsilon_with_its_own_texts_and_each_seed_alone():
    def by_epsilon(texts, epsilon):
        return [f"{text}|{epsilon}" for text in texts]

    def by_seed(texts, seed):
        assert len(texts) == 1
        return [f"{texts[0]}|{seed}"]

    mixed = [
        Draw(text, epsilon, derive(0, text, i)) for i, text in enumerate("abab") for epsilon in (1.0, 2.0)
    ]
    assert [r.text for r in Function(by_epsilon).rewrite(mixed)] == [f"{d.text}|{d.epsilon}" for d in mixed]
    assert [r.text for r in Function(by_seed).rewrite(mixed)] == [f"{d.text}|{seed(d)}" for d in mixed]


def test_an_exception_becomes_a_code_without_text():
    def picky(text):
        if "b" in text:
            raise KeyError(text)
        return text

    assert Function(picky).rewrite(DRAWS) == [Rewrite("", error="raised-KeyError"), Rewrite(""), Rewrite("c")]


@pytest.mark.parametrize("lazy", [False, True])
def test_one_bad_text_does_not_fail_the_others_of_its_batch(lazy):
    def picky(texts):
        return [100 // len(text) and text for text in texts]

    def picky_later(texts):
        yield from picky(texts)

    expected = [Rewrite("a b"), Rewrite("", error="raised-ZeroDivisionError"), Rewrite("c")]
    assert Function(picky_later if lazy else picky).rewrite(DRAWS) == expected


@pytest.mark.parametrize(
    ("value", "code"), [(None, "NoneType"), (7, "int"), (b"a", "bytes"), (["a"], "list")]
)
def test_what_is_not_a_text_becomes_a_code(value, code):
    failed = Rewrite("", error=f"returned-{code}")
    assert Function(lambda text: value).rewrite(DRAWS) == [failed] * 3
    assert Function(lambda texts: [text or value for text in texts]).rewrite(DRAWS) == [
        Rewrite("a b"), failed, Rewrite("c"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda texts: texts[1:], "was given 3 texts and returned 2"),
        (lambda texts: [*texts, "more"], "was given 3 texts and returned 4"),
        (lambda texts: [], "was given 3 texts and returned 0"),
        (lambda texts: "abc", "was given 3 texts and returned a str"),
        (lambda texts: None, "was given 3 texts and returned a NoneType"),
    ],
)
def test_a_list_function_that_returns_another_number_of_texts_is_refused(function, got):
    with pytest.raises(ContractError) as caught:
        Function(function).rewrite(DRAWS)
    assert got in str(caught.value)
    assert "one text for each text, in the same order" in str(caught.value)


@pytest.mark.parametrize("listed", [False, True])
def test_an_error_of_the_machine_is_tried_again_and_then_stops_the_work(listed, monkeypatch):
    monkeypatch.setattr(retries, "PAUSES", (0.0, 0.0))
    left = 2

    def flaky(text):
        nonlocal left
        if "b" in text and left:
            left -= 1
            raise ConnectionResetError("the line is dead")
        return text.upper()

    function = Function((lambda texts: map(flaky, texts)) if listed else flaky)
    assert function.rewrite(DRAWS) == UPPER
    left = 3
    with pytest.raises(InfrastructureError, match="raised ConnectionResetError 3 times in a row"):
        function.rewrite(DRAWS)


def test_a_keyboard_interrupt_is_not_a_failed_rewrite():
    def interrupted(text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Function(interrupted).rewrite(DRAWS)


def test_the_claim_is_what_the_caller_says():
    claim = Function(one, unit="word", max_units=5, delta=1e-6).claim(2.0)
    assert (claim.epsilon, claim.unit, claim.max_units, claim.total) == (2.0, "word", 5, 10.0)
    assert claim.total_delta == pytest.approx(5e-6)
    assert Function(one).claim(2.0).total == 2.0
    assert Function(one).claim(math.inf) is None


def test_epsilons_are_needed_only_by_a_function_that_takes_one():
    assert list(Function(one).epsilons([])) == [math.inf]
    assert list(Function(one).epsilons([1.0, 2.0])) == [1.0, 2.0]

    def private(text, epsilon):
        return text

    assert list(Function(private).epsilons([3.0])) == [3.0]
    with pytest.raises(SpecError, match="takes an epsilon: set the values"):
        Function(private).epsilons([])


@pytest.mark.parametrize("name", ["py:test_function:TEXTS", "py:test_function:DRAWS"])
def test_what_is_not_a_function_is_refused(name):
    with pytest.raises(PluginError, match="is not a function"):
        Function(name)


def test_a_function_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(PluginError, match="Did you mean 'many'"):
        Function("py:test_function:manyy")


def test_the_fingerprint_changes_with_the_source(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    prints = []
    for version, body in enumerate(["text.upper()", "text.lower()", "text.upper()"]):
        (tmp_path / f"rewriter_{version}.py").write_text(f"def rewrite(text):\n    return {body}\n")
        prints.append(Function(f"py:rewriter_{version}:rewrite").fingerprint())
        monkeypatch.delitem(sys.modules, f"rewriter_{version}")
    assert prints[0] == prints[2] != prints[1]
    assert set(prints[0]) == {"function source"}


def test_a_function_without_source_has_no_fingerprint():
    assert Function(str.upper).fingerprint() == {}
    assert Function(Callable()).fingerprint() == {}


def test_half_a_surrogate_is_read_as_it_is_stored():
    [rewrite] = Function(lambda text: f"{text} \ud800 字").rewrite([Draw("a", 1.0, 1)])
    assert rewrite.text == "a ? 字"
