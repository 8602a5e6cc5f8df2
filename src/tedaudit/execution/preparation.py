"""Everything an audit needs before any model work: plug-ins built, plans made, old tables checked."""

import math
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tedaudit.abilities import BringsTexts, HasLatent, HasOwnEpsilons, KnowsMechanism, Practises
from tedaudit.corpora._assemble import assemble
from tedaudit.errors import CorpusError, RunDirectoryError, SpecError
from tedaudit.execution.planner import Planner
from tedaudit.registry import Reference, build, determinants, written
from tedaudit.spec.model import AuditSpec, MechanismSpec, PluginSpec
from tedaudit.store.directory import RunDirectory, check_table, epsilon_name
from tedaudit.types import Claim, Corpus, Mechanism, Plan, Seen, Split
from tedaudit.version import __version__

_LEAST_PRACTICE, _MOST_PRACTICE = 50, 5_000  # texts


@dataclass(frozen=True)
class Adversary:
    """An attack as the runner needs it."""

    reference: Reference
    sees: tuple[Seen, ...]
    determinants: Mapping[str, Any]
    knows_mechanism: bool
    own_rewrites: int = 0


@dataclass(frozen=True)
class Job:
    """One mechanism on one plan, at all its epsilons and under all attacks."""

    root: Path
    label: str
    reference: Reference
    determinants: Mapping[str, Any]
    claims: Mapping[float, Claim | None]
    plan_name: str
    plan_key: str
    plan: Plan
    candidates: int
    attacks: Mapping[str, Adversary]
    common: Mapping[str, Any]  # corpus and seed
    practice: str = ""  # a hash of the texts that attacks practise on
    bulky: bool = False  # whether rewrites carry a latent, too large to read from all over the disk

    @property
    def epsilons(self) -> list[float]:
        """The epsilons of this mechanism."""
        return list(self.claims)

    def rewrites_at(self, epsilon: float) -> tuple[Path, dict[str, Any], dict[str, Any]]:
        """Return folder, determinants and description of a table of rewrites."""
        folder = self.root / "rewrites" / self.label / epsilon_name(epsilon)
        what = {**self.common, "epsilon": epsilon_name(epsilon), "mechanism": self.determinants}
        return folder, what, self._about(epsilon)

    def guesses_at(self, epsilon: float, attack: str) -> tuple[Path, dict[str, Any], dict[str, Any]]:
        """Return folder, determinants and description of a table of guesses."""
        folder = self.root / "guesses" / self.plan_name / self.label / epsilon_name(epsilon) / attack
        _, rewrites, about = self.rewrites_at(epsilon)
        adversary = self.attacks[attack]
        what = {"plan": self.plan_key, "rewrites": rewrites, "attack": adversary.determinants}
        about = {**about, "plan": self.plan_name, "attack": attack}
        if adversary.own_rewrites:
            what["practice"] = self.practice
            about["own_rewrites"] = adversary.own_rewrites
        return folder, what, about

    def _about(self, epsilon: float) -> dict[str, Any]:
        claim = self.claims[epsilon]
        return {
            "label": self.label,
            "epsilon": None if math.isinf(epsilon) else epsilon,
            "claim": None if claim is None else asdict(claim),
        }


@dataclass(frozen=True)
class Setting:
    """An audit that has been checked and may be written."""

    spec: AuditSpec
    store: RunDirectory
    corpus: Corpus
    seen: bytes  # the manifest that this was checked against
    plans: Mapping[str, dict[str, Any]]  # what the manifest says of each plan
    jobs: Sequence[Job]
    practice: Sequence[str] = ()  # texts for attacks that try the mechanism themselves

    def write(self) -> None:
        """Write corpus, plans and manifest."""
        old = self.store.manifest() if self.store.exists() else {"plans": {}}
        copies = [self.store.root / "corpus" / f"{split}.parquet" for split in self.corpus.splits]
        if "corpus" not in old or not all(path.exists() for path in copies):
            self.store.write_corpus(self.corpus)
        for job in self.jobs:
            self.store.write_plan(job.plan_name, job.plan, job.plan_key)
        self._write_manifest({**old["plans"], **self.plans})

    def note_looks(self) -> None:
        """Note that results were seen at this number of rows: an extension is then an optional one."""
        plans = self.store.manifest()["plans"]
        for job in self.jobs:
            info = plans[job.plan_name]
            if job.attacks and len(job.plan) not in info["looks"]:
                info["looks"].append(len(job.plan))
        self._write_manifest(plans)

    def _write_manifest(self, plans: Mapping[str, Any]) -> None:
        self.store.write_manifest(
            {
                "name": self.spec.name,
                "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "spec": self.spec.model_dump(mode="json", by_alias=True, fallback=written),
                "corpus": {
                    "name": self.corpus.name,
                    "fingerprint": self.corpus.fingerprint,
                    "splits": list(self.corpus.splits),
                    "texts": len(self.corpus.texts),
                    "notes": list(self.corpus.notes),
                },
                "plans": plans,
                "machine": _machine(),
            }
        )


def prepare(spec: AuditSpec) -> Setting:
    """Return the audit with all its parts, or say what is wrong; writes nothing."""
    mechanisms = {m.title: build(m.reference("mechanism")) for m in spec.mechanisms}
    attackers = {a.title: build(a.reference("attack")) for a in spec.attacks}
    fitting = _fitting(mechanisms, attackers)
    attacks = {
        a.title: Adversary(
            a.reference("attack"), attackers[a.title].card.sees, determinants(attackers[a.title]),
            isinstance(attackers[a.title], KnowsMechanism), _own_rewrites(attackers[a.title]),
        )
        for a in spec.attacks
    }  # fmt: skip
    grids = {m.title: epsilons_of(m, mechanisms[m.title], spec.epsilons) for m in spec.mechanisms}
    corpus = load(spec.corpus, mechanisms)
    store = RunDirectory(spec.folder)
    seen = store.manifest_bytes()
    old = store.manifest() if store.exists() else None
    if old is not None:
        _same_corpus(old, corpus, spec)
    planner = Planner(spec, corpus, store, old)
    practice = practice_texts(corpus)
    jobs = []
    for mechanism in spec.mechanisms:
        title = mechanism.title
        plugin = mechanisms[title]
        claims = {epsilon: plugin.claim(epsilon) for epsilon in grids[title]}
        common = {"corpus": corpus.fingerprint, "seed": spec.seed}
        about = determinants(plugin)
        for plan_spec in spec.plans:
            name, key, plan = planner.plan(plan_spec, plugin, title, grids[title])
            jobs.append(
                Job(store.root, title, mechanism.reference("mechanism"), about, claims, name, key, plan,
                    len(corpus.texts) if plan_spec.k == "all" else plan_spec.k,
                    {name: attacks[name] for name in fitting[title]}, common, _hash(practice),
                    isinstance(plugin, HasLatent))
            )  # fmt: skip
    for job in jobs:
        for epsilon in job.epsilons:
            check_table(*job.rewrites_at(epsilon)[:2])
            for attack in job.attacks:
                check_table(*job.guesses_at(epsilon, attack)[:2])
    return Setting(spec, store, corpus, seen, planner.infos, jobs, practice)


def practice_texts(corpus: Corpus) -> tuple[str, ...]:
    """Return texts for an adversary to practise on: those of the other splits, or else the pool's own."""
    pool = set(corpus.texts)
    others = [text for split in corpus.splits.values() for text in split.texts if text not in pool]
    distinct = tuple(dict.fromkeys(others))
    return distinct[:_MOST_PRACTICE] if len(distinct) >= _LEAST_PRACTICE else corpus.texts[:_MOST_PRACTICE]


def _own_rewrites(attack: Any) -> int:
    return attack.own_rewrites if isinstance(attack, Practises) else 0


def _hash(texts: Sequence[str]) -> str:
    return Corpus("practice", {"train": Split(tuple(texts))}).fingerprint[:16]


def _fitting(mechanisms: Mapping[str, Mechanism], attackers: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return which attacks can be used on each mechanism; one that fits none is refused."""
    unfit = {
        (title, name): attack.unfit(mechanism) if isinstance(attack, KnowsMechanism) else ""
        for title, mechanism in mechanisms.items()
        for name, attack in attackers.items()
    }
    for name in attackers:
        reasons = [unfit[title, name] for title in mechanisms]
        if all(reasons):
            raise SpecError(
                f"The attack '{name}' fits no mechanism of this audit: {reasons[0]} Leave it out, or add a "
                "mechanism that it fits."
            )
    return {title: [name for name in attackers if not unfit[title, name]] for title in mechanisms}


def load(named: PluginSpec | None, mechanisms: Mapping[str, Mechanism]) -> Corpus:
    """Return the corpus: the one named, the one that the mechanisms bring, or the demo."""
    if named is None:
        bring = [m for m in mechanisms.values() if isinstance(m, BringsTexts)]
        if bring and len(bring) == len(mechanisms):
            texts = list(dict.fromkeys(text for mechanism in bring for text in mechanism.texts()))
            return assemble("recorded", {"train": (texts, {})})
        loader = build(Reference("corpus", "demo"))
    else:
        loader = build(named.reference("corpus"))
    corpus: Corpus = loader.load()
    for split in corpus.splits.values():
        _refuse_broken(corpus.name, split)
    return corpus


def epsilons_of(spec: MechanismSpec, mechanism: Mechanism, general: Sequence[float]) -> list[float]:
    """Return the epsilons of a mechanism: its own, those of the whole spec, or what it takes."""
    asked = spec.epsilons or general
    if isinstance(mechanism, HasOwnEpsilons):
        return list(mechanism.epsilons(asked))
    if not asked:
        raise SpecError(f"'{spec.title}' needs an epsilon: give `epsilons` (or --epsilon), such as 1.")
    return list(asked)


def _same_corpus(manifest: Mapping[str, Any], corpus: Corpus, spec: AuditSpec) -> None:
    about = manifest["corpus"]
    if about["fingerprint"] != corpus.fingerprint:
        raise RunDirectoryError(
            f"'{spec.folder}' was made with other texts: corpus {about['name']} ({about['texts']:,} texts) "
            f"-> {corpus.name} ({len(corpus.texts):,} texts). Choose another `out`, or delete that folder."
        )


def _refuse_broken(name: str, split: Split) -> None:
    for position, text in enumerate(split.texts):
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise CorpusError(
                f"Text {position + 1} of corpus '{name}' holds half a surrogate pair, which is not Unicode "
                "text. Repair it where it was read (it was probably decoded with the wrong encoding)."
            )


def _machine() -> dict[str, Any]:
    """Return what the run was made on."""
    packages = ("numpy", "scipy", "polars", "scikit-learn", "torch", "transformers", "sentence-transformers")
    versions = {"tedaudit": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    torch = sys.modules.get("torch")
    device = "cuda" if torch is not None and torch.cuda.is_available() else "cpu"
    return {"versions": versions, "system": platform.platform(), "cores": os.cpu_count(), "device": device}
