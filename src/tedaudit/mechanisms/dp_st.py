"""Replace a text's subject-verb-object triples by public ones and have a model write them out (DP-ST).

Paper:   Meisenbacher et al. 2025; release sjmeis/DPST 4367fda.
Claim:   epsilon for the whole document, split evenly over its triples.
Departs: the release chooses the nearest cluster without noise, draws as many triples as the text has,
         returns a text without grouped triples as it is, bounds the output by the input's length and
         fails where exp overflows: one field each. Grouping, prompt and decoding: see the card.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from tedaudit.errors import ModelError, SpecError
from tedaudit.inference.encoders import Encoder
from tedaudit.inference.loading import Checkpoint
from tedaudit.inference.triples.drawing import (
    OVERFLOW,
    ClusterChoice,
    Slots,
    draw_triples,
    log_masses,
    noise_of,
)
from tedaudit.inference.triples.extraction import Extractor, load_extractor
from tedaudit.inference.triples.grouping import Representative, representatives
from tedaudit.inference.triples.table import TripleTable, load_table
from tedaudit.inference.triples.triple import Triple
from tedaudit.inference.triples.vectors import embedded, load_dense_encoder
from tedaudit.inference.triples.writing import Prompt, decoded, fitting_prompt, load_writer, written
from tedaudit.inference.zoo import zoo_or
from tedaudit.types import Card, Claim, Draw, Floats, Rewrite

Value = TypeVar("Value")
_MOST_KNOWN = 20_000
_NULL = 0  # the row of zeros: a null triple, with utility 0 for every item
_TEMPLATE = (
    "Here are some facts, each as subject | verb | object:\n{triples}\n"
    "Write one short and natural text that tells these facts and nothing else. Answer with the text only."
)


@dataclass(frozen=True)
class _Queries:
    """What texts ask for: the vectors of all their triples, and which of them each text has in its slots."""

    vectors: Floats
    slots: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class DPST:
    """Triples by `extractor`, drawn from `table`, written out by `model`.

    `encoder` is the sentence encoder that the table was made with: "" for the one that it names.
    """

    model: str = zoo_or("seq2seq", "meta-llama/Llama-3.2-1B-Instruct")
    revision: str = ""
    extractor: str = zoo_or("parser", "zoo:parser")
    allow_remote: bool = False
    table: str = zoo_or("triples", "zoo:triples")
    encoder: str = ""
    dimensions: int = 32
    duplicate_similarity: float = 0.4
    representative: Representative = "longest"
    single_triples: Literal["keep", "drop"] = "keep"
    triple_count: Literal["fixed", "input"] = "fixed"
    triples: int = 4
    no_triples: Literal["null", "copy"] = "null"
    cluster_choice: ClusterChoice = "private"
    overflow: Literal["stable", "error"] = "stable"
    template: str = _TEMPLATE
    length: Literal["fixed", "input"] = "fixed"
    max_tokens: int = 64
    context: int = 2048
    dtype: str = "auto"
    device: str = field(default="auto", metadata={"incidental": True})
    # What the last texts and triples gave: a likelihood attack asks for the same candidates over and over.
    _known_texts: dict[str, list[Triple]] = field(init=False, repr=False, compare=False, default_factory=dict)
    _known_triples: dict[str, Floats] = field(init=False, repr=False, compare=False, default_factory=dict)
    card: ClassVar[Card] = Card(
        name="dp-st",
        summary="Triples replaced by public ones (exponential mechanism), written out by a language model.",
        paper="Meisenbacher et al. 2025; release sjmeis/DPST 4367fda",
        claim="epsilon for the whole document, split evenly over its triples",
        departures=(
            "sound: a public number of triples, padded with null triples, the rest cut; a fixed length cap",
            "sound: the cluster is drawn privately, or there is one draw from the whole table",
            "published: nearest cluster without noise, as many triples as the text has, failure at overflow",
            "published: a text without grouped triples is returned as it is; output no longer than the input",
            "near-duplicates by the exact Jaccard index of 3-grams, which the release estimates by MinHash",
            "a group holds its centre, and its longest triple stands for it, not the one GPT-2 finds fluent",
            "any sentence encoder; the release's jina-embeddings-v3 would run remote code",
            "our own prompt and greedy decoding; the release gives examples in its prompt and samples",
        ),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {
            "cluster_choice": "private", "triple_count": "fixed", "single_triples": "keep",
            "no_triples": "null", "length": "fixed", "overflow": "stable",
        },
        "published": {
            "cluster_choice": "nearest", "triple_count": "input", "single_triples": "drop",
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
        if "{triples}" not in self.template:
            raise SpecError(f"'dp-st': the template is {self.template!r}; it must hold {{triples}}.")

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon for the document."""
        return Claim(epsilon, "document")

    def fingerprint(self) -> Mapping[str, str]:
        """Return checksums of the writer, the encoder, the table and the extractor, and the number format."""
        writer, (table, encoder) = self._writer(), self._public()
        return {
            **writer.fingerprint(),
            "table": table.checksum,
            **encoder.fingerprint(),
            **self._extractor().fingerprint(),
        }

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Draw all triples together and write every distinct set of them out once."""
        queries = self._queries([draw.text for draw in draws])
        numbers = self._drawn(draws, queries)
        done = [Rewrite(draw.text, tokens=(), units=0) for draw in draws]  # stays where there is no slot
        failed = [i for i, drawn in enumerate(numbers) if OVERFLOW in drawn]
        for i in failed:
            done[i] = Rewrite("", error="overflow")
        able = [i for i, drawn in enumerate(numbers) if drawn and OVERFLOW not in drawn]
        texts = self._written([draws[i].text for i in able], [numbers[i] for i in able])
        for i, text in zip(able, texts, strict=True):
            done[i] = Rewrite(
                text, tokens=numbers[i], units=1
            )  # the document's budget, split over its triples
        return done

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability of drawing these triples from each candidate; -inf if impossible."""
        queries = self._queries(candidates)
        slots = [queries.slots[text] for text in candidates]
        able = [i for i, rows in enumerate(slots) if len(rows) == len(tokens)]
        scores = np.full(len(candidates), -np.inf)
        scores[able] = 0.0
        for place, number in enumerate(tokens if able else ()):
            used, of = np.unique([slots[i][place] for i in able], return_inverse=True)
            masses = log_masses(
                self._public()[0], self.cluster_choice, queries.vectors[used], number, epsilon / len(tokens)
            )
            scores[able] += masses[of]
        return scores

    def share_without_triples(self, texts: Sequence[str]) -> float:
        """Return the share of texts that have no triple to replace."""
        found = self._triples(texts)
        return sum(not found[text] for text in texts) / len(texts) if texts else 0.0

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the triples of a text that are replaced."""
        return tuple(triple.text for triple in self._counted(self._triples([text])[text]))

    def _queries(self, texts: Sequence[str]) -> _Queries:
        """Do the noise-free work, once per distinct text and triple."""
        found = self._triples(texts)
        used = {text: self._counted(triples) for text, triples in found.items()}
        distinct = sorted({triple.text for triples in used.values() for triple in triples})
        known = _recalled(
            self._known_triples, distinct,
            lambda new: list(embedded(self._public()[1], new, self.dimensions)),
        )  # fmt: skip
        vectors = np.stack([np.zeros(self.dimensions), *(known[text] for text in distinct)])
        row = {text: 1 + i for i, text in enumerate(distinct)}
        slots = {text: self._padded([row[one.text] for one in triples]) for text, triples in used.items()}
        return _Queries(vectors, slots)

    def _triples(self, texts: Sequence[str]) -> dict[str, list[Triple]]:
        return _recalled(self._known_texts, texts, self._extracted)

    def _extracted(self, texts: Sequence[str]) -> list[list[Triple]]:
        """Return the triples that stand for the groups of each text."""
        keep = self.single_triples == "keep"
        return [
            representatives(triples, self.duplicate_similarity, self.representative, keep_single=keep)
            for triples in self._extractor().extract(texts)
        ]

    def _counted(self, triples: list[Triple]) -> list[Triple]:
        return triples if self.triple_count == "input" else triples[: self.triples]

    def _padded(self, rows: list[int]) -> tuple[int, ...]:
        """Return the slots of a text; none where it is to be returned as it is."""
        if not rows and self.no_triples == "copy":
            return ()
        least = 1 if self.triple_count == "input" else self.triples
        return (*rows, *[_NULL] * (least - len(rows)))

    def _drawn(self, draws: Sequence[Draw], queries: _Queries) -> list[tuple[int, ...]]:
        """Return the triples drawn for each draw; a slot's noise follows from the key and its place."""
        slots = [queries.slots[draw.text] for draw in draws]
        counts = np.array([len(rows) for rows in slots], dtype=np.int64)
        if not counts.any():
            return [()] * len(draws)
        noise = noise_of([draw.key for draw in draws], counts)
        epsilons = np.array([draw.epsilon for draw in draws]) / np.maximum(counts, 1)
        rows = np.concatenate([np.asarray(one, dtype=np.int64) for one in slots])
        drawn = draw_triples(
            self._public()[0], self.cluster_choice,
            Slots(queries.vectors, rows, np.repeat(epsilons, counts), noise),
            overflows=self.overflow == "error",
        )  # fmt: skip
        return [tuple(part.tolist()) for part in np.split(drawn, np.cumsum(counts)[:-1])]

    def _written(self, texts: Sequence[str], numbers: Sequence[tuple[int, ...]]) -> list[str]:
        """Return the drawn triples as text; prompts that several draws share are continued once."""
        writer, table = self._writer(), self._public()[0]
        bound = writer.positions
        room = self.context if bound is None else max(1, min(self.context, bound - self.max_tokens))
        prompts = {
            drawn: fitting_prompt(writer, self.template, [table.text(number) for number in drawn], room)
            for drawn in dict.fromkeys(numbers)
        }
        limits: dict[Prompt, int] = {}
        own = self._limits(writer, texts)
        for text, drawn in zip(texts, numbers, strict=True):
            prompt = prompts[drawn]
            limit = own[text] if bound is None else max(1, min(own[text], bound - len(prompt)))
            limits[prompt] = max(limits.get(prompt, 0), limit)
        tokens = written(writer, limits)
        return [
            decoded(writer, tokens[prompts[drawn]][: own[text]])
            for text, drawn in zip(texts, numbers, strict=True)
        ]

    def _limits(self, writer: Checkpoint, texts: Sequence[str]) -> dict[str, int]:
        """Return how many tokens each rewrite may have; "input": as many as the private text has."""
        if self.length == "fixed":
            return dict.fromkeys(texts, self.max_tokens)
        return {text: max(1, len(writer.tokenizer(text)["input_ids"])) for text in dict.fromkeys(texts)}

    def _writer(self) -> Checkpoint:
        return load_writer(self.model, self.revision, self.device, self.dtype)

    def _extractor(self) -> Extractor:
        return load_extractor(self.extractor, allow_remote=self.allow_remote)

    def _public(self) -> tuple[TripleTable, Encoder]:
        return _matched(self.table, self.encoder, self.dimensions)


def _recalled(
    known: dict[str, Value], keys: Sequence[str], work: Callable[[list[str]], list[Value]]
) -> dict[str, Value]:
    """Return a value per distinct key, working out the unknown ones; a bounded number stays known."""
    new = [key for key in dict.fromkeys(keys) if key not in known]
    fresh = dict(zip(new, work(new), strict=True)) if new else {}
    found = {key: fresh[key] if key in fresh else known[key] for key in dict.fromkeys(keys)}
    if len(known) + len(fresh) > _MOST_KNOWN:
        known.clear()
    known.update(list(fresh.items())[:_MOST_KNOWN])
    return found


@lru_cache(maxsize=2)
def _matched(reference: str, encoder_name: str, dimensions: int) -> tuple[TripleTable, Encoder]:
    """Return a table and the encoder that its vectors are of; refuse what does not fit together."""
    table = load_table(reference)
    name = encoder_name or table.about.get("encoder", "")
    if not name:
        raise ModelError(
            f"The table of triples '{reference}' does not say which encoder made it. Set `encoder` to it."
        )
    if table.dimensions != dimensions:
        raise ModelError(
            f"The table of triples '{reference}' has {table.dimensions} dimensions; `dimensions` is "
            f"{dimensions}. Set it to {table.dimensions}, or build a table with {dimensions}."
        )
    encoder = load_dense_encoder(name)
    own, its = encoder.fingerprint()["encoder weights"], table.about.get("encoder weights")
    if its and its != own:
        raise ModelError(
            f"The table of triples '{reference}' was made with another encoder than '{name}' (weights {its}, "
            f"not {own}). Set `encoder` to the one that made it ({table.about.get('encoder')})."
        )
    return table, encoder
