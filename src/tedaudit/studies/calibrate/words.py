"""The answer of a calibration in plain words: what was found, and what that does not say."""

from typing import TYPE_CHECKING

from tedaudit.errors import join_names
from tedaudit.studies.calibrate.answer import Answer
from tedaudit.studies.calibrate.confirm import ATTEMPTS

if TYPE_CHECKING:
    from tedaudit.studies.calibrate.result import EpsilonForTarget


_LIMITS_OF_ATTACKS = (
    "It holds for these attacks on these texts: another attack may find more. With several attacks the "
    "strongest counts: at the low end all of them are below the target, at the high end one is above it."
)
_LIMITS_OF_LOSSES = (
    "It holds for these texts, and is as right as the likelihoods of the mechanism, which were not checked "
    "here."
)


def describe(found: "EpsilonForTarget") -> tuple[str, ...]:
    """Return the sentences of one answer, the answer itself first."""
    sentences = [f"{found.label}: {_TELL[found.answer](found)}"]
    if found.falls:
        sentences.append(_tell_falls(found))
    if found.answer is Answer.INTERVAL:
        sentences.append(_tell_between(found))
    return tuple(sentences)


def explain(error: float, *, is_loss: bool) -> str:
    """Return what every table of answers is to be read with; it quotes nothing."""
    limits = _LIMITS_OF_LOSSES if is_loss else _LIMITS_OF_ATTACKS
    return (
        "The search looked at any epsilon it liked; what is said of the ends comes from fresh trials with "
        f"new secrets, and per row it is wrong with probability at most {error:g}. {limits} It is an average "
        "over pairs of texts, as the plan draws them, and not for every pair. No claim is tested here."
    )


def _who(found: "EpsilonForTarget") -> str:
    """Return what is measured, and by whom."""
    if found.target.is_loss:
        return f"the {found.target.measured} that the losses allow"
    if len(found.attacks) == 1:
        return f"the {found.target.measured} of {found.attacks[0]}"
    return f"the {found.target.measured} of the strongest of {join_names(found.attacks)}"


def _tell_interval(found: "EpsilonForTarget") -> str:
    assert found.low is not None and found.high is not None  # noqa: S101, PT018 - by the kind of the answer
    return (
        f"{_who(found)} crosses {found.target.phrase} between epsilon {found.low.label} and "
        f"{found.high.label} (error {found.error:g}, {found.trials:,} fresh trials at each end)."
    )


def _tell_above(found: "EpsilonForTarget") -> str:
    return (
        f"already above {found.target.phrase} at epsilon {found.limits[0].label}, the least that was tried "
        f"(error {found.error:g}). If that is next to no budget, what tells texts apart is not the noise "
        "that epsilon sets: `tedaudit leaks` looks for what it is."
    )


def _tell_below(found: "EpsilonForTarget") -> str:
    stronger = "" if found.target.is_loss else " A stronger attack may."
    return (
        f"still below {found.target.phrase} at epsilon {found.limits[1].label}, the largest that was tried "
        f"(error {found.error:g}): {_who(found)} does not get there, or only beyond.{stronger}"
    )


def _tell_too_high(found: "EpsilonForTarget") -> str:
    best = "had every loss been far above it" if found.target.is_loss else "had every guess been right"
    return (
        f"{found.target.phrase} is above the ceiling of {found.trials:,} trials: {best}, it could not be "
        f"told that it is reached. {_tell_needed(found)} Nothing was run."
    )


def _tell_near_chance(found: "EpsilonForTarget") -> str:
    least = "no loss at all" if found.target.is_loss else "what blind guessing gives"
    return (
        f"{found.trials:,} trials cannot tell {least} from {found.target.phrase}, so they cannot show that "
        f"anything is below it. {_tell_needed(found)} Nothing was run."
    )


def _tell_needed(found: "EpsilonForTarget") -> str:
    needed = found.reach.trials_needed
    return "It takes many millions of trials." if needed is None else f"It takes about {needed:,} trials."


def _tell_undecided(found: "EpsilonForTarget") -> str:
    known = ""
    if found.low is not None:
        known = f" At epsilon {found.low.label} it is below the target; no epsilon was shown to be above it."
    elif found.high is not None:
        known = f" At epsilon {found.high.label} it is above the target; no epsilon was shown to be below it."
    return (
        f"where {_who(found)} crosses {found.target.phrase} could not be told from {found.trials:,} fresh "
        f"trials within {ATTEMPTS} attempts and between epsilon {found.limits[0].label} and "
        f"{found.limits[1].label}.{known} More trials may tell."
    )


def _tell_falls(found: "EpsilonForTarget") -> str:
    worst = max(found.falls, key=lambda fall: fall.before.value - fall.after.value)
    show = found.target.show
    return (
        f"The curve is not monotone: from {show(worst.before.value)} at epsilon "
        f"{worst.before.epsilon.label} it falls to {show(worst.after.value)} at {worst.after.epsilon.label}. "
        "A smaller epsilon need not be more private."
    )


def _tell_between(found: "EpsilonForTarget") -> str:
    assert found.low is not None  # noqa: S101 - by the kind of the answer
    if found.falls:
        return "So it is said only that a crossing lies between the two; there may be others elsewhere."
    searched = sum(not point.is_fresh for point in found.points)
    under = "" if found.target.is_loss else " for these attacks"
    return (
        f"No fall was seen at the {searched} epsilons visited. If the number never falls with epsilon, every "
        f"epsilon up to {found.low.label} stays below the target{under}; this was not proved."
    )


_TELL = {
    Answer.INTERVAL: _tell_interval,
    Answer.ABOVE: _tell_above,
    Answer.BELOW: _tell_below,
    Answer.TOO_HIGH: _tell_too_high,
    Answer.TOO_NEAR_CHANCE: _tell_near_chance,
    Answer.UNDECIDED: _tell_undecided,
}
