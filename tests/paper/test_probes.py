"""Probes of mechanisms: small real runs on the zoo's models, and what must be true of any of them."""

import json

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.paper.definition import Experiment, Workspace, load
from tedaudit.paper.probe_inputs import choose_texts, cosines, options_of, subjects
from tedaudit.paper.probe_rewrites import _describe_pieces
from tedaudit.paper.reproduction import MAKERS, write_outcome
from tedaudit.plugins.registry import build
from tedaudit.runs.spec.model import MechanismSpec
from tiny_models import one_thread, save_bart, save_gpt2

NAMES = ("tab-examples", "tab-variance", "tab-tokenization", "fig-snr", "fig-first-token")
TEXTS = ("my sister bought a red bicycle on monday", "she lost her keys in the park last night")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    with one_thread():
        yield {
            "bart": save_bart(tmp_path_factory.mktemp("bart")),
            "gpt2": save_gpt2(tmp_path_factory.mktemp("gpt2")),
        }


def experiment_of(kind, mechanisms, **parts):
    return Experiment(id="probe", title="t", paper="p", kind=kind, mechanisms=mechanisms, **parts)


def made(experiment, folder):
    return MAKERS[experiment.kind](experiment, Workspace(folder))


def columns(section):
    table = section.table
    return {heading: [row[i] for row in table.rows] for i, heading in enumerate(table.headings)}


@pytest.mark.parametrize("scale", ["full", "zoo", "smoke"])
@pytest.mark.parametrize("name", NAMES)
def test_every_definition_loads_at_every_scale(name, scale):
    experiment = load(name, scale)
    assert experiment.kind in MAKERS
    assert experiment.mechanisms
    assert set(experiment.corpora) <= {"snips", "demo"}
    for given in experiment.mechanisms:  # fields and variants are those of the mechanism
        build(MechanismSpec.model_validate(given).reference("mechanism"))


@pytest.mark.parametrize("name", NAMES)
def test_a_smoke_run_on_the_zoo_reveals_no_text_if_redacted(name, tmp_path, monkeypatch):
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO")
    experiment = load(name, "smoke")
    outcome = made(experiment, tmp_path)
    assert outcome.notes
    hidden = [
        cell
        for section in outcome.sections
        if any(column.is_text for column in section.table.columns)
        for row in section.table.rows
        for cell in row
        if isinstance(cell, str) and len(cell) > 30 and " " in cell
    ]
    assert hidden or name.startswith("fig-")
    for redact in (True, False):
        files = write_outcome(outcome, experiment, tmp_path / str(redact), redact=redact)
        told = json.loads(files[1].read_text())
        cells = {str(cell) for table in told["tables"] for row in table["rows"] for cell in row}
        assert all((text in cells) is not redact for text in hidden)
    written = (tmp_path / "True" / f"{name}.md").read_text() + (
        tmp_path / "True" / f"{name}.json"
    ).read_text()
    assert not any(text in written for text in hidden)


def test_texts_written_into_the_settings_are_left_out_of_a_redacted_outcome(folders, tmp_path):
    mechanism = {"name": "dp-bart", "model": str(folders["bart"]), "max_tokens": 3}
    options = {"texts": list(TEXTS), "seeds": [1, 2]}
    experiment = experiment_of("variance", [mechanism], epsilons=[10.0, 1e6], options=options)
    files = write_outcome(made(experiment, tmp_path), experiment, tmp_path, redact=True)
    assert not any(text in file.read_text() for text in TEXTS for file in files)
    assert json.loads(files[1].read_text())["settings"]["options"]["seeds"] == [1, 2]


def test_the_ratio_of_the_classical_gaussian_is_linear_in_epsilon(folders, tmp_path):
    mechanism = {"name": "dp-bart", "model": str(folders["bart"])}
    both = [
        {**mechanism, "noise": "gaussian"},
        {**mechanism, "noise": "analytic_gaussian", "label": "analytic"},
    ]
    options = {"count": 5, "draws": 40, "reported": {"dp-bart": {100: 0.5}}}
    experiment = experiment_of(
        "noise", both, corpora=["demo"], epsilons=[10.0, 100.0, 1000.0], options=options
    )
    outcome = made(experiment, tmp_path)
    found = columns(outcome.sections[1])
    ratio, measured, expected = (
        np.array(found[name]) for name in ("latent / noise", "noise, measured", "noise, expected")
    )
    assert ratio[:3] == pytest.approx(ratio[0] * np.array([1.0, 10.0, 100.0]), rel=1e-9)
    assert ratio[5] / ratio[3] < 60  # the analytic calibration gains less from a larger epsilon
    assert measured == pytest.approx(expected, rel=0.05)
    assert found["in the paper"] == [None, 0.5, None, None, None, None]
    assert sum("the power of 1.00, in proportion" in note for note in outcome.notes) == 1
    assert sum("not in proportion" in note for note in outcome.notes) == 1
    assert "dp-bart, demo: the noise that ran here is by the classical Gaussian formula." in outcome.notes
    assert "analytic, demo: the noise that ran here is by the analytic Gaussian calibration." in outcome.notes


def test_latents_are_never_longer_than_clipping_allows(folders, tmp_path):
    mechanism = {"name": "dp-bart", "model": str(folders["bart"]), "clip": 0.05}
    options = {"count": 5, "draws": 2}
    experiment = experiment_of("noise", [mechanism], corpora=["demo"], epsilons=[10.0], options=options)
    found = columns(made(experiment, tmp_path).sections[0])
    assert 0 < found["mean"][0] <= found["most that clipping allows"][0]


def test_the_first_token_becomes_peaked_as_epsilon_grows(folders, tmp_path):
    mechanism = {"name": "dp-paraphrase", "model": str(folders["gpt2"]), "low": -2.0, "high": 2.0}
    epsilons = [0.001, 10.0, 1e4]
    options = {"texts": list(TEXTS), "top": 400}
    experiment = experiment_of("first-token", [mechanism], epsilons=epsilons, options=options)
    outcome = made(experiment, tmp_path)
    numbers = columns(outcome.sections[0])
    assert numbers["likeliest token"] == sorted(numbers["likeliest token"])
    assert numbers["entropy (bits)"] == sorted(numbers["entropy (bits)"], reverse=True)
    tokens = columns(outcome.sections[1])
    size = len(tokens["token"])
    for epsilon in epsilons:  # all tokens are listed here, so that their masses make up everything
        assert sum(tokens[f"epsilon {epsilon:g}"]) == pytest.approx(1.0)
    assert numbers["likeliest token"][0] == pytest.approx(1 / size, rel=1e-3)
    assert numbers["entropy (bits)"][0] == pytest.approx(np.log2(size), rel=1e-3)
    assert outcome.redact().sections == outcome.sections[:1]


def test_the_variance_table_has_a_row_per_text_epsilon_and_seed(folders, tmp_path):
    mechanism = {"name": "dp-bart", "model": str(folders["bart"]), "max_tokens": 4}
    options = {"texts": list(TEXTS), "seeds": [42, 1234, 101]}
    experiment = experiment_of("variance", [mechanism], epsilons=[1.0, 1e9], options=options)
    shown, numbers = made(experiment, tmp_path).sections
    assert sum(row[0] != "(source)" for row in shown.table.rows) == 2 * 2 * 3
    found = columns(numbers)
    without_noise = [n for n, epsilon in zip(found["distinct"], found["epsilon"], strict=True) if epsilon > 1]
    assert without_noise == [1, 1]
    assert all(1 <= distinct <= 3 for distinct in found["distinct"])


def test_pieces_are_counted_as_they_are_shown(folders, tmp_path):
    mechanism = {"name": "dp-paraphrase", "model": str(folders["gpt2"]), "max_tokens": 2}
    plain = {"name": "identity"}
    experiment = experiment_of(
        "tokenization", [mechanism, plain], epsilons=[1.0], options={"texts": [TEXTS[0]]}
    )
    counts, shown = made(experiment, tmp_path).sections
    cut = next(row[3] for row in shown.table.rows if row[1] == "dp-paraphrase, pieces")
    assert cut.replace("|", "") == TEXTS[0]
    assert columns(counts)["pieces"] == [len(cut.split("|")), None]


def test_examples_of_identity_are_their_source(tmp_path):
    experiment = experiment_of("examples", ["identity"], corpora=["demo"], options={"texts": [3, TEXTS[0]]})
    shown, numbers = made(experiment, tmp_path).sections
    assert {row[4] for row in shown.table.rows if row[1] == "(source)"} == {
        row[4] for row in shown.table.rows if row[1] == "identity"
    }
    assert set(numbers.table.rows[0][3:]) == {1.0, 0}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"texts": "one text"}, "must be a list"),
        ({"texts": []}, "must be a list"),
        ({"texts": [10**9]}, "there is no text 1000000000"),
        ({"text": [0]}, "Did you mean 'texts'"),
    ],
)
def test_wrong_options_are_explained(options, told, tmp_path):
    experiment = experiment_of("examples", ["identity"], corpora=["demo"], options=options)
    with pytest.raises(SpecError, match=told):
        made(experiment, tmp_path)


def test_a_mechanism_that_a_probe_cannot_look_into_is_refused(tmp_path):
    for kind, options in (("noise", {"count": 2}), ("first-token", {"count": 2})):
        experiment = experiment_of(kind, ["identity"], corpora=["demo"], options=options)
        with pytest.raises(SpecError, match="this experiment is for those that do"):
            made(experiment, tmp_path)
    with pytest.raises(SpecError, match="is not a plug-in"):
        list(subjects(experiment_of("noise", [{"model": "m"}])))
    with pytest.raises(SpecError, match="two mechanisms are called identity"):
        list(subjects(experiment_of("noise", ["identity", "identity"])))
    with pytest.raises(SpecError, match="names texts by position but no corpus"):
        choose_texts(experiment_of("examples", []), [0])


def test_options_that_are_not_given_have_defaults():
    assert options_of(experiment_of("noise", [], options={"draws": 3}), draws=1, seed=2) == {
        "draws": 3,
        "seed": 2,
    }


def test_equal_texts_have_cosine_one_even_if_empty():
    assert cosines("lexical", ["", "a cat", "a cat"], ["", "a cat", "the dog"]) == [1.0, 1.0, 0.0]


def test_pieces_are_compared_between_the_fewest_and_the_most():
    counts = [
        ("text 1", "a", "word", 1, 0),
        ("text 1", "b", "token", 4, 0),
        ("text 1", "c", "sentence", 9, 0),
    ]
    [note] = _describe_pieces(counts, 2)
    assert "cut it into 1 (a) to 4 (b) pieces" in note
    assert "costs 4.00 times as much" in note
