"""A Ray cluster: every step is a task, which Ray tries again elsewhere if a process or a machine is lost.

A machine that sees the run's folder writes files there; to any other the files that a step needs go with it,
and what it makes comes back.
"""

import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tedaudit.errors import InfrastructureError, ModelError, shorten
from tedaudit.plugins.extras import require
from tedaudit.plugins.registry import Reference, determinants, explain_difference
from tedaudit.runs.engines import (
    Announce,
    as_told,
    do_here,
    list_remembering,
    must_stay,
    pack_shared,
    pack_step,
    unpack_shared,
    unpack_step,
)
from tedaudit.runs.files import LOCK, read_part
from tedaudit.runs.listing import Made
from tedaudit.runs.ray_cluster import Cluster
from tedaudit.runs.spec.engine import EngineSpec
from tedaudit.runs.steps import GuessStep, Step, Worker, commit
from tedaudit.version import __version__

_POLL = 0.5  # seconds between looks at what happens
_SILENCE = 60.0  # seconds without room in the cluster after which it is said
_PATIENCE = 600.0  # seconds after which a run ends
_MOST_LOST = 3  # processes or machines that the same step may cost


class RayEngine:
    """Has steps done by a cluster: one that is named, or one that is started here."""

    def __init__(self, settings: EngineSpec, announce: Announce | None = None) -> None:
        require("The engine ray", "ray")
        import ray

        self._ray, self._announce, self._told = ray, announce, set[str]()
        self._cluster = Cluster(settings)
        self._task = ray.remote(_do)
        self._flying: dict[Any, Step] = {}
        self._mark: Path | None = None
        self._here: list[Step] = []
        self._room = self._cluster.count_room()
        self._moved_at = time.monotonic()

    @property
    def has_room(self) -> bool:
        """Whether the cluster can do another step."""
        return not self._here and len(self._flying) <= self._room

    def open(self, here: Worker, plugins: Mapping[str, Any]) -> None:
        """Begin a run."""
        self._cancel()
        if self._mark is not None:
            self._mark.unlink(missing_ok=True)
        self._worker, self._plugins, self._known = here, plugins, dict[str, Any]()
        packed = pack_shared(here.shared)
        name = f"{LOCK}-{secrets.token_hex(8)}"  # of a file that tells this folder from a copy of it
        self._mark = here.shared.root / name
        self._mark.touch()
        told = name, here.shared.root, __version__, _find_path(), packed
        self._shared = self._ray.put(told)
        self._moved_at = time.monotonic()
        if self._cluster.address:
            self._tell(
                f"Texts go to the Ray cluster at {self._cluster.address}: whoever may use it can read them."
            )
        for line in list_remembering(plugins, self._cluster.count_room()):
            self._tell(line)

    def submit(self, step: Step) -> None:
        """Take a step; what determines its plug-ins goes with it, so that other ones are noticed."""
        if must_stay(step, self._plugins):
            self._here.append(step)
        else:
            self._send(step)

    def finished(self) -> Iterator[tuple[Step, list[Made]]]:
        """Yield what is done; an error of a plug-in is raised as if it had been done here."""
        if self._here:
            step = self._here.pop()
            yield step, do_here(self._worker, step)
            return
        done, _ = self._ray.wait(list(self._flying), num_returns=1, timeout=_POLL)
        self._watch(is_moving=bool(done))
        for call in done:
            step = self._flying.pop(call)
            result = self._get(call, step)
            if result is None:  # that machine does not see the folder
                self._send(step, self._bring(step))
            elif isinstance(result, dict):
                yield step, commit(self._worker.shared.root, result)
            else:
                yield step, result

    def _get(self, call: Any, step: Step) -> Any:
        try:
            return self._ray.get(call)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from error
        except self._ray.exceptions.RayError as error:
            raise InfrastructureError(
                f"{step.what} has cost {_MOST_LOST} processes or machines of the cluster, one after the "
                f"other ({type(error).__name__}: {shorten(str(error), 300)}). That is not an output, so no "
                "attack sees it. Finished work is kept: remove the cause and run the same command again."
            ) from error

    def _send(self, step: Step, brought: Mapping[str, bytes] | None = None) -> None:
        known = {reference.identity: self._note(reference) for reference in _list_references(step)}
        task = self._task.options(**self._cluster.options(), max_retries=_MOST_LOST - 1)
        threads = max(1, int(self._cluster.share.get("cpu", 1)))
        call = task.remote(self._shared, pack_step(step), known, threads, brought)
        self._flying[call] = step

    def _bring(self, step: Step) -> dict[str, bytes]:
        names = step.sources if isinstance(step, GuessStep) else ()
        return {name: read_part(self._worker.shared.root / name) for name in names}

    def _note(self, reference: Reference) -> Any:
        """Return what determines a plug-in here, if other machines make it by its name."""
        identity = reference.identity
        if identity not in self._known:
            plugin = self._plugins.get(identity) if reference.is_named else None
            self._known[identity] = None if plugin is None else determinants(plugin)
        return self._known[identity]

    def _watch(self, *, is_moving: bool) -> None:
        """Say so if the cluster has room for no step; give up in the end."""
        now, self._room = time.monotonic(), self._cluster.count_room()
        if is_moving or self._cluster.has_room():
            self._moved_at = now
        each = ", ".join(f"{amount:g} {name}" for name, amount in self._cluster.share.items())
        if now - self._moved_at > _SILENCE:
            self._tell(f"The cluster has no room: waiting until it has {each} for a step.")
        if now - self._moved_at > _PATIENCE:
            raise InfrastructureError(
                f"The cluster had no room for {_PATIENCE / 60:.0f} minutes. Each step takes {each}: does the "
                "cluster have that? Finished work is kept: run the same command again."
            )

    def _tell(self, line: str) -> None:
        if self._announce is not None and line not in self._told:
            self._told.add(line)
            self._announce(line)

    def _cancel(self) -> None:
        for call in self._flying:
            self._ray.cancel(call, force=True)
        self._flying.clear()
        self._here.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ray.is_initialized():
            self._cancel()
        if self._mark is not None:
            self._mark.unlink(missing_ok=True)
        self._cluster.close()


def _list_references(step: Step) -> Sequence[Reference]:
    if isinstance(step, GuessStep) and (step.attack.knows_mechanism or step.makes_latents):
        return (*step.called, step.mechanism)
    return step.called


def _find_path() -> list[str]:
    """Return where this process finds modules."""
    return [str(Path(entry or ".").absolute()) for entry in sys.path]


# --- What runs in a process of the cluster.

_places: dict[str, Worker] = {}  # what a process has opened last, by the name of the run
_checked: set[str] = set()


def _do(
    shared: tuple[str, Path, str, Sequence[str], bytes],
    parcel: bytes,
    known: Mapping[str, Any],
    threads: int,
    brought: Mapping[str, bytes] | None,
) -> list[Made] | dict[str, bytes] | None:
    """Do a step: return what was written, or the files; None if files are needed that are not seen here."""
    name, root, version, path, packed = shared
    if version != __version__:
        raise InfrastructureError(
            f"A machine of the cluster has tedaudit {__version__}, and the run {version}: install the same "
            "version on all of them."
        )
    worker = _open(name, path, packed)
    step = unpack_step(parcel, worker.shared)
    is_seen = (root / name).exists()
    if not is_seen and brought is None and isinstance(step, GuessStep):
        return None
    _limit_threads(threads)
    with as_told():
        _check(worker, step, known)
        made = worker.do(step, None if brought is None else brought.__getitem__)
    return commit(root, made) if is_seen else made


def _open(name: str, path: Sequence[str], packed: bytes) -> Worker:
    if name not in _places:
        sys.path += [entry for entry in path if entry not in sys.path and Path(entry).exists()]
        shared = unpack_shared(packed)
        _places.clear()
        _checked.clear()
        _places[name] = Worker(shared)
    return _places[name]


def _check(worker: Worker, step: Step, known: Mapping[str, Any]) -> None:
    """Refuse a plug-in that is not here what it is where the run is: rows would get a wrong key."""
    for reference in _list_references(step):
        wanted = known.get(reference.identity)
        if wanted is None or reference.identity in _checked:
            continue
        difference = explain_difference(wanted, determinants(worker.bench.plugin(reference)))
        if difference:
            raise ModelError(
                f"'{reference.name}' is not the same on every machine of the cluster ({difference}). "
                "Install the same versions and the same models everywhere."
            )
        _checked.add(reference.identity)


def _limit_threads(threads: int) -> None:
    """Compute with so many threads if torch is there: the other cores belong to other processes."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
