"""Likelihoods of what DP-MLM releases, slot by slot, and the largest loss between two texts.

Slots are drawn independently, so that the losses of slots add up, and so do the largest ones. Whatever is
released without a draw, such as a kept word, is impossible for a text that has something else in its place.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.mechanisms._masked_rows import Place, Places, Words
from tedaudit.mechanisms._released_slots import Slot, SlotNumbers, to_slots
from tedaudit.models.sampling.exponential import Clip, log_probabilities
from tedaudit.plugins.batches import PairLosses, Ragged
from tedaudit.plugins.values import Floats

Positions = npt.NDArray[np.int64]
Memory = dict[tuple[str, ...], tuple[Places, Mapping[Place, int], Any]]
_CELLS = {"cpu": 1 << 28, "cuda": 1 << 33}  # logits of texts that are compared, in memory at a time
_STEP = 1 << 24  # differences of logits in memory at a time
_REMEMBERED = {"cpu": 1 << 27, "cuda": 1 << 31}  # logits that are kept for the next epsilon
_BOTH = (0, 1)  # the two texts of a pair


@dataclass(frozen=True)
class SlotLikelihood:
    """How a mechanism cuts texts, lays out what its model reads and runs it; and its clip range."""

    numbers: SlotNumbers
    split: Callable[[str], Words]
    lay_out: Callable[[Sequence[str]], Places]
    compute_logits: Callable[[Places], Iterator[tuple[list[Place], Any, Any]]]
    clip: Clip
    device: str  # the kind that the model runs on
    memory: Memory  # the last logits, as far as there is room: other epsilons are asked for the same texts

    def score(
        self, released: Sequence[Sequence[int]], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[Floats]:
        """Return the log-likelihood of every release for each candidate; the model sees a text once."""
        shown = [to_slots(tokens) for tokens in released]
        words = {text: self.split(text) for texts in candidates for text in texts}
        scores = [np.full(len(texts), -math.inf) for texts in candidates]
        uses: dict[str, list[tuple[int, int]]] = {}  # the releases, and places in them, that have a text
        for release, texts in enumerate(candidates):
            for place, text in enumerate(texts):
                if self.numbers.fits(shown[release], words[text]):
                    uses.setdefault(text, []).append((release, place))
        places = self.lay_out(list(uses))
        for text, given in uses.items():
            lost = places.lost.get(text, frozenset())
            uses[text] = [use for use in given if self.numbers.fits(shown[use[0]], words[text], lost)]
            for release, place in uses[text]:
                scores[release][place] = 0.0
        for slots, rows, logits in self.compute_logits(places):
            table = log_probabilities(self.clip, logits, epsilon).cpu().numpy()
            for row, (text, slot) in zip(rows, slots, strict=True):
                for release, place in uses[text]:
                    item = self.numbers.explain(shown[release][slot], words[text][slot])
                    scores[release][place] += table[row, item]
        return scores

    def compare(
        self, released: Sequence[Sequence[int]], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both log-likelihoods of every release, the loss of every slot, and the largest loss.

        Pairs that share texts stand together, so that the model sees most texts once, whatever the memory.
        """
        scores, largest = np.zeros((len(pairs), 2)), np.zeros(len(pairs))
        terms: list[Floats | None] = [None] * len(pairs)
        words = {text: self.split(text) for pair in pairs for text in pair}
        for block in self.make_blocks(pairs, words):
            shown = {i: to_slots(released[i]) for i in block}
            texts = [
                text for i in block for text in pairs[i] if self._matters(shown[i], text, pairs[i], words)
            ]
            tables = self.read_block(texts, epsilon)
            for i in block:
                scores[i], terms[i] = self._score_pair(tables, shown[i], pairs[i], words)
            largest[block] = self._bound_pairs(tables, [pairs[i] for i in block], words)
        unknown = np.full(len(pairs), math.nan)
        return scores, PairLosses(largest, unknown, Ragged.of(terms, np.float64))

    def _matters(
        self, shown: Sequence[Slot], text: str, pair: tuple[str, str], words: Mapping[str, Words]
    ) -> bool:
        """Return whether the model has to see a text: it may have released this, or what the other may."""
        first, second = (words[other] for other in pair)
        alike = self.numbers.draws_alike(first, second, frozenset(), frozenset())
        return alike or self.numbers.fits(shown, words[text])

    def make_blocks(self, pairs: Sequence[Sequence[str]], words: Mapping[str, Words]) -> Iterator[list[int]]:
        """Yield the numbers of sets whose texts' logits fit in memory together; at least one set each."""
        room = _CELLS.get(self.device, _CELLS["cpu"]) // self.numbers.size
        block, used, seen = list[int](), 0, set[str]()
        for i in sorted(range(len(pairs)), key=lambda i: min(pairs[i], default="")):
            new = {text for text in pairs[i] if text not in seen}
            needed = sum(sum(word is not None for word in words[text]) for text in new)
            if block and used + needed > room:
                yield block
                block, used, seen, new = [], 0, set(), set(pairs[i])
                needed = sum(sum(word is not None for word in words[text]) for text in new)
            block.append(i)
            used, seen = used + needed, seen | new
        if block:
            yield block

    def read_block(self, texts: Sequence[str], epsilon: float) -> "Tables":
        """Run the model on these texts and keep the clipped logits of every slot that is drawn."""
        import torch

        places, row_of, clipped = self._recall_logits(tuple(dict.fromkeys(texts)))
        step = max(1, _STEP // max(1, clipped.shape[1]))
        sums = [
            torch.logsumexp(self.clip.exponents(clipped[start : start + step], epsilon), dim=1)
            for start in range(0, len(clipped), step)
        ]
        totals = torch.cat(sums).cpu().numpy() if sums else np.zeros(0)
        return Tables(
            places=places, row_of=row_of, clipped=clipped, totals=totals, epsilon=epsilon, clip=self.clip
        )

    def _recall_logits(self, texts: tuple[str, ...]) -> tuple[Places, Mapping[Place, int], Any]:
        """Return what the model says of texts; what was used last is kept, as far as there is room."""
        found = self.memory.pop(texts, None) or self._run_model(texts)
        room = _REMEMBERED.get(self.device, 0) - found[2].numel()
        if room < 0:
            return found
        used = sum(logits.numel() for _, _, logits in self.memory.values())
        while used > room:
            oldest = next(iter(self.memory))
            used -= self.memory.pop(oldest)[2].numel()
        self.memory[texts] = found
        return found

    def _run_model(self, texts: Sequence[str]) -> tuple[Places, Mapping[Place, int], Any]:
        """Return the places of texts, the row of each, and rows of clipped logits."""
        import torch

        places = self.lay_out(texts)
        row_of, parts, count = dict[Place, int](), list[Any](), 0
        for slots, rows, logits in self.compute_logits(places):
            row_of |= {place: count + int(row) for place, row in zip(slots, rows, strict=True)}
            kept = logits if logits.dtype == torch.float64 else logits.float()
            parts.append(kept.clamp(self.clip.low, self.clip.high))
            count += len(logits)
        return places, row_of, torch.cat(parts) if parts else torch.zeros((0, 1))

    def _score_pair(
        self, tables: "Tables", shown: Sequence[Slot], pair: tuple[str, str], words: Mapping[str, Words]
    ) -> tuple[Floats, Floats | None]:
        """Return the log-likelihoods of both texts, and the loss of every slot if both can release it."""
        scores, found = np.full(2, -math.inf), np.zeros((2, len(shown)))
        for side in _BOTH:
            text = pair[side]
            lost = tables.places.lost.get(text, frozenset())
            if text not in tables.places.words or not self.numbers.fits(shown, words[text], lost):
                continue
            drawn = [slot for slot in range(len(shown)) if (text, slot) in tables.row_of]
            rows = [tables.row_of[text, slot] for slot in drawn]
            items = [self.numbers.explain(shown[slot], words[text][slot]) for slot in drawn]
            found[side, drawn] = tables.look_up(rows, items)
            scores[side] = found[side].sum()
        return scores, found[0] - found[1] if np.isfinite(scores).all() else None

    def _bound_pairs(
        self, tables: "Tables", pairs: Sequence[tuple[str, str]], words: Mapping[str, Words]
    ) -> Floats:
        """Return the largest loss of each pair, either way; infinite if a draw alone does not decide."""
        lost = tables.places.lost
        able = [
            i
            for i, (first, second) in enumerate(pairs)
            if self.numbers.draws_alike(
                words[first], words[second], lost.get(first, frozenset()), lost.get(second, frozenset())
            )
        ]
        rows = [
            (i, tables.row_of[pairs[i][0], slot], tables.row_of[pairs[i][1], slot])
            for i in able
            for slot in range(len(words[pairs[i][0]]))
            if (pairs[i][0], slot) in tables.row_of
        ]
        sums, largest = np.zeros((len(pairs), 2)), np.full(len(pairs), math.inf)
        apart = np.array([row for row in rows if row[1] != row[2]], dtype=np.int64).reshape(-1, 3)
        if len(apart):
            distinct, which = np.unique(apart[:, 1:], axis=0, return_inverse=True)
            np.add.at(sums, apart[:, 0], tables.find_largest(distinct)[which.ravel()])
        largest[able] = sums[able].max(axis=1)
        return largest


@dataclass(frozen=True)
class Tables:
    """Clipped logits by row, and the logarithm of the sum of their weights."""

    places: Places
    row_of: Mapping[Place, int]
    clipped: Any
    totals: Floats
    epsilon: float
    clip: Clip

    def look_up(self, rows: Sequence[int], items: Sequence[int | None]) -> Floats:
        """Return the log-probabilities of items in rows."""
        if not rows:
            return np.zeros(0)
        return self._to_logarithms(self.clipped[list(rows), list(items)]) - self.totals[list(rows)]

    def look_up_all(self, rows: Positions, items: Positions) -> Floats:
        """Return the log-probabilities of each item in each row."""
        import torch

        picked = self.clipped[torch.from_numpy(rows)[:, None], torch.from_numpy(items)]
        return self._to_logarithms(picked) - self.totals[rows, None]

    def _to_logarithms(self, picked: Any) -> Floats:
        """Return the weights of logits as they are in the sums."""
        found: Floats = self.clip.exponents(picked, self.epsilon).cpu().numpy()
        return found

    def find_largest(self, pairs: Positions) -> Floats:
        """Return for each pair of rows the largest ln(p / p') over all items, and ln(p' / p)."""
        import torch

        found, step = np.zeros((len(pairs), 2)), max(1, _STEP // self.clipped.shape[1])
        for start in range(0, len(pairs), step):
            part = torch.from_numpy(pairs[start : start + step]).to(self.clipped.device)
            least, most = torch.aminmax(self.clipped[part[:, 0]] - self.clipped[part[:, 1]], dim=1)
            ends = self.clip.compute_factor(self.epsilon) * torch.stack([most, -least], dim=1).double()
            gap = self.totals[pairs[start : start + step, 0]] - self.totals[pairs[start : start + step, 1]]
            found[start : start + step] = ends.cpu().numpy() - np.stack([gap, -gap], axis=1)
        return found
