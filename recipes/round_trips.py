"""Translate public sentences into French and back: pairs for a paraphraser.

    tedaudit models get opus-mt
    python recipes/round_trips.py --data DIR --base DIR --out DIR

The way there is greedy, the way back is drawn at a temperature below 1, so that not every sentence comes back
as it went. The pairs are written to round_trips.tsv.xz, which is not part of the zoo.
"""

import lzma
import random
from typing import Any

from common.training import begin

from tedaudit.mechanisms.sampler import Sampler
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive

BASE = "opus-mt"
FILE = "round_trips.tsv.xz"
COUNT = 60_000
TEMPERATURE = 0.7
TOKENS = 48
WORDS = 3, 22  # of a sentence that is taken
_PART = 20_000  # sentences translated at a time


def main() -> None:
    """Choose sentences, translate them there and back, and write both."""
    start = begin(__doc__, base=BASE)
    chosen = start.chosen
    distinct = list(dict.fromkeys(start.texts))
    able = [text for text in distinct if WORDS[0] <= len(text.split()) <= WORDS[1] and "\t" not in text]
    count = 6 if chosen.dry_run else COUNT
    some = random.Random(chosen.seed).sample(able, min(count, len(able)))
    settings: dict[str, Any] = {"prompt": "{text}", "max_new_tokens": TOKENS}
    there = Sampler(model=str(chosen.base / "en-fr"), top_k=1, **settings)
    back = Sampler(model=str(chosen.base / "fr-en"), temperature=TEMPERATURE, **settings)
    found: list[tuple[str, str]] = []
    for first in range(0, len(some), _PART):
        part = some[first : first + _PART]
        french = [one.text for one in there.rewrite([Draw(text, NO_EPSILON, 0) for text in part])]
        keys = [derive(chosen.seed, "round trip", first + number) for number in range(len(part))]
        draws = [Draw(text, NO_EPSILON, key) for text, key in zip(french, keys, strict=True)]
        found += zip(part, (one.text for one in back.rewrite(draws)), strict=True)
        start.say(len(found), "round trips")
    found = [(a, b) for a, b in found if b and "\t" not in b and "\n" not in b]
    chosen.out.mkdir(parents=True, exist_ok=True)
    with lzma.open(chosen.out / FILE, "wt", encoding="utf-8") as lines:
        lines.writelines(f"{a}\t{b}\n" for a, b in found)
    same = sum(a == b for a, b in found) / len(found)
    for a, b in found[:12]:
        print(f"    {a} -> {b}")
    print(f"{len(found):,} pairs, {same:.1%} of them came back as they went")


if __name__ == "__main__":
    main()
