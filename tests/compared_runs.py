"""Small audits of three mechanisms, to be put side by side, with an attack that sees nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from helpers import SharedWords, make_spec
from tedaudit.api import run
from tedaudit.plugins.values import Card, Guess
from tedaudit.runs.directory import RunDirectory


@dataclass(frozen=True)
class Blind:
    """Names a candidate without a look at the output."""

    card: ClassVar[Card] = Card(name="blind", summary="Guesses by length.")

    def guess(self, seen):
        return [Guess(np.array([float(len(text)) for text in one.candidates])) for one in seen]


MECHANISMS = ["identity", "constant", {"name": "word-rr", "slots": 4}]


def audited(root, **changes):
    """Audit into a folder whose name is that of the run, and return it."""
    settings = {"mechanisms": MECHANISMS, "epsilons": [2, 6], "attacks": [SharedWords(), Blind()]}
    run(make_spec(root, name=root.name, **settings | changes))
    return RunDirectory(root)
