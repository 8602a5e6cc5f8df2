"""An engine for tests, chunks for it, and what it leaves behind."""

import math

from helpers import TABLES, make_spec, reference, sentences, snapshot
from tedaudit.batches import Draws, Rewrites
from tedaudit.execution.doing import do
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.units import RewriteChunk, Unit
from tedaudit.execution.work import Bench
from tedaudit.seeding import derive
from tedaudit.types import Draw

POOL = tuple(sentences(12))
PLUGINS = "py:engine_plugins"


class Backwards:
    """Holds several chunks at a time and does the one that came last first."""

    workers = 1

    def __init__(self, room):
        self.room, self.waiting, self.bench = room, [], Bench(50)
        self.most = self.done = 0

    @property
    def has_room(self):
        return len(self.waiting) < self.room

    def offer(self, plugins):
        self.bench.adopt(plugins)

    def submit(self, ticket, chunk):
        assert self.has_room, "a chunk was submitted without room for it"
        self.waiting.append((ticket, chunk))
        self.most = max(self.most, len(self.waiting))

    def finished(self):
        while self.waiting:
            ticket, work = self.waiting.pop()
            self.done += 1
            for result in do(work, self.bench):
                yield ticket, result


class Refuses(SerialEngine):
    """Rewrites nothing: whatever reaches it was not taken from the folder."""

    def submit(self, ticket, work):
        assert isinstance(work, Unit)
        for rewriting in work.rewriting:
            wanted = rewriting.lacking | rewriting.again
            is_given = len(rewriting.given) and (rewriting.given[wanted] >= 0).all()
            assert is_given or not wanted.any(), f"{work.mechanism.name}: rewritten"
        assert not len(work.own) or (work.own_given >= 0).all(), "own rewrites were to be made here"
        super().submit(ticket, work)


class Counting(SerialEngine):
    """Counts results and the rewrites among them, and breaks down after a number of results."""

    def __init__(self, last=math.inf):
        super().__init__(4096)
        self.made, self.results, self._last = 0, 0, last

    def finished(self):
        for ticket, result in super().finished():
            self.results += 1
            parts = result if isinstance(result, tuple) else ()
            self.made += sum(part.size for part in parts if not part.attack)
            self.made += len(result) if isinstance(result, Rewrites) else 0
            yield ticket, result
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
