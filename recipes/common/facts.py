"""Facts (triples as lines of text) with sentences that tell them: what a writer of triples learns from.

They come from the treebank's own trees, and from short plain sentences that are cut by the parts of
speech which their words mostly have in the treebank: everything before the verb, the verb, the rest.
"""

import lzma
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.edits import spaced
from common.text import is_held_out
from tedaudit.models.triples.extraction import Triple, as_triple, extract_triples
from tedaudit.models.triples.table import choose_representatives

MOST = 4  # facts in a text
_SIMILAR = 0.4  # as in DP-ST: near-duplicates are told once
_COVERED = 0.75  # of a sentence's words that its facts must hold
_PLAIN = 0.15  # of the texts that are in lower case
_NOMINAL = frozenset(["DET", "ADJ", "NOUN", "PROPN", "PRON", "NUM"])
_VERBAL = frozenset(["VERB", "AUX", "PART"])
_WORD = re.compile(r"\w+")
_JOINED = re.compile(r" (?=[,;:.?!%)\]]|n't\b|'(?:s|m|d|ll|re|ve)\b|'(?:\s|$))|(?<=[(\[$]) ", re.IGNORECASE)

Told = tuple[tuple[str, ...], str]  # facts, and the text that tells them


@dataclass(eq=False)
class Word:
    """A word of a tree, with the attributes of a spaCy token that triples are read off."""

    i: int
    text: str
    tag: str
    dep_: str
    children: list["Word"] = field(default_factory=list)
    head: "Word" = field(init=False)


def trees(path: Path) -> Iterator[tuple[str, list[Word]]]:
    """Return every sentence of a CoNLL-U file with its words."""
    for block in lzma.decompress(path.read_bytes()).decode("utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        text = next(line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))
        rows = [row for row in (line.split("\t") for line in lines) if row[0].isdigit()]
        words = [Word(i, row[1], row[3], row[7]) for i, row in enumerate(rows)]
        for word, row in zip(words, rows, strict=True):
            word.head = words[int(row[6]) - 1] if row[6] != "0" else word
            if word.head is not word:
                word.head.children.append(word)
        yield text, words


def told(triple: Triple) -> str:
    """Return a triple as a plain sentence."""
    text = _JOINED.sub("", f"{triple.subject} {triple.verb.lower()} {triple.object}")
    return f"{text[0].upper()}{text[1:]}."


def facts_of_trees(path: Path) -> list[Told]:
    """Return the facts of parsed sentences: each by itself, and all of a sentence that holds little else."""
    found: list[Told] = []
    for text, words in trees(path):
        triples = extract_triples(words)
        if len(triples) > 1:
            triples = choose_representatives(triples, _SIMILAR, "longest", keep_single=True)
        found += [((triple.text,), told(triple)) for triple in triples]
        parts = {word.lower() for triple in triples for word in _WORD.findall(triple.text)}
        own = [word.lower() for word in _WORD.findall(text)]
        if triples[:MOST] == triples and own and sum(w in parts for w in own) >= _COVERED * len(own):
            found.append((tuple(triple.text for triple in triples), text))
    return found


def usual_tags(path: Path) -> dict[str, str]:
    """Return the part of speech that each word of a treebank mostly has."""
    counts: dict[str, Counter[str]] = {}
    for _, words in trees(path):
        for word in words:
            counts.setdefault(word.text.lower(), Counter())[word.tag] += 1
    return {word: tags.most_common(1)[0][0] for word, tags in counts.items()}


def facts_of_sentences(sentences: Sequence[str], tags: Mapping[str, str]) -> list[Told]:
    """Return the short plain sentences that can be cut into a fact, with it."""
    found = []
    for text in sentences:
        if 10 <= len(text) <= 60 and text[-1] in ".!":
            triple = cut(spaced(text[:-1]).split(), tags)
            if triple is not None:
                found.append(((triple.text,), text))
    return found


def cut(words: Sequence[str], tags: Mapping[str, str]) -> Triple | None:
    """Return nominal words, verbs with a preposition, nominal words as a triple; None for any other order."""
    kinds = [tags.get(word.lower(), "PROPN" if word[0].isupper() else "NOUN") for word in words]
    start = next((i for i, kind in enumerate(kinds) if kind not in _NOMINAL), 0)
    stop = next((i for i in range(start, len(kinds)) if kinds[i] not in _VERBAL), len(kinds))
    if not 0 < start < stop < len(kinds) or not {"VERB", "AUX"} & set(kinds[start:stop]):
        return None
    after = stop + (kinds[stop] == "ADP")
    if not 0 < len(kinds) - after <= 6 or not _NOMINAL.issuperset(kinds[after:]):
        return None
    return as_triple(" ".join(words[:start]), " ".join(words[start:after]), " ".join(words[after:]))


def combined(known: Sequence[Told], count: int, seed: int) -> list[Told]:
    """Return texts that tell one to four facts, put together by chance from known ones."""
    rng, found = random.Random(seed), list[Told]()
    for _ in range(count):
        wanted = rng.choice((1, 2, 3, 4, 4))
        facts, texts = list[str](), list[str]()
        while len(facts) < wanted:
            more, text = rng.choice(known)
            if len(facts) + len(more) <= MOST:
                facts += more
                texts.append(text)
        text = " ".join(texts)
        if rng.random() < _PLAIN:
            facts, text = [fact.lower() for fact in facts], text[0] + text[1:].lower()
        found.append((tuple(facts), text))
    return found


def training_facts(data: Path, sentences: Sequence[str]) -> list[Told]:
    """Return the facts of the treebank's training split and of sentences, held-out ones left out."""
    path = data / "ud-ewt" / "train.conllu.xz"
    parsed = facts_of_trees(path)
    short = facts_of_sentences(sentences, usual_tags(path))
    return [(facts, text) for facts, text in parsed + short if not is_held_out(text)]
