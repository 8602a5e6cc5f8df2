"""Penn Treebank words to and from text, by nltk's rules, which need no data."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tedaudit.errors import SpecError
from tedaudit.plugins.extras import require

# Without one of these characters or pairs, none of the detokenizer's thirty rules applies.
_MARKED = re.compile(r"""['"`\-\[\](){}<>?!.;:,%#$]|(?i:can|gim|gon|got|lem|wan)\s(?i:not|me|na|ta)""")
# Letters and digits, with single marks between them: rules see no more of such a word than its ends,
_INERT = re.compile(r"[^\W_]+(?:[-.,:'&@/][^\W_]+)*")
_ENDS = re.compile(r"^[^\W_]+|[^\W_]+$")
# unless an end is one of the words that are written together, as in "can not", or the whole is this ending,
_BOUND = frozenset("can gim gon got lem wan not me na ta d more is was".split())  # noqa: SIM905
_ENDING = "n't"
_LIKE_ASCII = frozenset("\u0130\u0131\u017f\u212a")  # or it has a letter that rules take for i, s or k
# The tokenizer's rules are about marks and about these words, which it cuts in two.
_PLAIN = re.compile(r"[A-Za-z0-9\s]*", re.ASCII)
_CONTRACTED = re.compile(r"\b(?:cannot|gimme|gonna|gotta|lemme|wanna)\b", re.ASCII | re.IGNORECASE)
_RUNS = 1 << 16  # of other words, of which it is remembered how they are joined
_SPELLINGS = 1 << 18


def split_words(text: str) -> list[str]:
    """Return the words of a text as nltk does; punctuation marks are separate words."""
    if _PLAIN.fullmatch(text) and not _CONTRACTED.search(text):
        return text.split()
    return list(_load_tokenizer().tokenize(text))


def join_words(words: Sequence[str]) -> str:
    """Join words into a text as nltk does, with punctuation attached to the words it belongs to.

    The detokenizer's rules look at what stands beside a space, and never past a word that no rule is
    about. So the spaces between two such words (or an end of the text) depend on the other words there
    alone, and nltk is asked once how those are joined.
    """
    joined = " ".join(words)
    if _MARKED.search(joined) is None:
        return joined.strip()
    return join_around(words, [place for place, word in enumerate(words) if not is_inert(word)])


def join_around(words: Sequence[str], places: Sequence[int]) -> str:
    """Join words, given the places of those that a rule is about."""
    parts, end, at = [], 0, 0
    while at < len(places):
        start = places[at]
        if start > end:
            parts.append(" ".join(words[end:start]))
        end = start + 1
        at += 1
        while at < len(places) and places[at] == end:
            end += 1
            at += 1
        parts.append(join_run(tuple(words[start:end]), start > 0, end < len(words)))
    if end < len(words):
        parts.append(" ".join(words[end:]))
    return "".join(parts)


@lru_cache(maxsize=_SPELLINGS)
def is_inert(word: str) -> bool:
    """Return whether no rule of the detokenizer is about a word, whatever stands beside it."""
    if _INERT.fullmatch(word) is None or word.lower() == _ENDING or not _LIKE_ASCII.isdisjoint(word):
        return False
    return _BOUND.isdisjoint(end.lower() for end in _ENDS.findall(word))


@lru_cache(maxsize=_RUNS)
def join_run(words: tuple[str, ...], follows: bool, precedes: bool) -> str:
    """Return how nltk joins words, with the spaces beside an inert word that they follow or precede."""
    joined = str(_load_detokenizer().detokenize(["x"] * follows + list(words) + ["x"] * precedes))
    return joined[int(follows) : len(joined) - int(precedes)]


@lru_cache(maxsize=1)
def _load_tokenizer() -> Any:
    require("Splitting a text into words", "nltk")
    from nltk.tokenize import TreebankWordTokenizer

    return TreebankWordTokenizer()


@lru_cache(maxsize=1)
def _load_detokenizer() -> Any:
    require("Joining words into a text", "nltk")
    from nltk.tokenize.treebank import TreebankWordDetokenizer

    return TreebankWordDetokenizer()


# --- Words as nltk's `word_tokenize` finds them: sentences by Punkt, then the words of each sentence.
#
# Punkt needs a list of abbreviations and the like, learnt from text (nltk's package punkt_tab), and nltk
# has a list of stop words (its package stopwords). Both are data of their own, which we neither ship nor
# download: they are read from a folder that the caller names, or else from the folders where nltk looks for
# its data. If they are not there, Punkt runs with a few common abbreviations and scikit-learn's stop words
# are used; every result says which it was.

_PUNKT = Path("tokenizers", "punkt_tab", "english")
_PUNKT_FILES = ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab")
_STOP_WORDS = Path("corpora", "stopwords", "english")
_ABBREVIATIONS = (
    "mr mrs ms dr prof st jr sr vs etc e.g i.e u.s u.k a.m p.m no fig vol gen rep sen gov capt lt col sgt "
    "inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec mt ave blvd approx dept est"
)


@dataclass(frozen=True, slots=True)
class WordSplitter:
    """Splits texts into words; `source` says with which data, for the record of a run."""

    sentences: Any
    words: Any
    source: str

    def split(self, text: str) -> list[str]:
        """Return the words of all sentences; lines are joined by a space first."""
        found = self.sentences.tokenize(text.replace("\n", " "))
        return [word for sentence in found for word in self.words.tokenize(sentence)]


@dataclass(frozen=True, slots=True)
class StopWords:
    """A list of stop words; `source` says which one, for the record of a run."""

    words: frozenset[str]
    source: str


@lru_cache(maxsize=4)
def load_splitter(folder: str = "") -> WordSplitter:
    """Return nltk's splitter, with Punkt's data from a folder or from where nltk looks for it."""
    import nltk
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    found = _find(folder, _PUNKT, "the package punkt_tab")
    if found is None:
        source = "Punkt with common abbreviations, as nltk's punkt_tab is not installed"
        parameters.abbrev_types = set(_ABBREVIATIONS.split())
    else:
        abbreviations, collocations, starters, contexts = (_read(found / name) for name in _PUNKT_FILES)
        parameters.abbrev_types = set(abbreviations)
        parameters.collocations = {(first, second) for first, second in map(_cut, collocations)}
        parameters.sent_starters = set(starters)
        for word, flags in map(_cut, contexts):
            parameters.ortho_context[word] = int(flags)
        source = f"Punkt with nltk's punkt_tab {_hash(abbreviations, collocations, starters, contexts)}"
    return WordSplitter(
        PunktSentenceTokenizer(parameters), NLTKWordTokenizer(), f"{source}; words by nltk {nltk.__version__}"
    )


@lru_cache(maxsize=4)
def load_stop_words(folder: str = "", file: str = "") -> StopWords:
    """Return the stop words in a file, or nltk's, or else scikit-learn's."""
    found = Path(file) if file else _find(folder, _STOP_WORDS, "the package stopwords")
    if found is not None:
        words = _read(found)
        return StopWords(frozenset(words), f"{'a file' if file else 'nltk'}, {_hash(sorted(set(words)))}")
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = sorted(ENGLISH_STOP_WORDS)
    return StopWords(frozenset(words), f"scikit-learn, {_hash(words)}, as nltk's stopwords are not installed")


def _find(folder: str, part: Path, package: str) -> Path | None:
    """Return where nltk's data lies: in the folder, which must have it, or on nltk's own search path."""
    if folder:
        place = Path(folder).expanduser() / part
        if not place.exists():
            raise SpecError(
                f"'{folder}' has no {part.as_posix()}: it is not a folder with nltk's data, or {package} is "
                f"missing in it. Download it with nltk, or leave `nltk_data` out."
            )
        return place
    import nltk

    places = (Path(root) / part for root in nltk.data.path if root)
    return next((place for place in places if place.exists()), None)


def _read(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"Cannot read '{file}' ({error}): it must be a UTF-8 file, one entry a line."
        ) from error
    return [line for line in lines if line.strip()]


def _cut(line: str) -> tuple[str, str]:
    first, _, second = line.partition("\t")
    return first, second


def _hash(*parts: Sequence[str]) -> str:
    return hashlib.sha256("\n\n".join("\n".join(part) for part in parts).encode()).hexdigest()[:16]
