"""An engine for tests, chunks for it, and what it leaves behind."""

import math

from helpers import TABLES, make_spec, reference, sentences, snapshot
from tedaudit.plugins.batches import Draws
from tedaudit.plugins.values import Draw
from tedaudit.runs.bench import RewriteChunk
from tedaudit.runs.engines import SerialEngine, do_here
from tedaudit.runs.steps import RewriteStep
from tedaudit.seeding import derive

POOL = tuple(sentences(12))
PLUGINS = "py:engine_plugins"


class Backwards:
    """Holds several steps at a time and does the one that came last first."""

    def __init__(self, room):
        self.room, self.waiting, self.most, self.done = room, [], 0, 0

    @property
    def has_room(self):
        return len(self.waiting) < self.room

    def open(self, here, plugins):
        self.here = here
        self.waiting.clear()

    def submit(self, step):
        assert self.has_room, "a step was submitted without room for it"
        self.waiting.append(step)
        self.most = max(self.most, len(self.waiting))

    def finished(self):
        while self.waiting:
            step = self.waiting.pop()
            self.done += 1
            yield step, do_here(self.here, step)


class Counting(SerialEngine):
    """Counts steps and the rewrites in them, and breaks down after a number of steps."""

    def __init__(self, last=math.inf):
        super().__init__()
        self.made, self.results, self._last = 0, 0, last

    def finished(self):
        for step, made in super().finished():
            self.results += 1
            self.made += len(step) if isinstance(step, RewriteStep) else 0
            yield step, made
            if self.results >= self._last:
                raise KeyboardInterrupt


def make_draws(*numbers):
    """Return draws of texts of the pool."""
    return Draws.of([Draw(POOL[n % 12], 3.0, derive(1, n)) for n in numbers])


def make_rewriting(*numbers):
    """Return a chunk of them."""
    return RewriteChunk(reference("mechanism", "word-rr", slots=5), make_draws(*numbers))


def list_contents(root):
    """Return the name and the content of every file of the tables."""
    return {name: content for name, (content, _) in snapshot(root, TABLES).items()}


def make_work(out, **changes):
    """Return an audit of two mechanisms, one of which fails at times, on two plans."""
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4, "epsilons": [1, 4]}, "py:helpers:Failing"],
        "plans": [{"k": 2, "lambda": -1e4}, {"k": "all"}],
        "attacks": ["lexical", "resample"],
        "trials": 100,
        "block": 30,
        "seed": 11,
    }
    return make_spec(out, **settings | changes)


def make_latents(out):
    """Return the same audit of a mechanism with latents."""
    return make_work(out, mechanisms=["py:helpers:Latents"], attacks=["py:helpers:NearestLatent"])


def make_many_chunks(out, **changes):
    """Return an audit with many small chunks of a mechanism that is a class of a module."""
    settings = {"mechanisms": [f"{PLUGINS}:Slow"], "attacks": [f"{PLUGINS}:Zero"], "trials": 400, "block": 20}
    return make_spec(out, **settings | changes)
