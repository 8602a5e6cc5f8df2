"""Which engine does the work: in a file, by flags, and what is said of a wrong one."""

import pytest
import yaml

from helpers import told
from tedaudit.errors import SpecError
from tedaudit.runs.spec.engine import EngineSpec
from tedaudit.runs.spec.flags import merge_engine, merge_flags
from tedaudit.runs.spec.model import parse_spec


def _engine(value):
    return parse_spec({"mechanisms": ["identity"], "engine": value}).engine


def test_an_engine_is_a_name_or_a_mapping():
    assert parse_spec({"mechanisms": ["identity"]}).engine == EngineSpec(name="serial")
    assert _engine("ray") == EngineSpec(name="ray")
    whole = {"name": "ray", "workers": 3, "address": "auto", "resources": {"cpu": 1, "gpu": 0.5}}
    assert _engine(whole).model_dump() == whole
    spec = parse_spec({"mechanisms": ["identity"], "engine": whole})
    assert parse_spec(yaml.safe_load(spec.to_yaml())) == spec


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("threads", "'engine.name' is 'threads'"),
        ({"name": "processes", "worker": 2}, "no setting 'engine.worker'. Did you mean 'workers'?"),
        ({"name": "processes", "workers": -1}, "'engine.workers' is -1: it should be a whole number"),
        ({"workers": 4}, "the engine serial has one worker; choose processes or ray"),
        ({"name": "processes", "address": "auto"}, "`address` is for the engine ray, and the engine is proc"),
        ({"name": "processes", "resources": {"cpu": 1}}, "`resources` is for the engine ray"),
        ({"name": "ray", "resources": {"gpu": "half"}}, "'gpu' is 'half'; it should be a number of 0 or"),
        ({"name": "ray", "resources": ["gpu"]}, "it should be a mapping, such as {cpu: 1, gpu: 0.5}"),
        (3, "a name, or a mapping such as {name: processes, workers: 4}"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_engine_is_said(value, said):
    assert said in told(engine=value)


def test_flags_win_over_the_file_and_another_engine_takes_nothing_from_it():
    base = {"engine": {"name": "ray", "address": "auto", "workers": 8}}
    assert merge_flags(base, {"workers": 2}, [])["engine"] == {"name": "ray", "address": "auto", "workers": 2}
    assert merge_flags(base, {"engine": "processes"}, [])["engine"] == {"name": "processes"}
    assert merge_flags({"engine": "ray"}, {"resource": ["gpu=0.5", "own=2"]}, [])["engine"] == {
        "name": "ray", "resources": {"gpu": 0.5, "own": 2.0},
    }  # fmt: skip
    assert "engine" not in merge_flags({}, {"engine": None, "workers": None, "resource": []}, [])
    assert merge_engine(None, {"engine": "ray"}) == {"name": "ray"}


def test_a_resource_that_is_no_amount_is_refused():
    with pytest.raises(SpecError, match=r"--resource takes NAME=AMOUNT, as in gpu=0.5, not 'gpu'"):
        merge_engine("ray", {"resource": ["gpu"]})
