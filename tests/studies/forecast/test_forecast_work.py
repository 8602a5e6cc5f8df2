"""Rows that a forecast counts, against those that a real run makes."""

from collections import Counter
from dataclasses import dataclass

import pytest

from command_line import contents
from helpers import make_spec, sentences, stopped
from tedaudit.api import run
from tedaudit.attacks.embedding import Embedding
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.studies.forecast.forecast import plan_audit
from tedaudit.studies.forecast.work import uses_encoder
from tiny_models import save_roberta, save_static_encoder

ASKED = Counter()


@dataclass(frozen=True)
class CountingRR(WordRR):
    """Randomised response that counts what it is asked for."""

    def rewrite(self, draws):
        ASKED["rewrites"] += len(draws)
        return super().rewrite(draws)

    def compare(self, released, pairs, epsilon):
        ASKED["likelihoods"] += 2 * len(pairs)
        return super().compare(released, pairs, epsilon)

    def log_likelihood(self, tokens, candidates, epsilon):
        ASKED["likelihoods"] += len(candidates)
        return super().log_likelihood(tokens, candidates, epsilon)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_roberta(tmp_path_factory.mktemp("roberta"))


TRAINED = {"name": "trained", "encoder": "lexical", "rewrites": 40}


def stored(result):
    """Return how many rewrites, own rewrites and guesses the tables of a run hold."""
    settings = {(f.label, f.epsilon) for f in result}
    return (
        sum(len(result.run.rewrites(*setting)) for setting in settings),
        sum(result.run.count_own_rewrites(*setting) for setting in settings),
        sum(result.guesses(f).complete() for f in result),
    )


def counted(forecast):
    parts, guesses = forecast.work.rewriting, forecast.work.guessing
    return sum(p.audited for p in parts), sum(p.own for p in parts), sum(g.rows for g in guesses)


@pytest.mark.parametrize(("k", "trials"), [(4, 30), (2, 100)])
def test_rows_of_randomised_response_are_those_that_the_run_makes(tmp_path, k, trials):
    spec = make_spec(
        tmp_path / "run", mechanisms=[CountingRR(slots=4)], epsilons=[1, 3], trials=trials,
        plans=[{"k": k, "lambda": 0}], attacks=["lexical", "resample", "likelihood", TRAINED],
    )  # fmt: skip
    forecast = plan_audit(spec)
    assert not (tmp_path / "run").exists()
    [part] = forecast.work.rewriting
    ASKED.clear()
    result = run(spec)
    assert stored(result) == counted(forecast) == (2 * trials, part.own, 8 * trials)
    assert part.practice == 2 * 40
    assert ASKED["rewrites"] == part.rows
    assert ASKED["likelihoods"] == sum(g.likelihoods for g in forecast.work.guessing) == 2 * trials * k
    again = plan_audit(spec)
    assert counted(again) == (0, 0, 0)
    assert again.work.rewriting[0].rows == 0


@pytest.mark.parametrize("k", [2, 4])
def test_rows_of_a_model_are_those_that_the_run_makes(tmp_path, tiny, k):
    model = {"name": "dp-mlm", "model": str(tiny), "slots": 3, "low": -3.0, "high": 3.0}
    spec = make_spec(
        tmp_path / "run", mechanisms=[model], epsilons=[5], trials=24, plans=[{"k": k, "lambda": 0}],
        attacks=["resample", "likelihood"], corpus={"name": "given", "live": given(12)},
    )  # fmt: skip
    forecast = plan_audit(spec)
    assert counted(forecast) == stored(run(spec)) == (24, forecast.work.rewriting[0].own, 48)
    assert 12 <= forecast.work.rewriting[0].own <= 24
    assert sum(g.likelihoods for g in forecast.work.guessing) == 24 * k


def given(number):
    from tedaudit.corpora.files import Given

    return Given(tuple(sentences(number)))


def test_plans_share_rewrites_and_a_run_that_was_stopped_has_less_to_do(tmp_path):
    plans = [{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}]
    spec = make_spec(tmp_path / "run", plans=plans, attacks=["lexical", "resample"], epsilons=[1, 2])
    whole = counted(plan_audit(spec))
    assert whole[0] < 400
    stopped(spec, 3)
    before = contents(tmp_path / "run")
    left = counted(plan_audit(spec))
    assert contents(tmp_path / "run") == before
    assert 0 < left[2] < whole[2]
    result = run(spec)
    assert stored(result) == whole
    longer = spec.model_copy(update={"trials": 150})
    more = counted(plan_audit(longer))
    after = stored(run(longer))
    assert tuple(b - a for a, b in zip(whole, after, strict=True)) == more


def test_encoders_read_no_more_texts_than_was_said(tmp_path, monkeypatch):
    texts = sentences(40)
    folder = save_static_encoder(tmp_path / "encoder", tuple(texts))
    attack = {"name": "embedding", "encoder": str(folder)}
    spec = make_spec(tmp_path / "run", encoder=str(folder), plans=[{"k": 2}], attacks=[attack, "lexical"])
    forecast = plan_audit(spec)
    assert (forecast.work.sets_encoded, forecast.work.pool_encoded, forecast.work.encoded) == (40, 40, 180)
    kind, read = type(load_encoder(str(folder))), []
    encode = kind.encode
    monkeypatch.setattr(kind, "encode", lambda self, batch: read.append(len(batch)) or encode(self, batch))
    run(spec)
    assert 150 < sum(read) <= forecast.work.encoded


def test_words_in_common_need_no_encoder():
    assert uses_encoder(Embedding("anything"))
    assert not uses_encoder(Embedding("lexical"))


def test_nothing_is_rewritten_and_no_function_is_called(tmp_path):
    called = []

    def count(text, seed):
        called.append(seed)
        return text

    attacks = ["lexical", {"name": "trained", "encoder": "lexical"}]
    spec = make_spec(tmp_path / "run", mechanisms=[count], epsilons=[], attacks=attacks)
    forecast = plan_audit(spec)
    assert forecast.calls.startswith("This run needs up to 608 calls of the function")
    assert not called
