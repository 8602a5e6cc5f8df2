"""The Ray cluster itself: joined, or started here with folders that are closed to other users."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tedaudit.errors import InfrastructureError, shorten
from tedaudit.runs.engines import count_cores
from tedaudit.runs.spec.engine import EngineSpec

_STORE = 2 * 2**30  # bytes that a cluster started here may hold in memory
_NAMES = {"cpu": "CPU", "gpu": "GPU"}  # how Ray calls them
_STALE = 5.0  # seconds after which the cluster is measured again


class Cluster:
    """A connection to Ray; what was started for it ends with it."""

    def __init__(self, settings: EngineSpec) -> None:
        import ray

        self._ray, self._settings = ray, settings
        self._folder, self._room, self._measured_at = "", 0, -_STALE
        self._is_own = not ray.is_initialized()
        self.address = settings.address  # of a cluster that others may use too; empty if it was started here
        if not self._is_own:
            self._check_address()
            self.address = settings.address or ray.get_runtime_context().gcs_address
        elif settings.address:
            self._join()
        else:
            self._begin()
        if self._is_own:
            _send_notices_to_standard_error()
        self.share = _choose_share(settings.resources, ray.cluster_resources())

    def options(self) -> dict[str, Any]:
        """Return what a step takes, in the words of Ray."""
        others = {name: amount for name, amount in self.share.items() if name not in _NAMES}
        return {
            "num_cpus": self.share.get("cpu", 0), "num_gpus": self.share.get("gpu", 0), "resources": others,
        }  # fmt: skip

    def count_room(self) -> int:
        """Return how many steps there should be; machines come and go, so this may change."""
        if self._settings.workers:
            return self._settings.workers
        now = time.monotonic()
        if now - self._measured_at >= _STALE:
            self._measured_at = now
            there = self._ray.cluster_resources()
            rooms = [
                int(there.get(_NAMES.get(name, name), 0) / amount)
                for name, amount in self.share.items()
                if amount
            ]
            self._room = max(1, min(rooms, default=1))
        return self._room

    def has_room(self) -> bool:
        """Return whether any machine that is there has what a step takes."""
        there = self._ray.cluster_resources()
        return all(there.get(_NAMES.get(name, name), 0) >= amount for name, amount in self.share.items())

    def close(self) -> None:
        """Leave the cluster; end it if it was started here."""
        if self._is_own and self._ray.is_initialized():
            self._ray.shutdown()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _check_address(self) -> None:
        """Refuse another cluster than the one that this process is connected to already."""
        known, asked = self._ray.get_runtime_context().gcs_address, self._settings.address
        if asked not in ("", "auto", known):
            raise InfrastructureError(
                f"This process is connected to the Ray cluster at {known} already, and '{asked}' is another. "
                "Leave the address out, or call ray.shutdown() first."
            )

    def _join(self) -> None:
        address = self._settings.address
        try:
            with _without_statistics():
                self._ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InfrastructureError(
                f"There is no Ray cluster at '{address}' ({shorten(str(error), 300)}). Start one with `ray "
                "start --head`, or leave the address out: then one is started here."
            ) from error

    def _begin(self) -> None:
        asked = self._settings.resources
        cpus = max(count_cores(), int(asked.get("cpu", 1) * self._settings.workers))
        self._folder = make_folder()
        inside = Path(self._folder) / "ray"  # Ray opens this one to all
        with _without_statistics():
            self._ray.init(
                num_cpus=cpus, include_dashboard=False, object_store_memory=_STORE, _temp_dir=str(inside),
                log_to_driver=False, logging_level="ERROR",
                resources={name: 1e6 for name in asked if name not in _NAMES},
            )  # fmt: skip
        inside.chmod(0o700)


def _choose_share(asked: Mapping[str, float], there: Mapping[str, float]) -> dict[str, float]:
    """Return what a step takes: what is asked for; or a CPU, and a GPU if there are some."""
    if asked:
        return dict(asked)
    return {"cpu": 1.0, "gpu": 1.0} if there.get("GPU") else {"cpu": 1.0}


def make_folder() -> str:
    """Make a folder for a cluster that is started here, closed to other users; what is spilled lies in it.

    Sockets lie in it too, whose paths may not be long.
    """
    return tempfile.mkdtemp(prefix="tedaudit-ray-", dir="/tmp" if Path("/tmp").is_dir() else None)  # noqa: S108


@contextmanager
def _without_statistics() -> Iterator[None]:
    """Keep Ray from sending usage statistics."""
    name = "RAY_USAGE_STATS_ENABLED"
    before = os.environ.get(name)
    os.environ[name] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _send_notices_to_standard_error() -> None:
    """Keep standard output for results: Ray prints there when a worker or a machine is lost."""
    from ray._private import worker

    write = getattr(worker, "print_to_stdstream", None)
    if write is None or getattr(write, "is_quiet", False):
        return

    def write_elsewhere(data: dict[str, Any], *rest: Any, **options: Any) -> None:
        write({**data, "is_err": True}, *rest, **options)

    write_elsewhere.is_quiet = True  # type: ignore[attr-defined]
    worker.print_to_stdstream = write_elsewhere
