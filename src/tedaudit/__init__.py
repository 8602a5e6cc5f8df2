"""Measure, by attack, how private a text rewriter really is.

>>> import tedaudit
>>> result = tedaudit.audit("word-rr", "demo", epsilon=[2, 8], trials=500)

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tedaudit.api import audit, load_corpus
    from tedaudit.errors import TedauditError
    from tedaudit.estimators import Bound, baseline, reduced_form
    from tedaudit.execution.runner import run
    from tedaudit.results.reading import AuditResult, Finding
    from tedaudit.spec.model import AuditSpec, parse_spec
    from tedaudit.types import Card, Claim, Corpus, Draw, Guess, Observation, Rewrite

_HOMES = {
    "tedaudit.api": ("audit", "load_corpus"),
    "tedaudit.errors": ("TedauditError",),
    "tedaudit.estimators": ("Bound", "baseline", "reduced_form"),
    "tedaudit.results.reading": ("AuditResult", "Finding"),
    "tedaudit.execution.runner": ("run",),
    "tedaudit.spec.model": ("AuditSpec", "parse_spec"),
    "tedaudit.types": ("Card", "Claim", "Corpus", "Draw", "Guess", "Observation", "Rewrite"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AuditResult", "AuditSpec", "Bound", "Card", "Claim", "Corpus", "Draw", "Finding", "Guess", "Observation",
    "Rewrite", "TedauditError", "audit", "baseline", "load_corpus", "parse_spec", "reduced_form", "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("tedaudit.version").__version__
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'tedaudit' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
