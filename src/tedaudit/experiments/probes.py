"""Examine a mechanism instead of attacking it: its rewrites, its pieces of text, its noise."""

from collections.abc import Callable

from tedaudit.experiments.definition import Experiment
from tedaudit.experiments.outcome import Outcome
from tedaudit.experiments.probe_first_token import first_token
from tedaudit.experiments.probe_noise import noise
from tedaudit.experiments.probe_rewrites import examples, tokenization, variance
from tedaudit.experiments.workspace import Workspace

MAKERS: dict[str, Callable[[Experiment, Workspace], Outcome]] = {
    "examples": examples,
    "variance": variance,
    "tokenization": tokenization,
    "noise": noise,
    "first-token": first_token,
}
"""The function that makes the outcome of each kind."""
