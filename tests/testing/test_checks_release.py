from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from tedaudit.errors import ContractError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Rewrite
from tedaudit.testing import check_mechanism


@dataclass(frozen=True)
class KeepsQuestionMarks:
    """Draws nothing, keeps a question mark, and forgets to say so in its tokens."""

    tells: bool = False
    card: ClassVar[Card] = Card(name="keeps-question-marks", summary="Keeps question marks.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        kept = ["?" if "?" in draw.text else "" for draw in draws]
        return [Rewrite(mark, tokens=(len(mark),) if self.tells else ()) for mark in kept]

    def log_likelihood(self, tokens, candidates, epsilon):
        return np.zeros(len(candidates))


def test_tokens_that_leave_the_text_open_are_refused():
    with pytest.raises(ContractError, match="with the same tokens"):
        check_mechanism(KeepsQuestionMarks())


def test_tokens_that_say_all_are_not():
    check_mechanism(KeepsQuestionMarks(tells=True))
    check_mechanism(WordRR())
