"""Optional abilities of plug-ins, each a protocol: whatever has the methods has the ability."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.batches.columns import Ragged
from tedaudit.plugins.batches.guesses import PairLosses, TextLikelihoods
from tedaudit.plugins.batches.own import OwnRewrites
from tedaudit.plugins.values import Array, Callee, Draw, Floats, InputLimit, Knows, ModelUse, Note

_PUBLISHED = frozenset({"text", "error"})  # the parts of a rewrite that everybody sees


@runtime_checkable
class Prepares(Protocol):
    """An attack that uses the candidate pool as background knowledge, and does work on it once."""

    def prepare(self, pool: Sequence[str]) -> None:
        """Take in the pool. Called once before any guess, with the same pool for a whole run."""
        ...


@runtime_checkable
class KnowsMechanism(Protocol):
    """An attack that uses the mechanism itself, as anybody can who knows how it works.

    The mechanism is public and its noise is secret: the attack may encode texts with it, ask it for
    likelihoods and draw rewrites with keys of its own, but no key of an audited draw reaches it.
    """

    def unfit(self, mechanism: Any) -> str:
        """Return why the attack cannot be used on this mechanism, or an empty string if it can."""
        ...

    def meet(self, mechanism: Any, epsilon: float) -> None:
        """Take in the mechanism and its epsilon. Called before every batch of guesses on its outputs."""
        ...


@runtime_checkable
class Practises(Protocol):
    """An attack that tries the mechanism on texts of its own before it guesses."""

    @property
    def own_rewrites(self) -> int:
        """How many rewrites of its own it makes for each mechanism and epsilon."""
        ...

    def practise_on(self, texts: Sequence[str]) -> None:
        """Take in the texts: no candidates if the corpus has enough others. Called before `meet`."""
        ...


@runtime_checkable
class Resamples(Protocol):
    """An attack that is given rewrites of the candidates themselves, made for it before it guesses.

    They are made with keys of their own, stored with the run and shared over its trials, and they never
    share noise with audited draws. The attack itself never meets the mechanism.
    """

    @property
    def rewrites_each(self) -> int:
        """How many rewrites of each candidate it asks for."""
        ...

    @property
    def is_limited(self) -> bool:
        """Whether it makes do with no more of them, in all, than there are audited rewrites."""
        ...

    def unfit(self, mechanism: Any) -> str:
        """Return why the attack cannot be used on this mechanism, or an empty string if it can."""
        ...

    def learn(self, own: OwnRewrites) -> None:
        """Take in the own rewrites. Called before guesses on another mechanism, epsilon or plan."""
        ...


@runtime_checkable
class DigestsMessages(Protocol):
    """A mechanism that can tell errors of one class apart by their messages, which it never keeps."""

    def with_digests(self) -> Any:
        """Return the mechanism with error codes that end with a digest of the message."""
        ...


@runtime_checkable
class CallsUserCode(Protocol):
    """A mechanism that calls code of its user, of which nobody knows what it remembers between calls.

    Its noise may come from less than the whole key of a draw, or from elsewhere.
    """

    @property
    def is_seeded(self) -> bool:
        """Whether the code is told which noise to use, so that a repeated call should repeat its output."""
        ...

    def for_adversary(self) -> Any:
        """Return the mechanism as attacks meet it: its rewrites share no noise with audited ones."""
        ...


@runtime_checkable
class HasLatent(Protocol):
    """A mechanism that adds noise to a vector and releases what a decoder makes of it."""

    def encode(self, texts: Sequence[str]) -> Sequence[Array] | Array:
        """Return the vector of each text before noise, as flat as a released one; lengths may differ."""
        ...

    def log_density(self, latent: Array, latents: Sequence[Array] | Array, epsilon: float) -> Floats:
        """Return the log density of a released vector around each of these; -inf if it cannot be."""
        ...


@runtime_checkable
class MakesLatents(Protocol):
    """A mechanism that makes the latents of its rewrites without decoding any: none need be stored."""

    def latents(self, draws: Sequence[Draw]) -> Ragged:
        """Return what `rewrite` gives these draws as latents, as float32, to the bit and in any batch.

        Missing where a rewrite has none, as one that failed.
        """
        ...


@runtime_checkable
class ReleasesMore(Protocol):
    """A mechanism with likelihoods or a latent that, with some settings, releases more than these tell."""

    def beyond_likelihood(self) -> str:
        """Return what a release tells that its likelihood does not know; an empty string if nothing."""
        ...


@runtime_checkable
class HasLikelihood(Protocol):
    """A mechanism that knows how probable what it releases is.

    The `tokens` of its rewrites say all that is released: the text follows from them alone. A word that is
    kept, a letter's case that is copied and a length that depends on the input are part of them.
    """

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability that each candidate releases these tokens; -inf if it cannot."""
        ...


@runtime_checkable
class HasTextLikelihood(Protocol):
    """A mechanism that knows how probable the text is that it publishes, whatever was drawn for it.

    Several draws may be written as one text: their probabilities add up. Who reads the text alone and knows
    the mechanism cannot do better. A mechanism that cannot add them all up has ends, or a score.
    """

    def text_log_likelihood(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> TextLikelihoods:
        """Return how probable each text is for each of its own candidates."""
        ...


@runtime_checkable
class LacksTextLikelihood(Protocol):
    """A mechanism that, with some settings, has no likelihood of its texts although others have."""

    def lacks_text_likelihood(self) -> str:
        """Return why there is none, as a sentence; an empty string if there is one."""
        ...


@runtime_checkable
class ComparesPairs(Protocol):
    """A mechanism with likelihoods or a latent that says more of the loss between two texts.

    It does so at the cost of the likelihoods alone, so that nobody who wants both waits twice.
    """

    def compare(
        self, released: Sequence[Any], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both log-likelihoods of each release, one row per pair, and what is known of the pairs.

        A release is what the likelihood is of: tokens, or a latent.
        """
        ...


@runtime_checkable
class ForbidsByRule(Protocol):
    """A mechanism whose likelihood is -inf only where a rule forbids an output, never because of rounding.

    A rule keeps a word, truncates a support or shows a length. A probability so small that a computer takes
    it for 0 is none.
    """

    @property
    def forbids_by_rule(self) -> bool:
        """Whether that is so with the present settings."""
        ...


@runtime_checkable
class TossesCoins(Protocol):
    """An attack that says whether it reads `tie_keys`, for coins of its own; if not, none are derived."""

    @property
    def tosses_coins(self) -> bool:
        """Whether it does."""
        ...


def tosses_coins(attack: Any) -> bool:
    """Return whether an attack may read its keys: one that says nothing may."""
    return not isinstance(attack, TossesCoins) or attack.tosses_coins


@runtime_checkable
class Combines(Protocol):
    """An attack that is made of others: it knows and sees what they do."""

    @property
    def parts(self) -> Sequence[Any]:
        """The attacks that it is made of."""
        ...


def find_knowledge(attack: Any) -> tuple[Knows, bool]:
    """Return what an attack knows of the mechanism, and whether it sees what was drawn, not texts alone."""
    levels = get_args(Knows)
    known = [levels.index(attack.card.knows)]
    if isinstance(attack, Practises) and attack.own_rewrites:
        known.append(levels.index("can call it"))
    if not isinstance(attack, Combines):
        return levels[max(known)], not _PUBLISHED.issuperset(attack.card.sees)
    found = [find_knowledge(part) for part in attack.parts]
    return levels[max(known + [levels.index(knows) for knows, _ in found])], any(draw for _, draw in found)


def can_compare(mechanism: Any) -> bool:
    """Return whether a mechanism compares pairs by its own likelihood."""
    return isinstance(mechanism, ComparesPairs) and _belongs_to_likelihood(mechanism, "compare")


def forbids_by_rule(mechanism: Any) -> bool:
    """Return whether an output that is impossible by a mechanism's own likelihood is so by a rule."""
    return (
        isinstance(mechanism, ForbidsByRule)
        and mechanism.forbids_by_rule
        and _belongs_to_likelihood(mechanism, "forbids_by_rule")
    )


def knows_texts(mechanism: Any) -> bool:
    """Return whether a mechanism knows how probable its own texts are, or has a score in its place."""
    others = ("log_likelihood", "log_likelihoods", "rewrite")
    return isinstance(mechanism, HasTextLikelihood) and _is_own(mechanism, "text_log_likelihood", others)


def makes_latents(mechanism: Any) -> bool:
    """Return whether a mechanism makes the latents of its own rewrites without decoding them."""
    return isinstance(mechanism, MakesLatents) and _is_own(mechanism, "latents", ("rewrite",))


def _belongs_to_likelihood(mechanism: Any, name: str) -> bool:
    """Return whether what has this name was written for the likelihood that a mechanism has."""
    return _is_own(mechanism, name, ("log_likelihood", "log_likelihoods"))


def _is_own(mechanism: Any, name: str, others: Sequence[str]) -> bool:
    """Return whether what has this name was written for the others that a mechanism has.

    A class that changes one of these of the class it is made from, and this not, inherits what is not true.
    """
    for kind in type(mechanism).__mro__:
        if name in vars(kind):
            return True
        if set(others) & set(vars(kind)):
            return False
    return True


@runtime_checkable
class CutsTexts(Protocol):
    """A mechanism that shows how it cuts a text: into tokens, words or triples."""

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the parts of a text that the mechanism reads, in order; what it cuts off is not there."""
        ...


@runtime_checkable
class PricesPieces(Protocol):
    """A mechanism of which every term of a loss belongs to a piece of the text: the first to the first.

    Terms beyond the last piece belong to the end of the text. Pieces are told without a model.
    """

    @property
    def terms_are_pieces(self) -> bool:
        """Whether that is so with the present settings."""
        ...

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the parts of a text that the mechanism reads, in order."""
        ...


@runtime_checkable
class HasFingerprint(Protocol):
    """A plug-in whose results depend on more than its fields: files, weights, source code."""

    def fingerprint(self) -> Mapping[str, str]:
        """Return what else determines the results, by name."""
        ...


@runtime_checkable
class NamesNoise(Protocol):
    """A mechanism that says where its noise is made."""

    def noise_source(self) -> str:
        """Return what makes the noise, such as numpy."""
        ...


@runtime_checkable
class UsesModels(Protocol):
    """A plug-in behind whose results there are trained models: every result file names them."""

    def models(self) -> Sequence[ModelUse]:
        """Return the models by the resolved names of their checkpoints."""
        ...


@runtime_checkable
class HasCautions(Protocol):
    """A mechanism some settings of which a reader must know of before believing a number."""

    def cautions(self) -> Sequence[str]:
        """Return one sentence for each, without a full stop; none if all is as it was measured."""
        ...


@runtime_checkable
class KnowsArithmetic(Protocol):
    """A mechanism that knows what its settings make of its noise, its budget and its probabilities.

    Such as a formula that is used beyond what was proven for it, or how small a probability can get before
    finite numbers make it 0.
    """

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> Iterable[Note]:
        """Return what lint tells at these epsilons, ordered; `texts` are a few to look at, or none.

        Values of fields that leak stand on the card and are not repeated here.
        """
        ...


@runtime_checkable
class LimitsInput(Protocol):
    """A mechanism that reads a text up to a public limit and cuts the rest."""

    def input_limit(self) -> InputLimit | None:
        """Return the limit; None if there is none, or none that is known before a model is loaded."""
        ...


@runtime_checkable
class CallsOut(Protocol):
    """A plug-in that calls a user's function or a server: before a run it is said how often."""

    def callee(self, candidates: int) -> Callee | None:
        """Return what is called for a rewrite, or for a trial with this many candidates; None if nothing."""
        ...


@runtime_checkable
class HasOwnEpsilons(Protocol):
    """A mechanism for which the epsilons of the spec mean nothing, or that has a grid of its own."""

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:
        """Return the epsilons to audit, given those asked for; `(NO_EPSILON,)` if it takes none."""
        ...


@runtime_checkable
class WritesOnce(Protocol):
    """A mechanism that has rewrites already and makes no others, so that candidate sets must share no text.

    The key of a draw is then the number of the rewrite, from 0.
    """

    def available(
        self, texts: Sequence[str], epsilons: Sequence[float], times: int = 1
    ) -> npt.NDArray[np.bool_]:
        """Return which texts have so many rewrites, or more, at every one of these epsilons."""
        ...


@runtime_checkable
class BringsTexts(Protocol):
    """A mechanism that knows its own texts, so that an audit need not name a corpus."""

    def texts(self) -> Sequence[str]:
        """Return the texts that it can rewrite."""
        ...


@runtime_checkable
class BringsRows(BringsTexts, Protocol):
    """A mechanism whose texts come with further columns, such as the ids of records, or their authors."""

    def rows(self) -> tuple[Sequence[str], Mapping[str, Sequence[Any]]]:
        """Return the text of every row, repeats too, and the columns by name, with a value for each row."""
        ...


def find_callee(plugin: Any, candidates: int = 0) -> Callee | None:
    """Return what a plug-in calls outside of tedaudit, if it says so."""
    return plugin.callee(candidates) if isinstance(plugin, CallsOut) else None
