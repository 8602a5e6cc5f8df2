"""A run to report on, and the same redacted."""

import shutil

import pytest

import tiny_models
from pages import LABEL, NASTY, TEXTS
from tedaudit.api import run
from tedaudit.corpora._given import Given
from tedaudit.reports.files import write_reports
from tedaudit.results.reading import read_result
from tedaudit.spec.model import parse_spec
from tedaudit.store.directory import RunDirectory


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A run with claims kept and broken, two plans, an odd text and labels that tell too much."""
    return run(
        parse_spec({
            "corpus": {"name": "given", "live": Given([*TEXTS, NASTY])},
            "mechanisms": [
                {"name": "function", "function": str.upper, "label": LABEL},
                {"name": "word-rr", "slots": 3},
                {"name": "constant", "output": "a secret sentence"},
                "identity",
            ],
            "epsilons": [0.5, 8], "trials": 300, "out": str(tmp_path_factory.mktemp("runs") / "made"),
            "plans": [{"k": 2, "lambda": 0}, {"k": 2, "lambda": 0, "estimator": "baseline"}],
        })
    )  # fmt: skip


@pytest.fixture(scope="session")
def clean(made, tmp_path_factory):
    """The same run, its reports redacted."""
    copy = tmp_path_factory.mktemp("runs") / "clean"
    shutil.copytree(made.folder, copy)
    write_reports(read_result(RunDirectory(copy)), redact=True)
    return copy


@pytest.fixture(scope="session")
def modelled(tmp_path_factory):
    """A run with models given as paths: of a mechanism, of an attack and of the candidate sampling."""
    pytest.importorskip("transformers")
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("patients of doctor who")
    encoder = str(tiny_models.save_static_encoder(folder / "encoder", tuple(TEXTS)))
    model = str(tiny_models.save_lstm(folder / "model"))
    return run(
        parse_spec({
            "corpus": {"name": "given", "live": Given(TEXTS)}, "encoder": encoder,
            "mechanisms": [{"name": "adept", "model": model, "delta": 1e-5, "label": LABEL},
                           {"name": "word-rr", "slots": 3}],
            "attacks": [{"name": "embedding", "encoder": encoder}, "lexical"], "epsilons": [8],
            "plans": [{"k": 2, "lambda": -100}], "trials": 20, "out": str(folder / "run"),
        })
    )  # fmt: skip
