"""Make a table of texts with authors from UD English EWT: columns text, author, genre.

    python benchmarks/persons_corpus.py FOLDER_WITH_CONLLU OUT_FOLDER

reads every .conllu of the folder, compressed or not, and writes OUT_FOLDER/ud-ewt-authors.csv. A text is a
sentence of at least four words, an "author" a document with at least eight of them (`--least`). Sentences
that differ in white space alone are the same, and a document has each once; some stand in several documents.
Keep the table out of the repository: the treebank is under CC BY-SA 4.0, and its sentences are real people's.

What an "author" is: sentences of one document share a subject, names and mostly a writer, which is what an
adversary uses who knows other texts of somebody. What it is not: a person. A review and nearly every post of
a weblog have one writer, who may have written other documents too. A document of the newsgroups may quote
others, one of the answers holds a question and the answers of several people, and one of the e-mails is a
piece of a mailbox with many senders. Sentences of a document are of one day and about one thing: somebody is
found by them more easily than by texts of different days.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tedaudit.errors import SpecError
from tedaudit.plugins.values import fold_text
from tedaudit.text.readers import read_bytes
from tedaudit.text.words import count_words

SIZES = (8, 16, 32)  # texts of one author that are counted
_FEWEST_WORDS = 4


def main() -> None:
    """Write the table and print how many authors have how many texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--least", type=int, default=SIZES[0], help="texts that an author must have")
    given = parser.parse_args()
    rows = select_texts(read_documents(given.source), given.least)
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "ud-ewt-authors.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("text", "author", "genre"))
        writer.writerows(rows)
    sizes = Counter(author for _, author, _ in rows)
    genres = {author: genre for _, author, genre in rows}
    several = sum(count > 1 for count in Counter(text for text, _, _ in rows).values())
    print(f"{file}: {len(rows):,} texts of {len(sizes):,} authors; {several:,} texts are of several")
    for least in SIZES:
        large = [author for author, size in sizes.items() if size >= least]
        by_genre = Counter(genres[author] for author in large).most_common()
        told = ", ".join(f"{genre} {count}" for genre, count in by_genre)
        texts = sum(sizes[author] for author in large)
        print(f"{least} texts or more: {len(large):,} authors, {texts:,} texts ({told})")


def read_documents(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every sentence of a folder of treebanks as (document, text), in order."""
    files = sorted(folder.glob("*.conllu*"))
    if not files:
        raise SpecError(f"'{folder}' has no file *.conllu. Name the folder of the treebank.")
    for file in files:
        document = ""
        for line in read_bytes(file).decode("utf-8").split("\n"):
            name, _, value = line.partition(" = ")
            if name == "# newdoc id":
                document = value.strip()
            elif name == "# text":
                yield document, value


def select_texts(sentences: Iterator[tuple[str, str]], least: int) -> list[tuple[str, str, str]]:
    """Return rows of text, author and genre: distinct long sentences of every author with enough of them."""
    folded = ((fold_text(text), document) for document, text in sentences)
    kept = list(dict.fromkeys(row for row in folded if count_words(row[0]) >= _FEWEST_WORDS))
    sizes = Counter(document for _, document in kept)
    return [(text, author, author.split("-")[0]) for text, author in kept if sizes[author] >= least]


if __name__ == "__main__":
    main()
