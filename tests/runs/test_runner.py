"""A run: the same results however the work is cut, what plug-ins get to see, progress and failure."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from engine_examples import Backwards, list_contents
from helpers import (
    Failing,
    FreshProcesses,
    Latents,
    NearestLatent,
    Recording,
    SharedWords,
    given,
    make_spec,
    sentences,
    summary,
    tables,
    within,
)
from tedaudit.api import run
from tedaudit.errors import ContractError
from tedaudit.plugins.values import Card, Guess, Plan, Rewrite
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.engines import SerialEngine
from tedaudit.runs.spec.model import parse_spec
from tedaudit.runs.steps import GuessStep, RewriteStep
from tedaudit.seeding import derive, uniforms

BUILT_IN = "tedaudit.mechanisms.another"  # where a plug-in of this package would lie

# --- the same result, however the work is cut


def _work(out, **changes):
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4, "epsilons": [1, 4]}, "py:helpers:Failing"],
        "plans": [{"k": 2, "lambda": -1e4}, {"k": "all"}, {"k": 2, "estimator": "baseline", "lambda": 0}],
        "trials": 140,
        "block": 50,
        "seed": 11,
    }
    return make_spec(out, **settings | changes)


@pytest.fixture(scope="module")
def reference_tables(tmp_path_factory):
    root = tmp_path_factory.mktemp("reference")
    run(_work(root))
    return tables(root), summary(root)


@pytest.mark.parametrize("block", [35, 137])
def test_results_do_not_depend_on_the_size_of_blocks(tmp_path, reference_tables, block):
    run(_work(tmp_path, block=block))
    assert tables(tmp_path) == reference_tables[0]
    assert summary(tmp_path) == reference_tables[1]


def test_results_do_not_depend_on_the_size_of_batches(tmp_path):
    for size in (512, 1, 7):
        run(_work(tmp_path / str(size), trials=60, batch_size=size))
    for size in (1, 7):
        assert tables(tmp_path / str(size)) == tables(tmp_path / "512")
        assert summary(tmp_path / str(size)) == summary(tmp_path / "512")


def test_another_seed_gives_other_results(tmp_path, reference_tables):
    run(_work(tmp_path, seed=12))
    mine = tables(tmp_path)
    assert set(mine) == set(reference_tables[0])
    assert all(mine[name] != rows for name, rows in reference_tables[0].items())


def test_steps_done_in_processes_of_their_own_give_the_same_tables(tmp_path):
    settings = {"plans": [{"k": "all"}], "trials": 60, "block": 60, "epsilons": [2]}
    run(make_spec(tmp_path / "here", **settings))
    engine = FreshProcesses()
    run(make_spec(tmp_path / "there", **settings), engine=engine)
    assert engine.processes == 2  # one rewrites, and one guesses
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert summary(tmp_path / "there") == summary(tmp_path / "here")


def test_latents_survive_the_way_through_files(tmp_path):
    plugins = {"mechanisms": ["py:helpers:Latents"], "attacks": ["py:helpers:NearestLatent"]}
    [finding] = run(make_spec(tmp_path, **plugins, trials=60, block=40))
    assert finding.counts.correct > 40  # they told the attack something


def test_a_block_of_nothing_but_failures_survives_the_way_through_files(tmp_path):
    mechanism = {"name": "py:helpers:Failing", "share": 1.0}
    result = run(make_spec(tmp_path, mechanisms=[mechanism], trials=20))
    [finding] = result
    assert (finding.counts.failed, finding.counts.correct) == (20, 0)
    assert any("every rewrite of Failing failed" in note for note in result.notes)


def test_latents_and_tokens_lie_in_the_table_as_the_mechanism_released_them(tmp_path):
    run(make_spec(tmp_path, mechanisms=[Latents()], attacks=[NearestLatent()]))
    stored = pl.read_parquet(tmp_path / "rewrites" / "latents" / "3" / "part-000000.parquet")
    assert stored["latent"].list.len().to_list() == [4] * 30
    texts = sentences(40)
    assert [tuple(map(chr, row)) for row in stored["tokens"].to_list()] == [
        tuple(texts[text][:3]) for text in stored["text"]
    ]


# --- what plug-ins get to see


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
    assert finding.counts.failed == 100 - len(spy.seen)
    assert 20 < finding.counts.failed < 80
    assert finding.counts.unusable == 0


def test_draws_of_a_block_stand_together_by_text(tmp_path, monkeypatch):
    plugin = Recording()
    monkeypatch.setattr(Recording, "__module__", BUILT_IN)
    run(make_spec(tmp_path, mechanisms=[plugin], epsilons=[1, 2, 3], trials=60, block=60))
    texts = [draw.text for draw in plugin.draws]
    changes = sum(a != b for a, b in pairwise(texts))
    assert changes == len(set(texts)) - 1


@pytest.mark.parametrize("blocks", [1, 3])
def test_draws_reach_code_of_others_in_an_order_that_tells_nothing_of_the_texts(tmp_path, blocks):
    plugin = Recording()
    trials, texts = 60, sorted(sentences(40))
    spec = {"mechanisms": [plugin], "epsilons": [1, 2], "trials": trials, "block": trials // blocks}
    run(make_spec(tmp_path, corpus=given(texts), **spec))
    places = np.array([texts.index(draw.text) for draw in plugin.draws])
    epsilons = np.array([draw.epsilon for draw in plugin.draws])
    for order in (places, epsilons):  # no trend within a block, and neighbours tell nothing of each other
        for block in np.split(order, blocks):
            assert abs(spearmanr(block, np.arange(len(block))).statistic) < 0.5
            assert abs(spearmanr(block[1:], block[:-1]).statistic) < 0.5
    assert len(plugin.asked) == 2 * trials


def test_the_order_of_draws_is_that_of_the_seed(tmp_path):
    found = []
    for number, seed in enumerate([1, 1, 2]):
        plugin = Recording()
        run(make_spec(tmp_path / str(number), mechanisms=[plugin], seed=seed))
        found.append([draw.text for draw in plugin.draws])
    assert found[0] == found[1] != found[2]


def test_rewrites_by_code_of_others_are_those_of_their_own_draws(tmp_path):
    run(make_spec(tmp_path, mechanisms=["py:helpers:Recording"], epsilons=[1, 2]))
    run(make_spec(tmp_path / "all", mechanisms=["py:helpers:Recording"], epsilons=[1, 2], block=100))
    whole = tables(tmp_path / "all")
    assert {name: rows for name, rows in tables(tmp_path).items() if not name.startswith("all")} == whole
    [plan] = [rows for name, rows in whole.items() if name.startswith("plans")]
    rewritten = {row[:2]: row[2] for row in whole["rewrites/Recording/1"]}
    assert len(rewritten) == len(plan) == 100
    corpus = RunDirectory(tmp_path).corpus().texts
    for (text, replicate), output in rewritten.items():
        coin = uniforms([derive(0, "rewrite", corpus[text], replicate)], 1)[0, 0]
        assert output == (corpus[text] if coin < 0.5 else Recording.other)


@dataclass(frozen=True)
class Frequencies:
    """Looks at no output: names the candidate that occurs most often in its batch."""

    card: ClassVar[Card] = Card(name="frequencies", summary="Counts candidates.")

    def guess(self, seen):
        counts = Counter(text for observation in seen for text in observation.candidates)
        return [Guess(np.array([float(counts[text]) for text in o.candidates])) for o in seen]


def _count_right(plan, size):
    """Return how often the commoner of two candidates in a piece of so many rows is the secret one."""
    right = 0.0
    for start in range(0, len(plan), size):
        some, secret = plan.candidates[start : start + size], plan.secret[start : start + size]
        counts = np.bincount(some.ravel())[some]
        own = np.take_along_axis(counts, secret[:, None], axis=1)[:, 0]
        right += float((2 * own > counts.sum(axis=1)).sum() + (2 * own == counts.sum(axis=1)).sum() / 2)
    return right


def test_a_batch_of_guessing_has_consecutive_trials_whose_candidates_tell_nothing(tmp_path):
    trials, block = 4_000, 500
    settings = {"attacks": [Frequencies()], "plans": [{"k": 2, "lambda": 0}], "trials": trials}
    [finding] = run(make_spec(tmp_path, mechanisms=["constant"], block=block, **settings))
    assert within(sum(finding.counts.right), trials, 0.5)
    plan = RunDirectory(tmp_path).read_plan(finding.plan)
    by_text = np.argsort(plan.source, kind="stable")  # as a mechanism is given them: then candidates tell
    ordered = Plan(plan.candidates[by_text], plan.secret[by_text], plan.replicate[by_text])
    assert _count_right(ordered, block) > 0.6 * trials
    assert within(round(_count_right(plan, block)), trials, 0.5)


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
                run(spec, progress=progress)
            continue
        run(spec, progress=progress)
        everything = 400 + len(tables(tmp_path)["rewrites/word-rr/3"])  # which the plans share
        assert 500 < everything < 600
        assert seen[-1] == (everything, everything)
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert {total for _, total in seen} == {everything}


def test_a_plug_in_that_breaks_its_contract_stops_the_run_and_a_fixed_one_goes_on(tmp_path):
    @dataclass
    class Moody(Recording):
        broken: ClassVar[bool] = True

        def rewrite(self, draws):
            done = super().rewrite(draws)
            return done[:-1] if self.broken and len(self.draws) > 60 else done

    with pytest.raises(ContractError, match="'recording' was given 30 items and returned"):
        run(make_spec(tmp_path, mechanisms=[Moody()]))
    Moody.broken = False
    fixed = Moody()
    [finding] = run(make_spec(tmp_path, mechanisms=[fixed]))
    assert finding.bound.trials == 100
    assert len(fixed.draws) == 40


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
    assert (finding.counts.failed, finding.counts.unusable) == (0, 0)
    assert finding.bound.lower == 0


# --- the order of steps


@dataclass(frozen=True)
class Counting:
    """Counts the texts of every call: what a mechanism must do anew."""

    calls: ClassVar[list[int]] = []
    card: ClassVar[Card] = Card(name="counting", summary="Counts the texts of a call.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        self.calls.append(len({draw.text for draw in draws}))
        return [Rewrite(draw.text) for draw in draws]


def test_a_texts_draws_are_made_together(tmp_path, monkeypatch):
    Counting.calls.clear()
    monkeypatch.setattr(Counting, "__module__", BUILT_IN)
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"text number {i}" for i in range(50)))
    spec = {"mechanisms": ["py:test_runner:Counting"], "epsilons": [1, 2], "attacks": ["lexical"],
            "corpus": {"name": "files", "path": str(texts)}, "plans": [{"lambda": 0}],
            "encoder": "lexical", "trials": 4000, "batch_size": 100,
            "out": str(tmp_path / "run")}  # fmt: skip
    run(parse_spec(spec))
    # waves of 400 and 4,000 rows, each meeting 50 texts, in 7 and 16 pieces; a batch may begin within a text
    assert len(Counting.calls) == 6 * 2 + 1 + 16 * 5
    assert sum(Counting.calls) <= 2 * 50 + len(Counting.calls)


def test_attacks_that_learn_guess_last_all_rows_of_one_epsilon_before_those_of_another(tmp_path):
    steps = []

    class Noting(SerialEngine):
        def submit(self, step):
            steps.append(step)
            super().submit(step)

    attacks = ["lexical", "trained", "resample"]
    run(make_spec(tmp_path, attacks=attacks, epsilons=[1, 4], trials=60, block=30), Noting())
    assert any(isinstance(step, RewriteStep) and step.is_own for step in steps)
    guessing = [(step.title, step.epsilon, step.start) for step in steps if isinstance(step, GuessStep)]
    assert guessing[-2:] == [("resample", 1, 0), ("resample", 4, 0)]  # of all rows
    assert sorted(guessing[:-2]) == sorted(
        (attack, epsilon, start)
        for attack in ("lexical", "trained")
        for epsilon in (1, 4)
        for start in (0, 30)
    )
    for number, step in enumerate(steps):  # of a wave that was rewritten, all of it
        if isinstance(step, GuessStep):
            before = {file for one in steps[:number] if isinstance(one, RewriteStep)
                      for file in one.list_files().values()}  # fmt: skip
            assert set(step.sources) <= before


def test_waves_are_rewritten_beside_each_other_and_none_is_guessed_before_all_of_it_is_rewritten(tmp_path):
    class Watching(Backwards):
        largest, rewritten = 0, set()

        def submit(self, step):
            super().submit(step)
            if isinstance(step, GuessStep):
                assert set(step.sources) <= self.rewritten
            self.largest = max(self.largest, sum(isinstance(one, RewriteStep) for one in self.waiting))

        def finished(self):
            for step, made in super().finished():
                self.rewritten |= {one.name for one in made}
                yield step, made

    engine = Watching(3)
    spec = {"mechanisms": ["py:helpers:Recording"], "attacks": ["lexical"], "trials": 200, "block": 20}
    run(make_spec(tmp_path / "three", **spec), engine)  # a wave is one step: code of others may remember it
    assert engine.largest == 3
    run(make_spec(tmp_path / "one", **spec))
    assert list_contents(tmp_path / "three") == list_contents(tmp_path / "one")
