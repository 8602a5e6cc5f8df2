"""What was lost is made again; what comes out otherwise then takes with it what was made from it."""

import os
import random
from pathlib import Path

import pytest

from engine_examples import Backwards
from golden.reading import read_rows
from helpers import make_spec
from tedaudit.api import load_run, run
from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.values import Card, Claim, Rewrite
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.guesses import parse_rows
from tedaudit.runs.listing import Listing
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.runs.runner import executed

UNSEEDED = "py:test_remade:Unseeded"


class Unseeded:
    """Keeps one word of a text, by a coin that nobody can toss again."""

    card = Card(name="unseeded", summary="Never the same twice.")

    def claim(self, epsilon):
        return Claim(epsilon, "document")

    def rewrite(self, draws):
        return [
            Rewrite(random.SystemRandom().choice(draw.text.split()) + os.urandom(2).hex()) for draw in draws
        ]


def make(root, mechanism, **changes):
    return make_spec(root, mechanisms=[mechanism], trials=60, block=20, seed=5, **changes)


def lose(root, pattern="rewrites/**/part-000001.parquet"):
    [path] = root.glob(pattern)
    path.unlink()
    return path


def look_of(root):
    return load_run(root).family.look.number


def test_guesses_on_rewrites_that_come_out_otherwise_are_made_again_and_that_is_a_look(tmp_path):
    said, root = [], tmp_path / "run"
    run(make(root, UNSEEDED))
    before = read_rows(root)
    assert look_of(root) == 1
    lose(root)
    run(make(root, UNSEEDED), announce=said.append)
    after = read_rows(root)
    kept = [row for row, old in zip(after["rewrites"], before["rewrites"], strict=True) if row == old]
    assert len(kept) == 40  # those of the two files that were not lost
    assert any("made again too (1 files)" in line for line in said)
    assert look_of(root) == 2
    assert any("another look" in note for note in load_run(root).notes)


def test_the_guesses_that_are_made_again_are_those_on_the_new_rewrites(tmp_path):
    """An attack that reads the end of the output can only be right about what is there now."""
    root = tmp_path / "run"
    run(make(root, UNSEEDED))
    listing = Listing(root)
    [guesses] = [name for name in listing if name.endswith("part-000000020-000000040.parquet")]
    old = listing.digests[guesses]
    lose(root)
    run(make(root, UNSEEDED), announce=lambda _: None)
    assert Listing(root).digests[guesses] != old


def test_what_comes_out_the_same_leaves_everything_as_it_was(tmp_path):
    root, said = tmp_path / "run", []
    run(make(root, "word-rr", attacks=["lexical", "resample"]))
    before, told = read_rows(root), sorted((root / "files.txt").read_text().splitlines())
    for pattern in ("rewrites/**/part-000001.parquet", "own_rewrites/**/part-000000.parquet"):
        lose(root, pattern)
        run(make(root, "word-rr", attacks=["lexical", "resample"]), announce=said.append)
        assert read_rows(root) == before
        assert sorted(set((root / "files.txt").read_text().splitlines())) == told
        assert look_of(root) == 1
    assert said == []


def test_a_lost_file_is_missed_by_whoever_reads_the_run(tmp_path):
    root = tmp_path / "run"
    run(make(root, "word-rr"))
    path = lose(root)
    assert Listing(root).list_lost() == [str(path.relative_to(root))]
    assert load_run(root).missing


class Stop(Exception):
    pass


@pytest.mark.parametrize("files", range(1, 8))
def test_nobody_guesses_on_a_wave_that_is_not_wholly_rewritten(tmp_path, files):
    """With half of the texts done, whose rewrites are there tells the secret."""
    root, steps = tmp_path / "run", []

    def progress(what, *_):
        steps.append(what)
        if len(steps) > files:
            raise Stop

    spec = make_spec(root, trials=2_000, block=0, seed=5, epsilons=[1, 4])
    with pytest.raises(Stop), executed(spec, Backwards(5), progress, lambda _: None):
        pass
    store, listing = RunDirectory(root), Listing(root)
    [(name, plan)] = store.manifest()["plans"].items()
    waves = [range(wave["start"], wave["stop"]) for wave in store.manifest()["history"]]
    assert [*map(len, waves)] == [200, 1_800]
    for label, epsilon, folder in store.rewrite_folders():
        table, rows = RewriteTable(folder, folder.info().key), store.plan(name, plan["key"])
        for file in listing:
            if file.startswith(f"guesses/{name}/{label}/{epsilon.name}/"):
                [wave] = [wave for wave in waves if parse_rows(Path(file).name).start in wave]
                some = rows.rows(wave.start, wave.stop)
                assert not table.missing(some.source, some.replicate).any()


@pytest.mark.parametrize("begins", ["# from ", ""])
def test_a_digit_of_the_list_that_flipped_accuses_no_mechanism(tmp_path, begins):
    root, said = tmp_path / "run", []
    run(make(root, "word-rr"))
    before, path = read_rows(root), root / "files.txt"
    lines = path.read_text().splitlines(keepends=True)
    kind = "guesses/" if begins else "rewrites/"
    at = next(i for i, line in enumerate(lines) if line.startswith(begins) and kind in line)
    place = len(begins)
    lines[at] = lines[at][:place] + ("0" if lines[at][place] != "0" else "1") + lines[at][place + 1 :]
    path.write_text("".join(lines))
    if begins:  # what a file was made from is not known then, and the file is as it was
        run(make(root, "word-rr"), announce=said.append)
        assert look_of(root) == 1
    else:
        with pytest.raises(RunDirectoryError, match=r"is another file than 'files\.txt' lists"):
            run(make(root, "word-rr"), announce=said.append)
    assert said == []
    assert read_rows(root) == before
