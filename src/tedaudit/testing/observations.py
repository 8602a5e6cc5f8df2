"""What an attack is shown by the contract suite, and that it knows nothing that no adversary knows."""

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np

from tedaudit.errors import ContractError, SpecError, join_names
from tedaudit.plugins.batches import Draws, Observations, OwnRewrites, Rewrites
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import Resamples
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Draw, Mechanism, Plan, Rewrite
from tedaudit.seeding import derive
from tedaudit.testing.subject import ODD, WatchedGuessChunk
from tedaudit.trials.candidates import Sampling
from tedaudit.trials.judge import Wanted, make_draws, tie_keys
from tedaudit.trials.plan import make_plan

_MOST = 24
_FAILED = (Rewrite("", error="too-long"), Rewrite("", error="raised-ValueError"))


def make_observations(
    plugin: Any, pool: tuple[str, ...], k: int | None, mechanism: Mechanism | None, epsilon: float
) -> tuple[list[str], WatchedGuessChunk]:
    """Return observations with k candidates (None: all texts), with what each output is in words.

    Failed rewrites are among them if the attack sees error codes, as in an audit.
    """
    sees, name = plugin.card.sees, plugin.card.name
    sampling = None if k is None else Sampling(k, temperature=0.0)
    odd = [] if mechanism is not None or k != 2 else [*map(Rewrite, ODD.values()), *_FAILED]
    trials = min(len(pool), _MOST) + len(odd)
    plan = make_plan(len(pool), sampling, range(trials), derive(0, "testing"))
    known = unused = None
    if mechanism is not None:
        wanted = Wanted(plan.source, np.arange(trials, dtype=np.int32), np.full(trials, epsilon))
        draws = make_draws(pool, wanted, 0)
        known, unused = (guard_keys(met, draws, name) for met in (mechanism, copy_unused(mechanism)))
        outputs = list(mechanism.rewrite(draws))
    elif set(sees) <= {"text", "error"}:
        outputs = [*odd, *_leave_words_out(pool, plan, len(odd))]
    else:
        raise SpecError(
            f"'{name}' sees {join_names(sees)}: give check_attack a mechanism that releases it, as "
            "`mechanism`."
        )
    given = [row for row, output in enumerate(outputs) if "error" in sees or not output.error]
    descriptions = [_describe(outputs[row]) for row in given]
    reference = Reference("attack", name, live=plugin)
    keys = tie_keys(0, "testing", name, range(trials))
    seen = Observations(
        outputs=Rewrites.of(outputs).reveal(sees), pool=pool, candidates=plan.candidates, tie_keys=keys
    )
    met = [
        None if live is None else Reference("mechanism", live.card.name, live=live)
        for live in (known, unused)
    ]
    own = _make_own(pool, known, epsilon, sees) if isinstance(plugin, Resamples) else None
    chunk = WatchedGuessChunk(
        plugin=reference,
        observations=seen,
        mechanism=met[0],
        epsilon=Nominal(epsilon),
        own=own,
        unused=met[1],
    )
    return descriptions, chunk.rows(given)


def _make_own(
    pool: tuple[str, ...], mechanism: Mechanism | None, epsilon: float, sees: Sequence[str]
) -> OwnRewrites:
    """Return own rewrites for an attack that asks for them: several of most texts, of one text none."""
    text = np.repeat(np.arange(1, len(pool), dtype=np.int32), 3)
    replicate = np.tile(np.arange(3, dtype=np.int32), len(pool) - 1)
    if mechanism is not None:
        wanted = Wanted(text, replicate, np.full(len(text), epsilon))
        made = list(mechanism.rewrite(make_draws(pool, wanted, 0, "own rewrites")))
    else:
        made = [_shorten(pool[i], n) for i, n in zip(text.tolist(), replicate.tolist(), strict=True)]
        made[: len(_FAILED)] = _FAILED
    return OwnRewrites(pool, text, Rewrites.of(made).reveal([part for part in sees if part != "latent"]))


def _leave_words_out(pool: tuple[str, ...], plan: Plan, start: int) -> list[Rewrite]:
    """Return every source from a row on without each third word."""
    return [_shorten(pool[position], 0) for position in plan.source[start:]]


def _shorten(text: str, first: int) -> Rewrite:
    """Return a text without each third word, from one of the first three on."""
    return Rewrite(" ".join(word for i, word in enumerate(text.split()) if i % 3 != first))


def _describe(output: Rewrite) -> str:
    if output.error:
        return f"a rewrite that failed with the code '{output.error}'"
    return f"the output {output.text[:60]!r}"


# --- Refuses an attack that knows of audited rewrites what no adversary knows; part of the contract suite.
#
# An adversary may run the mechanism as often as it likes, with keys of its own. It must not use the key of
# an audited draw, which would repeat its noise, and nothing that the mechanism remembers of audited draws.


def copy_unused(mechanism: Mechanism) -> Mechanism:
    """Return a copy that knows nothing of what the mechanism does from now on."""
    try:
        return deepcopy(mechanism)
    except Exception as error:
        raise SpecError(
            f"'{mechanism.card.name}' cannot be copied ({type(error).__name__}: {error}), so that nobody can "
            "tell whether an attack uses what it remembers. Keep what cannot be copied out of its fields."
        ) from error


def guard_keys(mechanism: Mechanism, audited: Draws, attack: str) -> Mechanism:
    """Return the mechanism as an attack may use it: it refuses the keys of audited draws."""
    keys = frozenset(draw.key for draw in audited)
    kind: Any = type(mechanism)

    class Guarded(kind):  # type: ignore[misc]
        __slots__ = ()

        def rewrite(self, draws: Sequence[Draw]) -> Any:
            if any(draw.key in keys for draw in draws):
                raise ContractError(
                    f"'{attack}' asked the mechanism for a rewrite with the key of an audited draw: it would "
                    "repeat the very noise that hides the source. Draw with keys of your own "
                    "(`tedaudit.seeding.derive` with a purpose of its own)."
                )
            return super().rewrite(draws)

    Guarded.__module__, Guarded.__qualname__, Guarded.__name__ = (
        kind.__module__, kind.__qualname__, kind.__name__,
    )  # fmt: skip
    guarded = copy(mechanism)
    object.__setattr__(guarded, "__class__", Guarded)
    return guarded
