"""Makes the plans of an audit, or extends those that a run directory already holds."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.estimators.exposure import GRID, nested_grid
from tedaudit.models.encoders.lexical import LexicalEncoder, choose_reading
from tedaudit.models.encoders.sentence import Encoder, embed_pool, load_encoder
from tedaudit.plugins.protocols import WritesOnce
from tedaudit.plugins.values import Corpus, Mechanism, Plan
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import difference, key_of
from tedaudit.runs.spec.model import AuditSpec, PlanSpec
from tedaudit.seeding import derive
from tedaudit.trials.authors import (
    Authors,
    choose_authors,
    count_authors_of,
    make_author_plan,
    read_authors,
    refuse_few,
    repeat_trials,
    take_trials,
)
from tedaudit.trials.candidates import GivenSets, Sampling
from tedaudit.trials.plan import (
    join_plans,
    make_disjoint_plan,
    make_plan,
    measure_distractors,
    name_plan,
    number_replicates,
    refuse_large_k,
    refuse_missing,
)
from tedaudit.trials.pool import Pool

_WEIGHTS = "encoder_weights"


@dataclass(frozen=True, slots=True)
class PlannedTrials:
    """A plan with its name, its key and the number of candidates in each of its trials."""

    name: str
    key: str
    plan: Plan
    candidates: int  # that an attack is shown in a row
    looks: tuple[int, ...] = ()  # numbers of rows at which guesses may have been looked at
    series: "tuple[Seen, ...]" = ()  # if several rewrites of a secret are seen: for each number of them

    @property
    def rounds(self) -> int:
        """Rows of a trial: the most rewrites of a secret that are seen."""
        return self.series[-1].rewrites if self.series else 1

    @property
    def seen(self) -> int:
        """Rows whose guesses may have been looked at before."""
        return max(self.looks, default=0)


@dataclass(frozen=True, slots=True)
class Seen:
    """The trials of a plan if so many of the rewrites of each are seen, as a plan with one row for each."""

    rewrites: int
    name: str
    key: str
    plan: Plan


class Planner:
    """Makes or extends plans; loads the encoder and embeds the corpus at most once."""

    def __init__(self, spec: AuditSpec, corpus: Corpus, store: RunDirectory, old: Mapping[str, Any]) -> None:
        self._spec, self._corpus, self._store, self._old = spec, corpus, store, old
        self._encoder: Encoder | None = None
        self._pool: Pool | None = None
        self._planned: dict[str, PlannedTrials] = {}
        self._seen: dict[str, int] = {}
        self.encoder_fingerprint: Mapping[str, str] | None = None  # of the distances, if plans record it
        self.infos: dict[str, dict[str, Any]] = {}  # what the manifest says of each plan

    @property
    def _reading(self) -> str:
        """How the lexical encoder reads these texts."""
        return choose_reading(self._corpus.texts)

    @property
    def embedded(self) -> int:
        """How many texts were embedded to draw candidate sets."""
        return 0 if self._pool is None else len(self._corpus.texts)

    def plan(
        self, spec: PlanSpec, mechanism: Mechanism, label: str, epsilons: Sequence[float]
    ) -> PlannedTrials:
        """Return the plan of a mechanism; one that writes each text once has a plan of its own."""
        usable = self._find_usable(spec, mechanism, epsilons) if isinstance(mechanism, WritesOnce) else None
        name = name_plan(spec.name, None if usable is None else label)
        if name not in self._planned:
            self._planned[name] = self._make(name, spec, label, usable)
        return self._planned[name]

    def _find_usable(
        self, spec: PlanSpec, mechanism: WritesOnce, epsilons: Sequence[float]
    ) -> npt.NDArray[np.bool_]:
        """Return which texts have enough rewrites: as many as there are releases of it, or authors."""
        texts = self._corpus.texts
        if not spec.author:
            return mechanism.available(texts, epsilons, spec.releases)
        needed = count_authors_of(read_authors(self._corpus, spec.author).values(), len(texts))
        usable = np.zeros(len(texts), dtype=np.bool_)
        for times in np.unique(needed).tolist():
            some = np.flatnonzero(needed == times)
            usable[some] = mechanism.available([texts[i] for i in some.tolist()], epsilons, max(1, times))
        return usable

    def _make(
        self, name: str, spec: PlanSpec, label: str, usable: npt.NDArray[np.bool_] | None
    ) -> PlannedTrials:
        sampling, authors = spec.sampling, self._choose_authors(spec, label, usable)
        if usable is not None and sampling is None:
            raise SpecError(
                f"'{label}' has one rewrite of each text, so candidate sets may share no text and k "
                f"cannot be 'all'. Use a k from 2 to {int(usable.sum())}."
            )
        if usable is None and sampling is not None and authors is None:
            refuse_large_k(sampling, len(self._corpus.texts))  # before an encoder is loaded
            refuse_missing(sampling, len(self._corpus.texts))
        if usable is not None and isinstance(sampling, GivenSets):
            raise SpecError(
                f"'{label}' has one rewrite of each text, so its candidate sets cannot be `given`."
            )
        determinants = self._determinants(name, spec, sampling, usable, authors)
        key = key_of(determinants)
        if authors is not None:
            plan = self._make_authors(name, key, spec, authors, disjoint=usable is not None)
        elif usable is not None and sampling is not None:
            plan = self._make_disjoint(name, sampling, usable, key, spec)
        else:
            plan = self._extend(name, sampling, key, spec)
        candidates = len(self._corpus.texts) if spec.k == "all" else spec.k
        own = {"base": spec.name, "mechanism": None if usable is None else label}
        looks = self._looks(name)
        info = {
            "key": key, "determinants": _plain(determinants), **own, **spec.sampling_fields,
            "k": candidates, "estimator": spec.estimator, "looks": looks,
            "notes": self._describe(plan, spec) if authors is None else list(authors.notes),
        }  # fmt: skip
        series: tuple[Seen, ...] = ()
        if spec.has_rounds:
            rounds = spec.releases if authors is None else authors.largest
            series = tuple(self._see(info, spec, plan, number, rounds) for number in nested_grid(rounds))
            info["rounds"] = rounds
        self.infos[name] = info
        return PlannedTrials(
            name=name,
            key=key,
            plan=plan,
            candidates=candidates * plan.known,
            looks=tuple(looks),
            series=series,
        )

    def _choose_authors(
        self, spec: PlanSpec, label: str, usable: npt.NDArray[np.bool_] | None
    ) -> Authors | None:
        """Return the authors who take part in a plan; None if it is about texts."""
        if not spec.author or spec.k == "all":
            return None
        seed = derive(self._spec.seed, "authors", spec.author)
        numbers = GRID if spec.texts is None else (spec.texts,)
        authors = choose_authors(self._corpus, spec.author, spec.knows, numbers, seed, usable)
        refuse_few(authors, spec.k, spec.author)
        most = len(authors) // spec.k
        if usable is not None and self._spec.trials > most:
            raise SpecError(
                f"{self._spec.trials:,} trials are asked for, but '{label}' has one rewrite of each text. So "
                f"trials may share no author, and {len(authors):,} authors have enough texts: that allows at "
                f"most {most:,}. Set trials to {most} or fewer."
            )
        return authors

    def _see(self, info: Mapping[str, Any], spec: PlanSpec, plan: Plan, number: int, rounds: int) -> Seen:
        """Return the trials of a plan as they are if so many rewrites of each are seen."""
        base = f"{spec.name}-n{number:02d}"
        name = name_plan(base, info["mechanism"])
        key = key_of({"of": info["key"], "rewrites": number})
        whole = name_plan(spec.name, info["mechanism"])
        self.infos[name] = {
            **info, "key": key, "base": base, "notes": [], "looks": self._looks(name), "of": whole,
            "rewrites": number, "author": spec.author, "knows": spec.knows,
        }  # fmt: skip
        return Seen(rewrites=number, name=name, key=key, plan=take_trials(plan, rounds))

    def _determinants(
        self, name: str, spec: PlanSpec, sampling: Sampling | None, usable: npt.NDArray[np.bool_] | None,
        authors: Authors | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return what determines a plan; refuse a stored plan of that name that other things determined."""
        uses_distance = sampling is not None and not sampling.uniform
        determinants: dict[str, Any] = {
            "corpus": self._corpus.fingerprint, "seed": self._spec.seed, "estimator": spec.estimator,
            "sampling": None if sampling is None else asdict(sampling),
            "encoder": self._spec.encoder if uses_distance else None,
        }  # fmt: skip
        if uses_distance and self._spec.encoder == LexicalEncoder.name and (reading := self._reading):
            determinants["reading"] = reading
        if spec.releases > 1:
            determinants["releases"] = spec.releases
        if authors is not None:
            taking = {"released": authors.released, "known": authors.known or ()}
            listed = {what: [own.tolist() for own in texts] for what, texts in taking.items()}
            determinants["author"] = {"column": spec.author, "knows": spec.knows, "texts": authors.largest}
            determinants["author"]["taking part"] = key_of(listed)
        if usable is not None:
            determinants["available"] = key_of({"usable": np.flatnonzero(usable).tolist()})
        stored = self._old.get(name)
        recorded = {} if stored is None else stored["determinants"]
        is_another_encoder = recorded.get("encoder") not in (None, determinants["encoder"])
        if is_another_encoder:  # its name is enough to refuse it: do not load it
            determinants[_WEIGHTS] = recorded[_WEIGHTS]
        elif uses_distance:
            self.encoder_fingerprint = self._load_encoder().fingerprint()
            determinants[_WEIGHTS] = dict(self.encoder_fingerprint)
        if stored is not None and stored["key"] != key_of(determinants):
            changes = difference(stored.get("determinants", {}), _plain(determinants))
            raise RunDirectoryError(
                f"'{self._store.root}' holds a plan '{name}' that was made with other settings: {changes}. "
                "Results cannot be mixed: choose another `out`, or delete that folder."
            )
        return determinants

    def _extend(self, name: str, sampling: Sampling | None, key: str, spec: PlanSpec) -> Plan:
        """Return the stored plan, lengthened if more trials are asked for."""
        rows = spec.chosen_estimator.rows_per_trial * spec.releases
        stored = self._stored(name, key)
        trials = 0 if stored is None else len(stored) // rows
        if stored is not None and trials >= self._spec.trials:
            return stored
        self._note_look(name, stored)
        noise = derive(self._spec.seed, "plan", repr(sampling))
        new = range(trials, self._spec.trials)
        once = spec.chosen_estimator.rows_per_trial
        more = make_plan(self._embed(sampling), sampling, new, noise, rows_per_trial=once)
        more = repeat_trials(more, spec.releases)
        return number_replicates(more if stored is None else join_plans(stored, more))

    def _make_authors(self, name: str, key: str, spec: PlanSpec, authors: Authors, *, disjoint: bool) -> Plan:
        """Return the stored plan about authors, lengthened if more trials are asked for.

        A table does not say which of its rewrites are whose, so which rewrite is of which text is hidden.
        """
        stored = self._stored(name, key)
        trials = 0 if stored is None else len(stored) // authors.largest
        if stored is not None and trials >= self._spec.trials:
            return stored
        self._note_look(name, stored)
        noise, new = derive(self._spec.seed, "plan", spec.name), range(trials, self._spec.trials)
        more = make_author_plan(authors, int(spec.k), new, noise, hidden=disjoint, disjoint=disjoint)
        return number_replicates(more if stored is None else join_plans(stored, more))

    def _make_disjoint(
        self, name: str, sampling: Sampling, usable: npt.NDArray[np.bool_], key: str, spec: PlanSpec
    ) -> Plan:
        stored = self._stored(name, key)
        most = int(usable.sum()) // sampling.k
        if self._spec.trials > most:
            way_out = f"Set trials to {most} or fewer." if most else "Use a smaller k or a larger table."
            raise SpecError(
                f"{self._spec.trials:,} trials were asked for, but the table has "
                f"{'rewrites' if spec.releases == 1 else f'{spec.releases} rewrites'} of "
                f"{int(usable.sum()):,} texts at every epsilon, and candidate sets of {sampling.k} may share "
                f"no text: it allows at most {most:,}. {way_out}"
            )
        rows = spec.chosen_estimator.rows_per_trial
        if stored is not None and len(stored) >= self._spec.trials * rows * spec.releases:
            return stored
        self._note_look(name, stored)
        noise = derive(self._spec.seed, "plan", repr(sampling))
        pool = self._embed(sampling)
        most = self._spec.trials
        plan = make_disjoint_plan(pool, sampling, usable, noise, rows_per_trial=rows, most=most)
        return number_replicates(repeat_trials(plan, spec.releases))

    def _stored(self, name: str, key: str) -> Plan | None:
        return self._store.plan(name, key) if name in self._old else None

    def _note_look(self, name: str, stored: Plan | None) -> None:
        """Note that a plan with guesses is lengthened: its results may have been looked at."""
        if stored is not None and self._store.has_guesses(name):
            self._seen[name] = len(stored)

    def _looks(self, name: str) -> list[int]:
        """Return the numbers of rows at which results may have been looked at."""
        old = self._old.get(name, {"looks": []})["looks"]
        return sorted({*old, *([self._seen[name]] if name in self._seen else [])})

    def _load_encoder(self) -> Encoder:
        if self._encoder is None:
            self._encoder = load_encoder(self._spec.encoder)
        return self._encoder

    def _embed(self, sampling: Sampling | None) -> Pool | int:
        """Return the embedded pool, or only its size if distances play no part."""
        if sampling is None or sampling.uniform:
            return len(self._corpus.texts)
        if self._pool is None:
            self._pool = Pool(embed_pool(self._load_encoder(), self._corpus.texts))
        return self._pool

    def _describe(self, plan: Plan, spec: PlanSpec) -> list[str]:
        """Return what a reader should know of the candidate sets; rows that repeat a set are not counted."""
        if spec.chosen_estimator.rows_per_trial > 1:
            return []
        concentration = measure_distractors(take_trials(plan, spec.releases), len(self._corpus.texts))
        return [] if concentration is None else [str(concentration)]


def _plain(determinants: dict[str, Any]) -> dict[str, Any]:
    """Return what determines a plan in a form that JSON holds: a lambda may be infinite."""
    return {**determinants, "sampling": str(determinants["sampling"])}
