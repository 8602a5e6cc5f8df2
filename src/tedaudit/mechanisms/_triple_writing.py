"""How DP-ST writes drawn triples out, and what it releases as numbers that say all of it.

A drawn triple is its number in the public table. If the length of a rewrite depends on the private text, the
tokens that were written follow, numbered after the triples. A text that is returned unchanged is spelled out
in negative numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.inference.loading import Checkpoint
from tedaudit.inference.triples.table import TripleTable
from tedaudit.inference.triples.writing import Prompt, decode, find_ends, fit_prompt, write_out
from tedaudit.types import Rewrite

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TripleWriting:
    """The writer, the public table and how long a rewrite may be: so many tokens, or as the text has."""

    writer: Checkpoint
    table: TripleTable
    template: str
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
        return fit_prompt(self.writer, self.template, [self.table.text(number) for number in drawn], room)

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
