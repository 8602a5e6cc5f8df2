"""From counts to bounds: pure mathematics, usable alone."""

import importlib
import pkgutil
from functools import cache

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.estimators.baseline import baseline
from tedaudit.estimators.bound import Bound, epsilon_from_success, success_from_epsilon
from tedaudit.estimators.intervals import clopper_pearson
from tedaudit.estimators.protocol import Choices, Counts, Estimator
from tedaudit.estimators.reduced import reduced_form
from tedaudit.estimators.sequential import confidence_sequence, log_evidence, sequential

DEFAULT_ESTIMATOR = "reduced"

__all__ = [
    "DEFAULT_ESTIMATOR",
    "Bound",
    "Choices",
    "Counts",
    "Estimator",
    "baseline",
    "clopper_pearson",
    "confidence_sequence",
    "epsilon_from_success",
    "estimator_names",
    "find_estimator",
    "log_evidence",
    "reduced_form",
    "sequential",
    "success_from_epsilon",
]


@cache
def _estimators() -> dict[str, Estimator]:
    """Return the estimators of this folder by name: every module that has an object `ESTIMATOR`."""
    modules = [
        importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    offered = [module.ESTIMATOR for module in modules if hasattr(module, "ESTIMATOR")]
    return {estimator.name: estimator for estimator in offered}


def estimator_names() -> list[str]:
    """Return the names of all estimators."""
    return sorted(_estimators())


def find_estimator(name: str) -> Estimator:
    """Return an estimator by its name."""
    known = _estimators()
    if name not in known:
        raise SpecError(
            f"There is no estimator '{name}'.{did_you_mean(name, known)} There are: {join_names(known)}."
        )
    return known[name]
