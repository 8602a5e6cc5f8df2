"""Everything an audit needs before any model work: plug-ins built, plans made, old tables checked."""

import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any

from tedaudit.corpora.files import Given, assemble, refuse_surrogates
from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.models.encoders.lexical import CHARACTERS, choose_reading
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import (
    BringsRows,
    BringsTexts,
    CallsUserCode,
    HasCautions,
    HasLatent,
    HasOwnEpsilons,
    KnowsMechanism,
    NamesNoise,
    Practises,
    Resamples,
    WritesOnce,
    find_callee,
    find_knowledge,
    makes_latents,
)
from tedaudit.plugins.registry import (
    Reference,
    build,
    describe_card,
    describe_object,
    describe_scoring,
    determinants,
    is_foreign,
    is_standard,
    model_uses,
)
from tedaudit.plugins.values import Corpus, Mechanism
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.history import Wave, extend_history, parse_history
from tedaudit.runs.jobs import (
    Job,
    PracticeTexts,
    PreparedAttack,
    choose_practice,
    list_asked,
    share_out,
)
from tedaudit.runs.looks import earlier_looks, note_look
from tedaudit.runs.missing import note_asked
from tedaudit.runs.planner import Planner
from tedaudit.runs.spec.model import ORIGINALS, AuditSpec, MechanismSpec, PluginSpec, parse_spec
from tedaudit.text.characters import format_share, measure_scripts
from tedaudit.trials.candidates import SAMPLING
from tedaudit.version import __version__


@dataclass(frozen=True)
class PreparedAudit:
    """An audit that has been checked and may be written."""

    spec: AuditSpec
    store: RunDirectory
    corpus: Corpus
    seen: bytes  # the manifest that this was checked against
    plans: Mapping[str, dict[str, Any]]  # what the manifest says of each plan
    jobs: Sequence[Job]
    history: Sequence[Wave]
    practice: PracticeTexts
    plugins: Mapping[str, Any]  # built already, by the identity of their reference
    models: Sequence[dict[str, str]] = ()  # which checkpoints are behind the results
    embedded: int = 0  # texts that were embedded to draw candidate sets
    script_notes: Sequence[str] = ()  # what was made for English, if the texts are not
    cautions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by mechanism
    cards: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by kind and name

    def write(self) -> None:
        """Write corpus, plans and manifest."""
        old = self.store.manifest() if self.store.exists() else {"plans": {}}
        if "corpus" not in old or not self.store.has_corpus(self.corpus):
            self.store.write_corpus(self.corpus)
        if self.tells_repeats:
            self.store.write_repeats(self.corpus)
        for job in self.jobs:
            self.store.write_plan(job.plan_name, job.plan, job.plan_key)
            for seen in job.planned.series:
                self.store.write_plan(seen.name, seen.plan, seen.key)
        self._write_manifest({**old["plans"], **self.plans}, old.get("models", ()))

    @property
    def tells_repeats(self) -> bool:
        """Whether rows that repeat a text play a part: those that give it to another author."""
        names_authors = any(plan.author for plan in self.spec.plans)
        return names_authors and bool(self.corpus.splits["train"].repeats.positions)

    def note_look(self) -> None:
        """Note that results are seen now: an extension is then an optional one."""
        self.store.write_manifest(note_look(self.store, self.store.manifest()))

    def note_repeats(self, label: str, repeats: Mapping[str, Any]) -> None:
        """Note whether a function gave the same outputs when it was called again."""
        if repeats["calls"]:
            manifest = self.store.manifest()
            manifest["repeats"][label] = dict(repeats)
            self._write_manifest(manifest["plans"], manifest["models"])

    def note_likelihood(self, told: Mapping[str, Any]) -> None:
        """Note what fresh trials said of likelihoods that the run's own trials do not fit."""
        manifest = self.store.manifest()
        self.store.write_manifest({**manifest, "likelihoods": [*manifest.get("likelihoods", []), dict(told)]})

    def note_remade(self, label: str, files: int) -> None:
        """Note that guesses are made again, because the rewrites that they were made from are others now."""
        manifest = self.store.manifest()
        known = manifest.get("remade", {})
        self.store.write_manifest({**manifest, "remade": {**known, label: known.get(label, 0) + files}})

    def _write_manifest(self, plans: Mapping[str, Any], old_models: Sequence[Mapping[str, str]]) -> None:
        users = {(model["used_by"], model["part"]) for model in self.models}
        others = [model for model in old_models if (model["used_by"], model["part"]) not in users]
        kept = self.store.manifest() if self.store.exists() else {}
        has_repeats = self.tells_repeats or kept.get("corpus", {}).get("has_repeats", False)
        self.store.write_manifest(
            {
                "name": self.spec.name,
                "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "spec": _describe_spec(self.spec, kept.get("spec", {})),
                "corpus": {
                    "name": self.corpus.name,
                    "fingerprint": self.corpus.fingerprint,
                    "splits": list(self.corpus.splits),
                    "texts": len(self.corpus.texts),
                    "notes": list(self.corpus.notes),
                    **({"has_repeats": True} if has_repeats else {}),
                },
                "plans": plans,
                "looks": earlier_looks(self.store) if kept else [],
                "models": [*others, *self.models],
                "script_notes": list(self.script_notes),
                "cautions": _drop_empty({**kept.get("cautions", {}), **self.cautions}),
                "repeats": kept.get("repeats", {}),
                **{name: kept[name] for name in ("likelihoods", "remade") if name in kept},
                "cards": {
                    kinds: {**kept.get("cards", {}).get(kinds, {}), **own}
                    for kinds, own in self.cards.items()
                },
                "history": list(map(asdict, self.history)),
                "tables": note_asked(self.store, list_asked(self.jobs)),
                "machine": _machine(),
            }
        )


def _drop_empty(cautions: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {label: list(sentences) for label, sentences in cautions.items() if sentences}


class _Restored(Given):
    """The texts of a run as it has them: where they come from is known to its manifest alone."""


def _describe_spec(spec: AuditSpec, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return an audit as its manifest holds it; a restored one is where and about what it always was.

    The engine is left out: whoever goes on with a run of others sends its texts to no cluster of theirs.
    """
    told = spec.model_dump(mode="json", by_alias=True, fallback=describe_object, exclude={"engine"})
    is_restored = spec.corpus is not None and isinstance(spec.corpus.live, _Restored)
    return told | {key: kept[key] for key in ("corpus", "out") if is_restored and key in kept}


def prepare(spec: AuditSpec) -> PreparedAudit:
    """Return the audit with all its parts, or say what is wrong; writes nothing."""
    references = {m.title: m.reference("mechanism") for m in spec.mechanisms}
    mechanisms = {title: build(reference) for title, reference in references.items()}
    attack_references = {a.title: a.reference("attack") for a in spec.attacks}
    attackers = {title: build(reference) for title, reference in attack_references.items()}
    fitting = _match(mechanisms, attackers)
    attacks = {
        title: _prepare_attack(attack_references[title], attack) for title, attack in attackers.items()
    }
    grids = {m.title: epsilons_of(m, mechanisms[m.title], spec.epsilons) for m in spec.mechanisms}
    corpus = load_texts(spec.corpus, mechanisms)
    store = RunDirectory(spec.folder)
    seen = store.manifest_bytes()
    old = store.manifest() if store.exists() else None
    if old is not None:
        _check_corpus(old, corpus, spec)
    planner = Planner(spec, corpus, store, {} if old is None else old["plans"])
    practice = choose_practice(corpus)
    reading = choose_reading(corpus.texts)
    common = {"corpus": corpus.fingerprint, "seed": spec.seed, **({"reading": reading} if reading else {})}
    jobs, models = [], []
    for title, mechanism in mechanisms.items():
        claims = {epsilon: mechanism.claim(epsilon) for epsilon in grids[title]}
        known = determinants(mechanism)
        models += model_uses(title, mechanism, known)
        calls_out = find_callee(mechanism) is not None
        shows_originals = title == ORIGINALS and any(plan.knows == "other" for plan in spec.plans)
        for plan_spec in spec.plans:
            if shows_originals and plan_spec.knows != "other":
                continue  # they stand beside what is known of other texts
            planned = planner.plan(plan_spec, mechanism, title, grids[title])
            stretches = {
                name: share_out(planned, len(corpus.texts), attack, spec.seed)
                for name, attack in attackers.items()
                if name in fitting[title] and isinstance(attack, Resamples)
            }
            jobs.append(
                Job(
                    store=store,
                    label=title,
                    reference=references[title],
                    determinants=known,
                    claims=claims,
                    planned=planned,
                    attacks={name: attacks[name] for name in fitting[title]},
                    common=common,
                    practice=practice,
                    bulky=isinstance(mechanism, HasLatent),
                    shuffled=is_foreign(mechanism),
                    is_seeded=mechanism.is_seeded if isinstance(mechanism, CallsUserCode) else None,
                    stretches=stretches,
                    is_numbered=isinstance(mechanism, WritesOnce),
                    noise=mechanism.noise_source() if isinstance(mechanism, NamesNoise) else "",
                    scoring=describe_scoring(mechanism),
                    rows_per_trial=plan_spec.chosen_estimator.rows_per_trial * planned.rounds,
                    calls_out=calls_out,
                    makes_latents=makes_latents(mechanism),
                    asking=frozenset(
                        name
                        for name in fitting[title]
                        if find_callee(attackers[name], planned.candidates)
                        or (calls_out and attacks[name].knows_mechanism)
                    ),
                )
            )
    for job in jobs:
        job.check_tables()
    for title, attack in attackers.items():
        models += model_uses(title, attack, attacks[title].determinants)
    models += _encoder_model(spec, planner)
    built = {reference.identity: mechanisms[title] for title, reference in references.items()}
    built |= {reference.identity: attackers[title] for title, reference in attack_references.items()}
    notes = describe_texts(corpus.texts, {**mechanisms, **attackers})
    cautions = {
        title: [f"{title}: {caution}" for caution in mechanism.cautions()]
        for title, mechanism in mechanisms.items()
        if isinstance(mechanism, HasCautions)
    }
    cards = {
        "mechanisms": {r.name: describe_card(mechanisms[title].card) for title, r in references.items()},
        "attacks": {r.name: describe_card(attackers[title].card) for title, r in attack_references.items()},
    }
    return PreparedAudit(
        spec=spec,
        store=store,
        corpus=corpus,
        seen=seen,
        plans=planner.infos,
        jobs=jobs,
        history=extend_history(
            parse_history([] if old is None else old["history"]),
            jobs,
            corpus.texts,
            spec.block_size,
            is_fixed=spec.block > 0,
        ),
        practice=practice,
        plugins=built,
        models=models,
        embedded=planner.embedded,
        script_notes=notes,
        cautions=cautions,
        cards=cards,
    )


def restore_audit(run: RunDirectory) -> AuditSpec:
    """Return the audit of a run on its texts as the run has them, whatever became of their file."""
    corpus = {"name": "given", "live": _Restored(run.corpus())}
    return parse_spec({**run.manifest()["spec"], "corpus": corpus, "out": str(run.root)})


def _prepare_attack(reference: Reference, attack: Any) -> PreparedAttack:
    own_rewrites = attack.own_rewrites if isinstance(attack, Practises) else 0
    return PreparedAttack(
        reference, attack.card, determinants(attack), isinstance(attack, KnowsMechanism), own_rewrites,
        is_standard(attack), *find_knowledge(attack),
    )  # fmt: skip


def _encoder_model(spec: AuditSpec, planner: Planner) -> list[dict[str, str]]:
    """Return the encoder that candidate sets were drawn with, if distances played a part."""
    weights = (planner.encoder_fingerprint or {}).get("encoder weights")
    if weights is None:
        return []
    return [{"used_by": SAMPLING, "part": "encoder weights", "model": spec.encoder, "checksum": weights}]


def explain_misfit(attack: Any, mechanism: Any) -> str:
    """Return why an attack cannot be used on a mechanism, or ""."""
    return attack.unfit(mechanism) if isinstance(attack, KnowsMechanism | Resamples) else ""


def choose_attacks(spec: AuditSpec, defaults: Sequence[str]) -> AuditSpec:
    """Return an audit with those of the default attacks that fit any of its mechanisms, if it names none."""
    if "attacks" in spec.model_fields_set:
        return spec
    mechanisms = [build(named.reference("mechanism")) for named in spec.mechanisms]
    attacks = {name: build(Reference("attack", name)) for name in defaults}
    fitting = [
        name
        for name, attack in attacks.items()
        if not all(explain_misfit(attack, mechanism) for mechanism in mechanisms)
    ]
    return spec.model_copy(update={"attacks": [PluginSpec(name=name) for name in fitting]})


def _match(mechanisms: Mapping[str, Mechanism], attackers: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return which attacks can be used on each mechanism; one that fits none is refused."""
    reasons = {
        (title, name): explain_misfit(attack, mechanism)
        for title, mechanism in mechanisms.items()
        for name, attack in attackers.items()
    }
    for name in attackers:
        refusals = [reasons[title, name] for title in mechanisms]
        if all(refusals):
            raise SpecError(
                f"The attack '{name}' fits no mechanism of this audit: {refusals[0]} An attack that knows "
                "nothing of the mechanism fits every one: `tedaudit run -a lexical`."
            )
    return {title: [name for name in attackers if not reasons[title, name]] for title in mechanisms}


def load_texts(named: PluginSpec | None, mechanisms: Mapping[str, Mechanism]) -> Corpus:
    """Return the corpus: the one named, the one that the mechanisms bring, or the demo."""
    if named is None:
        bring = [m for m in mechanisms.values() if isinstance(m, BringsTexts)]
        if bring and len(bring) == len(mechanisms.keys() - {ORIGINALS}):
            return _bring_corpus(bring)
        loader = build(Reference("corpus", "demo"))
    else:
        loader = build(named.reference("corpus"))
    corpus: Corpus = loader.load()
    for split in corpus.splits.values():
        refuse_surrogates(corpus.name, split)
    return corpus


def _bring_corpus(bring: Sequence[BringsTexts]) -> Corpus:
    """Return the texts of all rows that mechanisms bring, with the columns that every text has.

    A text has those of its first row. Rows with the text of another are rewrites of it too: no note says that
    they were left out.
    """
    tables = [(list(m.texts()), {}) if not isinstance(m, BringsRows) else m.rows() for m in bring]
    first: dict[str, int] = {}  # the table that brings a text
    for number, (texts, _) in enumerate(tables):
        for text in texts:
            first.setdefault(text, number)
    needed = [tables[number][1] for number in dict.fromkeys(first.values())]
    names = [name for name in needed[0] if all(name in columns for columns in needed)] if needed else []
    whole = [table for table in tables if all(name in table[1] for name in names)]
    every = [text for texts, _ in whole for text in texts]
    labels = {name: [value for _, columns in whole for value in columns[name]] for name in names}
    told = assemble("recorded", {"train": (list(dict.fromkeys(every)), {})}).notes
    return replace(assemble("recorded", {"train": (every, labels)}), notes=told)


def epsilons_of(spec: MechanismSpec, mechanism: Mechanism, general: Sequence[float]) -> list[Nominal]:
    """Return the epsilons of a mechanism: its own, those of the whole spec, or what it takes."""
    asked: Sequence[float] = spec.epsilons or general
    if isinstance(mechanism, HasOwnEpsilons):
        asked = mechanism.epsilons(asked)
    elif not asked:
        raise SpecError(f"'{spec.title}' needs an epsilon: give `epsilons` (or --epsilon), such as 1.")
    elif 0 in asked:  # of a function it is the claim that nothing leaks
        raise SpecError(f"'{spec.title}' cannot be run at epsilon 0: give one above 0, such as 0.01.")
    return [Nominal(epsilon) for epsilon in asked]


def _check_corpus(manifest: Mapping[str, Any], corpus: Corpus, spec: AuditSpec) -> None:
    about = manifest["corpus"]
    if about["fingerprint"] != corpus.fingerprint:
        raise RunDirectoryError(
            f"'{spec.folder}' was made with other texts: corpus {about['name']} ({about['texts']:,} texts) "
            f"-> {corpus.name} ({len(corpus.texts):,} texts). Choose another `out`, or delete that folder."
        )


def _machine() -> dict[str, Any]:
    """Return what the run was made on."""
    torch = sys.modules.get("torch")
    has_gpu = torch is not None and torch.cuda.is_available()
    machine = {"versions": dict(_read_versions()), "system": platform.platform(), "cores": os.cpu_count()}
    gpu = {"gpu": torch.cuda.get_device_name()} if torch is not None and has_gpu else {}
    return {**machine, "device": "cuda" if has_gpu else "cpu", **gpu}


@cache
def _read_versions() -> Mapping[str, str]:
    """Return the versions that results may depend on; read once, because a process keeps its libraries."""
    packages = ("numpy", "scipy", "polars", "scikit-learn", "torch", "transformers", "sentence-transformers")
    versions = {"tedaudit": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


# --- What a run says if its texts are plainly not English: a counted share, and what was made for English.
#
# An attack that cannot read the texts is blind, and its bound of 0 would look like privacy. So a reader is
# told which parts of an audit were made for English, before the run and in its report. No language is
# guessed.

PLAINLY = 0.1  # of the letters: from there on texts are plainly not all English
_NO_MODEL = "lexical"  # an encoder that was made for no language


def describe_texts(texts: Sequence[str], plugins: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know of these texts' scripts, for plug-ins by their titles."""
    if all(map(str.isascii, texts)):
        return []
    shares = measure_scripts(texts)
    notes = []
    if shares.other >= PLAINLY:
        counted = f"{format_share(shares.other)} of the letters are not Latin ({shares.describe()})"
        made = {title: list(find_english(plugin)) for title, plugin in plugins.items()}
        named = "; ".join(f"{title} ({', '.join(parts)})" for title, parts in made.items() if parts)
        english = f"Made for English: {named}. A bound that is low here may be low for that reason alone"
        notes.append(f"{counted}. {english}" if named else counted)
    if choose_reading(texts) == CHARACTERS and shares.unspaced:
        notes.append(
            f"{format_share(shares.unspaced)} of the letters belong to scripts that put no spaces between "
            "words: wherever words are counted, each of these letters counts as one"
        )
    return notes


def find_english(plugin: Any) -> Iterator[str]:
    """Yield what of a plug-in was made for English, with the settings that it has."""
    defaults = {part.name: part for part in fields(plugin)} if is_dataclass(plugin) else {}
    for part in plugin.card.english:
        field, colon, what = part.partition(": ")
        if not colon:
            yield part
        elif field not in defaults or _has_default(plugin, defaults[field]):
            yield what


def _has_default(plugin: Any, part: Any) -> bool:
    """Return whether a field has its default value, if that is one that was made for any language at all."""
    default = part.default if part.default is not MISSING else part.default_factory()
    value = getattr(plugin, part.name)
    return bool(value == default and value != _NO_MODEL)
