"""What the processor does in an audit, stage by stage: the model apart from all that is done around it.

    python benchmarks/host_profile.py --mechanism word-rr --attack lexical --epsilon 8 --trials 100000
    python benchmarks/host_profile.py --mechanism dp-mlm --attack lexical --epsilon 10 --trials 60

Functions that work on whole batches are timed, each without those that it calls; CPU time of this process, so
that on a busy machine the shares still hold. It also runs on an older source tree (`PYTHONPATH`): stages that
it does not have are left out. Microseconds are per row: a rewrite and the guess on it. What is timed costs
about a microsecond per call, and calls are per batch, so that single words are not timed.
"""

import argparse
import functools
import importlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tedaudit.api import audit, load_corpus

STAGES = {
    "plan": ["runs.preparation:prepare"],
    "keys of draws": ["trials.judge:make_draws"],
    "keys for ties": ["trials.judge:tie_keys"],
    "uniforms": ["seeding:uniforms", "seeding:rare"],
    "mechanism, the rest": ["mechanisms.word_rr:WordRR.rewrite", "mechanisms.dp_mlm:DPMLM.rewrite"],
    "looking up words": ["mechanisms.word_rr:WordRR._look_up_slots", "mechanisms.dp_mlm:DPMLM._split"],
    "tokenizing": ["mechanisms._masked_rows:lay_out"],
    "model": ["models.masked:_forward", "models.encoders:SentenceEncoder.encode"],
    "sampling": ["models.sampling:sample"],
    "spreading draws over slots": ["mechanisms.dp_mlm:DPMLM._draw"],
    "joining words": ["mechanisms.dp_mlm:DPMLM._join", "mechanisms.dp_mlm:DPMLM._join_items"],
    "objects": ["plugins.batches:Rewrites.of", "plugins.batches:Guesses.of"],
    "picking rows": ["plugins.batches:Rewrites.__getitem__"],
    "attack, the rest": ["attacks._similarity:Similarity.guess"],
    "attack, the pool": ["attacks._similarity:Similarity.prepare"],
    "attack, vectors": ["models.lexical:LexicalEncoder.encode"],
    "attack, products": ["attacks._similarity:_multiply_rows"],
    "attack, numbering words": ["models.lexical:WordFeatures._number"],
    "attack, counting features": ["models.lexical:WordFeatures._count"],
    "judging": ["trials.judge:judge"],
    "steps": [
        "runs.schedule:open_schedules",
        "runs.schedule:Schedule.list_rewriting",
        "runs.schedule:Schedule.list_guessing",
    ],
    "tables of rewrites": ["runs.rewrites:make_rewrites_part", "runs.rewrites:RewriteTable.append"],
    "reading rewrites": ["runs.held_parts:gather_rewrites"],
    "tables of guesses": ["runs.guesses:make_guesses_part", "runs.guesses:GuessTable.append"],
    "writing files": ["runs.files:write_atomically", "runs.listing:Listing.add"],
    "result": ["results.reading:read_result"],
}
PLUGINS = ("mechanisms.word_rr", "mechanisms.dp_mlm", "attacks.lexical", "attacks.embedding")


class Clock:
    """CPU time of each stage, without the stages that it calls."""

    def __init__(self) -> None:
        self.own: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._inner = [0.0]  # time spent in the stages called by each that is under way

    @contextmanager
    def _time(self, stage: str) -> Iterator[None]:
        self._inner.append(0.0)
        started = time.process_time()
        try:
            yield
        finally:
            spent = time.process_time() - started
            self.own[stage] = self.own.get(stage, 0.0) + spent - self._inner.pop()
            self.calls[stage] = self.calls.get(stage, 0) + 1
            self._inner[-1] += spent

    def wrap(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time taken."""

        @functools.wraps(function)
        def timed(*given: Any, **named: Any) -> Any:
            with self._time(stage):
                return function(*given, **named)

        return timed

    def watch(self, stage: str, name: str) -> None:
        """Take the time of a function or method wherever it was imported to, if it is there."""
        module, _, attribute = name.partition(":")
        try:
            owner: Any = importlib.import_module(f"tedaudit.{module}")
        except ModuleNotFoundError:  # an older tree
            return
        *classes, last = attribute.split(".")
        for part in classes:
            owner = getattr(owner, part, None)
        found = None if owner is None else vars(owner).get(last)
        if found is None and classes and owner is not None:
            found = getattr(owner, last, None)  # inherited
        if found is None:
            return
        if classes:
            is_bound = hasattr(found, "__func__")
            plain = self.wrap(stage, found.__func__ if is_bound else found)
            setattr(owner, last, classmethod(plain) if is_bound else plain)
            return
        timed = self.wrap(stage, found)
        for loaded in list(sys.modules.values()):
            if getattr(loaded, "__name__", "").startswith("tedaudit"):
                for key, value in list(vars(loaded).items()):
                    if value is found:
                        setattr(loaded, key, timed)


def main() -> None:
    """Run an audit, and print what its stages cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mechanism", default="word-rr")
    parser.add_argument("--attack", default="lexical")
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--texts", type=int, default=0, help="only so many texts of the corpus; 0: all")
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--json", help="also write the figures to this file")
    settings = parser.parse_args()
    epsilons = settings.epsilon or [8.0]
    corpus = load_corpus(settings.corpus).texts[: settings.texts or None]
    for plugin in PLUGINS:
        importlib.import_module(f"tedaudit.{plugin}")
    clock = Clock()
    for stage, names in STAGES.items():
        for name in names:
            clock.watch(stage, name)

    def run(trials: int) -> None:
        audit(
            settings.mechanism,
            corpus,
            epsilon=epsilons,
            attack=[settings.attack],
            trials=trials,
            encoder="lexical",
        )

    run(2)  # what is loaded once is not counted
    clock.own.clear()
    clock.calls.clear()
    started = time.process_time()
    run(settings.trials)
    total, rows = time.process_time() - started, settings.trials * len(epsilons)
    clock.own["what is not timed"] = total - sum(clock.own.values())
    model = clock.own.get("model", 0.0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{settings.mechanism} and {settings.attack} on {len(corpus):,} texts of {settings.corpus}, "
        f"{settings.trials:,} trials at "
        f"{len(epsilons)} epsilons: {total:.2f} s, the model {model:.2f} s, host work {total - model:.2f} s "
        f"({(total - model) / rows * 1e6:.1f} us a row), peak {peak:.2f} GiB\n"
    )
    print("| stage | seconds | share | us a row | calls |\n|---|---|---|---|---|")
    figures = sorted(clock.own.items(), key=lambda item: -item[1])
    for stage, own in figures:
        calls = clock.calls.get(stage, 0)
        print(f"| {stage} | {own:.2f} | {own / total:.1%} | {own / rows * 1e6:.2f} | {calls:,} |")
    if settings.json:
        told = {"settings": vars(settings), "seconds": total, "stages": dict(figures)}
        Path(settings.json).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
