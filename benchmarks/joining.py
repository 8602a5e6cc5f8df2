"""Are words joined as nltk's detokenizer joins them? On outputs of the zoo's DP-MLM.

    python benchmarks/joining.py --outputs 1000000

Every output is joined both ways and compared. It prints how many outputs there were, how many distinct ones
hold a mark, how many differ (it fails if any does), and what either way costs.
"""

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np
from nltk.tokenize.treebank import TreebankWordDetokenizer

from tedaudit.api import load_corpus
from tedaudit.mechanisms.dp_mlm import DPMLM
from tedaudit.models.triples.treebank import join_words
from tedaudit.trials.judge import Wanted, make_draws

EPSILONS = (1.0, 10.0, 40.0, 80.0, 120.0, 200.0, 400.0)
BATCH = 7_000  # draws at a time


def make_outputs(corpus: str, texts: int, outputs: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the words that were drawn and the text that was released, for so many draws."""
    mechanism = DPMLM()
    numbers = mechanism._number_slots()  # noqa: SLF001 - to spell what was drawn
    pool = load_corpus(corpus).texts
    pool = tuple(pool[place] for place in np.linspace(0, len(pool) - 1, texts).astype(int))
    each = -(-outputs // (texts * len(EPSILONS)))  # replicates of a text at an epsilon
    step = max(1, BATCH // (each * len(EPSILONS)))  # texts at a time: the model reads each once
    for start in range(0, texts, step):
        some = np.arange(start, min(start + step, texts), dtype=np.int32)
        columns = np.meshgrid(some, np.arange(each, dtype=np.int32), EPSILONS, indexing="ij")
        wanted = Wanted(*(column.ravel() for column in columns))
        for first in range(0, len(wanted), 10 * BATCH):
            rows = wanted.rows(np.arange(first, min(first + 10 * BATCH, len(wanted))))
            for rewrite in mechanism.rewrite(make_draws(pool, rows, 0)):
                yield tuple(filter(None, map(numbers.write, rewrite.tokens or ()))), rewrite.text


def measure(join: object, lists: Sequence[tuple[str, ...]]) -> float:
    """Return the CPU time of one text, in microseconds."""
    started = time.process_time()
    for words in lists:
        join(words)  # type: ignore[operator]
    return (time.process_time() - started) / max(1, len(lists)) * 1e6


def main() -> None:
    """Make outputs, join each both ways, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--outputs", type=int, default=1_000_000)
    parser.add_argument("--texts", type=int, default=40, help="of each corpus")
    parser.add_argument("--corpus", action="append", help="demo and atis by default")
    settings = parser.parse_args()
    detokenize = TreebankWordDetokenizer().detokenize
    corpora = settings.corpus or ["demo", "atis"]
    for corpus in corpora:
        outputs = differing = 0
        distinct: dict[tuple[str, ...], bool] = {}
        for words, text in make_outputs(corpus, settings.texts, settings.outputs // len(corpora)):
            outputs += 1
            if words not in distinct:
                distinct[words] = text == detokenize(list(words))
            differing += text != join_words(words) or not distinct[words]
        marked = [words for words in distinct if any(not word.isalnum() for word in words)]
        few = marked[:20_000]
        old, new = measure(detokenize, few), measure(join_words, few)
        print(
            f"{corpus}: {outputs:,} outputs, {len(distinct):,} distinct, {len(marked):,} of them with a "
            f"mark; {differing} differ; a text with a mark: nltk {old:.0f} us, here {new:.1f} us",
            flush=True,
        )
        if differing:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
