import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import yaml

from helpers import (
    HERE,
    Failing,
    FileExecutor,
    Latents,
    NearestLatent,
    Recording,
    SharedWords,
    given,
    make_spec,
    sentences,
    snapshot,
    table_files,
    tables,
)
from tedaudit.errors import ContractError, RunDirectoryError
from tedaudit.runner import run
from tedaudit.setting import prepare
from tedaudit.store import RunDirectory
from tedaudit.types import Card, Guess, Rewrite
from tedaudit.worker import SerialExecutor

TABLES = "[rg]*es/**/*"  # rewrites and guesses


def _cli(*arguments, cwd, check=True):
    command = [sys.executable, "-m", "tedaudit", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
    assert not check or done.returncode == 0, done.stderr
    return done


def _written(tmp_path, **changes):
    """Write texts and a spec with several epsilons, plans, mechanisms and blocks; return its path."""
    (tmp_path / "texts.txt").write_text("\n".join(sentences(40)))
    settings = {
        "corpus": {"name": "files", "path": str(tmp_path / "texts.txt")},
        "mechanisms": ["identity", {"name": "word-rr", "slots": 4}],
        "epsilons": [2, 8],
        "plans": [{"k": 2, "lambda": 0}, {"k": 4, "lambda": -10000}],
        "trials": 120,
        "block": 20,
    }
    path = tmp_path / "audit.yaml"
    path.write_text(yaml.safe_dump(settings | changes))
    return path


def _summary(root):
    return json.loads((root / "summary.json").read_text())


def _hashes(root, leave_out=("manifest.json", "report.html")):
    """Return the content of every file but the manifest, which holds the time, and the page that shows it."""
    return {name: content for name, (content, _) in snapshot(root).items() if name not in leave_out}


# --- kill -9, then the same command


@pytest.mark.timeout(300)
def test_after_a_kill_at_any_file_the_same_command_gives_the_files_of_an_uninterrupted_run(tmp_path):
    plans = [{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}]
    corpus = {"name": "py:tedaudit.corpora.files:Files", "path": str(tmp_path / "texts.txt")}
    mechanisms = ["py:helpers:Latents"]
    attacks = ["py:helpers:SharedWords"]  # cheap ones: there will be two runs for every file
    spec = _written(
        tmp_path, corpus=corpus, mechanisms=mechanisms, plans=plans, attacks=attacks, trials=40, block=20
    )
    script = "import sys, helpers; helpers.kill_at_every_file(*sys.argv[1:])"
    command = [sys.executable, "-c", script, str(spec), str(tmp_path / "runs")]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    moments = json.loads(done.stdout)
    *killed, last = moments
    assert last["killed"] == 0
    assert len(killed) > 25  # every table, part, plan, manifest and report once
    whole = _hashes(tmp_path / "runs" / f"{len(moments):03d}")
    assert len(whole) > 22
    for moment in killed:
        assert moment["killed"] == signal.SIGKILL
        assert len(moment["left"]) == 1  # the file that it was about to rename
        assert (moment["looked"], moment["resumed"]) == (0, 0), done.stderr
        assert _hashes(tmp_path / "runs" / moment["folder"][-3:]) == whole
        assert (tmp_path / "runs" / moment["folder"][-3:] / "report.html").is_file()


@pytest.mark.timeout(300)
def test_a_command_killed_again_and_again_ends_with_the_tables_of_an_uninterrupted_one(tmp_path):
    spec = _written(tmp_path, trials=80)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    _cli("run", spec, "-q", "-o", whole, cwd=tmp_path)
    command = [sys.executable, "-m", "tedaudit", "run", str(spec), "-q", "-o", str(broken)]
    kills = 0
    for files in (1, 8, 20, 36):  # as soon as so many are there
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(table_files(broken)) < files:
            time.sleep(0.01)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    time.sleep(0.9)
    process.kill()
    kills += process.wait() == -signal.SIGKILL
    assert kills >= 3
    half = broken / "guesses" / ".writing-1-part-000000000-000000020.parquet"
    half.parent.mkdir(exist_ok=True)
    half.write_bytes(b"half")
    _cli("run", spec, "-q", "-o", broken, cwd=tmp_path)
    assert table_files(broken) == table_files(whole)
    assert tables(broken) == tables(whole)
    assert _summary(broken) == _summary(whole)
    assert not list(broken.rglob(".writing-*"))


def test_a_finished_run_is_left_alone_by_the_same_command(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Recording()])
    run(spec)
    before, summary = snapshot(tmp_path, TABLES), _summary(tmp_path)
    again = Recording()
    run(make_spec(tmp_path, mechanisms=[again]))
    assert again.draws == []
    assert snapshot(tmp_path, TABLES) == before
    assert _summary(tmp_path) == summary


# --- damage


def _part(root, table):
    return sorted(root.glob(f"{table}/**/part-*.parquet"))[1]


def _truncated(path):
    path.write_bytes(path.read_bytes()[:-30])


def _of_another_table(path):
    if "rewrites" in path.parts:
        other = path.parents[1] / "8" / path.name
    else:
        other = path.parents[2] / "8" / "lexical" / path.name
    assert other.exists()
    shutil.copy(other, path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    root = tmp_path_factory.mktemp("finished") / "run"
    run(make_spec(root, epsilons=[3, 8]))
    return root


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


@pytest.mark.parametrize("damage", [_truncated, _of_another_table])
@pytest.mark.parametrize("table", ["rewrites", "guesses"])
def test_a_part_that_is_damaged_or_of_another_table_is_named_and_deleting_it_mends_the_run(
    finished, copy, table, damage
):
    path = _part(copy, table)
    damage(path)
    with pytest.raises(
        RunDirectoryError, match=r"(?:Delete it|Move it away) and run the same comm"
    ) as caught:
        run(make_spec(copy, epsilons=[3, 8]))
    assert str(path) in str(caught.value)
    path.unlink()
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)
    assert _summary(copy) == _summary(finished)


@pytest.mark.parametrize("table", ["rewrites", "guesses"])
def test_a_foreign_file_in_a_table_is_named_and_moving_it_away_helps(finished, copy, table):
    path = _part(copy, table).with_name("notes.txt")
    path.write_text("remember the milk")
    with pytest.raises(RunDirectoryError, match=r"notes\.txt' is not part of this table. Move it away"):
        run(make_spec(copy, epsilons=[3, 8]))
    path.unlink()
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)


@pytest.mark.parametrize("table", ["rewrites", "guesses"])
def test_a_damaged_description_is_named_and_deleting_its_folder_mends_the_run(finished, copy, table):
    folder = _part(copy, table).parent
    (folder / "table.json").write_text('{"key": ')
    before = snapshot(copy)
    with pytest.raises(RunDirectoryError, match="Delete the folder") as caught:
        run(make_spec(copy, epsilons=[3, 8]))
    assert str(folder / "table.json") in str(caught.value)
    assert snapshot(copy) == before
    shutil.rmtree(folder)
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)
    assert _summary(copy) == _summary(finished)


def test_a_damaged_plan_is_named_and_deleting_it_mends_the_run(finished, copy):
    path = copy / "plans" / "k2-lambda0.parquet"
    _truncated(path)
    with pytest.raises(RunDirectoryError, match=r"k2-lambda0\.parquet' is damaged.*Delete it"):
        run(make_spec(copy, epsilons=[3, 8]))
    path.unlink()
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)


def test_a_damaged_manifest_is_refused_and_moving_the_folder_away_helps(finished, copy):
    (copy / "manifest.json").write_text('{"format": 1')
    before = snapshot(copy)
    with pytest.raises(RunDirectoryError, match=r"manifest\.json' is damaged.*move the folder away"):
        run(make_spec(copy, epsilons=[3, 8]))
    assert snapshot(copy) == before
    shutil.move(copy, copy.with_name("away"))
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)


def test_a_folder_that_is_no_run_is_refused_and_stays_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunDirectoryError, match=r"holds no run.*thesis\.tex.*`out`"):
        run(make_spec(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(RunDirectoryError, match=r"thesis\.tex' is a file; name a folder"):
        run(make_spec(tmp_path / "thesis.tex"))


def test_the_command_line_tells_of_damage_in_one_line_and_ends_with_2(tmp_path):
    (tmp_path / "run").write_text("x")
    done = _cli("run", _written(tmp_path), "-q", "-o", tmp_path / "run", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_only_its_owner_can_look_into_a_run(finished):
    assert finished.stat().st_mode & 0o777 == 0o700


def test_a_second_process_is_refused_while_the_first_one_works(tmp_path):
    (tmp_path / "waiting.py").write_text(
        "import time\nfrom pathlib import Path\n\n"
        "def slow(text):\n"
        "    Path('started').touch()\n"
        "    while not Path('go').exists():\n        time.sleep(0.01)\n"
        "    return text\n"
    )
    spec = _written(tmp_path, mechanisms=["py:waiting:slow"], epsilons=[1], trials=20)
    command = [sys.executable, "-m", "tedaudit", "run", str(spec), "-q", "-o", "out"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        while not (tmp_path / "started").exists():
            assert first.poll() is None
            time.sleep(0.01)
        before = snapshot(tmp_path / "out")
        second = _cli("run", spec, "-q", "-o", "out", cwd=tmp_path, check=False)
        assert second.returncode == 2
        assert "Another process is writing to 'out'. Wait for it to end" in second.stderr
        assert snapshot(tmp_path / "out") == before
    finally:
        (tmp_path / "go").touch()
        assert first.wait(60) == 0
    before = snapshot(tmp_path / "out", TABLES)
    _cli("run", spec, "-q", "-o", "out", cwd=tmp_path)
    assert snapshot(tmp_path / "out", TABLES) == before


# --- extending


def _pairs(plan):
    return set(zip(plan.source.tolist(), plan.replicate.tolist(), strict=True))


def _extended(root, **changes):
    """Run with a fresh recording mechanism; return its draws after checking that old files stay."""
    before = snapshot(root, TABLES)
    plugin = changes.pop("plugin", None) or Recording()
    run(make_spec(root, mechanisms=[plugin, *changes.pop("others", [])], **changes))
    after = snapshot(root, TABLES)
    assert {name: after[name] for name in before} == before
    assert len(plugin.asked) == len(plugin.draws)
    return plugin.draws


def test_every_rewrite_is_made_once(tmp_path):
    draws = _extended(tmp_path, epsilons=[3, 5])
    assert len(draws) == 200
    assert {draw.epsilon for draw in draws} == {3, 5}


def test_another_attack_rewrites_nothing(tmp_path):
    _extended(tmp_path)
    assert _extended(tmp_path, attacks=["lexical", SharedWords()]) == []
    assert len(tables(tmp_path)["guesses/k2-lambda0/recording/3/shared-words"]) == 100


def test_another_epsilon_rewrites_at_that_epsilon_only_and_with_the_same_noise(tmp_path):
    first = _extended(tmp_path)
    more = _extended(tmp_path, epsilons=[3, 7])
    assert {draw.epsilon for draw in more} == {7}
    assert {(draw.text, draw.key) for draw in more} == {(draw.text, draw.key) for draw in first}


def test_another_mechanism_leaves_the_first_alone(tmp_path):
    first = _extended(tmp_path)
    other = Recording(other="elsewhere")
    assert _extended(tmp_path, others=[{"name": "recording", "label": "second", "live": other}]) == []
    assert other.asked == {(draw.text, draw.epsilon, draw.key) for draw in first}


def test_more_trials_add_exactly_the_new_ones(tmp_path):
    first = _extended(tmp_path, trials=70)
    more = _extended(tmp_path, trials=150)
    assert len(first) == 70
    assert len(more) == 80
    assert not {draw.key for draw in first} & {draw.key for draw in more}
    whole = Recording()
    run(make_spec(tmp_path / "whole", mechanisms=[whole], trials=150))
    assert whole.asked == {(d.text, d.epsilon, d.key) for d in first + more}
    grown, at_once = tables(tmp_path), tables(tmp_path / "whole")
    assert {name: rows for name, rows in grown.items() if "whole" not in name} == at_once


def test_other_plans_reuse_replicates_and_add_only_what_counting_says(tmp_path):
    plans = [
        {"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}, {"k": 2, "lambda": -1e4}, {"k": "all"},
        {"k": 2, "lambda": 0, "estimator": "baseline"},
    ]  # fmt: skip
    have = set()
    for number in range(1, len(plans) + 1):
        spec = make_spec(tmp_path, mechanisms=[Recording()], plans=plans[:number])
        plan = prepare(spec).jobs[-1].plan
        new = _pairs(plan) - have
        counts = np.bincount(plan.source, minlength=40)
        before = np.array([max((r + 1 for t, r in have if t == text), default=0) for text in range(40)])
        assert len(new) == np.maximum(counts - before, 0).sum()
        draws = _extended(tmp_path, plans=plans[:number])
        assert len(draws) == len(new)
        assert 0 < len(draws) <= len(plan)
        have |= new
    assert len(tables(tmp_path)["rewrites/recording/3"]) == len(have)


def test_everything_at_once_extends_too(tmp_path):
    first = _extended(tmp_path)
    plans = [{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}]
    more = _extended(
        tmp_path,
        epsilons=[3, 4],
        trials=130,
        plans=plans,
        attacks=["lexical", SharedWords()],
        others=["identity"],
    )
    at_once = Recording()
    whole = tmp_path / "whole"
    run(
        make_spec(
            whole,
            mechanisms=[at_once, "identity"],
            epsilons=[3, 4],
            trials=130,
            plans=plans,
            attacks=["lexical", SharedWords()],
        )
    )
    assert at_once.asked == {(d.text, d.epsilon, d.key) for d in first + more}
    grown = {name: rows for name, rows in tables(tmp_path).items() if "whole" not in name}
    assert grown == tables(whole)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"mechanisms": [Recording("quite different")]},
            "mechanism.other: something else -> quite different",
        ),
        ({"mechanisms": [{"name": "word-rr", "label": "recording"}]}, "mechanism.name: recording -> word-rr"),
        ({"seed": 7}, "seed: 0 -> 7"),
        ({"corpus": given(sentences(39))}, "corpus given (40 texts) -> given (39 texts)"),
        ({"attacks": [SharedWords(2.0)]}, "attack.weight: 1.0 -> 2.0"),
    ],
)
def test_a_change_of_what_determines_a_table_is_refused_with_the_difference_and_changes_nothing(
    tmp_path, changes, told
):
    settings = {"mechanisms": [Recording()], "attacks": [SharedWords()]}
    run(make_spec(tmp_path, **settings))
    before = snapshot(tmp_path)
    with pytest.raises(RunDirectoryError) as caught:
        run(make_spec(tmp_path, **settings | changes | {"trials": 300}))
    assert told in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert snapshot(tmp_path) == before


def test_changed_code_of_a_function_is_refused(tmp_path):
    def first(text):
        return text

    def second(text):
        return text.upper()

    run(make_spec(tmp_path, mechanisms=[{"name": "function", "function": first, "label": "mine"}]))
    before = snapshot(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"mechanism\.function source: \w+ -> \w+"):
        run(make_spec(tmp_path, mechanisms=[{"name": "function", "function": second, "label": "mine"}]))
    assert snapshot(tmp_path) == before


# --- the same result, however the work is cut


def _work(out, **changes):
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4, "epsilons": [1, 4]}, "py:helpers:Failing"],
        "plans": [{"k": 2, "lambda": -1e4}, {"k": "all"}, {"k": 2, "estimator": "baseline", "lambda": 0}],
        "trials": 340,
        "block": 120,
        "seed": 11,
    }
    return make_spec(out, **settings | changes)


@pytest.fixture(scope="module")
def reference_tables(tmp_path_factory):
    root = tmp_path_factory.mktemp("reference")
    run(_work(root))
    return tables(root), _summary(root)


@pytest.mark.parametrize("block", [50, 333])
def test_results_do_not_depend_on_the_size_of_blocks(tmp_path, reference_tables, block):
    run(_work(tmp_path, block=block))
    assert tables(tmp_path) == reference_tables[0]
    assert _summary(tmp_path) == reference_tables[1]


def test_results_do_not_depend_on_the_size_of_batches(tmp_path):
    for size in (512, 1, 7):
        run(_work(tmp_path / str(size), trials=60, batch_size=size))
    for size in (1, 7):
        assert tables(tmp_path / str(size)) == tables(tmp_path / "512")
        assert _summary(tmp_path / str(size)) == _summary(tmp_path / "512")


def test_another_seed_gives_other_results(tmp_path, reference_tables):
    run(_work(tmp_path, seed=12))
    mine = tables(tmp_path)
    assert set(mine) == set(reference_tables[0])
    assert all(mine[name] != rows for name, rows in reference_tables[0].items())


class LookingAhead:
    """Takes all the work before it does any of it, as a cluster would."""

    def run(self, work):
        yield from SerialExecutor(5).run(list(work))


def test_results_do_not_depend_on_how_far_an_executor_looks_ahead(tmp_path, reference_tables):
    run(_work(tmp_path), executor=LookingAhead())
    assert tables(tmp_path) == reference_tables[0]
    assert _summary(tmp_path) == reference_tables[1]


def test_chunks_done_elsewhere_through_files_give_the_same_tables(tmp_path):
    settings = {"plans": [{"k": 3, "lambda": 0}, {"k": "all"}], "trials": 60, "block": 60, "epsilons": [2]}
    run(make_spec(tmp_path / "here", **settings))
    executor = FileExecutor(tmp_path)
    run(make_spec(tmp_path / "there", **settings), executor=executor)
    assert executor.chunks == 4
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert _summary(tmp_path / "there") == _summary(tmp_path / "here")


def _here_and_there(tmp_path, **settings):
    """Return the result of an audit done in this process, after checking that files give the same."""
    here = run(make_spec(tmp_path / "here", **settings))
    there = run(make_spec(tmp_path / "there", **settings), executor=FileExecutor(tmp_path))
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert there.to_dict() == here.to_dict()
    return here


def test_latents_survive_the_way_through_files(tmp_path):
    plugins = {"mechanisms": ["py:helpers:Latents"], "attacks": ["py:helpers:NearestLatent"]}
    [finding] = _here_and_there(tmp_path, **plugins, trials=60, block=40)
    assert finding.tally.correct > 40  # they told the attack something


def test_a_block_of_nothing_but_failures_survives_the_way_through_files(tmp_path):
    mechanism = {"name": "py:helpers:Failing", "share": 1.0}
    result = _here_and_there(tmp_path, mechanisms=[mechanism], trials=20)
    [finding] = result
    assert (finding.tally.failed, finding.tally.correct) == (20, 0)
    assert any("every rewrite of Failing failed" in note for note in result.notes)


def test_latents_and_tokens_lie_in_the_table_as_the_mechanism_released_them(tmp_path):
    run(make_spec(tmp_path, mechanisms=[Latents()], attacks=[NearestLatent()]))
    stored = pl.read_parquet(tmp_path / "rewrites" / "latents" / "3" / "part-000000.parquet")
    assert stored["latent"].list.len().to_list() == [4] * 30
    texts = sentences(40)
    assert [tuple(map(chr, row)) for row in stored["tokens"].to_list()] == [
        tuple(texts[text][:3]) for text in stored["text"]
    ]


def _spy(*sees):
    @dataclass
    class Spy:
        seen: list[object] = field(default_factory=list, init=False)
        card: ClassVar[Card] = Card(name="spy-" + "-".join(sees), summary="Looks.", sees=sees)

        def guess(self, seen):
            self.seen += seen
            return [Guess(np.zeros(len(o.candidates))) for o in seen]

    return Spy()


@pytest.mark.parametrize(
    "sees", [("text",), ("tokens",), ("latent",), ("text", "latent"), ("text", "tokens", "latent"), ()]
)
def test_an_attack_sees_what_its_card_says_and_neither_secret_nor_draw(tmp_path, sees):
    spy = _spy(*sees)
    mechanism = Recording()
    run(make_spec(tmp_path, mechanisms=[Latents(), mechanism], attacks=[spy]))
    assert len(spy.seen) == 200
    keys = {draw.key for draw in mechanism.draws}
    for observation in spy.seen[:100]:
        output = observation.output
        assert (output.text == "released") == ("text" in sees)
        assert (output.tokens is not None) == ("tokens" in sees)
        assert (output.latent is not None) == ("latent" in sees)
        assert (output.units, output.error) == (None, "")
    for observation in spy.seen:
        assert set(type(observation).__slots__) == {"output", "candidates", "tie_key"}
        assert observation.tie_key not in keys


def test_failed_rewrites_are_not_shown_to_an_attack_and_stay_in_the_count(tmp_path):
    spy = _spy("text")
    [finding] = run(make_spec(tmp_path, mechanisms=[Failing(0.5)], attacks=[spy]))
    assert finding.bound.trials == 100
    assert finding.tally.failed == 100 - len(spy.seen)
    assert 20 < finding.tally.failed < 80
    assert finding.tally.unusable == 0


def test_draws_of_a_block_stand_together_by_text(tmp_path):
    plugin = Recording()
    run(make_spec(tmp_path, mechanisms=[plugin], epsilons=[1, 2, 3], trials=60, block=60))
    texts = [draw.text for draw in plugin.draws]
    changes = sum(a != b for a, b in pairwise(texts))
    assert changes == len(set(texts)) - 1


# --- progress and failure


def test_progress_counts_up_to_everything_on_a_first_run_a_resumed_one_and_a_finished_one(tmp_path):
    spec = make_spec(
        tmp_path, plans=[{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}], attacks=["lexical", SharedWords()]
    )

    def followed(stop_at=None):
        seen = []

        def progress(what, done, total):
            seen.append((done, total))
            if stop_at is not None and len(seen) == stop_at:
                raise KeyboardInterrupt

        return seen, progress

    for stop_at in (5, None, None):
        seen, progress = followed(stop_at)
        if stop_at:
            with pytest.raises(KeyboardInterrupt):
                run(spec, progress)
            continue
        run(spec, progress)
        assert seen[-1] == (600, 600)
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert {total for _, total in seen} == {600}


def test_a_plug_in_that_breaks_its_contract_stops_the_run_and_a_mended_one_goes_on(tmp_path):
    @dataclass
    class Moody(Recording):
        broken: ClassVar[bool] = True

        def rewrite(self, draws):
            done = super().rewrite(draws)
            return done[:-1] if self.broken and len(self.draws) > 60 else done

    with pytest.raises(ContractError, match="'recording' was given 30 items and returned"):
        run(make_spec(tmp_path, mechanisms=[Moody()]))
    Moody.broken = False
    mended = Moody()
    [finding] = run(make_spec(tmp_path, mechanisms=[mended]))
    assert finding.bound.trials == 100
    assert len(mended.draws) == 40


def test_without_attacks_everything_is_rewritten_and_nothing_estimated(tmp_path):
    plugin = Recording()
    result = run(make_spec(tmp_path, mechanisms=[plugin], attacks=[]))
    assert len(plugin.draws) == 100
    assert result.findings == ()
    assert len(tables(tmp_path)["rewrites/recording/3"]) == 100
    assert RunDirectory(tmp_path).exists()


def test_an_empty_output_is_an_output(tmp_path):
    @dataclass(frozen=True)
    class Silent:
        card: ClassVar[Card] = Card(name="silent", summary="Says nothing.")

        def claim(self, epsilon):
            return None

        def rewrite(self, draws):
            return [Rewrite("")] * len(draws)

    [finding] = run(make_spec(tmp_path, mechanisms=[Silent()]))
    assert (finding.tally.failed, finding.tally.unusable) == (0, 0)
    assert finding.bound.lower == 0
