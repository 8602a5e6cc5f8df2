"""Questions a second that a judge behind a server answers, by how many are in flight.

    python benchmarks/judge_server.py --corpus atis --trials 64

Serves SmolLM2-135M-Instruct with llama.cpp (see `tedaudit judge`) and asks it `choice` questions: one token
with log-probabilities each. Another server is named by --judge openai:MODEL@URL. Each level has questions of
its own about the same shared instructions; the last level asks its questions again, which is what a prefix
cache can give at most.
"""

import argparse
import json
import time
from contextlib import nullcontext

from small_judge import noised_pairs

from tedaudit import load_corpus
from tedaudit.attacks.llm import LLM
from tedaudit.models.judges.serving import serve

LEVELS = (1, 2, 4, 8, 16)


def main() -> None:
    """Print a row for each number of questions in flight."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--judge", help="openai:MODEL@URL of a server that runs already")
    options = parser.parse_args()
    texts = [text for text in load_corpus(options.corpus).texts if len(text) < 120]
    seen, _ = noised_pairs(texts, options.trials * (len(LEVELS) + 1))
    with nullcontext(options.judge) if options.judge else serve(port=0, at_once=max(LEVELS)) as name:
        _ask(name, seen[: options.trials], 1)  # the model is loaded, and the instructions are read
        first = None
        for number, level in enumerate((*LEVELS, LEVELS[-1]), 1):
            is_repeat = number > len(LEVELS)
            part = min(number, len(LEVELS)) * options.trials
            rate, failed = _ask(name, seen[part : part + options.trials], level)
            first = first or rate
            told = {
                "in flight": level,
                "asked before": is_repeat,
                "ratio": round(rate / first, 2),
                "failed": failed,
            }
            print(json.dumps(told), flush=True)


def _ask(name: str, seen: list, level: int) -> tuple[float, int]:
    attack = LLM(judge=name, reading="choice", concurrency=level)
    start = time.perf_counter()
    guesses = attack.guess(seen)
    seconds = time.perf_counter() - start
    return len(seen) / seconds, sum(not guess.usable for guess in guesses)


if __name__ == "__main__":
    main()
