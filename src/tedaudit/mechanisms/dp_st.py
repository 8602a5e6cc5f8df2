"""Replace a text's subject-verb-object triples with public ones and turn these into text (DP-ST).

Paper:   Meisenbacher et al. 2025; release sjmeis/DPST 4367fda.
Claim:   epsilon for the whole document, split evenly over its triples.
Departs: the release chooses the nearest cluster without noise, draws as many triples as the text has,
         returns a text without grouped triples unchanged, bounds the output by the input's length and
         fails if exp overflows, and groups in its own way: one field each. Prompt, decoding: see the card.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.models.chat import Message
from tedaudit.models.encoders.sentence import Encoder
from tedaudit.models.loading import Checkpoint
from tedaudit.models.triples.drawing import (
    OVERFLOW,
    ClusterChoice,
    Slots,
    draw_noise,
    draw_triples,
    largest_losses,
    load_matching,
    log_masses,
)
from tedaudit.models.triples.extraction import Extractor, Triple, load_extractor, name_server
from tedaudit.models.triples.reading import Told, add_alignments, read_triples
from tedaudit.models.triples.table import (
    Representative,
    TripleTable,
    choose_as_released,
    choose_representatives,
)
from tedaudit.models.triples.vectors import embed
from tedaudit.models.triples.writing import (
    PLACES,
    Prompt,
    decode,
    find_ends,
    fit_prompt,
    load_examples,
    load_writer,
    write_out,
)
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.batches import Draws, PairLosses, Ragged, Rewrites, TextLikelihoods
from tedaudit.plugins.values import Callee, Card, Claim, Draw, Floats, Leak, ModelUse, Note, Rewrite

# --- How DP-ST writes drawn triples out, and what it releases as numbers that say all of it.
#
# A drawn triple is its number in the public table. If the length of a rewrite depends on the private text,
# the tokens that were written follow, numbered after the triples. A text that is returned unchanged is
# spelled out in negative numbers.

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TripleWriting:
    """The writer, the public table and how long a rewrite may be: so many tokens, or as the text has."""

    writer: Checkpoint
    table: TripleTable
    template: str
    examples: tuple[Message, ...]
    context: int
    max_tokens: int
    follows_input: bool

    def write(self, texts: Sequence[str], drawn: Sequence[Numbers]) -> list[Rewrite]:
        """Return the rewrites for triples drawn from each text; a prompt of several is continued once."""
        prompts = {numbers: self._build_prompt(numbers) for numbers in dict.fromkeys(drawn)}
        limits: dict[Prompt, int] = {}
        limit_of = self._compute_limits(texts)
        for text, numbers in zip(texts, drawn, strict=True):
            prompt = prompts[numbers]
            limits[prompt] = max(limits.get(prompt, 0), self._fit_limit(limit_of[text], prompt))
        whole = write_out(self.writer, limits)
        rewrites = []
        for text, numbers in zip(texts, drawn, strict=True):
            written = whole[prompts[numbers]][: limit_of[text]]
            shown = written if self.follows_input else ()  # otherwise the triples tell all that is written
            tokens = (*numbers, *(len(self.table.cluster) + token for token in shown))
            rewrites.append(Rewrite(decode(self.writer, written), tokens=tokens, units=1))
        return rewrites

    def split(self, tokens: Sequence[int]) -> tuple[Numbers, Numbers]:
        """Return the drawn triples and the written tokens; both are empty for a text returned unchanged."""
        numbers, size = [int(token) for token in tokens], len(self.table.cluster)
        drawn = tuple(token for token in numbers if 0 <= token < size)
        return drawn, tuple(token - size for token in numbers if token >= size)

    def find_able(self, drawn: Numbers, written: Numbers, texts: Sequence[str]) -> set[str]:
        """Return the texts from which these triples can be written out in just these tokens."""
        if not self.follows_input:
            return set(texts)
        prompt, limit_of = self._build_prompt(drawn), self._compute_limits(texts)
        limits = {text: self._fit_limit(limit, prompt) for text, limit in limit_of.items()}
        ended = bool(written) and written[-1] in find_ends(self.writer)
        return {t for t, most in limits.items() if len(written) == most or (ended and len(written) < most)}

    def _build_prompt(self, drawn: Numbers) -> Prompt:
        bound = self.writer.positions
        room = self.context if bound is None else max(1, min(self.context, bound - self.max_tokens))
        triples = [self.table.text(number) for number in drawn]
        return fit_prompt(self.writer, self.template, triples, room, self.examples)

    def _fit_limit(self, limit: int, prompt: Prompt) -> int:
        """Return a limit of tokens, or less if the writer's context ends before."""
        bound = self.writer.positions
        return limit if bound is None else max(1, min(limit, bound - len(prompt)))

    def _compute_limits(self, texts: Sequence[str]) -> dict[str, int]:
        """Return how many tokens each rewrite may have."""
        if not self.follows_input:
            return dict.fromkeys(texts, self.max_tokens)
        return {text: max(1, len(self.writer.tokenizer(text)["input_ids"])) for text in dict.fromkeys(texts)}


def copy_text(text: str) -> Rewrite:
    """Return a text unchanged; nothing is drawn, and its tokens spell it out."""
    return Rewrite(text, tokens=tuple(-1 - ord(letter) for letter in text), units=0)


# --- Values that were computed before: a likelihood attack asks for the same texts over and over.

Value = TypeVar("Value")
_MOST_KNOWN = 20_000


def recall(
    known: dict[str, Value], keys: Sequence[str], compute: Callable[[list[str]], list[Value]]
) -> dict[str, Value]:
    """Return a value per distinct key, computing those not in the cache; the cache has a maximum size."""
    new = [key for key in dict.fromkeys(keys) if key not in known]
    fresh = dict(zip(new, compute(new), strict=True)) if new else {}
    values = {key: fresh[key] if key in fresh else known[key] for key in dict.fromkeys(keys)}
    if len(known) + len(fresh) > _MOST_KNOWN:
        known.clear()
    known.update(list(fresh.items())[:_MOST_KNOWN])
    return values


# --- What DP-ST knows of some texts before the noise, and its draws from a public table.


@dataclass(frozen=True)
class TripleQueries:
    """The vectors of all triples of some texts, and which of them each text has in its slots."""

    vectors: Floats
    slots: Mapping[str, tuple[int, ...]]

    def draw(
        self, draws: Draws, table: TripleTable, choice: ClusterChoice, *, overflows: bool
    ) -> list[tuple[int, ...]]:
        """Return the triples drawn for each draw; the noise of a slot depends on the key and its position."""
        slots = [self.slots[text] for text in draws.texts]
        counts = np.array([len(rows) for rows in slots], dtype=np.int64)
        if not counts.any():
            return [()] * len(draws)
        noise = draw_noise(draws.keys, counts)
        epsilons = draws.epsilons / np.maximum(counts, 1)
        rows = np.concatenate([np.asarray(indices, dtype=np.int64) for indices in slots])
        asked = Slots(vectors=self.vectors, rows=rows, epsilons=np.repeat(epsilons, counts), noise=noise)
        drawn = draw_triples(table, choice, asked, overflows=overflows)
        return [tuple(part.tolist()) for part in np.split(drawn, np.cumsum(counts)[:-1])]


_FAILS = 1300.0  # epsilon below which no plain sum of weights overflows: e^650 times any table
_NULL = 0  # the row of zeros: a null triple, with utility 0 for every item
_TEMPLATE = (
    "Here are some facts, each as subject | verb | object:\n{triples}\n"
    "Write one short and natural text that tells these facts and nothing else. Answer with the text only."
)


@dataclass(frozen=True)
class DPST:
    """Triples found by `extractor`, replaced from `table` and turned into text by `model`."""

    model: str = zoo_or("seq2seq", "meta-llama/Llama-3.2-1B-Instruct")
    """The language model that turns triples into text: a folder, a hub id or zoo:NAME."""
    revision: str = ""
    """Branch, tag or commit of a model on the hub. Empty: the newest."""
    extractor: str = zoo_or("parser", "zoo:parser")
    """What finds triples: zoo:parser, spacy:NAME_OR_FOLDER or openie:URL."""
    allow_remote: bool = False
    """Allow an OpenIE server on another machine. The texts are sent to it."""
    table: str = zoo_or("triples", "zoo:triples")
    """The public triples: a folder of a recipe, or zoo:triples."""
    encoder: str = ""
    """The sentence encoder that the table was made with. Empty: the one named in the table."""
    dimensions: int = 32
    """Dimensions of the table's vectors."""
    duplicate_similarity: float = 0.4
    """Triples that share at least this fraction of their 3-grams are near-duplicates and form a group."""
    representative: Representative = "longest"
    """Which triple of a group is replaced: the longest or the first."""
    groups: Literal["disjoint", "released"] = "disjoint"
    """disjoint: each triple is in one group. released: centres are left out and groups share triples."""
    single_triples: Literal["keep", "drop"] = "keep"
    """A triple without near-duplicates. keep: use it. drop: leave it out, as the release does."""
    triple_count: Literal["fixed", "input"] = "fixed"
    """fixed: `triples` for every text. input: as many as the text has, which reveals their number."""
    triples: int = 4
    """How many triples are drawn for every text, if triple_count is fixed. The rest is cut."""
    no_triples: Literal["null", "copy"] = "null"
    """A text without triples. null: fill its slots by random draws. copy: return the text."""
    cluster_choice: ClusterChoice = "private"
    """How a cluster is chosen. private: by a draw. whole: no clusters. nearest: without noise."""
    overflow: Literal["stable", "error"] = "stable"
    """Weights that overflow at large epsilons. stable: computed anyway. error: fails, as the release does."""
    template: str = _TEMPLATE
    """The prompt. {triples} stands for the drawn triples, {records} for a list of them as dictionaries."""
    examples: str = ""
    """Few-shot examples before it. Empty: none. ours: three. Or a JSON file of chat messages, all public."""
    length: Literal["fixed", "input"] = "fixed"
    """fixed: at most max_tokens. input: at most as many tokens as the text has, which reveals its length."""
    max_tokens: int = 64
    """Maximum number of new tokens in a rewrite, if length is fixed."""
    context: int = 2048
    """Longest prompt, in tokens. The model's own limit applies if it is lower."""
    dtype: str = "auto"
    """Number format of the model: auto (bfloat16 on CUDA, otherwise float32) or a torch dtype."""
    device: str = field(default="auto", metadata={"incidental": True})
    """Where the model runs: auto (CUDA, or else the CPU) or a torch device."""
    # Caches: a likelihood attack asks for the same candidates over and over.
    _known_texts: dict[str, list[Triple]] = field(init=False, repr=False, compare=False, default_factory=dict)
    _known_triples: dict[str, Floats] = field(init=False, repr=False, compare=False, default_factory=dict)
    forbids_by_rule: ClassVar[bool] = True
    card: ClassVar[Card] = Card(
        name="dp-st",
        english=("model: the default model", "extractor: the default parser", "table: the default triples"),
        needs=("models", "triples"),
        summary="Triples replaced with public ones (exponential mechanism), turned into text by a model.",
        paper="Meisenbacher et al. 2025; release sjmeis/DPST 4367fda",
        claim="epsilon for the whole document, split evenly over its triples",
        departures=(
            "sound: a public number of triples, padded with null triples, the rest cut; a fixed length cap",
            "sound: the cluster is drawn privately, or there is one draw from the whole table",
            "published: nearest cluster without noise, as many triples as the text has, failure at overflow",
            "published: text without grouped triples is returned unchanged; output no longer than the input",
            "sound: a triple is in one group of near-duplicates, and a group includes its centre",
            "published: as released, centres are left out and groups share triples, see `groups`",
            "near-duplicates by the exact Jaccard index of 3-grams; the release takes what MinHash finds,",
            "which is not the same, and not the same again with the library datasketch 2",
            "the longest triple of a group represents it; the release takes the most fluent by GPT-2",
            "any sentence encoder; the release's jina-embeddings-v3 would run remote code",
            "our own prompt and greedy decoding; the release samples, its package dpst 0.3.9 does not",
            "no examples in the prompt unless `examples` asks for them; the release has three",
            "examples: our own words, without a system message and labels, or any messages of a file",
            "{records} says who is subject and who object; the release swaps the two, dpst 0.3.9 does not",
        ),
        version=3,
        leaks=(
            Leak(
                field="overflow",
                value="error",
                instead="stable",
                says="at a large epsilon exp overflows for some texts",
                shows=("failure",),
                rule="failures",
            ),
            Leak(
                field="no_triples",
                value="copy",
                instead="null",
                says="a text without a triple to replace is returned unchanged",
                shows=(
                    "copied words",
                    "same output",
                    "stop words",
                    "punctuation",
                    "case",
                    "stop word",
                    "name",
                    "number",
                    "rare word",
                    "word order",
                    "homoglyph",
                    "zero-width character",
                    "trailing space",
                    "line break",
                    "sentences",
                ),
                rule="copied text",
            ),
            Leak(
                field="triple_count",
                value="input",
                instead="fixed",
                says="as many triples are drawn as the text has",
                shows=("length",),
                rule="number of draws",
            ),
            Leak(
                field="cluster_choice",
                value="nearest",
                instead="private",
                says="the nearest cluster is chosen without noise",
                shows=("two texts",),
                rule="cluster",
            ),
            Leak(
                field="length",
                value="input",
                instead="fixed",
                says="how long the output can be depends on the text",
                shows=("length",),
                rule="length rule",
            ),
        ),
        not_leaks=(
            ("single_triples", "it picks the triples; triple_count decides if their number shows"),
            ("groups", "it picks the triples; triple_count decides if their number shows"),
        ),
        slope=(100, 400, 1600),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {
            "cluster_choice": "private", "triple_count": "fixed", "single_triples": "keep",
            "groups": "disjoint",
            "no_triples": "null", "length": "fixed", "overflow": "stable",
        },
        "published": {
            "cluster_choice": "nearest", "triple_count": "input", "single_triples": "drop",
            "groups": "released",
            "no_triples": "copy", "length": "input", "overflow": "error",
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("dimensions", "triples", "max_tokens", "context"):
            if getattr(self, name) < 1:
                raise SpecError(f"'dp-st': {name} is {getattr(self, name)}; it must be 1 or more.")
        if not 0 < self.duplicate_similarity <= 1:
            raise SpecError(
                f"'dp-st': duplicate_similarity is {self.duplicate_similarity}; it must be above 0 and at "
                "most 1 (1 groups equal triples only)."
            )
        if not any(place in self.template for place in PLACES):
            raise SpecError(
                f"'dp-st': the template is {self.template!r}; it must contain {' or '.join(PLACES)}."
            )

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon for the document."""
        return Claim(epsilon, "document")

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:  # noqa: ARG002
        """Yield whether the budget of a triple depends on the text."""
        if self.triple_count == "input":
            text = "each triple gets epsilon / n(x), where n(x) is the number of triples in the private text"
            fix = "triple_count=fixed"
            yield Note(
                level="error",
                rule="budget of the text",
                text=f"{text}: the budget itself reveals n(x)",
                fix=fix,
            )

    def models(self) -> Sequence[ModelUse]:
        """Name the writer, the encoder, the table and the extractor."""
        encoder = self.encoder or self._load_public()[0].about.get("encoder", "")
        parts = {"weights": self.model, "encoder weights": encoder, "table": self.table}
        return [ModelUse(part, name) for part, name in {**parts, "extractor": self.extractor}.items()]

    def fingerprint(self) -> Mapping[str, str]:
        """Return checksums of all that is read, and the writer's number format."""
        writer, (table, encoder) = self._load_writer(), self._load_public()
        found = {
            **writer.fingerprint(),
            "table": table.checksum,
            **encoder.fingerprint(),
            **self._load_extractor().fingerprint(),
        }
        if self.examples:
            written = json.dumps(self._load_examples()).encode()
            found["example messages"] = hashlib.sha256(written).hexdigest()[:16]
        return found

    def callee(self, candidates: int) -> Callee | None:  # noqa: ARG002 - the same for any number
        """Name the OpenIE server, if there is one."""
        return name_server(self.extractor)

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Draw all triples together and write out every distinct set of them once."""
        batch = Draws.of(draws)
        texts = batch.texts
        queries = self._build_queries(texts)
        table, may_fail = self._load_public()[0], self.overflow == "error"
        numbers = queries.draw(batch, table, self.cluster_choice, overflows=may_fail)
        rewrites = [copy_text(text) for text in texts]  # unchanged if it has no slot
        for i in [i for i, drawn in enumerate(numbers) if OVERFLOW in drawn]:
            rewrites[i] = Rewrite("", error="overflow")
        drawable = [i for i, drawn in enumerate(numbers) if drawn and OVERFLOW not in drawn]
        outputs = self._load_writing().write([texts[i] for i in drawable], [numbers[i] for i in drawable])
        for i, output in zip(drawable, outputs, strict=True):  # one unit each: the budget of the document
            rewrites[i] = output
        return Rewrites.of(rewrites)

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability that each candidate releases these tokens; -inf if it cannot."""
        return np.asarray(self._find_terms(tokens, candidates, epsilon).sum(axis=1), dtype=np.float64)

    def compare(
        self, released: Sequence[Sequence[int]], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both likelihoods, the loss of every triple, and the largest loss over the public table."""
        terms = [self._find_terms(*given, epsilon) for given in zip(released, pairs, strict=True)]
        scores = np.array([row.sum(axis=1) for row in terms]).reshape(len(pairs), 2)
        losses = [
            row[0] - row[1] if finite and row.shape[1] else None
            for row, finite in zip(terms, np.isfinite(scores).all(axis=1).tolist(), strict=True)
        ]
        unknown = np.full(len(pairs), np.nan)
        return scores, PairLosses(self._bound_losses(pairs, epsilon), unknown, Ragged.of(losses, np.float64))

    def text_log_likelihood(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> TextLikelihoods:
        """Score candidates by how likely they draw the triples that each text seems to tell.

        A writer may put triples in any words, so that nobody knows all that are written as one text. A text
        without slots is returned unchanged, and no other one is published of it.
        """
        queries = self._build_queries([text for row in candidates for text in row])
        told = read_triples(*self._load_public(), texts)
        return TextLikelihoods.scores(
            [
                np.array([self._score_told(text, told[text], queries, one, epsilon) for one in row])
                for text, row in zip(texts, candidates, strict=True)
            ]
        )

    def _score_told(
        self, text: str, told: Told, queries: TripleQueries, candidate: str, epsilon: float
    ) -> float:
        """Return the score of one candidate: triples in order, and none that is as likely as any other."""
        table, slots = self._load_public()[0], queries.slots[candidate]
        if not slots:
            return 0.0 if text == candidate else -np.inf
        used, place = np.unique(slots, return_inverse=True)
        share, vectors = epsilon / len(slots), queries.vectors[used]
        known = {
            numbers: np.logaddexp.reduce(
                [log_masses(table, self.cluster_choice, vectors, number, share) for number in numbers]
            )
            for numbers in dict.fromkeys(told)
        }
        masses = np.array([known[numbers][place] for numbers in told]).reshape(len(told), len(slots)).T
        return add_alignments(masses, -math.log(len(table)))

    def _bound_losses(self, pairs: Sequence[tuple[str, str]], epsilon: float) -> Floats:
        """Return the largest loss of each pair; NaN where a draw may fail or a length cap tells more."""
        queries = self._build_queries([text for pair in pairs for text in pair])
        if self.overflow == "error" and epsilon > _FAILS:
            return np.full(len(pairs), np.nan)
        slots = [(queries.slots[first], queries.slots[second]) for first, second in pairs]
        apart = [len(first) != len(second) or not first for first, second in slots]
        largest = np.where(apart, np.inf, np.nan)
        if self.length == "fixed" and self.overflow == "stable" and not all(apart):
            drawn = np.flatnonzero(~np.array(apart))
            largest[drawn] = largest_losses(
                self._load_public()[0], self.cluster_choice, queries.vectors, [slots[i] for i in drawn],
                epsilon,
            )  # fmt: skip
        same = np.array([first == second for first, second in pairs])
        return np.asarray(np.where(same, 0.0, largest), dtype=np.float64)

    def _find_terms(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability of every triple for each candidate; -inf if it cannot release all."""
        queries, writing = self._build_queries(candidates), self._load_writing()
        slots = [queries.slots[text] for text in candidates]
        drawn, written = writing.split(tokens)
        if drawn:
            able = writing.find_able(drawn, written, candidates)
        else:
            able = {text for text in candidates if copy_text(text).tokens == tuple(tokens)}
        pairs = enumerate(zip(candidates, slots, strict=True))
        possible = [i for i, (text, rows) in pairs if text in able and len(rows) == len(drawn)]
        terms = np.full((len(candidates), max(1, len(drawn))), -np.inf)
        terms[possible] = 0.0
        for place, number in enumerate(drawn if possible else ()):
            used, index = np.unique([slots[i][place] for i in possible], return_inverse=True)
            masses = log_masses(
                writing.table, self.cluster_choice, queries.vectors[used], number, epsilon / len(drawn),
                overflows=self.overflow == "error",
            )  # fmt: skip
            terms[possible, place] = masses[index]
        return terms

    def share_without_triples(self, texts: Sequence[str]) -> float:
        """Return the share of texts that have no triple to replace."""
        triples = self._find_triples(texts)
        return sum(not triples[text] for text in texts) / len(texts) if texts else 0.0

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the triples of a text that are replaced."""
        return tuple(triple.text for triple in self._limit_triples(self._find_triples([text])[text]))

    def _build_queries(self, texts: Sequence[str]) -> TripleQueries:
        """Do the work before the noise, once per distinct text and triple."""
        used = {text: self._limit_triples(triples) for text, triples in self._find_triples(texts).items()}
        distinct = sorted({triple.text for triples in used.values() for triple in triples})
        known = recall(
            self._known_triples, distinct,
            lambda new: list(embed(self._load_public()[1], new, self.dimensions)),
        )  # fmt: skip
        vectors = np.stack([np.zeros(self.dimensions), *(known[text] for text in distinct)])
        row = {text: 1 + i for i, text in enumerate(distinct)}
        slots = {text: self._pad([row[triple.text] for triple in triples]) for text, triples in used.items()}
        return TripleQueries(vectors, slots)

    def _find_triples(self, texts: Sequence[str]) -> dict[str, list[Triple]]:
        return recall(self._known_texts, texts, self._extract)

    def _extract(self, texts: Sequence[str]) -> list[list[Triple]]:
        """Return the triples that represent the groups of each text."""
        choose = choose_as_released if self.groups == "released" else choose_representatives
        keep = self.single_triples == "keep"
        return [
            choose(triples, self.duplicate_similarity, self.representative, keep_single=keep)
            for triples in self._load_extractor().extract(texts)
        ]

    def _limit_triples(self, triples: list[Triple]) -> list[Triple]:
        return triples if self.triple_count == "input" else triples[: self.triples]

    def _pad(self, rows: list[int]) -> tuple[int, ...]:
        """Return the slots of a text; none if the text is to be returned unchanged."""
        if not rows and self.no_triples == "copy":
            return ()
        least = 1 if self.triple_count == "input" else self.triples
        return (*rows, *[_NULL] * (least - len(rows)))

    def _load_writing(self) -> TripleWriting:
        return TripleWriting(
            writer=self._load_writer(),
            table=self._load_public()[0],
            template=self.template,
            examples=self._load_examples(),
            context=self.context,
            max_tokens=self.max_tokens,
            follows_input=self.length == "input",
        )

    def _load_examples(self) -> tuple[Message, ...]:
        return load_examples(self.examples, self.template)

    def _load_writer(self) -> Checkpoint:
        return load_writer(self.model, self.revision, self.device, self.dtype)

    def _load_extractor(self) -> Extractor:
        return load_extractor(self.extractor, allow_remote=self.allow_remote)

    def _load_public(self) -> tuple[TripleTable, Encoder]:
        return load_matching(self.table, self.encoder, self.dimensions)
