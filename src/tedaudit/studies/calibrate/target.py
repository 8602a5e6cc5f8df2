"""The target of a calibration: which measured number is to reach which value."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson, epsilon_from_success, success_from_epsilon
from tedaudit.estimators.loss import LossSample
from tedaudit.estimators.multiplicity import look_error
from tedaudit.estimators.readings import SuccessReading
from tedaudit.text.plain_data import PlainData

EPS_EMP, SUCCESS, LOSS = "eps_emp", "success", "loss"
_WAYS = f"{EPS_EMP}, {SUCCESS} or {LOSS}@DELTA, such as {LOSS}@0.01"


@dataclass(frozen=True)
class Target(PlainData):
    """A value of `eps_emp` or `success`, of the strongest attack, or of the epsilon at a delta of the losses.

    A target of eps_emp x is the success rate e^x / (e^x + k - 1), that of the attack itself and not the
    lower end of an interval for it.
    """

    kind: str
    value: float
    candidates: int = 2
    delta: float = 0.0
    in_json: ClassVar[str] = "by, value as target, level"

    @property
    def is_loss(self) -> bool:
        """Whether it is read from losses, and not from guesses."""
        return self.kind == LOSS

    @property
    def by(self) -> str:
        """How the command line calls what is measured."""
        return f"{LOSS}@{self.delta:g}" if self.is_loss else self.kind

    @cached_property
    def level(self) -> float:
        """What readings are compared with: a success rate, or an epsilon for losses."""
        if self.kind == EPS_EMP:
            return success_from_epsilon(self.value, self.candidates)
        return self.value

    def least_trials(self, error: float) -> int:
        """Return the trials below which readings have no upper end at all, at an error."""
        return LossSample(np.zeros(1), error).trials_for_upper(self.delta) if self.is_loss else 1

    @property
    def phrase(self) -> str:
        """How sentences name it."""
        if self.is_loss:
            return f"a loss of {self.value:g} at delta {self.delta:g}"
        return f"the target of {self.label}"

    @property
    def label(self) -> str:
        """How tables and sentences show it: its value, and the success rate that it means."""
        if self.is_loss:
            return f"{self.value:g}"
        given = self.kind == EPS_EMP  # a large one would be lost in its success rate
        level = f"{self.level:.4g}" if self.level < 0.99995 else "above 0.9999"  # no target is a success of 1
        value = f"{self.value:g}" if given else f"{epsilon_from_success(self.level, self.candidates):.3g}"
        return f"{value} (success {level})"

    @property
    def measured(self) -> str:
        """How sentences name what is measured."""
        return f"epsilon at delta {self.delta:g}" if self.is_loss else "expected success"

    def straighten(self, value: float) -> float:
        """Return a measured value on the scale on which curves are straighter: the log-odds of a success.

        What lies far above the target is brought near: an infinite loss and a success of 1 have a place too.
        """
        if self.is_loss:
            return min(value, 4 * self.value + 1)
        top = 1 - (1 - self.level) / 20
        share = min(max(value, 1e-3), top)
        return math.log(share / (1 - share))

    def show(self, value: float) -> str:
        """Return a measured value as text."""
        if math.isinf(value):
            return "infinite"
        return f"{value:.2f}" if self.is_loss else f"{value:.4f}"


def parse_target(by: str, value: float, candidates: int) -> Target:
    """Return the target for what is typed: what is measured, and its value."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise SpecError(f"The target is {value!r}; it must be a number above 0, such as 2.0.")
    kind, _, written = by.partition("@")
    if kind not in (EPS_EMP, SUCCESS, LOSS) or bool(written) != (kind == LOSS):
        raise SpecError(f"A target cannot be measured by '{by}'; it is measured by {_WAYS}.")
    if kind == SUCCESS and not 1 / candidates < value < 1:
        raise SpecError(
            f"The target is a success rate of {value:g}; it must be above blind guessing "
            f"({1 / candidates:.3g}) and below 1."
        )
    if kind == LOSS and candidates != 2:
        raise SpecError(f"Losses need two candidates, and k is {candidates}; use k = 2.")
    return Target(kind, float(value), candidates, _parse_delta(by, written) if kind == LOSS else 0.0)


def _parse_delta(by: str, written: str) -> float:
    try:
        delta = float(written)
    except ValueError:
        delta = math.nan
    if not 0 < delta < 1:
        raise SpecError(f"'{by}' has no delta between 0 and 1; write it like {LOSS}@0.01.")
    return delta


def attempt_error(error: float, attempt: int) -> float:
    """Return the error of an attempt at one end: each end has half, and all its attempts share it."""
    return look_error(error / 2, attempt)


@dataclass(frozen=True, slots=True)
class TargetReach:
    """Whether trials can show anything about a target, and how many could if these cannot."""

    too_high: bool = False
    too_near_chance: bool = False
    trials_needed: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether these trials can show both that something is below and that something is above."""
        return not self.too_high and not self.too_near_chance


def find_reach(target: Target, trials: int, error: float) -> TargetReach:
    """Return whether so many fresh trials at each end could confirm an interval, before any is made."""
    share = attempt_error(error, 1)
    shows_above, shows_below = _TESTS[target.is_loss]
    if not shows_above(target, trials, share):
        return TargetReach(too_high=True, trials_needed=_find_trials(shows_above, target, share, trials))
    if not shows_below(target, trials, share):
        return TargetReach(
            too_near_chance=True, trials_needed=_find_trials(shows_below, target, share, trials)
        )
    return TargetReach()


def _shows_success(target: Target, trials: int, error: float) -> bool:
    """Return whether a success rate above the target would be told if every guess were right."""
    return clopper_pearson(trials, trials, 2 * error)[0] > target.level


def _shows_chance(target: Target, trials: int, error: float) -> bool:
    """Return whether one below would be told if guesses were as good as blind."""
    return SuccessReading(round(trials / target.candidates), trials).ends(error)[1] < target.level


def _shows_large_loss(target: Target, trials: int, error: float) -> bool:
    """Return whether a loss above the target would be told if every loss were."""
    losses = np.full(trials, 2 * target.value + 1)
    return LossSample(losses, error).delta_lower(target.value) > target.delta


def _shows_no_loss(target: Target, trials: int, error: float) -> bool:
    """Return whether a loss below the target would be told if there were none."""
    return LossSample(np.zeros(trials), error).delta_upper(target.value) < target.delta


_TESTS = {False: (_shows_success, _shows_chance), True: (_shows_large_loss, _shows_no_loss)}
_MOST = 2**23  # trials that anybody would make


def _find_trials(
    shows: Callable[[Target, int, float], bool], target: Target, error: float, trials: int
) -> int | None:
    """Return how many trials would be enough; None if it takes many millions."""
    low, high = trials, 2 * trials
    while not shows(target, high, error):
        low, high = high, 2 * high
        if high > _MOST:
            return None
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if shows(target, middle, error) else (middle, high)
    return high
