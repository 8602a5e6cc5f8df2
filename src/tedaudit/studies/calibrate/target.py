"""The target of a calibration: which measured number is to reach which value."""

import math
from collections.abc import Callable, Sequence
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

SUCCESS, LOSS = "success", "loss"
_WAYS = f"{SUCCESS} or {LOSS}@DELTA, such as {LOSS}@0.01"
_ALMOST_ONE = 0.99995  # what four digits would show as 1


@dataclass(frozen=True)
class Target(PlainData):
    """The expected success of the strongest attack, or the epsilon at a delta of the losses.

    A success is given as a rate, below 1, or from 1 on as the epsilon x that it stands for: the rate is
    e^x / (e^x + k - 1). That is the rate of the attack itself and not the lower end of an interval for it, so
    that no target is an eps_emp.
    """

    value: float  # as it was given
    candidates: int = 2
    delta: float = 0.0  # of losses; 0 if the target is a success
    in_json: ClassVar[str] = "by, value as target, success as target_success, epsilon as target_epsilon"

    @property
    def is_loss(self) -> bool:
        """Whether it is read from losses, and not from guesses."""
        return self.delta > 0

    @property
    def is_rate(self) -> bool:
        """Whether it is a success that was given as a rate."""
        return not self.is_loss and self.value < 1

    @property
    def by(self) -> str:
        """How the command line calls what is measured."""
        return f"{LOSS}@{self.delta:g}" if self.is_loss else SUCCESS

    @cached_property
    def level(self) -> float:
        """What readings are compared with: a success rate, or an epsilon for losses."""
        if self.is_loss or self.is_rate:
            return self.value
        return success_from_epsilon(self.value, self.candidates)

    @property
    def success(self) -> float | None:
        """The success rate; none for losses."""
        return None if self.is_loss else self.level

    @property
    def epsilon(self) -> float:
        """The epsilon that a success rate stands for, or that the losses have at the delta."""
        return epsilon_from_success(self.value, self.candidates) if self.is_rate else self.value

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
        """How tables and sentences show it: the success rate, and the epsilon that it stands for."""
        if self.is_loss:
            return f"{self.value:g}"
        rate = (
            f"{self.level:.4g}" if self.level < _ALMOST_ONE else "above 0.9999"
        )  # no target is a success of 1
        epsilon = f"{self.epsilon:.3g}" if self.is_rate else f"{self.value:g}"
        return f"success {rate} (epsilon {epsilon})"

    @property
    def measured(self) -> str:
        """How sentences name what is measured."""
        return f"epsilon at delta {self.delta:g}" if self.is_loss else "expected success"

    def straighten(self, value: float) -> float:
        """Return a measured value on the scale on which curves are straighter: the log-odds of a success.

        What lies far above the target is brought near: an infinite loss and a success of 1 have a place too,
        and so has a loss that is not known.
        """
        if self.is_loss:
            most = 4 * self.value + 1
            return most if math.isnan(value) else min(value, most)
        top = 1 - (1 - self.level) / 20
        share = min(max(value, 1e-3), top)
        return math.log(share / (1 - share))

    def show(self, value: float) -> str:
        """Return a measured value as text."""
        if not math.isfinite(value):
            return "not known" if math.isnan(value) else "infinite"
        return f"{value:.2f}" if self.is_loss else f"{value:.4f}"


def parse_target(by: str, value: float, candidates: int) -> Target:
    """Return the target for what is typed: what is measured, and its value."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise SpecError(f"The target is {value!r}; it must be a number above 0, such as 2.0.")
    kind, _, written = by.partition("@")
    if kind == "eps_emp":
        raise SpecError(_refuse_bound(float(value), candidates))
    if kind not in (SUCCESS, LOSS) or bool(written) != (kind == LOSS):
        raise SpecError(f"A target cannot be measured by '{by}'; it is measured by {_WAYS}.")
    if kind == LOSS:
        if candidates != 2:
            raise SpecError(f"Losses need two candidates, and k is {candidates}; use k = 2.")
        return Target(float(value), candidates, _parse_delta(by, written))
    if value <= 1 / candidates:
        raise SpecError(
            f"The target is {value:g}: below 1 that is a success rate, and it must be above blind guessing "
            f"({1 / candidates:.3g}). The epsilon {value:g} is a success rate of "
            f"{success_from_epsilon(value, candidates):.4g}: give that."
        )
    return Target(float(value), candidates)


def parse_targets(by: str, values: Sequence[float], candidates: int) -> tuple[Target, ...]:
    """Return several targets, each once; all are rates or all epsilons: 0.9, 1 and 1.1 would be a slip."""
    targets = tuple(parse_target(by, value, candidates) for value in dict.fromkeys(values))
    if not targets:
        raise SpecError("Name a target with --target, such as 2.0.")
    rates = [target.is_rate for target in targets if not target.is_loss]
    if any(rates) and not all(rates):
        listed = ", ".join(f"{target.value:g}" for target in targets)
        meant = ", ".join(f"{success_from_epsilon(target.value, candidates):.4g}" for target in targets)
        raise SpecError(
            f"The targets {listed} are success rates below 1 and epsilons from 1 on: give all of one kind. "
            f"If all of them are epsilons, their success rates are {meant}."
        )
    return targets


def _refuse_bound(epsilon: float, candidates: int) -> str:
    """Return why eps_emp is no target, and how to ask for the success that an epsilon stands for."""
    rate = success_from_epsilon(epsilon, candidates)
    ways = [f"--target {rate:.4g}"] if rate < _ALMOST_ONE else []
    ways += [f"--target {epsilon:g}, the epsilon that it stands for"] if epsilon >= 1 else []
    return (
        "A target cannot be measured by 'eps_emp': it is a lower bound, which counts the surest guesses too "
        "and grows with the number of trials. Give the expected success: "
        f"--by {SUCCESS} with {' or '.join(ways)}. What eps_emp is at the ends is told beside them."
    )


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
