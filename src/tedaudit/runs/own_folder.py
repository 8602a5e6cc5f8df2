"""The folder of a run for which nobody names one: a folder of its own, after its mechanisms and its corpus.

Audits in one folder are looks at one run, and every look spends some of its error. So each audit has a folder
of its own; one that is repeated, be it with more trials, goes on in the folder that it has. Which audit a
folder was made for is noted in it before anything else is: whoever is killed at once finds it again, and two
that start at once get two.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tedaudit.corpora.files import Given
from tedaudit.errors import RunDirectoryError
from tedaudit.paths import checksum_file, checksum_folder, describe_os_error, parse_path
from tedaudit.plugins.protocols import HasFingerprint, UsesModels
from tedaudit.plugins.registry import build, describe_fields, describe_scoring
from tedaudit.runs.checksums import ChecksumError, check_json, parse_json, seal_json
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import key_of, write_atomically
from tedaudit.runs.looks import earlier_looks
from tedaudit.runs.spec.model import AuditSpec, PluginSpec

_RUNS = Path("runs")
_INCIDENTAL = {"name", "out", "engine", "batch_size", "block"}  # settings that change no result
_PATHS = ("path", "test")  # fields of a corpus that may name a file or folder: what is in it counts
_SHOWN = 3  # mechanisms that a name tells
_LONGEST = 40  # bytes of the part of a name that tells mechanisms, and of the one that tells the corpus


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for a run, and what is known of the run that goes on in it; of a new one, nothing."""

    folder: Path
    number: int
    trials: int = 0
    looks: int = 0

    @property
    def is_new(self) -> bool:
        """Whether no run of this audit is there."""
        return not self.trials

    def describe(self, trials: int) -> str:
        """Return that a run goes on, and whether that is one more look at it; "" for a new one."""
        if self.is_new:
            return ""
        if trials == self.trials or not self.looks:
            return f"'{self.folder}' holds the same audit, which is continued."
        return (
            f"'{self.folder}' holds the same audit, which is continued from {self.trials:,} trials to "
            f"{trials:,}: that is look {self.looks + 1} at it, and every look spends some of its error."
        )


@contextmanager
def own_folder(spec: AuditSpec, base: str = "") -> Iterator[tuple[AuditSpec, str]]:
    """Give the audit with a folder of its own, unless it names one, and what to tell if a run goes on there.

    `base` is what the folder of an audit that comes with tedaudit is called. A new folder in which nothing
    was begun is removed again.
    """
    if not (base or _names_none(spec)):
        yield spec, ""
        return
    audit, is_first = _identify(spec), not _RUNS.exists()
    place = _claim(spec, audit, base or name_run(spec))
    store = RunDirectory(place.folder)
    try:
        yield spec.model_copy(update={"out": str(place.folder)}), place.describe(spec.trials)
        if spec.trials > place.trials and not place.is_new:
            _write_claim(store, audit, spec.trials)
    finally:
        if place.is_new:
            _take_back(store, is_first=is_first)


def foresee_folder(spec: AuditSpec, base: str = "") -> AuditSpec:
    """Return the audit with the folder that it would be given now; nothing is written."""
    if not (base or _names_none(spec)):
        return spec
    place = _find(spec, _identify(spec), base or name_run(spec))
    return spec.model_copy(update={"out": str(place.folder)})


def name_run(spec: AuditSpec) -> str:
    """Return a short name, safe for a file, for the mechanisms and the corpus of an audit."""
    titles = [_clean(mechanism.title, "mechanism") for mechanism in spec.mechanisms]
    told = "-".join(titles)
    if len(titles) > _SHOWN or (len(titles) > 1 and len(told.encode()) > _LONGEST):
        told = f"{titles[0]}-and-{len(titles) - 1}-more"
    return f"{told}-{_clean(_name_corpus(spec), 'texts')}"


def _name_corpus(spec: AuditSpec) -> str:
    """Return what a corpus is called: a file by its name, and so those texts that mechanisms bring."""
    if spec.corpus is not None:
        source = spec.corpus.params.get("path") or spec.corpus.params.get("dataset")
        title = spec.corpus.title
        return spec.corpus.label or (_stem(source) if isinstance(source, str) else title)
    brought = [mechanism.params.get("path") for mechanism in spec.mechanisms]
    return _stem(brought[0]) if all(isinstance(path, str) for path in brought) else "demo"


def _stem(path: Any) -> str:
    return Path(str(path)).name.partition(".")[0]


def _clean(text: str, otherwise: str) -> str:
    """Return what of a text can be in the name of a folder anywhere, cut to some length."""
    plain = re.sub(r"[^\w.-]+", "-", text.encode("utf-8", "ignore").decode())
    return plain.encode()[:_LONGEST].decode("utf-8", "ignore").strip("-.") or otherwise


def _names_none(spec: AuditSpec) -> bool:
    return not spec.out and "name" not in spec.model_fields_set


def _identify(spec: AuditSpec) -> str:
    """Return a digest of all that tells an audit from others: settings and plug-ins, not its trials."""
    plugins = {
        "mechanisms": [
            {"label": m.title, "epsilons": list(m.epsilons), **_describe(build(m.reference("mechanism")))}
            for m in spec.mechanisms
        ],
        "attacks": [{"label": a.title, **_describe(build(a.reference("attack")))} for a in spec.attacks],
        "corpus": None if spec.corpus is None else _describe_corpus(spec.corpus),
    }
    left_out = {*_INCIDENTAL, *plugins, "trials"}
    return key_of({**plugins, **spec.model_dump(mode="json", by_alias=True, exclude=left_out)})


def _describe(plugin: Any) -> dict[str, Any]:
    """Return what a plug-in is, with its code and files; of a model, which takes time, only the name."""
    known = {**describe_fields(plugin), **describe_scoring(plugin)}
    if isinstance(plugin, HasFingerprint) and not isinstance(plugin, UsesModels):
        known.update(plugin.fingerprint())
    return known


def _describe_corpus(named: PluginSpec) -> dict[str, Any]:
    corpus = build(named.reference("corpus"))
    if isinstance(corpus, Given):
        return {"texts": corpus.load().fingerprint}
    known = describe_fields(corpus)
    paths = {key: parse_path(known[key]) for key in _PATHS if known.get(key)}
    return {**known, "files": {key: _checksum(path) for key, path in paths.items()}}


def _checksum(path: Path) -> str:
    if path.is_dir():
        return checksum_folder(path)
    return checksum_file(path) if path.is_file() else ""


def _claim(spec: AuditSpec, audit: str, name: str) -> Place:
    """Return the folder of an audit; a new one is made, by this process alone, and noted as the audit's."""
    least = 1
    while True:
        place = _find(spec, audit, name, least)
        if not place.is_new:
            return place
        try:
            _RUNS.mkdir(exist_ok=True)
            place.folder.mkdir(mode=0o700)
        except FileExistsError as error:
            if not _RUNS.is_dir():
                raise _unusable(place.folder, error) from error
            least = place.number + 1  # another process was faster
            continue
        except OSError as error:
            raise _unusable(place.folder, error) from error
        _write_claim(RunDirectory(place.folder), audit, spec.trials)
        return place


def _take_back(store: RunDirectory, *, is_first: bool) -> None:
    """Remove a folder that was made for a run which was never begun."""
    with contextlib.suppress(OSError):  # it is gone, or another process begins the same audit in it
        if [path.name for path in store.root.iterdir()] == [store.claim.name]:
            store.claim.unlink()
            store.root.rmdir()
            if is_first:
                _RUNS.rmdir()


def _find(spec: AuditSpec, audit: str, name: str, least: int = 1) -> Place:
    """Return where the audit goes on, the one with the most trials of those with no more; or a free place."""
    folders = {_number(path.name, name): path for path in _RUNS.iterdir()} if _RUNS.is_dir() else {}
    found = [
        (trials, -number)
        for number, path in folders.items()
        if number and 0 < (trials := _read_claim(path, audit)) <= spec.trials
    ]
    if not found:
        number = next(n for n in count(least) if n not in folders)
        return Place(_RUNS / (name if number == 1 else f"{name}-{number}"), number)
    trials, number = max(found)
    store = RunDirectory(folders[-number])
    return Place(
        folder=store.root,
        number=-number,
        trials=trials,
        looks=len(earlier_looks(store)) if store.exists() else 0,
    )


def _number(folder: str, name: str) -> int:
    """Return which of the folders of a name one is, from 1; 0 if it is of another name."""
    if folder == name:
        return 1
    number = folder.removeprefix(f"{name}-")
    return int(number) if number != folder and re.fullmatch("[2-9]|[1-9][0-9]{1,8}", number) else 0


def _read_claim(folder: Path, audit: str) -> int:
    """Return for how many trials a folder was made; 0 if it was made for another audit, or by hand."""
    path = RunDirectory(folder).claim
    if not path.is_file():
        return 0
    try:
        noted = parse_json(path.read_text(encoding="utf-8"))
        is_whole, is_own, trials = check_json(noted), noted["audit"] == audit, int(noted["trials"])
    except (ChecksumError, OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from error
    if not is_whole:
        raise _damaged(path, "it lacks its checksum")
    return trials if is_own else 0


def _write_claim(store: RunDirectory, audit: str, trials: int) -> None:
    write_atomically(store.claim, json.dumps(seal_json({"audit": audit, "trials": trials})).encode())


def _damaged(path: Path, reason: object) -> RunDirectoryError:
    return RunDirectoryError(
        f"'{path}' is damaged ({reason}). Delete it: the run beside it stays, and this command uses "
        "another folder. To continue that run, name it with `out` (--out)."
    )


def _unusable(folder: Path, error: OSError) -> RunDirectoryError:
    return RunDirectoryError(
        f"'{folder}' cannot be made ({describe_os_error(error)}); name another folder with `out` (--out)."
    )
