import json
import math
from dataclasses import dataclass
from typing import ClassVar

import pytest

from helpers import Latents, NearestLatent, Recording, given, make_spec, sentences, snapshot
from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.errors import CorpusError, PluginError, RunDirectoryError, SpecError
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.values import Card, Claim, Corpus, Rewrite, Split
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.preparation import prepare
from tedaudit.studies.replay import replay


def _manifest(root):
    return json.loads((root / "manifest.json").read_text())


def test_preparing_writes_nothing(tmp_path):
    prepare(make_spec(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_there_is_a_job_for_every_mechanism_and_plan_with_all_epsilons_and_attacks(tmp_path):
    other = {"name": "word-rr", "label": "other", "slots": 2, "epsilons": [7]}
    spec = make_spec(
        tmp_path,
        mechanisms=["word-rr", other, "identity"],
        epsilons=[1, 2],
        plans=[{"k": 2}, {"k": 3}],
        attacks=["lexical", NearestLatent()],
    )
    jobs = prepare(spec).jobs
    assert [(job.label, job.plan_name, job.epsilons) for job in jobs] == [
        ("word-rr", "k2-lambda-10000", [1, 2]), ("word-rr", "k3-lambda-10000", [1, 2]),
        ("other", "k2-lambda-10000", [7]), ("other", "k3-lambda-10000", [7]),
        ("identity", "k2-lambda-10000", [math.inf]), ("identity", "k3-lambda-10000", [math.inf]),
    ]  # fmt: skip
    assert {name: attack.card.sees for name, attack in jobs[0].attacks.items()} == {
        "lexical": ("text",), "nearest-latent": ("latent",),
    }  # fmt: skip
    assert str(jobs[0].claims[2.0]) == "2 per word x 16 = 32"
    assert jobs[4].claims == {NO_EPSILON: None}
    assert all(type(epsilon) is Nominal for job in jobs for epsilon in job.epsilons)


def test_a_mechanism_that_needs_an_epsilon_says_so(tmp_path):
    with pytest.raises(SpecError, match=r"'word-rr' needs an epsilon.*--epsilon"):
        prepare(make_spec(tmp_path, epsilons=[]))


def test_a_name_that_does_not_exist_is_refused_before_the_corpus_is_read(tmp_path):
    corpus = {"name": "files", "path": str(tmp_path / "none.csv")}
    with pytest.raises(PluginError, match=r"no attack named 'lexicla'.*Did you mean 'lexical'"):
        prepare(make_spec(tmp_path, attacks=["lexicla"], corpus=corpus))
    with pytest.raises(PluginError, match=r"no mechanism named 'word-r'.*'word-rr'"):
        prepare(make_spec(tmp_path, mechanisms=["word-r"], corpus=corpus))


def test_half_a_surrogate_pair_in_any_split_is_refused_with_its_place(tmp_path):
    broken = Corpus("mine", {"train": Split(("a b", "c d")), "test": Split(("fine", "x\udc80y"))})
    with pytest.raises(CorpusError, match="Text 2 of corpus 'mine' holds half a surrogate pair"):
        prepare(make_spec(tmp_path, corpus={"name": "given", "live": Given(broken)}))


@dataclass(frozen=True)
class Bringing:
    """Knows its own texts."""

    own: tuple[str, ...] = ("one thing", "another thing", "a third")
    card: ClassVar[Card] = Card(name="bringing", summary="Brings texts.")

    def claim(self, epsilon):
        return Claim(epsilon, "document")

    def texts(self):
        return self.own

    def rewrite(self, draws):
        return [Rewrite("x")] * len(draws)


def test_without_a_corpus_mechanisms_that_know_their_texts_bring_them(tmp_path):
    audit = prepare(make_spec(tmp_path, corpus=None, mechanisms=[Bringing()]))
    assert audit.corpus.texts == ("one thing", "another thing", "a third")
    two = [Bringing(), {"name": "bringing", "label": "b", "live": Bringing(("a third", "a fourth"))}]
    audit = prepare(make_spec(tmp_path, corpus=None, mechanisms=two))
    assert audit.corpus.texts == ("one thing", "another thing", "a third", "a fourth")


def test_without_a_corpus_the_demo_is_taken_if_a_mechanism_knows_no_texts(tmp_path):
    audit = prepare(make_spec(tmp_path, corpus=None, mechanisms=[Bringing(), "identity"]))
    assert audit.corpus.name == "demo"


def test_tables_are_determined_by_what_changes_results_and_not_by_the_rest(tmp_path):
    def keys(**changes):
        [job] = prepare(make_spec(tmp_path, **changes)).jobs
        epsilon = Nominal(3)
        return job.rewrites_at(epsilon).determinants, job.guesses_at(epsilon, "lexical").determinants

    base = keys()
    for same in (
        {"batch_size": 3},
        {"block": 7},
        {"trials": 5},
        {"alpha": 0.5},
        {"delta": 0.1},
        {"name": "n"},
    ):
        assert keys(**same) == base
    rewrites, guesses = keys(plans=[{"k": 3, "lambda": 0}])
    assert rewrites == base[0]
    assert guesses != base[1]
    for other in (
        {"seed": 1},
        {"corpus": given(sentences(39))},
        {"mechanisms": [{"name": "word-rr", "slots": 5}]},
    ):
        rewrites, guesses = keys(**other)
        assert rewrites != base[0]
        assert guesses != base[1]


# --- the manifest and the corpus that is stored


def test_the_manifest_tells_what_the_run_was_made_of(tmp_path):
    run(make_spec(tmp_path, name="mine", seed=4))
    manifest = _manifest(tmp_path)
    assert manifest["name"] == "mine"
    assert manifest["spec"]["seed"] == 4
    assert manifest["spec"]["mechanisms"] == [{"name": "word-rr", "label": "", "epsilons": [], "slots": 4}]
    assert manifest["corpus"]["texts"] == 40
    assert manifest["corpus"]["fingerprint"] == prepare(make_spec(tmp_path / "x")).corpus.fingerprint
    assert manifest["plans"]["k2-lambda0"]["looks"] == [100]
    assert {"tedaudit", "python", "numpy", "polars"} <= set(manifest["machine"]["versions"])


def test_a_look_is_noted_once_for_every_length_at_which_results_were_seen(tmp_path):
    for trials in (40, 40, 70, 70, 40):
        run(make_spec(tmp_path, trials=trials))
    assert _manifest(tmp_path)["plans"]["k2-lambda0"]["looks"] == [40, 70]


def test_a_run_without_attacks_has_shown_nothing(tmp_path):
    run(make_spec(tmp_path, attacks=[], trials=40))
    assert _manifest(tmp_path)["plans"]["k2-lambda0"]["looks"] == []
    result = run(make_spec(tmp_path, trials=70))
    assert [finding.bound.method for finding in result] == ["reduced form"]


def test_plans_of_earlier_commands_stay_in_the_manifest(tmp_path):
    run(make_spec(tmp_path, plans=[{"k": 2}]))
    run(make_spec(tmp_path, plans=[{"k": 3}]))
    assert set(_manifest(tmp_path)["plans"]) == {"k2-lambda-10000", "k3-lambda-10000"}


def test_other_texts_are_refused_with_both_corpora_named_and_nothing_changes(tmp_path):
    run(make_spec(tmp_path))
    before = snapshot(tmp_path)
    for texts in (sentences(41), sentences(40)[::-1], [*sentences(39), "something else"]):
        with pytest.raises(RunDirectoryError, match=r"other texts: corpus given \(40 texts\) -> given \(4"):
            run(make_spec(tmp_path, corpus=given(texts)))
    assert snapshot(tmp_path) == before


def test_a_damaged_copy_of_the_corpus_is_named_and_comes_back_after_it_is_deleted(tmp_path):
    spec = make_spec(tmp_path)
    run(spec)
    path = tmp_path / "corpus" / "train.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(
        RunDirectoryError, match=r"train\.parquet' is damaged.*Delete it and run the same comm"
    ):
        replay(RunDirectory(tmp_path), 0, {})
    path.unlink()
    run(spec)
    assert path.read_bytes() == whole
    assert len(replay(RunDirectory(tmp_path), 0, {})) == 1


def test_claims_travel_with_the_tables(tmp_path):
    [job] = prepare(make_spec(tmp_path, mechanisms=[Recording()], epsilons=[2.5])).jobs
    table = job.guesses_at(Nominal(2.5), "lexical")
    about = table.about
    assert table.folder.path == tmp_path / "guesses" / "k2-lambda0" / "recording" / "2.5" / "lexical"
    assert about["claim"] == {
        "epsilon": 2.5, "unit": "document", "delta": 0.0, "max_units": 1, "neighbours": "any two texts",
        "actual": None,
    }  # fmt: skip
    assert (about["plan"], about["label"], about["epsilon"], about["attack"], about["score"]) == (
        "k2-lambda0", "recording", 2.5, "lexical", "word cosine",
    )  # fmt: skip
    [job] = prepare(make_spec(tmp_path, mechanisms=[Latents()])).jobs
    assert job.rewrites_at(Nominal(3)).about["claim"] is None


def test_epsilon_0_is_a_claim_that_a_function_may_make_and_no_setting_of_a_mechanism(tmp_path):
    with pytest.raises(SpecError, match="'word-rr' cannot be run at epsilon 0"):
        prepare(make_spec(tmp_path, epsilons=[0, 1]))
    [job] = prepare(make_spec(tmp_path, mechanisms=[str.upper], epsilons=[0])).jobs
    assert [claim.total for claim in job.claims.values()] == [0.0]
