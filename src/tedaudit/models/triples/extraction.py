"""Triples (subject | verb | object) of texts, by a spaCy pipeline or by a CoreNLP OpenIE server.

A text is cut to a public number of characters first (by default what a CoreNLP server accepts), so
that an over-long text gives triples like any other.
"""

import hashlib
import http.client
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

from tedaudit.errors import ModelError, SpecError
from tedaudit.models.judges.loopback import is_loopback, may_hold_key
from tedaudit.models.places import resolve
from tedaudit.models.spacy_pipelines import checksum_pipeline, load_pipeline
from tedaudit.plugins.values import Callee
from tedaudit.text.characters import replace_surrogates

# --- The triple itself.


class Triple(NamedTuple):
    """Who does what to whom; no part contains a line break or a bar."""

    subject: str
    verb: str
    object: str

    @property
    def text(self) -> str:
        """The triple as one line."""
        return " | ".join(self)


def as_triple(subject: str, verb: str, what: str) -> Triple | None:
    """Return a triple with white space collapsed and bars replaced; None if a part is empty."""
    parts = [" ".join(part.replace("|", "/").split()) for part in (subject, verb, what)]
    return Triple(*parts) if all(parts) else None


_MAX_CHARACTERS = 100_000
_ENDLESS = re.compile(r"(\S{100})(?=\S)")
# The settings in the release of DP-ST (sjmeis/DPST 4367fda); the server adds the annotators openie needs.
_OPENIE = {
    "annotators": "openie",
    "outputFormat": "json",
    "openie.affinity_probability_cap": "0.6666666666666666",
    "openie.triple.strict": "false",
}


class Extractor(Protocol):
    """Finds triples; those of a text depend only on that text."""

    def extract(self, texts: Sequence[str]) -> list[list[Triple]]:
        """Return the triples of each text, in order."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the triples."""
        ...


@lru_cache(maxsize=4)
def load_extractor(reference: str, *, allow_remote: bool = False) -> Extractor:
    """Return the extractor for `spacy:NAME_OR_FOLDER`, `openie:URL` or `zoo:NAME` (a spaCy folder)."""
    kind, _, rest = reference.partition(":")
    if kind == "openie" and rest:
        return OpenIEExtractor(rest, allow_remote=allow_remote)
    if kind == "spacy" and rest:
        return SpacyExtractor(rest)
    if kind == "zoo" and rest:
        return SpacyExtractor(resolve(reference))
    raise SpecError(
        f"The extractor is '{reference}'; it must be spacy:NAME_OR_FOLDER, openie:URL or zoo:NAME, "
        "such as spacy:en_core_web_sm or openie:http://localhost:9000."
    )


def name_server(reference: str) -> Callee | None:
    """Return the server that texts are sent to, if the extractor is one."""
    kind, _, url = reference.partition(":")
    return Callee(f"the OpenIE server at {urlsplit(url).netloc}", "texts to") if kind == "openie" else None


def clean_text(text: str, limit: int = _MAX_CHARACTERS) -> str:
    """Return the beginning of a text, with unpaired surrogates replaced and very long words split.

    A tokenizer may take quadratic time for a word: spaCy's takes a minute for 20,000 exclamation marks.
    """
    return _ENDLESS.sub(r"\1 ", replace_surrogates(text[:limit]))


class SpacyExtractor:
    """Reads triples off the dependency tree of any spaCy pipeline with a parser."""

    def __init__(self, pipeline: str, max_characters: int = _MAX_CHARACTERS) -> None:
        self._nlp = _load_pipeline(pipeline)
        self._limit = min(max_characters, self._nlp.max_length)

    def extract(self, texts: Sequence[str]) -> list[list[Triple]]:
        """Parse each text separately: the rest of a batch could change the last bits."""
        with self._nlp.memory_zone():  # forget the words of earlier texts, so that memory stays bounded
            docs = self._nlp.pipe((clean_text(text, self._limit) for text in texts), batch_size=1)
            return [extract_triples(doc) for doc in docs]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the pipeline's files."""
        return {"extractor": checksum_pipeline(self._nlp)}


class OpenIEExtractor:
    """Asks a Stanford CoreNLP server that runs the OpenIE annotator.

    No proxy is used and no redirect followed: the texts go to the given address, or nowhere.
    """

    def __init__(self, url: str, *, allow_remote: bool = False, seconds: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SpecError(f"The OpenIE server is '{url}'; it must be a URL such as http://localhost:9000.")
        if may_hold_key(url):
            raise SpecError(
                f"The OpenIE server at {parts.hostname} is named with a user or password, or with something "
                "after '?' or '#', and runs store their settings. Name host, port and path only."
            )
        if not allow_remote and not is_loopback(url):
            raise SpecError(
                f"The OpenIE server '{url}' is not on this machine, and the texts to be sent are private. "
                "Run the server here (http://localhost:9000), or set allow_remote to true if that is allowed."
            )
        self._url, self._parts, self._seconds = url, parts, seconds

    def extract(self, texts: Sequence[str]) -> list[list[Triple]]:
        """Send one request per text."""
        return [self._extract_one(clean_text(text)) for text in texts]

    def fingerprint(self) -> Mapping[str, str]:
        """Return the settings sent; which models the server has loaded cannot be seen from here."""
        return {"extractor": f"openie {hashlib.sha256(json.dumps(_OPENIE).encode()).hexdigest()[:16]}"}

    def _extract_one(self, text: str) -> list[Triple]:
        if not text.strip():
            return []
        try:
            sentences = json.loads(self._request(text.encode()))["sentences"]
            rows = [row for sentence in sentences for row in sentence["openie"]]
            triples = [as_triple(row["subject"], row["relation"], row["object"]) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(
                f"The OpenIE server '{self._url}' answered with something other than CoreNLP JSON with "
                "OpenIE triples. Start it with the annotator openie, version 4 or later."
            ) from error
        return [triple for triple in triples if triple]

    def _request(self, body: bytes) -> bytes:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self._seconds)
        path = f"{self._parts.path or '/'}?properties={quote(json.dumps(_OPENIE))}"
        try:
            connection.request("POST", path, body, {"Content-Type": "text/plain; charset=utf-8"})
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(
                f"The OpenIE server '{self._url}' cannot be reached ({type(error).__name__}). Start a "
                "Stanford CoreNLP server there, or use the extractor spacy:NAME."
            ) from error
        finally:
            connection.close()
        if response.status != 200:
            raise ModelError(
                f"The OpenIE server '{self._url}' answered with status {response.status}. Its own log says "
                "why; a longer timeout or more memory for the server usually helps."
            )
        return answer


def _load_pipeline(name: str) -> Any:
    server = "or use a CoreNLP server: openie:http://localhost:9000"
    nlp = load_pipeline(name, f"The extractor 'spacy:{name}'", instead=server)
    if not nlp("They read books.").has_annotation("DEP"):
        raise ModelError(
            f"The spaCy pipeline '{name}' has no dependency parser (it has: {', '.join(nlp.pipe_names)}). "
            "Triples are read off dependencies: use one with a parser, such as en_core_web_sm."
        )
    return nlp


# --- Triples of a dependency tree labelled with Universal Dependencies or by English spaCy (ClearNLP).
#
# Every argument gives its whole phrase and, if that is longer, also its bare noun ("a red bicycle",
# "bicycle"), because OpenIE also gives overlapping triples: DP-ST groups them afterwards.

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
