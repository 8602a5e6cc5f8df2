"""Calls a function a second time, after all others, to see whether it still gives what it gave.

Bounds assume that no call depends on another. A function that takes a seed and then gives another output
keeps state between calls, or draws noise from elsewhere. One that takes none may just draw new noise.
"""

from typing import Any

import numpy as np

from tedaudit.batches import Rewrites
from tedaudit.execution.doing import count_differing
from tedaudit.execution.engines.protocol import Engine
from tedaudit.execution.units import Chunk, Result, RewriteChunk
from tedaudit.plans.trials import Wanted, make_draws
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit
from tedaudit.store.rewrites import RewriteTable

CALLS = 8


def repeat_calls(job: Job, audit: PreparedAudit, engine: Engine, ticket: int) -> dict[str, Any]:
    """Return how many draws of the first trials were done again, and how many gave another output."""
    plan, epsilon = job.plan.rows(0, CALLS), job.epsilons[0]
    wanted = Wanted(plan.source[::-1], plan.replicate[::-1], np.full(len(plan), float(epsilon)))
    draws = make_draws(audit.corpus.texts, wanted, audit.spec.seed)
    again = perform(engine, ticket, RewriteChunk(job.reference, draws, repeats=True))
    assert isinstance(again, Rewrites)  # noqa: S101 - by the kind of the chunk
    definition = job.rewrites_at(epsilon)
    stored = RewriteTable(definition.folder, definition.check()).fetch(wanted.text, wanted.replicate)
    differing = count_differing(stored, again)  # an engine may have called nothing again
    return {"calls": len(again), "differing": differing, "seeded": bool(job.is_seeded)}


def perform(engine: Engine, ticket: int, chunk: Chunk) -> Result:
    """Have a chunk done and return its result; the engine has nothing else to do that matters."""
    engine.submit(ticket, chunk)
    while True:
        for number, result in engine.finished():
            if number == ticket:
                return result
