from typing import get_args

import pytest

from tedaudit.experiments import audits, downstream, probes
from tedaudit.experiments.definition import Kind, load


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, ""),
        ({"trials": None, "corpora": []}, ""),
        ({"trials": 500}, " --trials 500"),
        ({"corpora": [{"name": "snips"}, {"name": "files", "path": "my texts.csv"}], "trials": 500},
         " --corpus snips --corpus 'my texts.csv' --trials 500"),
    ],
)  # fmt: skip
def test_the_command_has_the_changes(changes, more):
    assert load("abl-k", "zoo", changes).command == f"tedaudit reproduce abl-k --scale zoo{more}"


def test_every_kind_of_experiment_can_be_made():
    makers = [*audits.MAKERS, *downstream.MAKERS, *probes.MAKERS]
    assert sorted(makers) == sorted(get_args(Kind))
