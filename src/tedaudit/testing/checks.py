"""The contract of a plug-in, as checks to call from your own tests.

    from tedaudit.testing import check_attack, check_mechanism

    def test_my_mechanism_keeps_its_contract():
        check_mechanism(MyMechanism())

The first rule that is broken raises a `ContractError` that says which rule, on what, and what to
do. Plug-ins are run as an audit runs them, only on texts that are meant to hurt.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from tedaudit.errors import ContractError, SpecError, join_names
from tedaudit.plugins.batches import Draws, Ragged
from tedaudit.plugins.protocols import HasLikelihood, HasOwnEpsilons, KnowsMechanism, makes_latents
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Attack, Card, Claim, Draw, Guess, Mechanism, Rewrite, Seen
from tedaudit.seeding import derive, uniforms
from tedaudit.testing.likelihood_check import (
    PAIRS,
    check_comparison,
    check_likelihood,
    check_text_likelihood,
)
from tedaudit.testing.observations import make_observations
from tedaudit.testing.subject import (
    ODD,
    ORDINARY,
    PRECISION,
    SEEN_PARTS,
    Form,
    FormedRewriteChunk,
    Subject,
    WatchedGuessChunk,
    alike,
    check_consistency,
    differences,
    global_generators_left_alone,
)

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CODE = re.compile(r"[A-Za-z0-9_-]{0,80}")


@dataclass(frozen=True)
class Checked:
    """What a check saw; none of it is required."""

    name: str
    items: int  # draws or observations
    unusable: int  # failed rewrites or unusable guesses among them
    random: bool = False  # whether another key gave another rewrite of the same text
    likelihood_p: float | None = None  # how well its likelihoods fit its draws; None if it has none


def check_mechanism(
    mechanism: Mechanism | type[Mechanism],
    texts: Sequence[str] | None = None,
    epsilon: float = 1.0,
    *,
    repeatable: bool = True,
    likelihood_pairs: int = PAIRS,
) -> Checked:
    """Check a mechanism, or a class that needs no parameters, on these texts and on odd ones.

    `repeatable=False` is for a mechanism whose noise honestly does not come from the draw's key,
    such as a plain function with noise of its own: then its answers may differ between calls.

    If it has `log_likelihood` or `log_density`, these are held against so many draws of its own
    (`likelihood_pairs`; fewer find less, and 0 leaves it out). Above a loss of about 10 no sample can check
    their scale. Probabilities of texts (`text_log_likelihood`) are held against texts that are rewritten
    twice.
    """
    plugin, name = _build_checked(mechanism, "rewrite")
    grid = plugin.epsilons((epsilon,)) if isinstance(plugin, HasOwnEpsilons) else (epsilon, 2 * epsilon)
    claims = {value: _check_claim(name, value, plugin.claim(value)) for value in grid}
    descriptions, draws = _draws({**{repr(t[:60]): t for t in texts or ORDINARY}, **ODD}, list(claims))
    subject = Subject(name, may_use_globals=not repeatable)

    def ask(what: str, rows: Sequence[int], size: int, form: Form) -> Sequence[Any]:
        reference = Reference("mechanism", name, live=plugin)
        return subject.perform(what, FormedRewriteChunk(reference, draws[list(rows)], form=form), size)

    def check(row: int, rewrite: Rewrite) -> None:
        _check_rewrite(
            f"'{name}' returned a rewrite of {descriptions[row]}", rewrite, claims[draws[row].epsilon]
        )

    rewrites = check_consistency(ask, check, descriptions, name, "the draw's key" if repeatable else "")
    _check_codes(name, draws, rewrites)
    check_tokens_tell_all(name, plugin, rewrites)
    with global_generators_left_alone(name):
        _check_latents(name, plugin, draws, rewrites, descriptions)
    by_setting: dict[tuple[str, float], list[Rewrite]] = {}
    for draw, rewrite in zip(draws, rewrites, strict=True):
        by_setting.setdefault((draw.text, draw.epsilon), []).append(rewrite)
    noisy = any(not alike(same[0], other) for same in by_setting.values() for other in same[1:])
    failed = sum(bool(rewrite.error) for rewrite in rewrites)
    own = texts if texts and len(set(texts)) > 1 else ORDINARY
    check_comparison(plugin, name, own, epsilon)
    p = check_likelihood(plugin, name, own, epsilon, likelihood_pairs) if likelihood_pairs else None
    if likelihood_pairs:
        check_text_likelihood(plugin, name, own, epsilon, likelihood_pairs)
    return Checked(name=name, items=len(draws), unusable=failed, random=noisy, likelihood_p=p)


def check_attack(
    attack: Attack | type[Attack],
    texts: Sequence[str] | None = None,
    mechanism: Mechanism | None = None,
    epsilon: float = 8.0,
) -> Checked:
    """Check an attack, or a class that needs no parameters, on outputs made of these texts.

    An attack that sees tokens or latents, or that knows the mechanism, needs one; any other is shown
    the texts with words left out, and odd outputs besides, failed ones if it sees their codes.
    """
    plugin, name = _build_checked(attack, "guess")
    if isinstance(plugin, KnowsMechanism) and (mechanism is None or plugin.unfit(mechanism)):
        raise SpecError(f"'{name}' knows the mechanism: give check_attack one that it fits, as `mechanism`.")
    pool = tuple(dict.fromkeys(texts or ORDINARY))
    if len(pool) < 3:
        raise SpecError(f"check_attack needs 3 texts or more that differ; it was given {len(pool)}.")
    subject = Subject(name)
    all_guesses: list[Guess] = []
    for k in (2, min(5, len(pool)), None):
        descriptions, chunk = make_observations(plugin, pool, k, mechanism, epsilon)

        def ask(
            what: str, rows: Sequence[int], size: int, form: Form, chunk: WatchedGuessChunk = chunk
        ) -> Sequence[Any]:
            return subject.guess(what, replace(chunk.rows(rows), form=form), size, secret=0)

        def check(row: int, guess: Guess, descriptions: Sequence[str] = descriptions) -> None:
            _check_finite(f"'{name}' returned a score for {descriptions[row]}", guess)

        guesses = check_consistency(ask, check, descriptions, name, "the observation's tie_key")
        _check_blind(subject, chunk, guesses)
        _check_candidates(subject, chunk, guesses)
        _check_memory(chunk, guesses, name)
        all_guesses += guesses
    return Checked(name, len(all_guesses), sum(not guess.usable for guess in all_guesses))


def _build_checked(plugin: Any, verb: str) -> tuple[Any, str]:
    """Return the plug-in, built if a class was given, and its name, its card checked."""
    if isinstance(plugin, type):
        with global_generators_left_alone(plugin.__name__):
            plugin = plugin()
    kind = type(plugin)
    card = getattr(kind, "card", None)
    if not isinstance(card, Card) or not callable(getattr(plugin, verb, None)):
        raise ContractError(
            f"{kind.__name__} is not a plug-in: its class needs a `card`, made with tedaudit.Card, and a "
            f"method `{verb}`."
        )
    if not _KEBAB.fullmatch(card.name):
        raise ContractError(
            f"{kind.__name__}: its card is named '{card.name}'; a name is made of lower-case letters, digits "
            "and single hyphens, such as 'word-rr'."
        )
    if not card.summary.strip() or "\n" in card.summary:
        raise ContractError(f"'{card.name}': the card's summary must be one line that says what it does.")
    if not card.sees or not set(card.sees) <= set(get_args(Seen)):
        raise ContractError(
            f"'{card.name}': the card's `sees` is {card.sees!r}; it holds one or more of: "
            f"{join_names(get_args(Seen))}."
        )
    named = [*(leak.field for leak in card.leaks), *(field for field, _ in (*card.not_leaks, *card.public))]
    for missing in [field for field in (*named, *card.code) if not hasattr(plugin, field)]:
        raise ContractError(f"'{card.name}': the card names a field '{missing}', which it does not have.")
    return plugin, card.name


def _check_claim(name: str, epsilon: float, claim: Any) -> Claim | None:
    if claim is not None and not isinstance(claim, Claim):
        raise ContractError(
            f"'{name}': claim({epsilon:g}) is a {type(claim).__name__}; it must be a tedaudit.Claim, or None "
            "if nothing is promised."
        )
    return claim


def _draws(texts: Mapping[str, str], grid: Sequence[float]) -> tuple[list[str], Draws]:
    """Return draws with a name for each: two keys per text at the first epsilon, one at the others."""
    descriptions, draws = [], []
    for what, text in texts.items():
        for epsilon, replicate in [(grid[0], 1), *((value, 0) for value in grid)]:
            descriptions.append(what)
            draws.append(Draw(text, epsilon, derive(0, "testing", text, replicate)))
    return descriptions, Draws.of(draws)


def _check_rewrite(start: str, rewrite: Rewrite, claim: Claim | None) -> None:
    latent, units = rewrite.latent, rewrite.units
    if not isinstance(rewrite.text, str):
        raise ContractError(f"{start} whose text is a {type(rewrite.text).__name__}; it must be a string.")
    if not (isinstance(rewrite.error, str) and _CODE.fullmatch(rewrite.error)):
        raise ContractError(
            f"{start} whose error is {rewrite.error!r}. It must be a short code of letters, digits and "
            "hyphens that names the kind of failure, such as 'too-long', and never holds a text."
        )
    if rewrite.error and rewrite.text:
        raise ContractError(
            f"{start} that has both the error code '{rewrite.error}' and a text. What failed releases its "
            "code and no text: most attacks are not shown failed rewrites."
        )
    if latent is not None and not np.isfinite(latent).all():
        raise ContractError(f"{start} whose latent is not an array of finite numbers.")
    most = None if claim is None else claim.max_units
    if units is not None and most is not None and units > most:
        raise ContractError(
            f"{start} that cost {units} units, but claims that there are {most} at most: the claim does not "
            "cover what it releases."
        )


def _check_codes(name: str, draws: Sequence[Draw], rewrites: Sequence[Rewrite]) -> None:
    """Refuse a code that tells a word of its text; one that the codes of other texts hold too is chance."""
    failed = {(draw.text, r.error) for draw, r in zip(draws, rewrites, strict=True) if r.error}
    for text, error in failed:
        for word in {word for word in re.findall(r"\w+", text) if len(word) > 3 and word in error}:
            if not any(word in other for some, other in failed if word not in some):
                raise ContractError(
                    f"'{name}' put '{word}', a word of the text, into the error code '{error}'. A code is "
                    "stored and printed where texts must not be: name the kind of failure only."
                )


def _check_finite(start: str, guess: Guess) -> None:
    if not np.isfinite(np.asarray(guess.scores, dtype=np.float64)).all():
        raise ContractError(
            f"{start} that is not finite. Every candidate needs a number; if there is no answer, return "
            "zeros with usable=False."
        )


def _check_blind(subject: Subject, chunk: WatchedGuessChunk, guesses: Sequence[Guess]) -> None:
    """Other secrets in memory must not change a score."""
    last = int(chunk.observations.counts[0]) - 1
    if differences(guesses, subject.guess("a batch", chunk, len(chunk), secret=last)):
        raise ContractError(
            f"'{subject.name}' gave other scores to the same observations when other secrets lay in memory: "
            f"it looks at what no adversary can see (frames, gc). It may use {join_names(SEEN_PARTS)}, no "
            "more."
        )


def _check_memory(chunk: WatchedGuessChunk, guesses: Sequence[Guess], name: str) -> None:
    """Refuse an attack that learns more from the mechanism that made the outputs than from a copy."""
    if chunk.unused is None:
        return
    elsewhere = replace(chunk, mechanism=chunk.unused)
    if differences(guesses, Subject(name).guess("a batch", elsewhere, len(chunk), secret=0)):
        raise ContractError(
            f"'{name}' gave other scores to the same observations when it met a copy of the mechanism that "
            "had not made these outputs: it uses what the mechanism remembers of audited draws. It may use "
            "rewrites of its own, made with keys of its own."
        )


def _check_candidates(subject: Subject, chunk: WatchedGuessChunk, guesses: Sequence[Guess]) -> None:
    """Each candidate must keep its score wherever it stands."""
    seen, slack = chunk.observations, 1e-9
    if seen.candidates is None:  # one product with the whole pool need not round as products with each do
        slack = 10.0**-PRECISION
        given = np.tile(np.arange(len(seen.pool), dtype=np.int32), (len(chunk), 1))
    else:
        given = np.asarray(seen.candidates)
    order = np.roll(np.arange(given.shape[1]), 1)
    moved = replace(chunk, observations=replace(seen, candidates=given[:, order]))
    expected = [replace(guess, scores=np.asarray(guess.scores)[order]) for guess in guesses]
    reordered = subject.guess("candidates in another order", moved, len(chunk), secret=0)
    if differences(expected, reordered, slack):
        raise ContractError(
            f"'{subject.name}' gives a candidate another score when it stands in another place among the "
            "candidates. Its place tells nothing of the source: score each by its text, and leave ties "
            "to the auditor."
        )


# --- The rule on what tokens are: a likelihood is one of the whole release only if they say all of it.


def check_tokens_tell_all(name: str, plugin: Any, rewrites: Sequence[Rewrite]) -> None:
    """Refuse a mechanism with likelihoods whose tokens leave open which text was released."""
    if not isinstance(plugin, HasLikelihood):
        return
    texts: dict[tuple[int, ...], str] = {}
    for rewrite in rewrites:
        if rewrite.tokens is None or rewrite.error:
            continue
        text = texts.setdefault(rewrite.tokens, rewrite.text)
        if text != rewrite.text:
            raise ContractError(
                f"'{name}' released {text[:60]!r} and {rewrite.text[:60]!r} with the same tokens "
                f"({rewrite.tokens[:8]}). It has `log_likelihood`, which is of the tokens: they must say all "
                "that is released, also words that are kept, letters' case and copied texts."
            )


# --- The rule on latents that are made again: they are those of the rewrites, or guesses would be on others.


def _check_latents(
    name: str, plugin: Any, draws: Draws, rewrites: Sequence[Rewrite], descriptions: Sequence[str]
) -> None:
    """Refuse latents that are not, to the bit and in any batch, those of the rewrites."""
    if not makes_latents(plugin):
        return
    count = len(draws)
    everything, order = list(range(count)), np.argsort(uniforms([derive(0, "latents")], count)[0]).tolist()
    forms: dict[str, tuple[list[list[int]], Form]] = {
        "alone": ([[row] for row in everything], "objects"),
        "in a shuffled batch": ([order], "objects"),
        "in a batch held as columns": ([everything], "columns"),
        "in batches of 7": ([everything[i : i + 7] for i in range(0, count, 7)], "columns"),
    }
    for how, (batches, form) in forms.items():
        for rows in batches:
            asked = draws[rows]
            made = plugin.latents(asked if form == "columns" else list(asked))
            if not isinstance(made, Ragged) or made.values.dtype != np.float32 or len(made) != len(rows):
                raise ContractError(
                    f"'{name}': `latents` of {len(rows)} draws returned {made!r:.80}; it must return a "
                    "tedaudit.plugins.batches.Ragged of float32 with a row for each draw, in order."
                )
            for place, row in enumerate(rows):
                if not _is_latent_of(rewrites[row], made.row(place)):
                    raise ContractError(
                        f"'{name}': `latents` gives {descriptions[row]} {how} not the latent that `rewrite` "
                        "gives it. It must be the same to the bit, as float32, with the noise of the draw's "
                        "own key and epsilon whatever else is in the batch, and missing if there is none."
                    )


def _is_latent_of(rewrite: Rewrite, made: Any) -> bool:
    if rewrite.latent is None or made is None:
        return rewrite.latent is made
    return np.array_equal(np.ravel(rewrite.latent).astype(np.float32), made)
