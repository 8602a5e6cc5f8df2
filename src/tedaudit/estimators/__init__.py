"""From counts to bounds: pure mathematics, usable alone."""

from tedaudit.estimators.baseline import baseline
from tedaudit.estimators.bound import Bound, epsilon_from_success, success_from_epsilon
from tedaudit.estimators.intervals import clopper_pearson
from tedaudit.estimators.reduced import reduced_form
from tedaudit.estimators.sequential import confidence_sequence, log_evidence, sequential

__all__ = [
    "Bound",
    "baseline",
    "clopper_pearson",
    "confidence_sequence",
    "epsilon_from_success",
    "log_evidence",
    "reduced_form",
    "sequential",
    "success_from_epsilon",
]
