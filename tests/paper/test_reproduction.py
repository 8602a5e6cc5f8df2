import importlib.util
import json
import re
import shutil

import pytest
from typer.testing import CliRunner

from tedaudit.cli import app
from tedaudit.errors import ModelError, PathError, SpecError
from tedaudit.mechanisms.dp_mlm import DPMLM
from tedaudit.models.catalogue import ENTRIES
from tedaudit.paper.definition import GRID, Outcome, Workspace, load, names, scales_of
from tedaudit.paper.rankings import list_rankings
from tedaudit.paper.reproduction import markdown, name_models, reproduce, variant_of
from tedaudit.plugins.registry import Reference, build
from tedaudit.results.section import Column, Section, Table
from tedaudit.runs.spec.model import MechanismSpec

pytest.importorskip("tedaudit_zoo")
pytest.importorskip("transformers")
pytest.importorskip("matplotlib")
PAPER = {  # every row of the paper's list of experiments
    "fig-llm", "fig-embedding", "fig-downstream", "abl-trials", "abl-k", "abl-lambda", "abl-estimator",
    "cross-convention", "tab-examples", "tab-variance", "tab-tokenization", "tab-complementarity", "fig-snr",
    "fig-first-token",
}  # fmt: skip
FEWER = {"abl-trials": {"trials": [4, 8]}, "fig-downstream": {"limit": 20}}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One place for all: runs are shared, as they are for a user."""
    return Workspace(tmp_path_factory.mktemp("reproduce"))


def smoke(name, **changes):
    """Return an experiment at the smallest scale, with fewer trials and texts still."""
    options = {**load(name, "smoke").options, **FEWER.get(name, {})}
    return load(name, "smoke", {"trials": 8, "options": options, **changes})


@pytest.fixture(autouse=True)
def _zoo(monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", "on")


def test_every_experiment_of_the_paper_is_there():
    assert set(names()) == PAPER


@pytest.mark.parametrize("name", sorted(PAPER))
def test_an_experiment_runs_at_the_smallest_scale(name, place):
    outcome, files = reproduce(smoke(name), place, redact=True)
    assert outcome.sections
    tables = [section.table for section in outcome.sections]
    assert all(len(row) == len(table.headings) for table in tables for row in table.rows)
    assert all(table.rows for table in tables)
    assert not any(column.is_text for table in tables for column in table.columns)
    assert all("sound: " in one.reading or "published: " in one.reading for one in outcome.sections)
    assert all(file.stat().st_size for file in files)
    told = json.loads((place.root / "results" / f"{name}.json").read_text())
    assert told["experiment"] == name
    text = (place.root / "results" / f"{name}.md").read_text()
    assert f"tedaudit reproduce {name} --scale smoke" in text


@pytest.mark.parametrize("scale", ["full", "zoo", "smoke"])
def test_without_models_the_zoo_is_named_where_its_models_are_used(scale, tmp_path, monkeypatch):
    experiment = load("fig-snr", scale, {"corpora": ["demo"]})  # others are not shipped
    find, gone = importlib.util.find_spec, {"torch", "tedaudit_zoo"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name in gone else find(name, *rest)
    )
    with pytest.raises(ModelError, match=r"pip install 'tedaudit\[models\]'") as refused:
        reproduce(experiment, Workspace(tmp_path))
    assert ("pip install tedaudit-zoo" in str(refused.value)) == (scale != "full")
    gone.remove("tedaudit_zoo")
    with pytest.raises(ModelError, match=r"pip install 'tedaudit\[models\]'\.$"):
        reproduce(experiment, Workspace(tmp_path))


def test_one_more_attack_rewrites_nothing_again(place):
    experiment = smoke("fig-embedding")
    reproduce(experiment, place)
    run = place.root / "runs" / f"demo-{experiment.trials}"
    before = {path: path.stat().st_mtime_ns for path in (run / "rewrites").rglob("part-*")}
    assert before
    reproduce(smoke("fig-embedding", attacks=["lexical"]), place)
    assert {path: path.stat().st_mtime_ns for path in (run / "rewrites").rglob("part-*")} == before


@pytest.mark.parametrize("scale", ["full", "zoo", "smoke"])
def test_every_experiment_has_these_scales(scale):
    for name in names():
        experiment = load(name, scale)
        assert experiment.mechanisms
        assert experiment.scale == scale


SHARING = ("calibration", "ablation", "complementarity")  # kinds that are audits
REAL = {
    "fig-llm", "fig-embedding", "tab-complementarity", "abl-estimator", "abl-k", "abl-lambda", "abl-trials",
    "tab-examples",
}  # fmt: skip


def test_models_of_real_size_are_named_and_those_of_the_zoo_are_labelled_so():
    """By references that `tedaudit models get` makes good, and not by defaults that another machine lacks."""
    assert {name for name in names() if "real" in scales_of(name)} == REAL
    found = set()
    for name in REAL:
        experiment = load(name, "real")
        assert experiment.encoder in ("", "models:all-mpnet-base-v2")
        for mechanism in experiment.mechanisms:
            plugin = build(MechanismSpec(**mechanism).reference("mechanism"))
            models = [use.name for use in plugin.models()]
            assert models
            of_zoo = [model for model in models if model.startswith("zoo:")]
            assert bool(of_zoo) == ("zoo" in mechanism.get("label", "")), mechanism
            found |= {model for model in models if model not in of_zoo}
    assert found <= {place for entry in ENTRIES.values() for place in entry.references}


def list_models(experiment):
    """Return all models behind an experiment, as its plug-ins name them."""
    also = experiment.options.get("also", {})
    given = [
        *(("mechanism", one) for one in [*experiment.mechanisms, *also.get("mechanisms", [])]),
        *(("attack", one) for one in experiment.attacks),
    ]
    plugins = [build(MechanismSpec.model_validate(one).reference(kind)) for kind, one in given]
    used = {use.name for plugin in plugins if hasattr(plugin, "models") for use in plugin.models()}
    options = [experiment.options.get(name) for name in ("encoder", "agreement", "classifier")]
    return used | {name for name in (experiment.encoder, *options) if name}


@pytest.mark.parametrize("zoo", ["on", "off"])
@pytest.mark.parametrize("name", sorted(PAPER))
def test_the_paper_s_models_are_named_and_what_stands_in_for_them_is_said(name, zoo, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", zoo)
    for scale in ("full", "real"):
        if scale not in scales_of(name):
            continue
        experiment = load(name, scale)
        told = " ".join(experiment.stand_ins)
        written = json.dumps([experiment.mechanisms, experiment.attacks, experiment.options])
        models = list_models(experiment)
        assert models
        for model in models - {experiment.encoder}:
            assert model in written or model in told, model
            if scale == "full":
                assert not model.startswith("zoo:") or model in told, model
        if experiment.kind in SHARING or experiment.kind == "convention":
            assert "all-mpnet-base-v2" in experiment.encoder  # nor is the default's


def test_a_page_says_what_stands_in_for_the_paper_s_models():
    whole = load("fig-llm")
    page = markdown(Outcome(()), whole)
    for model in ("zoo:adept", "facebook/bart-base", "gpt2", "zoo:parser", "zoo:triples"):
        assert re.search(rf"{model}\b.* stands in for", page), model
    assert "stands in for" not in markdown(Outcome(()), load("fig-llm", "zoo"))
    dry = CliRunner().invoke(app, ["reproduce", "fig-snr", "--scale", "full", "--dry-run"])
    assert "zoo:adept stands in for" in " ".join(dry.output.split())


def test_a_model_that_is_set_stands_in_for_nothing(tmp_path):
    own = ["adept.model=mine", "dp-bart.weights=epsilon250.pt", "dp-bart.epsilons=[250]"]
    experiment = load("fig-llm", assignments=own)
    page = markdown(Outcome(()), experiment)
    assert not re.search(r"(zoo:adept|facebook/bart-base)\b.* stands in for", page)
    assert "gpt2" in " ".join(experiment.stand_ins)
    assert all(one in page for one in own)
    assert "--set adept.model=mine" in experiment.command
    by_name = {one["name"]: one for one in experiment.mechanisms}
    assert by_name["adept"]["model"] == "mine"
    assert by_name["dp-bart"]["epsilons"] == [250]


def test_a_field_is_set_wherever_its_mechanism_stands():
    experiment = load("abl-k", "zoo", assignments=["dp-mlm.model=mine", "dp-mlm-sound.model=other"])
    also = experiment.options["also"]["mechanisms"]
    assert {one["model"] for one in experiment.mechanisms if one["name"] == "dp-mlm"} == {"mine"}
    assert [one["model"] for one in also] == ["mine", "other"]
    attacked = load("fig-llm", assignments=["llm.judge=openai:other@http://127.0.0.1:9/v1"])
    assert attacked.attacks[0]["judge"].startswith("openai:other")


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("dp-mln.model=x", "Did you mean 'dp-mlm'"), ("model=x", "say whose field"),
        ("corpus.size=9", "--corpus"), ("dp-mlm", "LABEL.KEY=VALUE"),
    ],
)  # fmt: skip
def test_an_assignment_that_means_nothing_is_explained(assignment, message):
    with pytest.raises(SpecError, match=message):
        load("abl-k", "zoo", assignments=[assignment])


def test_an_experiment_without_a_scale_says_which_it_has():
    with pytest.raises(SpecError, match=r"'fig-snr' has no scale 'real'\. It has: full, smoke, zoo"):
        load("fig-snr", "real")


def test_the_paper_s_scale_is_the_paper_s():
    whole = load("fig-llm")
    assert whole.epsilons == list(GRID)
    assert (whole.trials, whole.plans) == (10_000, [{"k": 2, "lambda": -10_000}])
    assert whole.corpora == ["atis", "snips", "sst2", "trustpilot"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("fig-lm", "zoo"), "Did you mean 'fig-llm'"), (("fig-llm", "huge"), "full, real, smoke, zoo")],
)
def test_wrong_names_are_explained(arguments, message):
    with pytest.raises(SpecError, match=message):
        load(*arguments)


def test_losses_stand_beside_the_bounds_if_an_attack_computes_them(tmp_path):
    attacks = ["lexical", "likelihood", "text-likelihood"]
    changes = {"mechanisms": ["word-rr"], "epsilons": [1.0, 4.0], "attacks": attacks, "trials": 60}
    outcome, _ = reproduce(smoke("fig-embedding", corpora=["demo"], **changes), Workspace(tmp_path))
    [bounds, *losses] = outcome.sections
    assert "loss" not in bounds.title
    assert [section.title.partition(" by ")[0] for section in losses] == [
        "demo: loss of the text", "demo: loss of what was drawn",
    ]  # fmt: skip
    assert any(note.startswith("The loss is what") for note in outcome.notes)
    for section in losses:
        assert section.table.headings[1:] == ("1", "4")
        [(label, low, high)] = section.table.rows
        assert label == "word-rr"
        assert 0 <= float(low.partition(",")[0]) < float(high.partition(",")[0])
        assert "word-rr" in section.reading


def test_rankings_that_agree_have_a_tau_of_one(place):
    found = list(place.audit(smoke("abl-k"), "demo"))
    by_plan = {"one": [f for f in found if f.plan.startswith("k2")]}
    by_plan["other"] = by_plan["one"]
    rankings = [ranking for ranking in list_rankings(by_plan) if ranking.tau is not None]
    assert rankings
    assert all(ranking.tau == pytest.approx(1.0) for ranking in rankings)
    assert all(ranking.orders.opposite == 0 for ranking in rankings)
    assert all(ranking.redrawn is None or ranking.redrawn.mean < 1 for ranking in rankings)


def test_the_list_says_what_each_costs():
    listed = json.loads(CliRunner().invoke(app, ["ls", "experiments", "--json"]).output)
    costs = {row["id"]: row["rewrites"] for row in listed}
    assert set(costs) == PAPER
    every = 4 * (4 * 10 + 7) * 10_000  # dp-bart has seven epsilons of its own
    assert costs["fig-llm"]["full"] == every + 10 * 10_000  # dp-st runs on one corpus of four
    assert costs["tab-examples"]["full"] is None
    listed = CliRunner().invoke(app, ["ls", "experiments"], env={"COLUMNS": "80"}).output
    assert "abl-lambda" in listed
    assert re.search(r"how candidates are +│ 90k", listed)  # the description has the room
    assert "180k (540k)" in listed
    assert "no audit" in listed


def reproduce_by_command(folder, *more):
    """Reproduce the cheapest experiment by the command; return what it printed and the results."""
    arguments = ["reproduce", "cross-convention", "--scale", "smoke", "-q", "-t", "10", "--out", str(folder)]
    done = CliRunner().invoke(app, [*arguments, *more], env={"TEDAUDIT_ZOO": "on"})
    assert done.exit_code == 0, done.output
    return done.output, (folder / "results" / "cross-convention.json").read_text()


@pytest.fixture(scope="module")
def by_command(tmp_path_factory):
    """The cheapest experiment, reproduced by the command in one process: folder, output, results."""
    folder = tmp_path_factory.mktemp("by_command")
    return folder, *reproduce_by_command(folder)


def test_the_command_prints_tables_and_files(by_command):
    folder, printed, _ = by_command
    assert "tokens a text on average" in printed
    assert (folder / "results" / "cross-convention.md").exists()


def test_files_of_somebody_else_are_not_overwritten(by_command, tmp_path):
    folder, _, results = by_command
    assert reproduce_by_command(folder)[1] == results  # its own are
    for name in ("cross-convention.md", "cross-convention-demo-released.png"):
        shutil.copytree(folder / "results", tmp_path / name / "results")
        own = tmp_path / name / "results" / name
        own.write_text("mine")
        with pytest.raises(PathError, match=f"{name}' already exists"):
            reproduce(load("cross-convention", "smoke"), Workspace(tmp_path / name))
        assert own.read_text() == "mine"
        assert not (tmp_path / name / "runs").exists()  # refused before anything is run


def test_a_dry_run_says_what_would_run_where_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in sorted(PAPER):
        done = CliRunner().invoke(app, ["reproduce", name, "--scale", "full", "--dry-run"])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["reproduce", "fig-downstream", "--scale", "full", "--dry-run"])
    assert re.findall(r"(\w+) +│ dp-st +│", done.output) == ["trustpilot"]
    assert list(tmp_path.iterdir()) == []


def test_what_the_command_sets_is_used_and_said(by_command, tmp_path):
    printed, results = reproduce_by_command(tmp_path, "--set", "dp-mlm.slots=3")
    assert results != by_command[2]
    assert json.loads(results)["settings"]["mechanisms"][1]["slots"] == 3
    assert "dp-mlm.slots=3" in printed
    page = (tmp_path / "results" / "cross-convention.md").read_text()
    assert "--trials 10 --set dp-mlm.slots=3`" in page
    asked = ["reproduce", "fig-snr", "-c", "demo", "--set", "adept.slots=3", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, asked)
    assert isinstance(done.exception, SpecError) or "slots" in done.output


def test_another_engine_reproduces_the_same(by_command, tmp_path):
    assert reproduce_by_command(tmp_path, "--engine", "processes")[1] == by_command[2]


# --- Which variants and models are behind the numbers.


def caption(rows, name="fig-embedding"):
    """Return what is said under a table with these rows."""
    table = Table((Column("mechanism"), Column("attack")), rows)
    [section] = name_models(Outcome((Section("a table", table),)), load(name, "zoo")).sections
    return section.reading


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
    section = Section("dp-prompt: likeliest first tokens", Table((Column("token"),), ((" play",),)))
    [named] = name_models(Outcome((section,)), load("fig-first-token", "zoo")).sections
    assert named.reading == "published: dp-prompt (zoo:seq2seq)"


def test_mechanisms_of_further_settings_are_named_too():
    assert "sound: dp-mlm-sound (zoo:mlm)" in caption((("dp-mlm-sound", ""),), "abl-k")


def test_a_mechanism_with_a_mixture_of_settings_is_not_called_by_a_variant():
    assert variant_of(build(Reference("mechanism", "dp-mlm", {"variant": "published"}))) == "published"
    assert variant_of(DPMLM()) == "sound"
    assert variant_of(DPMLM(copy_case=True)) == "settings of its own"


def test_the_caption_stands_between_title_and_table():
    experiment = load("fig-embedding", "zoo")
    section = Section("a table", Table((Column("mechanism"),), (("dp-mlm",),)))
    written = markdown(name_models(Outcome((section,)), experiment), experiment)
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


@pytest.mark.parametrize("scale", ["full", "zoo", "real", "smoke"])
def test_what_experiments_of_a_scale_call_the_same_is_the_same(scale):
    """They share a run per corpus and number of trials, where a name stands for one setting alone."""
    known = {}
    for name in names():
        if scale in scales_of(name) and (experiment := load(name, scale)).kind in SHARING:
            also = experiment.options.get("also", {})
            given = [*experiment.mechanisms, *also.get("mechanisms", []), *experiment.attacks]
            for one in given:
                settings = {"name": one} if isinstance(one, str) else dict(one)
                settings.pop("epsilons", None)  # others may be added
                title = settings.get("label") or settings["name"]
                assert known.setdefault(title, settings) == settings, (name, title)
    assert known


@pytest.mark.parametrize("scale", ["full", "zoo", "real", "smoke"])
def test_internal_attacks_have_a_mechanism_with_a_latent_on_every_corpus(scale):
    """A mechanism may be left out on some corpora, and an attack that fits none of the others is refused."""
    experiment = load("fig-embedding", scale)
    internal = build(Reference("attack", "internal", {}))
    for corpus in experiment.corpora:
        specs = [MechanismSpec.model_validate(given) for given in experiment.mechanisms_on(corpus)]
        mechanisms = [build(spec.reference("mechanism")) for spec in specs]
        assert any(not internal.unfit(mechanism) for mechanism in mechanisms), corpus
