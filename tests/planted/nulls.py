"""Rewriters that reveal nothing: of these nothing must be said."""

from dataclasses import dataclass
from random import Random

from planted.flaw import Rewriter, draw_sentence
from planted.scripts import SCRIPTS, write_texts

_OUTPUTS = tuple(draw_sentence(Random(number), 3 + number % 9) for number in range(20))


@dataclass(frozen=True, slots=True)
class Null:
    """A rewriter whose output has nothing to do with its input."""

    name: str
    rewrite: Rewriter


def _always_the_same(text: str, seed: int) -> str:
    return "Thank you for your message."


def _one_of_twenty(text: str, seed: int) -> str:
    return Random(seed).choice(_OUTPUTS)


def _of_any_length(text: str, seed: int) -> str:
    rng = Random(seed)
    return draw_sentence(rng, rng.randrange(60))


def _failing_at_random(text: str, seed: int) -> str:
    rng = Random(seed)
    if rng.random() < 0.3:
        raise (ValueError if rng.random() < 0.5 else KeyError)("at random")
    return draw_sentence(rng)


def _in_any_script(text: str, seed: int) -> str:
    rng = Random(seed)
    return write_texts(rng.choice(SCRIPTS), 1, rng.randrange(2**31))[0]


NULLS = (
    Null("constant", _always_the_same),
    Null("fixed distribution", _one_of_twenty),
    Null("varied length", _of_any_length),
    Null("random failures", _failing_at_random),
    Null("texts of any script", _in_any_script),
)
