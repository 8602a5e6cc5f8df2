"""Adds up what an attack says of several rewrites of one secret, for every number of them that may be seen.

A trial has a row for each rewrite. Given the secret, their noise is independent, so log-likelihoods add;
other scores add as well, because any rule of an adversary is one. What is added lies in tables of its own, a
row for each trial, and is read like any other guess; if what it was made from changes, it is made again.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.batches import Guesses, PairLosses, Ragged
from tedaudit.plugins.values import Floats
from tedaudit.runs.guesses import GuessTable, make_guesses_part, name_rows, parse_rows
from tedaudit.runs.jobs import Job
from tedaudit.runs.listing import Listing
from tedaudit.runs.steps import commit
from tedaudit.runs.table_folder import TableDefinition
from tedaudit.trials.judge import judge, tie_keys


def add_rounds(job: Job, seed: int, listing: Listing) -> None:
    """Write the guesses of complete trials for every number of rewrites, as far as they are not there yet."""
    for epsilon in job.epsilons if job.planned.series else ():
        for attack, prepared in job.attacks.items():
            rows = job.guesses_at(epsilon, attack)
            table = GuessTable(rows.folder, rows.check())
            trials = table.complete() // job.planned.rounds
            for seen in job.planned.series:
                definition = job.seen_at(epsilon, attack, seen)
                key = definition.claim() if trials else definition.check()
                listing.drop(_list_outdated(definition, rows, job.planned.rounds, listing))
                new = range(GuessTable(definition.folder, key).complete(), trials)
                if new:
                    rounds = _Rounds(table, new, job.planned.rounds)
                    guesses = rounds.add(seen.rewrites, is_likelihood=prepared.is_likelihood)
                    keys = tie_keys(seed, seen.name, attack, new)
                    failed = rounds.failed[:, : seen.rewrites].all(axis=1)
                    judged = judge(guesses, failed, seen.plan.rows(new.start, new.stop), keys)
                    name = f"{_name(definition)}/{name_rows(new)}"
                    made = commit(job.store.root, {name: make_guesses_part(new, judged, key)})
                    source = listing.digest_of(_list_sources(rows, new, job.planned.rounds, listing))
                    listing.add([replace(one, source=source) for one in made])


def _list_outdated(added: TableDefinition, rows: TableDefinition, rounds: int, listing: Listing) -> list[str]:
    """Return the files of a table if one of them was not made from the guesses that are there now."""
    files = [name for name in listing if name.startswith(f"{_name(added)}/")]
    for name in files:
        trials = parse_rows(name.rpartition("/")[2])
        if not listing.is_made_from(name, _list_sources(rows, trials, rounds, listing)):
            return files
    return []


def _list_sources(rows: TableDefinition, trials: range, rounds: int, listing: Listing) -> list[str]:
    """Return the files of guesses that some trials are in."""
    found = []
    for name in listing:
        folder, _, file = name.rpartition("/")
        if folder == _name(rows):
            part = parse_rows(file)
            if part.start < trials.stop * rounds and part.stop > trials.start * rounds:
                found.append(name)
    return found


def _name(table: TableDefinition) -> str:
    return "/".join(table.folder.path.parts[-5:])


class _Rounds:
    """The rows of some trials of a table, as trials by rewrites."""

    def __init__(self, table: GuessTable, trials: range, rounds: int) -> None:
        self._rows, self._shape = slice(trials.start * rounds, trials.stop * rounds), (len(trials), rounds)
        columns = table.read(["scores", "usable", "failed"], trials.stop * rounds)
        self.usable, self.failed = self._cut(columns["usable"]), self._cut(columns["failed"])
        scores = self._cut(np.asarray(columns["scores"], dtype=np.float64))
        self._scores = np.where(self.usable[:, :, None], scores, 0.0)  # what says nothing adds nothing
        self._losses, self._ends = table.read_largest(), table.read_ends()

    def _cut(self, column: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return column[self._rows].reshape(*self._shape, *column.shape[1:])

    def add(self, number: int, *, is_likelihood: bool) -> Guesses:
        """Return what the first rewrites of every trial say together.

        A likelihood of all of them needs that of each; whatever else there is counts as far as it goes.
        """
        usable = self.usable[:, :number]
        is_known = np.asarray(usable.all(axis=1) if is_likelihood else usable.any(axis=1), dtype=np.bool_)
        losses = self._add_losses(number) if is_likelihood else None
        return Guesses(self._scores[:, :number].sum(axis=1), is_known, losses=losses)

    def _add_losses(self, number: int) -> PairLosses | None:
        """Return what is known of the losses of all of them: what one can lose at most adds up, too."""
        if self._losses is None:
            return None
        largest, mu = (self._cut(column)[:, :number] for column in self._losses)
        ends: Floats | None = None if self._ends is None else self._cut(self._ends)[:, :number].sum(axis=1)
        return PairLosses(
            largest=largest.sum(axis=1),
            mu=np.sqrt((mu**2).sum(axis=1)),
            terms=Ragged.absent(len(largest), np.float64),
            ends=ends,
        )
