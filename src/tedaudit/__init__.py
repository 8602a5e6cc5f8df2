"""Measure, by attack, how private a text rewriter really is.

>>> import tedaudit
>>> result = tedaudit.audit("word-rr", "demo", epsilon=[2, 8], trials=500)

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tedaudit.api import audit, compare, estimate, load_corpus, load_run, report, rewrite, run
    from tedaudit.errors import (
        ContractError,
        CorpusError,
        EncoderError,
        InfrastructureError,
        ModelError,
        PluginError,
        RunDirectoryError,
        SpecError,
        TedauditError,
    )
    from tedaudit.estimators import Bound
    from tedaudit.leaks.finder import find_leaks
    from tedaudit.leaks.lint.linter import lint
    from tedaudit.plugins.batches import Draws, Guesses, Observations, Rewrites, TextLikelihoods
    from tedaudit.plugins.nominal import NO_EPSILON, Nominal
    from tedaudit.plugins.values import (
        Attack,
        Card,
        Claim,
        Corpus,
        CorpusLoader,
        Draw,
        Guess,
        Leak,
        Mechanism,
        Observation,
        Rewrite,
        Split,
    )
    from tedaudit.reports.result import Result
    from tedaudit.results.findings import AuditResult, Finding
    from tedaudit.results.losses import LossRow, read_losses
    from tedaudit.results.verdict import Verdict
    from tedaudit.runs.engines import Engine
    from tedaudit.runs.spec.model import AuditSpec
    from tedaudit.seeding import normals, uniforms
    from tedaudit.studies.calibrate.calibrator import calibrate
    from tedaudit.studies.calibrate.result import Answer, Calibrated, EpsilonForTarget
    from tedaudit.studies.forecast.forecast import Forecast, plan_audit
    from tedaudit.studies.frontier.result import Frontier
    from tedaudit.studies.frontier.runner import frontier
    from tedaudit.studies.link.linker import link
    from tedaudit.studies.link.result import LinkResult
    from tedaudit.testing.assertion import NotPrivateError, NotTestedError, PrivacyError, assert_private

_HOMES = {
    "tedaudit.api": ("audit", "compare", "estimate", "load_corpus", "load_run", "report", "rewrite", "run"),
    "tedaudit.plugins.batches": ("Draws", "Guesses", "Observations", "Rewrites", "TextLikelihoods"),
    "tedaudit.errors": (
        "ContractError", "CorpusError", "EncoderError", "InfrastructureError", "ModelError", "PluginError",
        "RunDirectoryError", "SpecError", "TedauditError",
    ),
    "tedaudit.estimators": ("Bound",),
    "tedaudit.runs.engines": ("Engine",),
    "tedaudit.studies.forecast.forecast": ("Forecast", "plan_audit"),
    "tedaudit.plugins.nominal": ("NO_EPSILON", "Nominal"),
    "tedaudit.reports.result": ("Result",),
    "tedaudit.results.findings": ("AuditResult", "Finding"),
    "tedaudit.results.losses": ("LossRow", "read_losses"),
    "tedaudit.results.verdict": ("Verdict",),
    "tedaudit.seeding": ("normals", "uniforms"),
    "tedaudit.runs.spec.model": ("AuditSpec",),
    "tedaudit.studies.calibrate.calibrator": ("calibrate",),
    "tedaudit.studies.calibrate.result": ("Answer", "Calibrated", "EpsilonForTarget"),
    "tedaudit.studies.frontier.result": ("Frontier",),
    "tedaudit.studies.frontier.runner": ("frontier",),
    "tedaudit.studies.link.linker": ("link",),
    "tedaudit.studies.link.result": ("LinkResult",),
    "tedaudit.testing.assertion": ("NotPrivateError", "NotTestedError", "PrivacyError", "assert_private"),
    "tedaudit.leaks.finder": ("find_leaks",),
    "tedaudit.leaks.lint.linter": ("lint",),
    "tedaudit.plugins.values": (
        "Attack", "Card", "Claim", "Corpus", "CorpusLoader", "Draw", "Guess", "Leak", "Mechanism",
        "Observation", "Rewrite", "Split",
    ),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "NO_EPSILON", "Answer", "Attack", "AuditResult", "AuditSpec", "Bound", "Calibrated", "Card",
    "Claim", "ContractError", "Corpus", "CorpusError", "CorpusLoader", "Draw", "Draws", "EncoderError",
    "Engine", "EpsilonForTarget", "Finding", "Forecast", "Frontier", "Guess", "Guesses",
    "InfrastructureError", "Leak", "LinkResult", "LossRow", "Mechanism", "ModelError", "Nominal",
    "NotPrivateError", "NotTestedError", "Observation", "Observations", "PluginError", "PrivacyError",
    "Result", "Rewrite", "Rewrites", "RunDirectoryError", "SpecError", "Split", "TedauditError",
    "TextLikelihoods", "Verdict", "assert_private", "audit", "calibrate", "compare", "estimate", "find_leaks",
    "frontier", "link", "lint", "load_corpus", "load_run", "normals", "plan_audit", "read_losses", "report",
    "rewrite", "run", "uniforms",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("tedaudit.version").__version__
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'tedaudit' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
