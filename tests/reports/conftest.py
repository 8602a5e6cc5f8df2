"""A run to report on, and the same redacted."""

import shutil

import pytest

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
