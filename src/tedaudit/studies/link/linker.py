"""Links the rewrites of a release to their originals, and says what that shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.estimators import Choices
from tedaudit.estimators.bound import check_alpha
from tedaudit.models.zoo import is_default
from tedaudit.plugins.batches import Observations, Rewrites
from tedaudit.plugins.protocols import UsesModels
from tedaudit.plugins.registry import Reference, build, determinants, model_uses
from tedaudit.plugins.values import Plan
from tedaudit.studies.link.authors import (
    Exposure,
    Knows,
    People,
    expose,
    gather_authors,
    gather_releases,
)
from tedaudit.studies.link.inference import (
    Inference,
    count_guesses,
    find_obstacle,
    infer_column,
    refuse_foreign_guesses,
)
from tedaudit.studies.link.ranks import Progress, rank_records, refuse_unfit, show_nothing
from tedaudit.studies.link.result import (
    ALL,
    PAIRS,
    LinkedAttack,
    LinkResult,
    count_places,
    count_sure,
)
from tedaudit.studies.link.study_folder import check_folder, refuse_other_release, write_link
from tedaudit.studies.link.table import ColumnNames, Columns, Release, read_release
from tedaudit.studies.link.trials import count_pairs, draw_pairs, make_row
from tedaudit.studies.utility.classifiers import TFIDF, NotLearnt
from tedaudit.trials.judge import judge, tie_keys


@dataclass(frozen=True)
class LinkSettings:
    """Everything that can be set: columns, attacks, the classifier, and what is random.

    Without attacks it is `lexical`, and `embedding` if the zoo's encoder is installed. An attack is a name or
    a mapping with a name and its fields, and so is the classifier "llm". `guesses` are columns with guesses
    of the private ones, in their order, instead of a classifier; `guesses_fixed` declares that they were made
    from the rewrite alone, by a rule that was fixed before anybody saw the private column.

    `author` is the column that names who wrote a text. `knows` says what the adversary knows of authors:
    `other` texts of theirs, which is usual in life and is meant if nothing is said, or the `same`. `texts` is
    the largest number of rewrites by which somebody is named; 0 for what at least half have.
    """

    id_column: str = ""
    original_column: str = "original"
    rewrite_column: str = "rewrite"
    private: str | Sequence[str] = ()
    attacks: str | Sequence[str | Mapping[str, Any]] = ()
    classifier: str | Mapping[str, Any] = TFIDF
    guesses: str | Sequence[str] = ()
    guesses_fixed: bool = False
    alpha: float = 0.01
    seed: int = 0
    author: str = ""
    knows: str = ""
    texts: int = 0

    @property
    def columns(self) -> ColumnNames:
        """The columns of the table."""
        private, guesses = (
            (named,) if isinstance(named, str) else tuple(named) for named in (self.private, self.guesses)
        )
        return ColumnNames(
            id_column=self.id_column,
            original_column=self.original_column,
            rewrite_column=self.rewrite_column,
            private=tuple(dict.fromkeys(private)),
            guesses=guesses,
            author=self.author,
        )

    def check(self) -> None:
        """Refuse what cannot be, before anything is read."""
        check_alpha(self.alpha)
        self._check_guesses()
        if self.knows not in ("", "same", "other"):
            raise SpecError(f"knows is '{self.knows}'; it must be one of: other, same.")
        if self.knows and not self.author:
            raise SpecError("knows (--knows) is about authors: name their column with author (--author).")
        if not isinstance(self.texts, int) or self.texts < 0:
            raise SpecError(
                f"texts (--author-texts) is {self.texts}; it must be a whole number, at least 1, or 0 for "
                "what at least half reach."
            )

    def _check_guesses(self) -> None:
        names = self.columns
        if names.guesses and len(names.guesses) != len(names.private):
            raise SpecError(
                f"There are {len(names.guesses)} columns of guesses (--guesses) and {len(names.private)} "
                "private ones (--private): name one for each, in the same order."
            )
        for name in names.guesses:
            if name in names.private:
                raise SpecError(
                    f"'{name}' is the private column itself, which guesses nothing: name the column with the "
                    "guesses with --guesses (guesses)."
                )
        if self.guesses_fixed and not names.guesses:
            raise SpecError(
                "--guesses-fixed (guesses_fixed) says how guesses were made: name their column with "
                "--guesses (guesses), or leave it out."
            )

    def build_attacks(self) -> dict[str, Any]:
        """Return the attacks by name; one that cannot score all originals is refused."""
        given = [self.attacks] if isinstance(self.attacks, str) and self.attacks else self.attacks
        built: dict[str, Any] = {}
        for one in given or default_attacks():
            fields = {"name": one} if isinstance(one, str) else dict(one)
            name = str(fields.pop("name", ""))
            if name in built:
                raise SpecError(f"The attack '{name}' was named twice; name each once.")
            built[name] = build(Reference("attack", name, fields))
            refuse_unfit(name, built[name])
        return built


def default_attacks() -> list[str]:
    """Return the attacks of a study that names none: no model is downloaded for it."""
    return ["lexical", "embedding"] if is_default() else ["lexical"]


def link(
    pairs: str | Path | Columns,
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> LinkResult:
    """Link the rewrites of a release to their originals: no code and no claim are needed.

    `pairs` is a file (csv, tsv, jsonl, parquet) or a mapping of columns. `settings` are those of
    `LinkSettings`: `id_column`, `original_column`, `rewrite_column`, `private`, `attacks`, `classifier`,
    `guesses`, `guesses_fixed`, `alpha` and `seed`; `author`, `knows` and `texts` for people who wrote several
    texts. With `out`, what was found is written to that folder.

    >>> pairs = {"original": ["a red bicycle", "two tickets", "the rent"], "rewrite": ["bicycle", "x", "?"]}
    >>> link(pairs, attacks="lexical").attacks[0].linkability.asked
    3
    """
    asked, show = _parse_settings(settings), progress or show_nothing
    if out is not None:
        check_folder(Path(out))
    attacks, source = asked.build_attacks(), "" if isinstance(pairs, Mapping) else Path(pairs).name
    show(f"reading {source or 'the table'}", 0, 1)
    release = read_release(pairs, asked.columns)
    if out is not None:
        refuse_other_release(Path(out), release)
    learnt, not_inferred = choose_columns(release, asked)
    found_people = gather_people(release, asked)
    plan, compared = pair_records(release, asked.seed), find_compared(attacks)
    linked = tuple(
        replace(_attack(name, attack, release, plan, (asked, show)), compares=compared[name])
        for name, attack in attacks.items()
    )
    exposures = tuple(
        Exposure(
            people,
            tuple(
                expose(name, attack, people, release, asked.alpha, show) for name, attack in attacks.items()
            ),
        )
        for people in found_people
    )
    rows = sum(len(found.rows) for found in linked)
    rows += sum(len(found.rows) for exposure in exposures for found in exposure.attacks)
    inferences = _infer(release, asked, learnt, rows, show)
    notes = (*release.notes, *(note for people in found_people for note in people.notes))
    result = LinkResult(
        release=release,
        attacks=linked,
        inferences=tuple(inferences),
        alpha=asked.alpha,
        seed=asked.seed,
        notes=notes,
        source=source,
        exposures=exposures,
        not_inferred=not_inferred,
    )
    if out is None:
        return result
    show("writing the report", 0, 1)
    write_link(result, Path(out))
    return replace(result, folder=Path(out))


def _parse_settings(settings: Mapping[str, Any]) -> LinkSettings:
    """Return the settings; refuse what is none, before anything is read."""
    known = LinkSettings.__dataclass_fields__
    for name in settings:
        if name not in known:
            raise SpecError(
                f"`link` has no setting '{name}'.{did_you_mean(name, known)} It has: {join_names(known)}."
            )
    asked = LinkSettings(**settings)
    asked.check()
    return asked


def gather_people(release: Release, asked: LinkSettings) -> list[People]:
    """Return the authors, if they are asked for, and the records that were rewritten several times."""
    found = []
    if asked.author:
        knows: Knows = "same" if asked.knows == "same" else "other"
        found.append(gather_authors(release, knows, asked.texts, asked.seed))
    repeated = gather_releases(release, 0 if asked.author else asked.texts, asked.seed)
    if asked.texts and not asked.author and repeated is None:
        raise SpecError(
            "texts (--author-texts) is for people who wrote several texts, or ids with several rewrites: "
            "name the column of the authors with author (--author)."
        )
    return [*found, *([repeated] if repeated else [])]


def choose_columns(release: Release, asked: LinkSettings) -> tuple[dict[str, str], tuple[NotLearnt, ...]]:
    """Return the private columns that can be guessed, with those of guesses, and why others cannot.

    That is decided before anything is guessed, so that only those that can be share the error.
    """
    guesses = asked.columns.guesses
    learnt = dict(zip(asked.columns.private, guesses or asked.columns.private, strict=True))
    found = [
        find_obstacle(release, column, asked.seed, is_brought=bool(guesses))
        for column in asked.columns.private
    ]
    obstacles = tuple(one for one in found if one is not None)
    for one in obstacles:
        del learnt[one.column]
    for column, brought in learnt.items() if guesses else ():
        refuse_foreign_guesses(release, column, brought)
    return learnt, obstacles


def _infer(
    release: Release, asked: LinkSettings, columns: Mapping[str, str], rows: int, show: Progress
) -> list[Inference]:
    """Return what is guessed of private columns; their bounds share the error with those of so many rows."""
    is_brought, found = bool(asked.columns.guesses), []
    bounds = rows + (0 if is_brought and not asked.guesses_fixed else len(columns))
    for number, (column, brought) in enumerate(columns.items()):
        show(f"guessing '{column}' from rewrites", number, len(columns))
        alphas = asked.alpha / len(columns), asked.alpha / bounds
        found.append(
            count_guesses(release, column, brought, alphas, are_fixed=asked.guesses_fixed)
            if is_brought
            else infer_column(release, column, asked.classifier, asked.seed, alphas)
        )
    return found


def find_compared(attacks: Mapping[str, Any]) -> dict[str, str]:
    """Return by name what attacks compare, words or meaning; nothing if it is not known or two do the same.

    An attack by embeddings compares meaning if its encoder is a trained model.
    """
    compared = dict.fromkeys(attacks, "")
    for name, attack in attacks.items():
        if attack.card.score == "word cosine":
            compared[name] = "words"
        elif attack.card.score == "cosine" and isinstance(attack, UsesModels) and attack.models():
            compared[name] = "meaning"
    told = list(compared.values())
    return {name: one if told.count(one) == 1 else "" for name, one in compared.items()}


def _attack(
    name: str, attack: Any, release: Release, plan: Plan, asked: tuple[LinkSettings, Progress]
) -> LinkedAttack:
    """Return what one attack finds, among all originals and in disjoint pairs."""
    settings, show = asked
    ranks = rank_records(name, attack, release, settings.seed, show)
    show(f"{name}: guessing pairs", 0, len(plan))
    guesses = guess_pairs(name, attack, release, plan, settings.seed)
    places = count_places(ranks, release, settings.alpha)
    found = int(ranks.found[release.first].sum())
    rows = {
        ALL: make_row(found, len(release.pool)),
        PAIRS: count_pairs(plan, *guesses, settings.alpha / 2),
    }
    models = model_uses(name, attack, determinants(attack)) if isinstance(attack, UsesModels) else []
    return LinkedAttack(
        attack=name,
        ranks=ranks,
        places=places,
        sure=count_sure(ranks, release),
        rows=rows,
        models=tuple(models),
    )


# --- Disjoint pairs of records.

_ROWS = 4096  # pairs that an attack is shown at a time
_PURPOSE = "link pairs"


def pair_records(release: Release, seed: int) -> Plan:
    """Return pairs of distinct originals that share none, and in each the one whose rewrite is shown."""
    return draw_pairs(len(release.pool), seed, _PURPOSE)


def guess_pairs(name: str, attack: Any, release: Release, plan: Plan, seed: int) -> tuple[Choices, Any]:
    """Let a prepared attack name one original of each pair; return its choices and their margins."""
    assert plan.candidates is not None  # noqa: S101 - pairs were given
    record_of = np.flatnonzero(release.first)  # by position in the pool
    keys = tie_keys(seed, _PURPOSE, name, range(len(plan)))
    judged = []
    for start in range(0, len(plan), _ROWS):
        part = plan.rows(start, start + _ROWS)
        rewrites = [release.rewrites[record_of[position]] for position in part.source.tolist()]
        own = keys[start : start + _ROWS]
        seen = Observations(
            outputs=Rewrites.from_texts(rewrites), pool=release.pool, candidates=part.candidates, tie_keys=own
        )
        judged.append(judge(attack.guess(seen), np.zeros(len(part), dtype=np.bool_), part, own))
    choice, usable, failed, margin = (
        np.concatenate([getattr(part, column) for part in judged])
        for column in ("choice", "usable", "failed", "margin")
    )
    return Choices(choice, usable, failed), margin
