"""Does one chunk of model work; needs no more than numpy, scipy and what the plug-in itself uses.

    python -m tedaudit.worker CHUNK RESULT
    python -m tedaudit.worker FOLDER

The second form does every chunk of a folder that has no result yet. `SerialExecutor` calls the work in
this process; other executors send chunks elsewhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from tedaudit.abilities import KnowsMechanism, Practises, Prepares
from tedaudit.errors import ContractError, TedauditError
from tedaudit.execution.chunks import Chunk, GuessChunk, RewriteChunk, read_chunk, write_result
from tedaudit.registry import Reference, build
from tedaudit.types import Guess, Rewrite

Tag = TypeVar("Tag")
CHUNK, RESULT = ".chunk", ".result"
BATCH = 4096  # draws or trials per call of a plug-in
_FOLDER_BATCH = 20_000  # draws per call on a machine that was lent for the work
Result = list[Rewrite] | list[Guess]


class Executor(Protocol):
    """Where chunks are done. Results come in the order of the chunks, each with its chunk's tag."""

    def run(self, work: Iterable[tuple[Tag, Chunk]]) -> Iterator[tuple[Tag, Result]]:
        """Yield the result of every chunk; may look ahead in `work`."""
        ...


class SerialExecutor:
    """Does one chunk after the other in this process and keeps plug-ins loaded between them."""

    def __init__(self, batch_size: int = BATCH) -> None:
        self._bench = Bench(batch_size)

    def run(self, work: Iterable[tuple[Tag, Chunk]]) -> Iterator[tuple[Tag, Result]]:
        """Yield results as they are done; a chunk is asked for only when the one before is finished."""
        for tag, chunk in work:
            yield tag, self._bench.perform(chunk)


class Bench:
    """Plug-ins that are built once and used for many chunks."""

    def __init__(self, batch_size: int = BATCH) -> None:
        self._batch_size = batch_size
        self._plugins: dict[str, Any] = {}
        self._prepared: dict[str, Sequence[str]] = {}
        self._practising: dict[str, Sequence[str]] = {}

    def perform(self, chunk: Chunk) -> Result:
        """Return one rewrite per draw or one guess per observation, checked."""
        return self._rewrite(chunk) if isinstance(chunk, RewriteChunk) else self._guess(chunk)

    def _rewrite(self, chunk: RewriteChunk) -> list[Rewrite]:
        if not chunk.draws:
            return []
        mechanism = self._plugin(chunk.plugin)
        done: list[Rewrite] = []
        for start in range(0, len(chunk), self._batch_size):
            draws = chunk.draws[start : start + self._batch_size]
            with _blamed(chunk.plugin.name):
                rewrites = mechanism.rewrite(draws)
            _check(chunk.plugin.name, rewrites, len(draws), Rewrite)
            done += rewrites
        return done

    def _guess(self, chunk: GuessChunk) -> list[Guess]:
        if not chunk.outputs:
            return []
        attack = self._plugin(chunk.plugin)
        name = _identity(chunk.plugin)
        if isinstance(attack, Prepares) and not _same(self._prepared.get(name), chunk.pool):
            attack.prepare(chunk.pool)
            self._prepared[name] = chunk.pool
        if isinstance(attack, Practises) and not _same(self._practising.get(name), chunk.practice):
            attack.practise_on(chunk.practice or chunk.pool)
            self._practising[name] = chunk.practice
        if isinstance(attack, KnowsMechanism) and chunk.mechanism is not None:
            with _blamed(chunk.plugin.name):
                attack.meet(self._plugin(chunk.mechanism), chunk.epsilon)
        done: list[Guess] = []
        for start in range(0, len(chunk), self._batch_size):
            seen = chunk.observations(start, start + self._batch_size)
            with _blamed(chunk.plugin.name):
                guesses = attack.guess(seen)
            _check(chunk.plugin.name, guesses, len(seen), Guess)
            for guess, observation in zip(guesses, seen, strict=True):
                _check_scores(chunk.plugin.name, guess, len(observation.candidates))
            done += guesses
        return done

    def _plugin(self, reference: Reference) -> Any:
        name = _identity(reference)
        if name not in self._plugins:
            self._plugins[name] = build(reference)
        return self._plugins[name]


def _same(one: Sequence[str] | None, other: Sequence[str]) -> bool:
    """Return whether these are the same texts: chunks that come from files bring a copy each."""
    return one is other or one == other


def _identity(reference: Reference) -> str:
    if reference.live is not None:
        return f"{reference.kind} at {id(reference.live)}"
    return f"{reference.kind} {reference.name} {sorted(reference.params.items(), key=lambda item: item[0])!r}"


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Say which plug-in it was that raised."""
    try:
        yield
    except TedauditError:
        raise
    except Exception as error:
        raise ContractError(
            f"'{name}' raised {type(error).__name__}: {error}. A plug-in must answer every input; see "
            "`tedaudit.testing`. Set TEDAUDIT_DEBUG=1 to see where it happened."
        ) from error


def _check(name: str, returned: Any, wanted: int, kind: type) -> None:
    if not isinstance(returned, list) or len(returned) != wanted:
        got = f"{len(returned)} in a {type(returned).__name__}" if hasattr(returned, "__len__") else returned
        raise ContractError(f"'{name}' was given {wanted} items and returned {got!r}; it must return a list "
                            f"with one {kind.__name__} per item, in order.")  # fmt: skip
    for item in returned:
        if not isinstance(item, kind):
            raise ContractError(f"'{name}' returned a {type(item).__name__} where a {kind.__name__} is due.")


def _check_scores(name: str, guess: Guess, candidates: int) -> None:
    scores = np.asarray(guess.scores)
    if scores.shape != (candidates,):
        raise ContractError(
            f"'{name}' returned scores of shape {scores.shape} for {candidates} candidates; "
            "it must return one number per candidate."
        )
    if guess.usable and np.isnan(scores).any():
        raise ContractError(
            f"'{name}' returned a score that is not a number. Mark the guess as unusable (usable=False), "
            "or mend the attack."
        )


def main(arguments: Sequence[str]) -> None:
    """Read a chunk, do it, write the result; or do so for all chunks of a folder."""
    first, *rest = map(Path, arguments)
    if rest:
        write_result(rest[0], Bench().perform(read_chunk(first)))
        return
    bench = Bench(_FOLDER_BATCH)
    left = [path for path in sorted(first.glob(f"*{CHUNK}")) if not path.with_suffix(RESULT).exists()]
    for number, path in enumerate(left, 1):
        chunk = read_chunk(path)
        scratch = path.with_suffix(".part")
        write_result(scratch, bench.perform(chunk))
        beside = Path(f"{scratch}.npz")
        if beside.exists():  # the arrays first: a result is complete once it has its name
            beside.rename(f"{path.with_suffix(RESULT)}.npz")
        scratch.rename(path.with_suffix(RESULT))
        print(f"{number} of {len(left)}: {chunk.plugin.name}, {len(chunk):,} items", flush=True)  # noqa: T201
