"""Makes the plans of an audit, or extends those that a run directory already holds."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tedaudit.abilities import WritesOnce
from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.inference.encoders import load_encoder
from tedaudit.plans.candidates import Pool, Sampling
from tedaudit.plans.trials import distractors, make_disjoint_plan, make_plan, numbered
from tedaudit.seeding import derive
from tedaudit.spec.model import AuditSpec, PlanSpec
from tedaudit.store.directory import RunDirectory, difference, key_of
from tedaudit.types import Corpus, Mechanism, Plan


class Planner:
    """Makes plans or extends those that lie in the run directory; embeds the corpus at most once."""

    def __init__(self, spec: AuditSpec, corpus: Corpus, store: RunDirectory, old: Any) -> None:
        self._spec, self._corpus, self._store = spec, corpus, store
        self._old = {} if old is None else old["plans"]
        self._pool: Pool | None = None
        self._done: dict[str, Plan] = {}
        self._seen: dict[str, int] = {}
        self.infos: dict[str, dict[str, Any]] = {}

    def plan(
        self, spec: PlanSpec, mechanism: Mechanism, label: str, epsilons: Sequence[float]
    ) -> tuple[str, str, Plan]:
        """Return name, key and plan for a mechanism."""
        size = len(self._corpus.texts)
        sampling = None if spec.k == "all" else Sampling(spec.k, spec.strategy, spec.temperature, spec.top)
        once = isinstance(mechanism, WritesOnce)
        name = f"{spec.name}@{label}" if once else spec.name
        uses_distance = sampling is not None and not sampling.uniform
        what: dict[str, Any] = {
            "corpus": self._corpus.fingerprint, "seed": self._spec.seed, "estimator": spec.estimator,
            "sampling": None if sampling is None else asdict(sampling),
            "encoder": self._spec.encoder if uses_distance else None,
        }  # fmt: skip
        usable = None
        if isinstance(mechanism, WritesOnce):
            usable = mechanism.available(self._corpus.texts, epsilons)
            what["available"] = key_of({"usable": np.flatnonzero(usable).tolist()})
            if sampling is None:
                raise SpecError(
                    f"'{label}' has one rewrite of each text, so candidate sets may share no text and k "
                    f"cannot be 'all'. Use a k from 2 to {int(usable.sum())}."
                )
        key = key_of(what)
        if name not in self._done:
            self._check_same(name, what)
            if usable is not None and sampling is not None:
                self._done[name] = self._disjoint(name, sampling, usable, key, spec)
            else:
                self._done[name] = self._extended(name, sampling, key, spec)
            self._note(name, what, self._done[name], spec, size)
        return name, key, self._done[name]

    def _check_same(self, name: str, what: dict[str, Any]) -> None:
        if name in self._old and self._old[name]["key"] != key_of(what):
            changes = difference(self._old[name].get("determinants", {}), _told(what))
            raise RunDirectoryError(
                f"'{self._store.root}' holds a plan '{name}' that was made with other settings: {changes}. "
                "Results cannot be mixed: choose another `out`, or delete that folder."
            )

    def _extended(self, name: str, sampling: Sampling | None, key: str, spec: PlanSpec) -> Plan:
        """Return the stored plan, lengthened where more trials are asked for."""
        per_trial = 2 if spec.estimator == "baseline" else 1
        stored = self._store.plan(name, key) if name in self._old else None
        have = 0 if stored is None else len(stored) // per_trial
        if stored is not None and have >= self._spec.trials:
            return stored
        self._note_look(name, stored)
        wanted = range(have, self._spec.trials)
        noise = derive(self._spec.seed, "plan", repr(sampling))
        more = make_plan(self._vectors(sampling), sampling, wanted, noise, both=per_trial == 2)
        return numbered(more if stored is None else _joined(stored, more))

    def _disjoint(self, name: str, sampling: Sampling, usable: Any, key: str, spec: PlanSpec) -> Plan:
        stored = self._store.plan(name, key) if name in self._old else None
        most = int(usable.sum()) // sampling.k
        if self._spec.trials > most:
            way_out = f"Set trials to {most} or fewer." if most else "Use a smaller k or a larger table."
            raise SpecError(
                f"{self._spec.trials:,} trials were asked for, but the table has rewrites of "
                f"{int(usable.sum()):,} texts at every epsilon, and candidate sets of {sampling.k} may share "
                f"no text: it allows at most {most:,}. {way_out}"
            )
        per_trial = 2 if spec.estimator == "baseline" else 1
        if stored is not None and len(stored) >= self._spec.trials * per_trial:
            return stored
        self._note_look(name, stored)
        noise = derive(self._spec.seed, "plan", repr(sampling))
        plan = make_disjoint_plan(self._vectors(sampling), sampling, usable, noise, both=per_trial == 2)
        return plan.rows(0, self._spec.trials * per_trial)

    def _note_look(self, name: str, stored: Plan | None) -> None:
        """Note that a plan with guesses is lengthened: its results may have been looked at."""
        if stored is not None and any((self._store.root / "guesses" / name).rglob("part-*")):
            self._seen[name] = len(stored)

    def _vectors(self, sampling: Sampling | None) -> Pool | int:
        """Return the embedded pool, or only its size where distances play no part."""
        size = len(self._corpus.texts)
        if sampling is None or sampling.uniform or sampling.k > size:
            return size
        if self._pool is None:
            encoder = load_encoder(self._spec.encoder)
            encoder.fit(self._corpus.texts)
            self._pool = Pool(encoder.encode(self._corpus.texts))
        return self._pool

    def _note(self, name: str, what: dict[str, Any], plan: Plan, spec: PlanSpec, size: int) -> None:
        old = self._old.get(name, {"looks": []})
        notes = []
        found = distractors(plan, size) if spec.estimator == "reduced" else None
        if found is not None:
            notes.append(str(found))
        self.infos[name] = {
            "key": key_of(what),
            "determinants": _told(what),
            "k": size if spec.k == "all" else spec.k,
            "estimator": spec.estimator,
            "looks": sorted({*old["looks"], *([self._seen[name]] if name in self._seen else [])}),
            "notes": notes,
        }


def _told(what: dict[str, Any]) -> dict[str, Any]:
    """Return what determines a plan in a form that JSON holds: a lambda may be infinite."""
    return {**what, "sampling": str(what["sampling"])}


def _joined(first: Plan, second: Plan) -> Plan:
    both = None
    if first.candidates is not None and second.candidates is not None:
        both = np.concatenate([first.candidates, second.candidates])
    secret = np.concatenate([first.secret, second.secret])
    return Plan(both, secret, np.zeros(len(secret), dtype=np.int32))
