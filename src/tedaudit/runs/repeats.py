"""Calls a function a second time, after all others, to see whether it still gives what it gave.

Bounds assume that no call depends on another. A function that takes a seed and then gives another output
keeps state between calls, or draws noise from elsewhere. One that takes none may just draw new noise.
"""

from typing import Any

import numpy as np

from tedaudit.plugins.batches import Rewrites
from tedaudit.runs.bench import Bench, RewriteChunk
from tedaudit.runs.jobs import Job
from tedaudit.runs.preparation import PreparedAudit
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.runs.schedule import CALLS
from tedaudit.text.characters import replace_surrogates
from tedaudit.trials.judge import Wanted, make_draws


def repeat_calls(job: Job, audit: PreparedAudit, bench: Bench) -> dict[str, Any]:
    """Return how many draws of the first trials were done again, and how many gave another output."""
    plan, epsilon = job.plan.rows(0, CALLS), job.epsilons[0]
    wanted = Wanted(plan.source[::-1], plan.replicate[::-1], np.full(len(plan), float(epsilon)))
    draws = make_draws(audit.corpus.texts, wanted, audit.spec.seed)
    again = bench.perform(RewriteChunk(job.reference, draws))
    definition = job.rewrites_at(epsilon)
    stored = RewriteTable(definition.folder, definition.check()).fetch(wanted.text, wanted.replicate)
    return {"calls": len(again), "differing": _count_differing(stored, again), "seeded": bool(job.is_seeded)}


def _count_differing(made: Rewrites, again: Rewrites) -> int:
    """Return how many of these draws gave another text or error, as tables hold them, when made again."""
    told = ([*zip(map(replace_surrogates, one.texts), one.errors, strict=True)] for one in (made, again))
    return sum(old != new for old, new in zip(*told, strict=True))
