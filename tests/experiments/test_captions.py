import pytest

from tedaudit.experiments.captions import name_models, variant_of
from tedaudit.experiments.definition import load, names
from tedaudit.experiments.outcome import Outcome, Table, markdown
from tedaudit.mechanisms.dp_mlm import DPMLM
from tedaudit.plugins.registry import Reference, build

pytest.importorskip("tedaudit_zoo")


@pytest.fixture(autouse=True)
def _zoo(monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", "on")


def caption(rows, name="fig-embedding"):
    """Return what is said under a table with these rows."""
    outcome = Outcome((Table("a table", ("mechanism", "attack"), rows),))
    return name_models(outcome, load(name, "zoo")).tables[0].caption


def test_a_table_names_variant_and_model_of_what_it_shows():
    said = caption((("dp-mlm", "embedding"), ("dp-mlm-sound", "embedding")))
    assert (
        said == "published: dp-mlm (zoo:mlm); sound: dp-mlm-sound (zoo:mlm); attacks: embedding (zoo:encoder)"
    )


def test_a_table_that_names_no_mechanism_speaks_of_all():
    said = caption((("tau", 1.0),))
    assert all(
        label in said for label in ("dp-bart (zoo:bart-pruned)", "adept-sound (zoo:adept)", "internal-l2")
    )


def test_a_table_that_is_of_one_mechanism_by_its_title_names_that_one():
    table = Table("dp-prompt: likeliest first tokens", ("token",), ((" play",),))
    said = name_models(Outcome((table,)), load("fig-first-token", "zoo")).tables[0].caption
    assert said == "published: dp-prompt (zoo:seq2seq)"


def test_mechanisms_of_further_settings_are_named_too():
    assert "sound: dp-mlm-sound (zoo:mlm)" in caption((("dp-mlm-sound", ""),), "abl-k")


def test_a_mechanism_with_a_mixture_of_settings_is_not_called_by_a_variant():
    assert variant_of(build(Reference("mechanism", "dp-mlm", {"variant": "published"}))) == "published"
    assert variant_of(DPMLM()) == "sound"
    assert variant_of(DPMLM(copy_case=True)) == "settings of its own"


def test_the_caption_stands_between_title_and_table():
    experiment = load("fig-embedding", "zoo")
    outcome = name_models(Outcome((Table("a table", ("mechanism",), (("dp-mlm",),)),)), experiment)
    written = markdown(outcome, experiment, outcome.tables)
    assert "### a table\n\npublished: dp-mlm (zoo:mlm)" in written


@pytest.mark.parametrize("name", names())
def test_the_zoo_runs_what_the_paper_ran(name):
    labels = {}
    for given in load(name, "zoo").mechanisms:
        plugin = build(
            Reference(
                "mechanism", given["name"], {k: v for k, v in given.items() if k not in ("name", "label")}
            )
        )
        labels[given.get("label", given["name"])] = variant_of(plugin)
    assert {variant for label, variant in labels.items() if not label.endswith("-sound")} == {"published"}
    assert {variant for label, variant in labels.items() if label.endswith("-sound")} <= {"sound"}
