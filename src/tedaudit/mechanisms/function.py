"""Audit any Python function that rewrites text: one text at a time, or a list of them.

Claim: stated by the caller; epsilon for the whole text unless `unit` and `max_units` say otherwise.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tedaudit.errors import ContractError, InfrastructureError, PluginError, SpecError
from tedaudit.models.calling import retry
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.registry import import_object
from tedaudit.plugins.values import DIGEST, Callee, Card, Claim, Draw, Rewrite, Unit
from tedaudit.text.characters import replace_surrogates

_SEEDS = frozenset({"seed", "draw_key"})
_EXTRAS = _SEEDS | {"epsilon"}
_SEED_BITS = 2**31 - 1
_ADVERSARY_BIT = 2**31


@dataclass(frozen=True)
class Function:
    """Wraps a callable, or `py:package.module:name`.

    The function is called as f(text), or as f(list of texts) if its first parameter is named `texts`
    or annotated as a list or Sequence (or if `batch` says so). If it has a parameter named `epsilon`,
    it is passed epsilon; if it has one named `seed`, a whole number of 32 bits that is the same whenever
    the audit is repeated, as `random.seed`, `numpy.random.seed` and `torch.manual_seed` take it. A function
    with its own source of randomness can be audited too.

    The top bit of a seed is 0 in audited rewrites and 1 in those that an adversary makes for itself, so that
    these never share noise. The other 31 come from the draw's key: among n draws about n^2 / 2^32 pairs share
    a seed (an even chance of one at 54,563 trials, 233 pairs at a million). `draw_key` is the whole key, of
    128 bits: for more trials, and for texts that are released, since 31 bits can be searched through.

    Whatever the function raises, or returns in place of a text, is an output: a failed rewrite, whose code
    attacks may see. Errors of the machine or the network (`tedaudit.models.calling.is_infrastructure` lists
    them) are none: the call is tried again, and if that does not help the run stops; it can be resumed.

    Bounds assume that no call depends on another. Calls come in an order that tells nothing of the texts, and
    at the end of a run some are made again: if a function that takes a seed then gives other outputs, the
    report says so.
    """

    function: str | Callable[..., Any]
    """The function, or py:package.module:name."""
    batch: bool | None = None
    """Whether it takes a list of texts. Null: told by the name or type of its first parameter."""
    unit: Unit = "document"
    """The unit that the stated epsilon covers."""
    max_units: int = 1
    """The most units a text can have: the claim for a whole text is this many times epsilon."""
    delta: float = 0.0
    """Delta of the stated claim, for each unit."""
    card: ClassVar[Card] = Card(
        name="function",
        code=("function",),
        summary="Any Python function that rewrites a text, or a list of texts.",
        claim="as stated by the caller",
        departures=("results repeat only if the function takes its randomness from `seed` or `draw_key`",),
        version=2,
    )
    _call: Callable[..., Any] = field(init=False, repr=False, compare=False)
    _accepts: frozenset[str] = field(init=False, repr=False, compare=False)
    _is_adversary: bool = field(default=False, init=False, repr=False, compare=False)
    _has_digests: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        call = _resolve(self.function)
        parameters = _read_parameters(call)
        object.__setattr__(self, "_call", call)
        object.__setattr__(self, "_accepts", frozenset(list(parameters)[1:]) & _EXTRAS)
        if self.batch is None:
            object.__setattr__(self, "batch", _takes_lists(parameters))

    def claim(self, epsilon: float) -> Claim | None:
        """Promise what the caller stated, if an epsilon was given."""
        if not Nominal(epsilon).is_given:
            return None
        return Claim(epsilon, self.unit, delta=self.delta, max_units=self.max_units)

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:
        """Return the epsilons asked for; if there are none, the function is audited without a claim."""
        if not asked and "epsilon" in self._accepts:
            raise SpecError("The function takes an epsilon: set the values at which to audit it.")
        return asked or (NO_EPSILON,)

    def fingerprint(self) -> Mapping[str, str]:
        """Return a hash of the function's source, so that rewrites of an older version are not reused."""
        try:
            source = inspect.getsource(self._call)
        except (OSError, TypeError):
            return {}
        return {"function source": hashlib.sha256(source.encode()).hexdigest()[:16]}

    @property
    def is_seeded(self) -> bool:
        """Whether the function takes a seed."""
        return bool(self._accepts & _SEEDS)

    def for_adversary(self) -> "Function":
        """Return the function with seeds that no audited draw has."""
        own = copy(self)
        object.__setattr__(own, "_is_adversary", True)
        return own

    def with_digests(self) -> "Function":
        """Return the function with codes that end with a digest of the error's message."""
        own = copy(self)
        object.__setattr__(own, "_has_digests", True)
        return own

    def callee(self, candidates: int) -> Callee:  # noqa: ARG002 - the same for any number of candidates
        """Name the function: one call per rewrite, or one text if it takes lists."""
        return Callee(f"the function '{_get_name(self._call)}'", "texts to" if self.batch else "calls of")

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the function's outputs; an exception becomes a failed rewrite with its type as the code."""
        if not self.batch:
            return Rewrites.of([self._call_on_text(draw) for draw in draws])
        calls: dict[float, list[int]] = {}  # one per epsilon; a seed makes every draw its own call
        for row, draw in enumerate(draws):
            calls.setdefault(row if self.is_seeded else draw.epsilon, []).append(row)
        rewrites: dict[int, Rewrite] = {}
        for rows in calls.values():
            rewrites.update(zip(rows, self._call_on_list([draws[row] for row in rows]), strict=True))
        return Rewrites.of([rewrites[row] for row in range(len(draws))])

    def _call_on_text(self, draw: Draw) -> Rewrite:
        try:
            return _check_output(self._try(partial(self._call, draw.text, **self._select_extras(draw))))
        except InfrastructureError:
            raise
        except Exception as error:  # whatever else it raises, the trial stays in the count
            return self._name_error(error)

    def _call_on_list(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Call the function on a list; if it raises, on each text, so that one text cannot fail all."""
        texts = [draw.text for draw in draws]
        try:
            call = partial(self._call, texts, **self._select_extras(draws[0]))
            returned = self._try(lambda: _read_all(call()))
        except InfrastructureError:
            raise
        except Exception as error:
            if len(draws) == 1:
                return [self._name_error(error)]
            return [rewrite for draw in draws for rewrite in self._call_on_list([draw])]
        if not isinstance(returned, list) or len(returned) != len(draws):
            got = len(returned) if isinstance(returned, list) else f"a {type(returned).__name__}"
            raise ContractError(
                f"The function '{_get_name(self._call)}' was given {len(draws)} texts and returned {got}; "
                "it must return one text for each text, in the same order."
            )
        return [_check_output(output) for output in returned]

    def _name_error(self, error: Exception) -> Rewrite:
        """Return a failed rewrite with the class of the error; its message is never kept."""
        code = f"raised-{type(error).__name__}"
        if self._has_digests:
            code += f"{DIGEST}{hashlib.sha256(str(error).encode(errors='replace')).hexdigest()[:8]}"
        return Rewrite("", error=code)

    def _try(self, call: Callable[[], Any]) -> Any:
        return retry(call, _get_name(self._call))

    def _select_extras(self, draw: Draw) -> dict[str, float | int]:
        seed = (draw.key & _SEED_BITS) | (_ADVERSARY_BIT if self._is_adversary else 0)
        offered = {"epsilon": draw.epsilon, "seed": seed, "draw_key": draw.key}
        return {key: value for key, value in offered.items() if key in self._accepts}


def _resolve(function: str | Callable[..., Any]) -> Callable[..., Any]:
    call = import_object(function) if isinstance(function, str) else function
    if not callable(call):
        raise PluginError(f"'{function}' is not a function; it must take a text and return a text.")
    return call


def _read_parameters(call: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(call).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        return {}


def _takes_lists(parameters: Mapping[str, inspect.Parameter]) -> bool:
    if not parameters:
        return False
    first = next(iter(parameters.values()))
    annotation = str(first.annotation)
    return first.name == "texts" or any(word in annotation for word in ("list", "List", "Sequence"))


def _read_all(returned: Any) -> Any:
    """Return what a list function returned as a list, or as it is if that is no collection of texts."""
    is_single = isinstance(returned, str) or not isinstance(returned, Iterable)
    return returned if is_single else list(returned)  # a generator raises only here


def _check_output(output: Any) -> Rewrite:
    """Return an output as a rewrite; half a surrogate pair is a question mark, as it will be stored."""
    if isinstance(output, str):
        return Rewrite(replace_surrogates(output))
    return Rewrite("", error=f"returned-{type(output).__name__}")


def _get_name(call: Callable[..., Any]) -> str:
    return getattr(call, "__qualname__", type(call).__qualname__)
