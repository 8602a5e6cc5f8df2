"""Which models are behind the results: every file of a run says so, and none that leaves it names a path."""

import json
import shutil
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from pages import LABEL, TEXTS, embedded, page
from tedaudit.api import report, run
from tedaudit.corpora.files import Given
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.plugins.registry import Reference, build
from tedaudit.reports.plugin_cards import calibration_cards, write_cards
from tedaudit.results.reading import read_result
from tedaudit.results.redaction import LEFT_OUT, redact_result
from tedaudit.runs.directory import RunDirectory

PRIVATE = "patients of doctor who"  # stands in every path


@pytest.fixture(scope="module")
def paths(modelled):
    return {part: str(modelled.folder.parent / part) for part in ("model", "encoder")}


@pytest.fixture(scope="module")
def checksums(paths):
    """The checksums, asked of the models themselves."""
    mechanism = build(Reference("mechanism", "adept", {"model": paths["model"], "delta": 1e-5}))
    return {
        "model": mechanism.fingerprint()["weights"],
        "encoder": load_encoder(paths["encoder"]).fingerprint()["encoder weights"],
    }


@pytest.fixture(scope="module")
def expected(paths, checksums):
    """The models of the run: who uses which, with its checksum."""
    rows = [(LABEL, "weights", "model"), ("embedding", "encoder weights", "encoder"),
            ("candidate sampling", "encoder weights", "encoder")]  # fmt: skip
    return [
        {"used_by": user, "part": part, "model": paths[which], "checksum": checksums[which]}
        for user, part, which in rows
    ]


@pytest.fixture(scope="module")
def cards(modelled):
    return {card["mechanism"]["label"]: card for card in calibration_cards(modelled)}


@pytest.fixture(scope="module")
def clean(modelled, tmp_path_factory):
    """The same run, its reports redacted."""
    copy = tmp_path_factory.mktemp("runs") / "clean"
    shutil.copytree(modelled.folder, copy)
    report(copy, redact=True)
    return copy


def section(text):
    """Return the rows of the section on models, as a browser would show them."""
    part = text.split("\n## Models\n")[1].split("\n## ")[0]
    tokens = MarkdownIt("commonmark").enable("table").parse(part)
    cells = ["".join(child.content for child in token.children) for token in tokens if token.type == "inline"]
    assert cells[:4] == ["used by", "model", "checksum", "of"]
    return [tuple(cells[at : at + 4]) for at in range(4, len(cells), 4)]


def rows_of(models):
    return [(model["used_by"], model["model"], model["checksum"], model["part"]) for model in models]


def test_manifest_summary_and_page_name_every_model_with_its_checksum(modelled, expected):
    assert all(len(model["checksum"]) > 8 for model in expected)
    assert list(modelled.models) == expected
    for name in ("manifest.json", "summary.json"):
        assert json.loads((modelled.folder / name).read_text(encoding="utf-8"))["models"] == expected
    assert embedded(modelled.folder)["manifest"]["models"] == expected
    assert list(read_result(RunDirectory(modelled.folder)).models) == expected


def test_the_report_has_them_as_a_table(modelled, expected):
    assert section((modelled.folder / "report.md").read_text(encoding="utf-8")) == rows_of(expected)


def test_a_run_without_models_has_no_such_section(made):
    assert made.models == ()
    assert "## Models" not in (made.folder / "report.md").read_text(encoding="utf-8")


def test_the_encoder_is_not_listed_if_candidates_were_drawn_without_distances(paths, tmp_path):
    result = run({
        "corpus": {"name": "given", "live": Given(TEXTS)}, "encoder": paths["encoder"],
        "mechanisms": ["identity"], "plans": [{"k": 2, "lambda": 0}], "trials": 10,
        "out": str(tmp_path / "run"),
    })  # fmt: skip
    assert result.models == ()


def test_a_card_has_the_models_of_its_mechanism_of_the_attacks_and_of_the_sampling(cards, checksums):
    encoder = [("embedding", LEFT_OUT, checksums["encoder"], "encoder weights"),
               ("candidate sampling", LEFT_OUT, checksums["encoder"], "encoder weights")]  # fmt: skip
    own = ("mechanism 1", LEFT_OUT, checksums["model"], "weights")
    assert {label: rows_of(card["models"]) for label, card in cards.items()} == {
        "mechanism 1": [own, *encoder], "word-rr": encoder,
    }  # fmt: skip


def test_both_files_of_a_card_have_them_and_no_path(cards, modelled, tmp_path):
    for path in write_cards(list(cards.values()), RunDirectory(modelled.folder), tmp_path):
        told = path.read_text(encoding="utf-8")
        label = path.name.split(".")[0].replace("mechanism-1", "mechanism 1")
        if path.suffix == ".md":
            assert section(told) == rows_of(cards[label]["models"])
        else:
            assert json.loads(told)["models"] == cards[label]["models"]
        assert PRIVATE not in told
        assert LABEL not in told


def test_a_redacted_report_keeps_the_checksums_and_hides_the_paths(clean, expected):
    shown = [{**model, "model": LEFT_OUT, "used_by": model["used_by"].replace(LABEL, "mechanism 1")}
             for model in expected]  # fmt: skip
    assert json.loads((clean / "summary.json").read_text(encoding="utf-8"))["models"] == shown
    assert embedded(clean)["manifest"]["models"] == shown
    report = (clean / "report.md").read_text(encoding="utf-8")
    assert section(report) == rows_of(shown)
    for told in (page(clean), report, (clean / "summary.json").read_text(encoding="utf-8")):
        assert PRIVATE not in told
        assert LABEL not in told


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("FacebookAI/roberta-base", True), ("zoo:encoder", True), ("tiny-model", True),
        ("/srv/patients/model", False), ("./patients", False), ("../patients", False), ("~/patients", False),
        ("patients/of/who", False), ("C:\\patients", False), ("a text of the corpus", False),
    ],
)  # fmt: skip
def test_only_what_looks_like_an_identifier_of_a_model_is_shown(modelled, name, shown):
    result = replace(modelled, models=tuple({**model, "model": name} for model in modelled.models))
    told = redact_result(result, modelled.run.manifest()).models
    assert {model["model"] for model in told} == {name if shown else LEFT_OUT}


def test_who_uses_a_model_is_hidden_if_the_name_could_be_a_text(modelled):
    result = replace(modelled, models=({**modelled.models[0], "used_by": "my sister called again"},))
    (told,) = redact_result(result, modelled.run.manifest()).models
    assert told["used_by"] == LEFT_OUT


def test_the_models_of_an_earlier_call_stay_listed(modelled, expected, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(modelled.folder, copy)
    result = run({
        "corpus": {"name": "given", "live": Given(TEXTS)}, "encoder": expected[2]["model"],
        "mechanisms": [{"name": "word-rr", "slots": 3}], "attacks": ["lexical"], "epsilons": [8],
        "plans": [{"k": 2, "lambda": -100}], "trials": 20, "out": str(copy),
    })  # fmt: skip
    assert sorted(map(str, result.models)) == sorted(map(str, expected))
