"""All lists of words that are joined to one text, as a graph, and what slots that draw them add up to.

A node is where a text is cut, with what is known of the words before it; an edge is the next word. Words
that no rule of joining is about stand one space apart. Between them are runs of other words (marks,
contractions), of which the detokenizer says how they are joined. Its rules take spaces away, write quotes
otherwise and may swap two of them: so the words of a run are found by what is left of a text without all
that, and a run counts only if joining it gives the very characters of the text.

Every slot writes a word or nothing. Slot by slot, the probabilities of all draws that have come to a node are
added up: a step has as many terms as there are edges, where draws are too many to be listed.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from tedaudit.models.triples.treebank import is_inert, join_run
from tedaudit.plugins.batches.columns import Positions, compute_offsets
from tedaudit.plugins.values import Floats

_REACH = 3  # words of a run before which nothing changes what the next one does to spaces and quotes
_CELLS = 1 << 22  # edges by slots that are added up at a time
_QUOTES = "'\"`"
_READ = str.maketrans({'"': "''", "`": "'"})


class Wordlist:
    """Distinct words, found by where they stand in a text; "" is a word if empty ones are joined too."""

    def __init__(self, words: Iterable[str]) -> None:
        self._inert = set[str]()
        self._ruled: dict[str, list[str]] = {}  # by what is read of them
        lengths: tuple[dict[str, set[int]], dict[str, set[int]]] = ({}, {})
        for word in dict.fromkeys(words):
            if is_inert(word):
                self._inert.add(word)
                lengths[0].setdefault(word[0], set()).add(len(word))
            else:
                read = read_marks(word)
                self._ruled.setdefault(read, []).append(word)
                lengths[1].setdefault(read[:1], set()).add(len(read))
        self._inert_lengths, self._ruled_lengths = (
            {first: sorted(found) for first, found in table.items()} for table in lengths
        )

    def find_inert(self, text: str, start: int) -> Iterator[str]:
        """Yield the words without rules that stand at a place."""
        for part in _cut_out(text, start, self._inert_lengths):
            if part in self._inert:
                yield part

    def find_ruled(self, read: str, start: int) -> Iterator[str]:
        """Yield the other words that may stand at a place of what is read of a text."""
        yield from self._ruled.get("", ())
        for part in _cut_out(read, start, self._ruled_lengths):
            yield from self._ruled.get(part, ())


def _cut_out(text: str, start: int, lengths: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Yield the parts of a text from a place on that are as long as some word with the same first letter."""
    if start < len(text):
        for length in lengths.get(text[start], ()):
            if start + length <= len(text):
                yield text[start : start + length]


def read_marks(text: str) -> str:
    """Return what joining never changes: no white space, and every quote as single ones.

    >>> read_marks("he said, ``no ''") == read_marks("he said,'' no''")
    True
    """
    return "".join(text.split()).translate(_READ)


@dataclass(frozen=True, slots=True)
class Lattice:
    """Edges by the node where they end; the first edge of every node is a loop for slots that write nothing.

    `labels` are places in `words`; that of a loop is the place after the last one. Node 0 is the beginning.
    """

    words: list[str]
    sources: Positions
    labels: Positions
    offsets: Positions
    ends: Positions

    @property
    def nodes(self) -> int:
        """How many there are; 0 if no words are joined to the text."""
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class _Node:
    """A place after an inert word, or the beginning, and the words of a run from there on.

    `read` counts what has been read of the text. `before` is what stands in the text from there on if an
    inert word follows, `last` if nothing does.
    """

    start: int
    follows: bool
    run: tuple[str, ...]
    read: int
    before: str = field(init=False)
    last: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "before", join_run(self.run, self.follows, precedes=True))
        object.__setattr__(self, "last", join_run(self.run, self.follows, precedes=False))

    @property
    def key(self) -> tuple[object, ...]:
        """What the words to come depend on."""
        return self.start, self.follows, self.run[-_REACH:], self.before, self.last


@dataclass(frozen=True, slots=True)
class _Published:
    """A text, what is read of it, and how many spaces empty words may leave before each place of that."""

    text: str
    read: str
    room: list[float]

    @classmethod
    def of(cls, text: str) -> "_Published":
        """Count spaces. Of several, rules take one away before a sign, and all before a quote and an end."""
        room, spaces = list[float](), 0
        for sign in text:
            if sign.isspace():
                spaces += 1
            else:
                room += [find_room(spaces, sign)] * len(read_marks(sign))
                spaces = 0
        return cls(text, read_marks(text), [*room, math.inf])


def find_room(spaces: int, sign: str) -> float:
    """Return how many spaces, more than one, there may have been of which these are left before a sign."""
    return math.inf if sign in _QUOTES else spaces + takes_space(sign)


def takes_space(sign: str) -> bool:
    """Return whether a rule may take away one of several spaces beside a sign: beside letters none does."""
    return bool(sign) and not sign.isalnum()


def build_lattice(text: str, lists: Sequence[Wordlist], most: int) -> Lattice:
    """Return all ways in which at most so many words are joined to a text."""
    published, begin = _Published.of(text), _Node(start=0, follows=False, run=(), read=0)
    numbers, nodes, edges = {begin.key: 0}, [begin], list[tuple[int, int, str]]()
    waiting = deque([0])
    while waiting:
        source = waiting.popleft()
        for word, node in _go_on(published, lists, nodes[source]):
            target = numbers.setdefault(node.key, len(nodes))
            if target == len(nodes):
                nodes.append(node)
                if len(node.run) < most:
                    waiting.append(target)
            edges.append((source, target, word))
    return _keep_useful(edges, [i for i, node in enumerate(nodes) if node.last == text[node.start :]])


def _go_on(published: _Published, lists: Sequence[Wordlist], node: _Node) -> Iterator[tuple[str, _Node]]:
    """Yield the words that may come next, and the nodes that they lead to."""
    if published.text.startswith(node.before, node.start):
        start = node.start + len(node.before)
        for word in chain.from_iterable(words.find_inert(published.text, start) for words in lists):
            yield word, _Node(start=start + len(word), follows=True, run=(), read=node.read + len(word))
    for word in chain.from_iterable(words.find_ruled(published.read, node.read) for words in lists):
        further = _Node(
            start=node.start,
            follows=node.follows,
            run=(*node.run, word),
            read=node.read + len(read_marks(word)),
        )
        if _may_stand(published, further):
            yield word, further


def _may_stand(published: _Published, node: _Node) -> bool:
    """Return whether a run may be in the text: the part that later words do not change is the text's.

    That differs by whether anything but empty words follows, because a text has no spaces at its end.
    """
    if not node.run[-1]:
        written = node.before.rstrip()
        spaces = len(node.before) - len(written)
        if spaces > published.room[node.read] + takes_space(written[-1:]):
            return False
    count = len(read_marks("".join(node.run[:-_REACH])))
    ways = (node.before, node.last)
    return not count or any(published.text.startswith(_cut_off(way, count), node.start) for way in ways)


def _cut_off(joined: str, count: int) -> str:
    """Return the beginning of a joined run of which so much is read.

    Spaces and quotes at its end are not: over any number of empty words, a quote may take a space away and
    become one with that before it.
    """
    end = 0
    for place, sign in enumerate(joined):
        count -= len(read_marks(sign))
        if count < 0:
            break
        if not sign.isspace() and sign not in _QUOTES:
            end = place + 1
    return joined[:end]


def _keep_useful(edges: Sequence[tuple[int, int, str]], ends: Sequence[int]) -> Lattice:
    """Return the lattice of the nodes from which an end is reached."""
    into: dict[int, list[int]] = {}
    for source, target, _ in edges:
        into.setdefault(target, []).append(source)
    useful, waiting = set(ends), list(ends)
    while waiting:
        new = set(into.get(waiting.pop(), ())) - useful
        useful |= new
        waiting += new
    if 0 not in useful:
        nothing = np.zeros(0, dtype=np.int64)
        return Lattice(
            words=[], sources=nothing, labels=nothing, offsets=np.zeros(1, dtype=np.int64), ends=nothing
        )
    number = {node: i for i, node in enumerate(sorted(useful))}
    kept = [(number[t], number[s], w) for s, t, w in edges if s in number and t in number]
    label = {word: i for i, word in enumerate(dict.fromkeys(word for _, _, word in kept))}
    table = [(node, -1, node, len(label)) for node in range(len(number))]
    table += [(target, place, source, label[word]) for place, (target, source, word) in enumerate(kept)]
    columns = np.array(sorted(table), dtype=np.int64).T
    offsets = compute_offsets(np.bincount(columns[0], minlength=len(number)))
    return Lattice(
        words=list(label),
        sources=columns[2],
        labels=columns[3],
        offsets=offsets,
        ends=np.array([number[end] for end in ends]),
    )


def add_up_draws(texts: Iterable[tuple[Lattice, Floats]]) -> Floats:
    """Return the logarithms of the probabilities that slots write texts, given as lattices and weights.

    Weights are logarithms: a row for each slot, a column for each word of the lattice, and one more for
    nothing. Texts are done as many at a time as there is room for.
    """
    found, part, used = list[Floats](), list[tuple[Lattice, Floats]](), 0
    for lattice, weights in texts:
        size = lattice.sources.size * len(weights)
        if part and used + size > _CELLS:
            found.append(_add_up(part))
            part, used = [], 0
        part.append((lattice, weights))
        used += size
    return np.concatenate([*found, _add_up(part)]) if part else np.zeros(0)


def _add_up(texts: Sequence[tuple[Lattice, Floats]]) -> Floats:
    """Do it for texts side by side; those with fewer slots are read off earlier."""
    lattices, slots = [lattice for lattice, _ in texts], np.array([len(weights) for _, weights in texts])
    nodes = compute_offsets(np.array([lattice.nodes for lattice in lattices]))
    edges = compute_offsets(np.array([lattice.sources.size for lattice in lattices]))
    sources = _shift([lattice.sources for lattice in lattices], nodes)
    starts = _shift([lattice.offsets[:-1] for lattice in lattices], edges)
    table = np.full((int(slots.max()), int(edges[-1])), -math.inf)
    for i, (lattice, weights) in enumerate(texts):
        table[: slots[i], edges[i] : edges[i + 1]] = weights[:, lattice.labels]
    sums, found = np.full(int(nodes[-1]), -math.inf), np.full(len(lattices), -math.inf)
    sums[nodes[:-1][np.diff(nodes) > 0]] = 0.0
    for done in range(len(table) + 1):
        for i in np.flatnonzero(slots == done).tolist():
            found[i] = np.logaddexp.reduce(sums[nodes[i] + lattices[i].ends], initial=-math.inf)
        if done < len(table):
            sums = add_logarithms(sums[sources] + table[done], starts)
    return found


def _shift(parts: Sequence[Positions], firsts: Positions) -> Positions:
    """Return numbers one after the other, each of them counted from the first of its part."""
    return np.concatenate([part + first for part, first in zip(parts, firsts[:-1], strict=True)])


def add_logarithms(values: Floats, starts: Positions) -> Floats:
    """Return the logarithms of sums over stretches of the last axis, of which none is empty."""
    if not len(starts):
        return np.zeros((*values.shape[:-1], 0))
    largest = np.maximum.reduceat(values, starts, axis=-1)
    largest[np.isneginf(largest)] = 0.0
    lengths = np.diff(starts, append=values.shape[-1])
    sums = np.add.reduceat(np.exp(values - np.repeat(largest, lengths, axis=-1)), starts, axis=-1)
    with np.errstate(divide="ignore"):
        return np.asarray(largest + np.log(sums), dtype=np.float64)
