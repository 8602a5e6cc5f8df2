"""Triples of a dependency tree labelled with Universal Dependencies or by English spaCy (ClearNLP).

Every argument gives its whole phrase and, if that is longer, also its bare noun ("a red bicycle",
"bicycle"), because OpenIE also gives overlapping triples: DP-ST groups them afterwards.
"""

from collections.abc import Iterator
from typing import Any

from tedaudit.inference.triples.triple import Triple, as_triple

_SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "nsubj:outer"})
_OBJECTS = frozenset({"dobj", "obj", "iobj", "dative", "attr", "acomp", "oprd"})
_VERBAL = frozenset({"aux", "auxpass", "aux:pass", "neg", "prt", "compound:prt", "cop"})
_SHARING = frozenset({"conj", "xcomp"})  # such a verb may share the subject of the verb above it
_OUTSIDE = frozenset({
    "acl", "acl:relcl", "advcl", "appos", "cc", "ccomp", "conj", "discourse", "mark", "parataxis", "punct",
    "relcl", "xcomp",
})  # fmt: skip
_HOPS = 50


def extract_triples(doc: Any) -> list[Triple]:
    """Return the triples of a parsed text in the order of their verbs, each once."""
    triples: dict[Triple, None] = {}
    for head in doc:
        subject = _find_subject(head)
        if subject is not None:
            subject_text = _build_phrase(subject, frozenset())
            for verb, phrase, bare in _find_arguments(head):
                for triple in (as_triple(subject_text, verb, phrase), as_triple(subject_text, verb, bare)):
                    if triple:
                        triples[triple] = None
    return list(triples)


def _find_subject(head: Any) -> Any:
    """Return the subject of a verb, its own or a shared one; None if there is none."""
    for _ in range(_HOPS):
        own = [child for child in head.children if child.dep_ in _SUBJECTS]
        if own:
            return own[0]
        if head.dep_ not in _SHARING:
            return None
        head = head.head
    return None


def _find_arguments(head: Any) -> Iterator[tuple[str, str, str]]:
    """Yield verb, argument and the argument's bare noun, for every argument of a head."""
    words = [child for child in head.children if child.dep_ in _VERBAL]
    if any(child.dep_ == "cop" for child in words):  # in UD, the head of "she is a doctor" is "doctor"
        yield _join(words), _build_phrase(head, _SUBJECTS | _VERBAL), head.text
        return
    verb = _join([*words, head])
    for child in head.children:
        inner = [grandchild for grandchild in child.children if grandchild.dep_ == "pobj"]
        cases = [grandchild for grandchild in child.children if grandchild.dep_ == "case"]
        if inner:
            yield f"{verb} {child.text}", _build_phrase(inner[0], frozenset()), inner[0].text
        elif child.dep_.startswith("obl"):
            yield f"{verb} {_join(cases)}", _build_phrase(child, frozenset({"case"})), child.text
        elif child.dep_ in _OBJECTS:
            yield verb, _build_phrase(child, frozenset()), child.text


def _build_phrase(top: Any, dropped: frozenset[str]) -> str:
    """Return a token and the words below it, without clauses and without children with dropped labels."""
    words, waiting = [top], [child for child in top.children if child.dep_ not in dropped]
    while waiting:
        token = waiting.pop()
        if token.dep_ not in _OUTSIDE:
            words.append(token)
            waiting.extend(token.children)
    return _join(words)


def _join(tokens: list[Any]) -> str:
    return " ".join(token.text for token in sorted(tokens, key=lambda token: token.i))
