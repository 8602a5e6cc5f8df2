"""The kinds of answer that a calibration gives."""

from enum import StrEnum


class Answer(StrEnum):
    """The kinds of answer."""

    INTERVAL = "interval"
    ABOVE = "above at the least epsilon"
    BELOW = "below at the largest epsilon"
    TOO_HIGH = "above the ceiling of the trials"
    TOO_NEAR_CHANCE = "too near to chance for the trials"
    UNDECIDED = "undecided"
