"""Small things that several test files need: texts, specs, tiny plug-ins, and ways to look at a run.

Workers import the plug-ins from here, one process for each chunk: what only tests need is imported late.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tedaudit.corpora.files import Given
from tedaudit.errors import SpecError
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Card, Claim, Draw, Guess, Observation, Rewrite
from tedaudit.runs.engines import ProcessEngine
from tedaudit.runs.spec.model import AuditSpec, parse_spec
from tedaudit.seeding import normals, uniforms

if TYPE_CHECKING:
    from tedaudit.results.findings import AuditResult

HERE = Path(__file__).parent
TABLES = "[rgo]*es/**/*"  # of a run: rewrites, own rewrites and guesses
NEVER = 1e-9  # the probability with which a statistical test may fail although all is well


def sentences(n: int) -> list[str]:
    """Return n distinct short texts that share words with each other."""
    who = ["my sister", "the doctor", "a neighbour", "our teacher", "the old baker", "his boss", "nobody"]
    did = ["called about", "asked for", "forgot", "paid for", "wrote down", "lost", "returned"]
    what = ["the rent", "two tickets", "a red bicycle", "the results", "her keys", "some bread", "the dog"]
    when = ["on monday", "in may", "last night", "before lunch", "at nine", "again", "too late"]
    return [" ".join(parts) for parts in islice(product(who, did, what, when), None, None, 7)][:n]


def given(texts: Sequence[str]) -> dict[str, object]:
    """Return a corpus of these texts for a spec."""
    return {"name": "given", "live": Given(tuple(texts))}


def make_spec(out: Path, **changes: object) -> AuditSpec:
    """Return a small audit; every setting can be changed. Tables have four parts, however many trials."""
    trials = changes.get("trials", 100)
    settings: dict[str, object] = {
        "corpus": given(sentences(40)), "mechanisms": [{"name": "word-rr", "slots": 4}], "epsilons": [3],
        "plans": [{"k": 2, "lambda": 0}], "trials": 100, "out": str(out),
        "block": max(30, trials * 3 // 10) if isinstance(trials, int) else 30,
    }  # fmt: skip
    return parse_spec(settings | changes)


def told(**changes: object) -> str:
    """Return what is said about a spec with these settings."""
    import pytest

    with pytest.raises(SpecError) as caught:
        parse_spec({"mechanisms": ["identity"], **changes})
    return str(caught.value)


def snapshot(root: Path, pattern: str = "**/*") -> dict[str, tuple[str, int]]:
    """Return content hash and time of change of all files, the lock left out: it says nothing."""
    found = [path for path in root.glob(pattern) if path.is_file() and path.name != ".lock"]
    return {
        str(path.relative_to(root)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(found)
    }


def table_files(root: Path) -> list[str]:
    """Return the names of all Parquet files and descriptions of tables."""
    found = [*root.glob("**/*.parquet"), *root.glob("**/table.json")]
    return sorted(str(path.relative_to(root)) for path in found)


def tables(root: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table of a run, in an order that does not depend on the parts.

    What is said of pairs is left out.
    """
    import polars as pl

    from tedaudit.runs.files import read_frame
    from tedaudit.runs.table_folder import TableFolder

    found: dict[str, list[tuple[object, ...]]] = {}
    for info in sorted(root.glob("*/**/table.json")):
        folder = info.parent
        key = TableFolder(folder).info().key
        parts = [read_frame(path, key) for path in sorted(folder.glob("part-*.parquet"))]
        whole = [part.drop("largest", "mu", "terms", strict=False) for part in parts]
        rows = pl.concat(whole).rows() if whole else []
        by_text = folder.relative_to(root).parts[0] in ("rewrites", "own_rewrites")
        found[str(folder.relative_to(root))] = sorted(rows, key=lambda row: row[:2]) if by_text else rows
    for path in sorted(root.glob("plans/*.parquet")):
        found[str(path.relative_to(root))] = pl.read_parquet(path).rows()
    return found


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def strict(text: str) -> Any:
    """Return what some JSON says; what is JSON to Python alone is refused."""
    return json.loads(text, parse_constant=_refuse)


def summary(folder: Path) -> Any:
    """Return the summary that a run has written."""
    return strict((folder / "summary.json").read_text(encoding="utf-8"))


def within(count: int, trials: int, probability: float, error: float = NEVER) -> bool:
    """Return whether a binomial count lies where it does with probability 1 - error at least."""
    from scipy.stats import binom

    return bool(
        binom.ppf(error / 2, trials, probability) <= count <= binom.ppf(1 - error / 2, trials, probability)
    )


class FreshProcesses:
    """Does all work in a process of its own, with nothing but bytes in between."""

    workers = 1

    def __init__(self) -> None:
        self._waiting, self.processes = [], 0

    @property
    def has_room(self) -> bool:
        return not self._waiting

    def open(self, here, plugins):
        """Begin a run."""
        self._opened = here, plugins

    def submit(self, step):
        self._waiting.append(step)

    def finished(self):
        while self._waiting:
            self.processes += 1
            with ProcessEngine(1) as engine:
                engine.open(*self._opened)
                engine.submit(self._waiting.pop())
                done = []
                while not done:
                    done = list(engine.finished())
            yield from done


@dataclass
class Recording:
    """Keeps a text or draws another by coin, and remembers every draw."""

    other: str = "something else"
    draws: list[Draw] = field(default_factory=list, init=False, compare=False)
    card: ClassVar[Card] = Card(name="recording", summary="Remembers its draws.")

    def claim(self, epsilon: float) -> Claim | None:
        return Claim(epsilon, "document")

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        self.draws += draws
        coins = uniforms([draw.key for draw in draws], 1)[:, 0]
        return [Rewrite(d.text if c < 0.5 else self.other) for d, c in zip(draws, coins, strict=True)]

    @property
    def asked(self) -> set[tuple[str, float, int]]:
        """Every draw once."""
        return {(draw.text, draw.epsilon, draw.key) for draw in self.draws}


def vector(text: str) -> np.ndarray:
    """Return a text's own place in a small space."""
    return np.array([len(text), text.count("e"), text.count("t"), text.count("a")], dtype=np.float32)


@dataclass(frozen=True)
class Latents:
    """Releases a noisy latent and tokens besides a text that says nothing."""

    scale: float = 1.0
    card: ClassVar[Card] = Card(name="latents", summary="Noisy latents.")

    def claim(self, epsilon: float) -> Claim | None:
        return None

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        noise = normals([draw.key for draw in draws], 4) * self.scale
        return [
            Rewrite("released", tuple(map(ord, d.text[:3])), (vector(d.text) + n).astype(np.float32), 3)
            for d, n in zip(draws, noise, strict=True)
        ]


@dataclass(frozen=True)
class NearestLatent:
    """Sees latents only, and refuses to work if it is shown anything else."""

    card: ClassVar[Card] = Card(name="nearest-latent", summary="Nearest latent.", sees=("latent",))

    def guess(self, seen: Sequence[Observation]) -> list[Guess]:
        for observation in seen:
            output = observation.output
            assert (output.text, output.tokens, output.units, output.error) == ("", None, None, "")
            assert output.latent is not None
            assert output.latent.dtype == np.float32
        return [
            Guess(np.array([-float(np.abs(vector(text) - o.output.latent).sum()) for text in o.candidates]))
            for o in seen
        ]


@dataclass(frozen=True)
class Failing:
    """Keeps the text, but fails on a share of the draws."""

    share: float = 0.5
    card: ClassVar[Card] = Card(name="failing", summary="Fails now and then.")

    def claim(self, epsilon: float) -> Claim | None:
        return Claim(epsilon, "document")

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        coins = uniforms([draw.key for draw in draws], 1)[:, 0]
        return [
            Rewrite("", error="out-of-luck") if c < self.share else Rewrite(d.text)
            for d, c in zip(draws, coins, strict=True)
        ]


def reference(kind: str, name: str, **params: object) -> Reference:
    """Return a reference that other processes can follow, to a class of this module or a built-in one."""
    own = name[0].isupper()
    return Reference(kind, f"py:helpers:{name}" if own else name, params)


@dataclass(frozen=True)
class SharedWords:
    """Names the candidate with most words of the output: cheap, and needs no preparation."""

    weight: float = 1.0
    card: ClassVar[Card] = Card(name="shared-words", summary="Counts shared words.")

    def guess(self, seen: Sequence[Observation]) -> list[Guess]:
        found = [
            [self.weight * len(set(o.output.text.split()) & set(text.split())) for text in o.candidates]
            for o in seen
        ]
        return [Guess(np.asarray(scores, dtype=np.float64)) for scores in found]


@dataclass(frozen=True)
class Promising:
    """Keeps every text, whatever it promises."""

    unit: str = "document"
    delta: float = 0.0
    max_units: int | None = 1
    card: ClassVar[Card] = Card(name="promising", summary="Promises.")

    def claim(self, epsilon: float) -> Claim | None:
        return Claim(epsilon, self.unit, delta=self.delta, max_units=self.max_units)

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        return [Rewrite(draw.text) for draw in draws]


def audited(root: Path, mechanism: object, **changes: object) -> "AuditResult":
    """Run a small audit of one mechanism with a cheap attack."""
    from tedaudit.api import run

    return run(make_spec(root, **{"mechanisms": [mechanism], "attacks": [SharedWords()]} | changes))


class Stop(Exception):
    """Raised in the middle of a run."""


def stopped(spec, parts):
    """Run until so many parts of guesses have been made, and return the run directory."""
    import pytest

    from tedaudit.api import run
    from tedaudit.runs.directory import RunDirectory

    left = parts

    def progress(what, _done, _total):
        nonlocal left
        left -= bool(what) and "rewriting" not in what
        if left == 0:
            raise Stop

    with pytest.raises(Stop):
        run(spec, progress=progress)
    return RunDirectory(spec.folder)
