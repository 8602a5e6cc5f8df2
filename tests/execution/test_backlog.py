"""What a job lacks, cut into units: everything once, whatever is there already, and again after a loss."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers import make_spec, stopped, tables
from latent_examples import guesses, make_latent_work
from tedaudit.api import run
from tedaudit.execution.backlog import Backlog
from tedaudit.execution.doing import do
from tedaudit.execution.units import Finished, cut
from tedaudit.execution.work import Bench
from tedaudit.preparing.preparation import prepare

SETTINGS = {"epsilons": [1, 4], "attacks": ["py:helpers:SharedWords"], "trials": 400, "block": 0, "seed": 3}


def _open(spec, *, claim=False):
    """Return the audit of a spec, ready to be written, and the backlog of its job."""
    audit = prepare(spec)
    if claim:
        with audit.store.locked():
            audit.write()
    [job] = audit.jobs
    return audit, Backlog(job, claim=claim)


def _do(backlog, unit, bench, parts=10**9):
    """Do a unit until so many results were placed; return whether it was finished."""
    for number, result in enumerate(do(unit, bench)):
        if isinstance(result, Finished):
            return True
        for part in result:
            backlog.place(unit, part)
        if number + 1 == parts:
            return False
    raise AssertionError("a unit has an end")


def test_units_of_a_new_run_are_consecutive_and_hold_every_draw_and_guess_once(tmp_path):
    audit, backlog = _open(
        make_spec(tmp_path, **SETTINGS | {"attacks": ["py:helpers:SharedWords", "resample"]})
    )
    found = list(backlog.units(audit, ["SharedWords"]))
    starts = [rows for rows, unit in found if len(unit.plan)]
    assert [(rows.start, rows.stop) for rows in starts] == [(0, 100), (100, 400)]  # a block, then more
    rows, own = np.zeros((2, 400), dtype=int), []
    for _, unit in found:
        for piece in cut(unit):
            at, row = piece.at[piece.at >= 0], piece.rows[piece.at >= 0]
            np.add.at(rows, (at, row + unit.start), 1)
            own += [unit.own.text[i] for i in piece.own[piece.own >= 0].tolist()]
    assert (rows == 1).all()
    assert len(own) == 2 * int(backlog.job.own_numbers.sum()) > 0
    runs = [(g.epsilon, run) for _, unit in found for g in unit.guessing for run in g.runs]
    assert sorted(runs) == [(e, (at, at + 100)) for e in (1, 4) for at in (0, 100, 200, 300)]


def test_a_unit_reads_a_text_once_and_makes_its_own_rewrites_with_it(tmp_path):
    audit, backlog = _open(make_spec(tmp_path, **SETTINGS | {"attacks": ["resample"]}))
    units = [unit for _, unit in backlog.units(audit, [])]
    seen = set()
    for unit in units:
        texts = [text for piece in cut(unit) for text in piece.draws.text.tolist()]
        assert texts == sorted(texts)
        for piece in cut(unit):
            new = set(piece.draws.text[piece.own >= 0].tolist())
            assert not new & seen  # all of a text's at once
            seen |= new
    assert len(seen) == 40


def test_numbers_of_parts_are_never_used_twice(tmp_path):
    spec = make_spec(tmp_path, **SETTINGS | {"attacks": ["resample"]})
    stopped(spec, 1)
    audit, backlog = _open(spec)
    numbers = []
    for _, unit in backlog.units(audit, []):
        for rewriting in unit.rewriting if unit is not None else ():
            pieces = -(-int(rewriting.lacking.sum()) // unit.block)
            numbers += [(rewriting.epsilon, rewriting.number + i) for i in range(pieces)]
    assert len(numbers) == len(set(numbers))
    stored = {int(path.stem[5:]) for path in tmp_path.glob("rewrites/*/1/part-*.parquet")}
    assert not stored & {number for epsilon, number in numbers if epsilon == 1}


@pytest.mark.parametrize("parts", range(1, 8))
def test_the_rest_of_a_unit_is_what_was_not_placed_wherever_it_ended(tmp_path, parts):
    spec = make_spec(tmp_path / "run", **SETTINGS)
    audit, backlog = _open(spec, claim=True)
    bench = Bench()
    for _, unit in backlog.units(audit, ["SharedWords"]):
        rest = None if _do(backlog, unit, bench, parts) else backlog.make_rest(audit, unit)
        if rest is not None:  # it may lack nothing but its end
            left = sum(int(r.lacking.sum()) for r in rest.rewriting)
            assert left == max(0, 2 * (len(unit.plan) - 100 * parts))
            assert _do(backlog, rest, bench)
        assert backlog.make_rest(audit, unit) is None
    run(make_spec(tmp_path / "whole", **SETTINGS))
    assert {name: rows for name, rows in tables(tmp_path / "whole").items() if "plans" not in name} == {
        name: rows for name, rows in tables(tmp_path / "run").items() if "plans" not in name
    }


def test_what_is_stored_is_read_by_whoever_does_the_unit_from_files_or_bytes(tmp_path):
    spec = make_spec(tmp_path, **SETTINGS)
    run(make_spec(tmp_path, **SETTINGS | {"attacks": []}))
    audit, backlog = _open(spec)
    [(_, first), _] = backlog.units(audit, ["SharedWords"])
    assert not first.rewrites
    assert [len(rewriting.stored) for rewriting in first.rewriting] == [1, 1]
    made = [[part.content for part in result] for result in list(do(first, Bench()))[:-1]]
    elsewhere = [
        replace(r, stored=tuple(replace(s, content=Path(s.path).read_bytes()) for s in r.stored))
        for r in first.rewriting
    ]
    for path in tmp_path.glob("rewrites/**/part-*.parquet"):
        path.unlink()
    again = do(replace(first, rewriting=tuple(elsewhere)), Bench())
    assert [[part.content for part in result] for result in list(again)[:-1]] == made


def test_counts_are_those_of_rows_that_are_there(tmp_path):
    spec = make_spec(tmp_path, **SETTINGS)
    assert _open(spec)[1].count_done() == 0
    stopped(spec, 2)
    rewrites = 2 * 100
    assert _open(spec)[1].count_done() == rewrites + 2 * 100
    run(spec)
    assert _open(spec)[1].count_done() == 2 * 400 + 2 * 400


@pytest.mark.usefixtures("small")
def test_the_rest_of_a_unit_makes_latents_again_that_no_table_has_kept(tmp_path, kept):
    audit, backlog = _open(make_latent_work(tmp_path), claim=True)
    attacks, bench = list(backlog.job.attacks), Bench()
    for _, unit in backlog.units(audit, attacks):
        assert not _do(backlog, unit, bench, 1)  # its worker is lost after the rewrites
        rest = backlog.make_rest(audit, unit)
        assert all(rewriting.again.all() and not rewriting.lacking.any() for rewriting in rest.rewriting)
        assert all(result for result in do(rest, bench))  # no part, no result: it would count as one
        assert _do(backlog, rest, bench)
    assert guesses(tmp_path) == guesses(kept)
