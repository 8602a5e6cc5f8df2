import numpy as np
import pytest

from helpers import Recording, given, make_spec, sentences, snapshot
from tedaudit.api import run
from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.models.encoders.sentence import TABLE, _load_once, load_encoder
from tedaudit.models.loading import WEIGHTS, save_quantised
from tedaudit.plugins.registry import build
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.preparation import prepare

ALL_PLANS = [
    {"k": 2, "lambda": 0},
    {"k": 3, "lambda": -1e4},
    {"k": 4, "strategy": "nearest", "top": 3},
    {"k": "all"},
    {"k": 2, "estimator": "baseline"},
]


def _plans(spec):
    return {job.plan_name: job.plan for job in prepare(spec).jobs}


def _same(left, right):
    if (left.candidates is None) != (right.candidates is None):
        return False
    same = left.candidates is None or np.array_equal(left.candidates, right.candidates)
    return bool(same and np.array_equal(left.secret, right.secret))


def _table(tmp_path, texts, epsilons=("",)):
    path = tmp_path / "table.csv"
    lines = ["original,rewrite,epsilon"] + [
        f"{t},out of {i},{e}" for e in epsilons for i, t in enumerate(texts)
    ]
    if epsilons == ("",):
        lines = [line.rpartition(",")[0] for line in lines]
    path.write_text("\n".join(lines) + "\n")
    return {"name": "recorded", "path": str(path)}


def test_a_plan_has_a_row_for_every_rewrite_that_its_estimator_needs(tmp_path):
    plans = _plans(make_spec(tmp_path, plans=ALL_PLANS, trials=50))
    rows = {name: len(plan) for name, plan in plans.items()}
    assert rows.pop("k2-lambda-10000-baseline") == 100
    assert rows == {"k2-lambda0": 50, "k3-lambda-10000": 50, "k4-nearest3": 50, "k-all": 50}
    assert plans["k-all"].candidates is None
    assert plans["k4-nearest3"].candidates.shape == (50, 4)


def test_every_row_of_a_plan_has_a_rewrite_of_its_own(tmp_path):
    for plan in _plans(make_spec(tmp_path, plans=ALL_PLANS, trials=300)).values():
        pairs = set(zip(plan.source.tolist(), plan.replicate.tolist(), strict=True))
        assert len(pairs) == len(plan)
        for text in set(plan.source.tolist()):
            assert sorted(plan.replicate[plan.source == text]) == list(range((plan.source == text).sum()))


def test_a_plan_is_the_same_whatever_else_is_audited_and_in_whatever_pieces_it_was_made(tmp_path):
    alone = {}
    for spec in ALL_PLANS:
        alone |= _plans(make_spec(tmp_path / "none", plans=[spec], trials=90))
    together = _plans(make_spec(tmp_path / "none", plans=ALL_PLANS[::-1], trials=90, epsilons=[1, 2, 3]))
    for trials in (20, 21, 90):
        run(make_spec(tmp_path / "grown", plans=ALL_PLANS, trials=trials, mechanisms=["identity"]))
    store = RunDirectory(tmp_path / "grown")
    about = store.manifest()["plans"]
    assert set(alone) == set(together) == set(about)
    for name, plan in alone.items():
        stored = store.plan(name, about[name]["key"])
        assert _same(plan, together[name])
        assert _same(plan, stored)
        assert np.array_equal(plan.replicate, stored.replicate)


def test_the_stored_plan_is_kept_if_fewer_trials_are_asked_for(tmp_path):
    run(make_spec(tmp_path, trials=80))
    assert len(_plans(make_spec(tmp_path, trials=30))["k2-lambda0"]) == 80
    result = run(make_spec(tmp_path, trials=30))
    assert [finding.bound.trials for finding in result] == [80]


def test_mechanisms_share_a_plan_so_that_they_can_be_compared_trial_by_trial(tmp_path):
    spec = make_spec(tmp_path, mechanisms=["identity", "constant"], plans=[{"k": 3}])
    first, second = prepare(spec).jobs
    assert first.plan is second.plan


@pytest.mark.parametrize("change", [{"seed": 5}, {"corpus": given(sentences(41))}])
def test_another_seed_or_corpus_gives_another_plan(tmp_path, change):
    first = _plans(make_spec(tmp_path, plans=ALL_PLANS))
    second = _plans(make_spec(tmp_path, plans=ALL_PLANS, **change))
    assert not any(_same(first[name], second[name]) for name in first)


def test_a_plan_made_with_another_seed_is_refused_with_both_values(tmp_path):
    run(make_spec(tmp_path, mechanisms=["identity"], plans=ALL_PLANS[:2]))
    with pytest.raises(RunDirectoryError, match=r"k2-lambda0.*seed: 0 -> 3.*another `out`") as caught:
        prepare(make_spec(tmp_path, mechanisms=["identity"], plans=ALL_PLANS[:2], seed=3))
    assert str(tmp_path) in str(caught.value)
    assert "corpus" not in str(caught.value)


def test_a_plan_made_with_another_encoder_is_refused_only_if_distances_count(tmp_path):
    uniform, diverse = ALL_PLANS[:2]
    run(make_spec(tmp_path, mechanisms=["identity"], plans=[uniform, diverse]))
    prepare(make_spec(tmp_path, mechanisms=["identity"], plans=[uniform], encoder="no/such-model"))
    with pytest.raises(RunDirectoryError, match=r"encoder: lexical -> no/such-model"):
        prepare(make_spec(tmp_path, mechanisms=["identity"], plans=[diverse], encoder="no/such-model"))


# --- the weights of the encoder


def _encoder(folder, seed):
    """Write a static encoder with random vectors for the words of the corpus; return its name."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from torch import from_numpy

    words = sorted({word for text in sentences(40) for word in text.split()})
    core = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0])
    )
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    folder.mkdir(exist_ok=True)
    core.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(seed).normal(size=(len(words), 8)).astype(np.float32)
    save_quantised(folder / WEIGHTS, {TABLE: from_numpy(table)})
    _load_once.cache_clear()  # as in a new process
    return str(folder)


@pytest.fixture
def encoder(tmp_path):
    pytest.importorskip("sentence_transformers")
    return _encoder(tmp_path / "encoder", seed=1)


def test_a_plan_records_the_weights_of_the_encoder_that_drew_its_candidates(tmp_path, encoder):
    spec = make_spec(tmp_path / "run", mechanisms=["identity"], plans=ALL_PLANS, encoder=encoder)
    result = run(spec)
    expected = dict(load_encoder(encoder).fingerprint())
    plans = RunDirectory(tmp_path / "run").manifest()["plans"]
    recorded = {name: info["determinants"].get("encoder_weights") for name, info in plans.items()}
    assert recorded == {
        "k2-lambda0": None, "k3-lambda-10000": expected, "k4-nearest3": expected, "k-all": None,
        "k2-lambda-10000-baseline": expected,
    }  # fmt: skip
    assert list(result.models) == [
        {
            "used_by": "candidate sampling", "part": "encoder weights", "model": encoder,
            "checksum": expected["encoder weights"],
        }
    ]  # fmt: skip


@pytest.mark.parametrize("trials", [100, 150])
def test_a_retrained_encoder_of_the_same_name_is_refused_with_both_checksums(tmp_path, encoder, trials):
    settings = {"mechanisms": ["identity"], "plans": ALL_PLANS[1:2], "encoder": encoder}
    run(make_spec(tmp_path / "run", **settings))
    old = load_encoder(encoder).fingerprint()["encoder weights"]
    before = snapshot(tmp_path / "run")
    _encoder(tmp_path / "encoder", seed=2)
    new = load_encoder(encoder).fingerprint()["encoder weights"]
    assert new != old
    with pytest.raises(RunDirectoryError, match=r"plan 'k3-lambda-10000' that was made with other") as caught:
        run(make_spec(tmp_path / "run", **settings, trials=trials))
    assert f"encoder_weights.encoder weights: {old} -> {new}" in str(caught.value)
    assert snapshot(tmp_path / "run") == before
    _encoder(tmp_path / "encoder", seed=1)
    assert [f.bound.trials for f in run(make_spec(tmp_path / "run", **settings, trials=trials))] == [trials]


def test_a_retrained_encoder_does_not_matter_to_plans_without_distances(tmp_path, encoder):
    settings = {"mechanisms": ["identity"], "plans": [ALL_PLANS[0], {"k": "all"}], "encoder": encoder}
    run(make_spec(tmp_path / "run", **settings))
    _encoder(tmp_path / "encoder", seed=2)
    assert {f.bound.trials for f in run(make_spec(tmp_path / "run", **settings, trials=120))} == {120}


def test_an_encoder_of_another_name_is_refused_by_its_name_alone(tmp_path, encoder):
    settings = {"mechanisms": ["identity"], "plans": ALL_PLANS[1:2]}
    run(make_spec(tmp_path / "run", **settings, encoder=encoder))
    with pytest.raises(RunDirectoryError, match=r"other settings: encoder: \S+ -> lexical\. Results"):
        prepare(make_spec(tmp_path / "run", **settings))


def test_a_k_larger_than_the_corpus_is_refused_before_anything_is_embedded(tmp_path):
    spec = make_spec(tmp_path / "out", plans=[{"k": 41}], encoder="no/such-model")
    with pytest.raises(SpecError, match="k is 41, but the corpus has only 40"):
        prepare(spec)
    assert not (tmp_path / "out").exists()


def test_the_manifest_tells_how_concentrated_the_distractors_are(tmp_path):
    infos = prepare(make_spec(tmp_path, plans=ALL_PLANS)).plans
    assert "different texts, as varied as " in infos["k3-lambda-10000"]["notes"][0]
    assert infos["k2-lambda-10000-baseline"]["notes"] == []
    assert infos["k-all"]["notes"] == []
    assert {name: info["k"] for name, info in infos.items()} == {
        "k2-lambda0": 2, "k3-lambda-10000": 3, "k4-nearest3": 4, "k-all": 40, "k2-lambda-10000-baseline": 2,
    }  # fmt: skip


def test_the_manifest_tells_how_the_candidates_of_every_plan_are_drawn_and_whose_it_is(tmp_path):
    infos = prepare(make_spec(tmp_path, plans=[*ALL_PLANS, {"k": 3, "lambda": float("inf")}])).plans
    fields = ("base", "mechanism", "strategy", "lambda", "top", "estimator")
    assert {name: tuple(info[field] for field in fields) for name, info in infos.items()} == {
        "k2-lambda0": ("k2-lambda0", None, "transition", 0.0, None, "reduced"),
        "k3-lambda-10000": ("k3-lambda-10000", None, "transition", -1e4, None, "reduced"),
        "k4-nearest3": ("k4-nearest3", None, "nearest", None, 3, "reduced"),
        "k-all": ("k-all", None, None, None, None, "reduced"),
        "k2-lambda-10000-baseline": (
            "k2-lambda-10000-baseline", None, "transition", -1e4, None, "baseline",
        ),
        "k3-lambdainf": ("k3-lambdainf", None, "transition", "inf", None, "reduced"),
    }  # fmt: skip
    [info] = prepare(_recorded(tmp_path, sentences(40), trials=9, plans=[{"k": 3}])).plans.values()
    assert (info["base"], info["mechanism"]) == ("k3-lambda-10000", "recorded")


# --- a table of rewrites


def _recorded(tmp_path, texts, **changes):
    settings = {"corpus": None, "mechanisms": [_table(tmp_path, texts)], "epsilons": [], **changes}
    return make_spec(tmp_path / "out", **settings)


@pytest.mark.parametrize("plan", [{"k": 2}, {"k": 5, "lambda": 0}, {"k": 2, "estimator": "baseline"}])
def test_a_table_is_audited_with_sets_that_share_no_text_and_every_rewrite_at_most_once(tmp_path, plan):
    spec = _recorded(tmp_path, sentences(40), plans=[plan], trials=8)
    [(name, made)] = _plans(spec).items()
    assert name.endswith("@recorded")
    sets = made.candidates[:: 2 if "estimator" in plan else 1]
    assert sets.shape == (8, plan["k"])
    assert len(set(sets.ravel().tolist())) == sets.size
    assert len(set(made.source.tolist())) == len(made)
    assert made.replicate.tolist() == [0] * len(made)


def test_too_many_trials_for_a_table_are_refused_with_the_largest_number_and_that_one_works(tmp_path):
    with pytest.raises(SpecError, match=r"14 trials.*rewrites of 40 texts.*at most 13\. Set trials to 13"):
        prepare(_recorded(tmp_path, sentences(40), plans=[{"k": 3}], trials=14))
    assert [
        len(plan) for plan in _plans(_recorded(tmp_path, sentences(40), plans=[{"k": 3}], trials=13)).values()
    ] == [13]


def test_all_of_the_corpus_cannot_be_candidates_for_a_table(tmp_path):
    with pytest.raises(SpecError, match=r"'recorded' has one rewrite of each text.*k from 2 to 40"):
        prepare(_recorded(tmp_path, sentences(40), plans=[{"k": "all"}], trials=1))


def test_texts_without_a_rewrite_at_some_epsilon_are_no_candidates(tmp_path):
    texts = sentences(20)
    table = _table(tmp_path, texts, (1.0, 2.0))
    path = tmp_path / "table.csv"
    path.write_text("".join(line for line in path.open() if not line.startswith(f"{texts[3]},out of 3,2.0")))
    spec = make_spec(tmp_path / "out", corpus=given(sentences(25)), mechanisms=[table], epsilons=[], trials=9)
    [plan] = _plans(spec).values()
    used = set(plan.candidates.ravel().tolist())
    assert used <= set(range(20)) - {3}
    assert len(used) == 18


def test_more_trials_extend_the_plan_of_a_table_too(tmp_path):
    first = _recorded(tmp_path, sentences(40), trials=9)
    run(first)
    [stored] = _plans(first).values()
    [longer] = _plans(_recorded(tmp_path, sentences(40), trials=20)).values()
    assert np.array_equal(longer.candidates[:9], stored.candidates)
    assert np.array_equal(longer.secret[:9], stored.secret)
    assert [finding.bound.trials for finding in run(_recorded(tmp_path, sentences(40), trials=20))] == [20]


def test_a_table_whose_texts_changed_is_refused_for_an_existing_run(tmp_path):
    corpus = given(sentences(40))
    run(_recorded(tmp_path, sentences(40), trials=9, corpus=corpus))
    with pytest.raises(RunDirectoryError, match="available"):
        prepare(_recorded(tmp_path, sentences(38), trials=9, corpus=corpus))


def test_a_recording_mechanism_is_an_ordinary_one(tmp_path):
    plugin = Recording()
    [job] = prepare(make_spec(tmp_path, mechanisms=[plugin])).jobs
    assert build(job.reference) is plugin
    assert plugin.asked == set()
