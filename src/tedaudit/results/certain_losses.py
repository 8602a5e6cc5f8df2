"""Losses of outputs that were computed twice: no sampling error is in them.

A pure claim says that no output is more than e^epsilon times as likely from one text as from any other. One
output with a larger loss refutes it, in one trial as in a million: the only way to judge a claim above the
ceiling of the trials. One with a smaller loss says how loose the claim can be at most. What is stored here
was computed again in float64 by `tedaudit.results.confirmed_losses`.
"""

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.nominal import Nominal
from tedaudit.runs.checksums import ChecksumError, check_json, parse_json, seal_json
from tedaudit.runs.directory import RunDirectory
from tedaudit.text.plain_data import Count, PlainData, Unbounded

_STEPS = 10  # times the gap between two computations by which both must exceed a claim
_LEAST = 1e-9  # of the claim, by which they must exceed it at the least
_DIGITS = 1e-6  # of a stored loss


@dataclass(frozen=True, slots=True)
class CertainLoss(PlainData):
    """One output, the two texts between which it has the loss, and the loss as it was computed both times.

    `forbidden` says that a rule of the mechanism, and no small number, makes the output impossible for the
    other text: the loss is infinite.
    """

    plan: str
    """The plan; empty in a redacted summary."""
    label: str
    """The mechanism's label."""
    epsilon: Nominal
    """Nominal; null if the mechanism takes none."""
    attack: str
    """The attack that knows the mechanism."""
    row: Count
    """Row of the plan."""
    positions: Annotated[tuple[int, int], {"min_length": 2, "max_length": 2}]
    """Of the source and the other text."""
    claim: float
    """What the claim allows."""
    loss: Unbounded
    """As the run computed it."""
    again: Unbounded
    """In float64."""
    forbidden: bool = False
    """Whether a rule of the mechanism makes the output impossible for the other text."""
    in_json: ClassVar[str] = (
        "plan, label as mechanism, epsilon, attack, row, positions, claim, loss, again, forbidden"
    )

    @property
    def lost(self) -> float:
        """What is lost for sure, whatever the gap between both computations comes from; 0 if that is all."""
        if math.isinf(self.loss) or math.isinf(self.again):
            return math.inf if self.loss == self.again and self.forbidden else 0.0
        return max(0.0, min(self.loss, self.again) - _STEPS * abs(self.loss - self.again))

    @property
    def refutes_claim(self) -> bool:
        """Whether it is above the claim for sure."""
        return math.isfinite(self.claim) and self.lost > self.claim * (1 + _LEAST)

    @property
    def reason(self) -> str:
        """What refutes the claim, in words."""
        first, second = self.positions
        where = f"what was drawn in trial {self.row} (texts {first} and {second})"
        if math.isinf(self.loss):
            return (
                f"{where} is impossible for the other text by a rule of the mechanism, whatever the noise, "
                f"and the claim is {self.claim:g}: certain by its own probabilities, computed twice; the "
                "text alone may tell less"
            )
        return (
            f"{where} is e^{self.again:.6g} times as likely from one text as from the other, and the claim "
            f"allows e^{self.claim:g}: certain by the mechanism's own probabilities, computed twice "
            f"({self.loss:.6g} in the run); the text alone may tell less"
        )


def write_certain(run: RunDirectory, losses: list[CertainLoss]) -> None:
    """Keep what was confirmed; earlier notes are replaced."""
    content = seal_json({"losses": [loss.to_dict() for loss in losses]})
    run.files.write({run.certain_losses: json.dumps(content).encode()}, redacted=False)


def read_certain(run: RunDirectory) -> tuple[CertainLoss, ...]:
    """Return the losses that were confirmed and are still those of the tables."""
    path = run.certain_losses
    raw = run.files.read(path)
    if raw is None:
        return ()
    try:
        content = parse_json(raw.decode("utf-8"))
        check_json(content)
        found = [_parse(stored) for stored in content["losses"]]
    except (ChecksumError, ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(f"'{path}' is damaged ({error}). Delete it and run `loss` again.") from error
    return tuple(loss for loss in found if _is_stored(run, loss))


def _parse(stored: dict[str, Any]) -> CertainLoss:
    first, second = stored["positions"]
    return CertainLoss(
        plan=str(stored["plan"]),
        label=str(stored["mechanism"]),
        epsilon=Nominal.of(stored["epsilon"]),
        attack=str(stored["attack"]),
        row=int(stored["row"]),
        positions=(int(first), int(second)),
        claim=float(stored["claim"]),
        loss=_number(stored["loss"]),
        again=_number(stored["again"]),
        forbidden=bool(stored["forbidden"]),
    )


def _number(stored: float | None) -> float:
    return math.inf if stored is None else float(stored)


def _is_stored(run: RunDirectory, loss: CertainLoss) -> bool:
    """Return whether the table of guesses has this loss, and some of it is sure."""
    folder = run.guesses_folder(loss.plan, loss.label, loss.epsilon, loss.attack)
    if not folder.exists() or run.count_plan(loss.plan) <= loss.row:
        return False
    rows = run.guesses(loss.plan, loss.label, loss.epsilon, loss.attack).fetch(np.array([loss.row]))
    if not rows or not rows[0]["usable"] or rows[0]["choice"] != run.read_plan(loss.plan).secret[loss.row]:
        return False
    margin = float(rows[0]["margin"])
    told = math.isinf(loss.loss) or math.isclose(margin, loss.loss, rel_tol=_DIGITS)
    return told and loss.lost > 0
