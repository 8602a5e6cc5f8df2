"""Triples of a dependency tree, in the labels of Universal Dependencies and of English spaCy (ClearNLP).

Every argument gives its whole phrase and, where that is longer, its bare noun ("a red bicycle",
"bicycle"), because OpenIE too gives overlapping triples: DP-ST groups them afterwards.
"""

from collections.abc import Iterator
from typing import Any

from tedaudit.inference.triples.triple import Triple, as_triple

_SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "nsubj:outer"})
_OBJECTS = frozenset({"dobj", "obj", "iobj", "dative", "attr", "acomp", "oprd"})
_VERBAL = frozenset({"aux", "auxpass", "aux:pass", "neg", "prt", "compound:prt", "cop"})
_SHARING = frozenset({"conj", "xcomp"})  # a verb of this kind may take the subject of the verb above it
_OUTSIDE = frozenset({
    "acl", "acl:relcl", "advcl", "appos", "cc", "ccomp", "conj", "discourse", "mark", "parataxis", "punct",
    "relcl", "xcomp",
})  # fmt: skip
_HOPS = 50


def triples_of(doc: Any) -> list[Triple]:
    """Return the triples of a parsed text in the order of their verbs, each once."""
    found: dict[Triple, None] = {}
    for head in doc:
        subject = _subject(head)
        if subject is not None:
            who = _phrase(subject, frozenset())
            for verb, phrase, bare in _arguments(head):
                for triple in (as_triple(who, verb, phrase), as_triple(who, verb, bare)):
                    if triple:
                        found[triple] = None
    return list(found)


def _subject(head: Any) -> Any:
    """Return the subject of a verb, its own or the one that it shares; None where there is none."""
    for _ in range(_HOPS):
        own = [child for child in head.children if child.dep_ in _SUBJECTS]
        if own:
            return own[0]
        if head.dep_ not in _SHARING:
            return None
        head = head.head
    return None


def _arguments(head: Any) -> Iterator[tuple[str, str, str]]:
    """Return verb, argument and the argument's bare noun, for every argument of a head."""
    words = [child for child in head.children if child.dep_ in _VERBAL]
    if any(child.dep_ == "cop" for child in words):  # "she is a doctor" hangs on "doctor" in UD
        yield _joined(words), _phrase(head, _SUBJECTS | _VERBAL), head.text
        return
    verb = _joined([*words, head])
    for child in head.children:
        inner = [grandchild for grandchild in child.children if grandchild.dep_ == "pobj"]
        cases = [grandchild for grandchild in child.children if grandchild.dep_ == "case"]
        if inner:
            yield f"{verb} {child.text}", _phrase(inner[0], frozenset()), inner[0].text
        elif child.dep_.startswith("obl"):
            yield f"{verb} {_joined(cases)}", _phrase(child, frozenset({"case"})), child.text
        elif child.dep_ in _OBJECTS:
            yield verb, _phrase(child, frozenset()), child.text


def _phrase(top: Any, dropped: frozenset[str]) -> str:
    """Return the words that hang on a token, without clauses and, right below it, without some labels."""
    kept, waiting = [top], [child for child in top.children if child.dep_ not in dropped]
    while waiting:
        token = waiting.pop()
        if token.dep_ not in _OUTSIDE:
            kept.append(token)
            waiting.extend(token.children)
    return _joined(kept)


def _joined(tokens: list[Any]) -> str:
    return " ".join(token.text for token in sorted(tokens, key=lambda token: token.i))
