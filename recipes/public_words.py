"""Make the default vocabulary of word-rr: the commonest words of public-domain English books.

    python recipes/public_words.py SENTENCES.txt.xz > src/tedaudit/mechanisms/public_words.txt

SENTENCES holds one sentence a line (ours: 796,877 sentences of 800 Project Gutenberg books, in the
public domain in the United States). The list is in alphabetical order, because only its
membership matters.
"""

import collections
import lzma
import re
import sys

SIZE = 2047  # with the empty item: 2,048
WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")


def main() -> None:
    """Count, choose, print."""
    counts: collections.Counter[str] = collections.Counter()
    with lzma.open(sys.argv[1], "rt", encoding="utf-8") as lines:
        for line in lines:
            counts.update(WORD.findall(line.lower().replace("\u2019", "'")))
    common = sorted(word for word, _ in counts.most_common(SIZE))
    sys.stdout.write("\n".join(common) + "\n")


if __name__ == "__main__":
    main()
