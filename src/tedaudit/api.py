"""The short ways in from Python: everything here fills an `AuditSpec` and runs it."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tedaudit.corpora._given import Given
from tedaudit.errors import SpecError, listed
from tedaudit.execution.runner import Progress, run
from tedaudit.registry import Reference, build
from tedaudit.results.reading import AuditResult
from tedaudit.spec.model import parse_spec
from tedaudit.types import Corpus, Mechanism


def audit(
    mechanism: str | Mechanism | Callable[..., Any] | Mapping[str, Any],
    corpus: str | Corpus | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    epsilon: float | Sequence[float] = (),
    attack: str | Sequence[Any] = "lexical",
    trials: int = 1000,
    **settings: Any,
) -> AuditResult:
    """Audit one mechanism and return what was found.

    `mechanism` is a name, a plug-in, or a plain function from text to text (or list to list);
    `corpus` a name or a list of texts; without it, those that the mechanism brings, or the demo. Any
    other setting of `AuditSpec` may be given, and `k`, `lambda_`, `strategy`, `top` or `estimator`
    for the plan. Without `out` nothing stays on disk.

    >>> audit(str.upper, ["a b", "c d", "e f"], epsilon=1.0, trials=200).violated
    True
    """
    taken = {"mechanisms": "mechanism", "epsilons": "epsilon", "attacks": "attack"}
    for wrong, right in taken.items():
        if wrong in settings:
            raise SpecError(f"`audit` has no setting '{wrong}': give one or several as `{right}`.")
    plan = {
        key.rstrip("_"): settings.pop(key)
        for key in ("k", "lambda_", "strategy", "top", "estimator")
        if key in settings
    }
    progress: Progress | None = settings.pop("progress", None)
    if plan:
        if "plans" in settings:
            raise SpecError(f"Both `plans` and {listed(plan)} were given: put them into one of the plans.")
        settings["plans"] = [plan]
    given: Any = corpus
    if corpus is not None and not isinstance(corpus, str | Mapping):
        given = {"name": "given", "live": Given(corpus)}
    settings |= {"mechanisms": [mechanism], "corpus": given, "attacks": attack, "trials": trials}
    with tempfile.TemporaryDirectory(prefix="tedaudit-") as temporary:
        kept = bool(settings.get("out"))
        settings.setdefault("out", str(Path(temporary) / "run"))
        return run(parse_spec({**settings, "epsilons": epsilon}), progress, page=kept)


def load_corpus(name: str, **options: Any) -> Corpus:
    """Return a corpus by the name of its loader."""
    corpus: Corpus = build(Reference("corpus", name, options)).load()
    return corpus
