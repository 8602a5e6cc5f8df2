"""From the name of an engine to one that works, for as long as it is needed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tedaudit.runs.engines import Announce, Engine, ProcessEngine, SerialEngine
from tedaudit.runs.spec.engine import EngineSpec
from tedaudit.runs.spec.messages import validate
from tedaudit.runs.spec.model import AuditSpec

Wanted = Engine | EngineSpec | str | Mapping[str, Any]


@contextmanager
def open_engine(spec: AuditSpec, wanted: Wanted | None, announce: Announce) -> Iterator[Engine]:
    """Yield the engine that is wanted, or the one of the spec; its workers end with it.

    An engine that is one already is taken as it is: whoever made it closes it.
    """
    if wanted is None:
        wanted = spec.engine
    elif isinstance(wanted, str):
        wanted = validate(EngineSpec, {"name": wanted})
    elif isinstance(wanted, Mapping):
        wanted = validate(EngineSpec, wanted)
    if not isinstance(wanted, EngineSpec):
        yield wanted
    elif wanted.name == "serial":
        yield SerialEngine()
    elif wanted.name == "processes":
        with ProcessEngine(wanted.workers, announce) as engine:
            yield engine
    else:
        from tedaudit.runs.ray_engine import RayEngine

        with RayEngine(wanted, announce) as cluster:
            yield cluster
