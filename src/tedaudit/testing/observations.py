"""What an attack is shown by the contract suite: outputs of a mechanism, or texts with words left out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tedaudit.abilities import Resamples
from tedaudit.batches import Observations, OwnRewrites, Rewrites
from tedaudit.errors import SpecError, join_names
from tedaudit.nominal import Nominal
from tedaudit.plans.candidates import Sampling
from tedaudit.plans.plans import make_plan
from tedaudit.plans.trials import Wanted, make_draws, tie_keys
from tedaudit.registry import Reference
from tedaudit.seeding import derive
from tedaudit.testing.own_rewrites import copy_unused, guard_keys
from tedaudit.testing.subject import WatchedGuessChunk
from tedaudit.testing.texts import ODD
from tedaudit.types import Mechanism, Plan, Rewrite

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
    seen = Observations(Rewrites.of(outputs).reveal(sees), pool, plan.candidates, keys)
    met = [
        None if live is None else Reference("mechanism", live.card.name, live=live)
        for live in (known, unused)
    ]
    own = _make_own(pool, known, epsilon, sees) if isinstance(plugin, Resamples) else None
    chunk = WatchedGuessChunk(reference, seen, met[0], Nominal(epsilon), own=own, unused=met[1])
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
