"""What may stand in a page: data that no parser takes for markup, and no text where it is redacted."""

import json
from dataclasses import replace

import polars as pl
import pytest

import tedaudit
from pages import LABEL, NASTY, TEXTS, embedded, list_trials, page
from tedaudit.results.certain_losses import CertainLoss
from tedaudit.results.reading import read_result
from tedaudit.results.redaction import (
    IDENTIFIER,
    LEFT_OUT,
    redact_result,
    redact_spec,
    rename_labels,
    safe_json,
)
from tedaudit.results.section import Column, Section, Table
from tedaudit.runs.directory import RunDirectory


@pytest.mark.parametrize("text", [NASTY, "<!--", "]]>", "&lt;", "\u2029", "\ud800", "\\u003c", ""])
def test_json_in_a_page_has_no_mark_that_a_parser_looks_for(text):
    told = safe_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(told)
    assert json.loads(told)["text"] == text.encode("utf-8", "replace").decode()


def test_a_redacted_report_holds_no_text_at_all(made, clean):
    assert all(text in page(made.folder) for text in TEXTS)
    files = [path for path in clean.iterdir() if path.suffix in (".html", ".md", ".json")]
    told = {path.name: path.read_text(encoding="utf-8") for path in files if path.name != "manifest.json"}
    told["estimates"] = str(pl.read_parquet(clean / "estimates.parquet").to_dicts())
    assert {"report.html", "report.md", "summary.json", "estimates"} <= set(told)
    for secret in [
        *TEXTS,
        *(text.upper() for text in TEXTS),
        "alert(1)",
        "a secret sentence",
        LABEL,
        "sister",
    ]:
        for name, content in told.items():
            assert secret not in content, (secret, name)
    assert str(clean) not in told["report.html"]


def test_a_redacted_report_still_has_numbers_trials_and_settings(made, clean):
    data, before = embedded(clean), embedded(made.folder)
    assert data["redacted"] is True
    assert data["sample"]["texts"] == []
    assert len(list_trials(data)) == len(list_trials(before)) > 0
    assert data["lead"]["headline"].startswith("Shown a rewrite by ")
    assert [one["lower"] for one in data["findings"]] == [one["lower"] for one in before["findings"]]
    labels = {one["mechanism"] for one in data["findings"]}
    assert {"word-rr", "constant", "identity"} < labels
    assert labels - {"word-rr", "constant", "identity"} <= {f"mechanism {n}" for n in range(1, 5)}
    assert "slots: 3" in data["manifest"]["spec"]


def test_strings_of_plugins_are_left_out_of_a_redacted_spec():
    spec = {
        "mechanisms": [{"name": "dp-st", "label": "two words", "prompt": "a text", "slots": 2, "few": ["x"]}],
        "attacks": [{"name": "llm", "label": "", "epsilons": [1.0]}],
        "corpus": {"name": "files", "path": "/home/me/x.csv"}, "out": "runs/x", "seed": 3,
    }  # fmt: skip
    told = redact_spec(spec)
    assert told["mechanisms"] == [
        {"name": "dp-st", "label": "", "prompt": LEFT_OUT, "slots": 2, "few": LEFT_OUT}
    ]
    assert told["attacks"] == [{"name": "llm", "label": "", "epsilons": [1.0]}]
    assert told["corpus"] == {"name": "files", "path": LEFT_OUT, "label": ""}
    assert (told["out"], told["seed"]) == (LEFT_OUT, 3)


def test_notes_that_quote_a_file_are_left_out_of_a_redacted_report(made):
    manifest = {"corpus": {"notes": ["column 'my sister called' taken as the text", made.notes[0]]}}
    result = replace(made, notes=(manifest["corpus"]["notes"][0], *made.notes))
    told = redact_result(result, manifest).notes
    assert not any("sister" in note for note in told)
    assert made.notes[0] in told
    assert told[-1] == "notes on how the corpus was read are left out"


def test_a_plan_that_is_named_after_a_mechanism_is_redacted_with_it(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("original,rewrite\n" + "".join(f"text {n},other {n}\n" for n in range(30)))
    tedaudit.audit({"name": "recorded", "path": str(table), "label": "my very private label"}, trials=10,
                   out=str(tmp_path / "run"), attack="lexical")  # fmt: skip
    result = read_result(RunDirectory(tmp_path / "run"))
    assert any("private label" in finding.plan for finding in result)
    tedaudit.report(result, redact=True)
    for name in ("report.html", "report.md", "summary.json"):
        assert "private label" not in (tmp_path / "run" / name).read_text()


def test_a_label_of_a_script_without_spaces_may_be_a_sentence():
    labels = ["word-rr", "modèle", "李明昨天卖掉了祖母的戒指", "แหวนของยาย", "two words"]
    assert rename_labels("mechanism", labels) == {
        "word-rr": "word-rr", "modèle": "modèle", "李明昨天卖掉了祖母的戒指": "mechanism 3",
        "แหวนของยาย": "mechanism 4", "two words": "mechanism 5",
    }  # fmt: skip
    assert not IDENTIFIER.fullmatch("李明昨天卖掉了祖母的戒指")
    assert IDENTIFIER.fullmatch("owner/model-1.0")


def test_a_certain_loss_names_neither_a_plan_nor_a_mechanism_that_could_be_a_text(made):
    finding = next(finding for finding in made if finding.claim is not None)
    label = "my very private label"
    result = replace(
        made,
        findings=(replace(finding, label=label, plan=f"{finding.plan_base}@{label}"),),
        certain=(
            CertainLoss(f"{finding.plan_base}@{label}", label, finding.epsilon, "what she guessed", 3, (1, 2),
                        1.0, 2.0, 2.0),
        ),
    )  # fmt: skip
    assert label in json.dumps(result.to_dict())
    assert "what she guessed" in json.dumps(result.to_dict())
    shown = redact_result(result, {"corpus": {"notes": []}})
    assert [(loss.plan, loss.label, loss.attack) for loss in shown.certain] == [("", "mechanism 1", LEFT_OUT)]
    told = json.dumps(shown.to_dict())
    assert "private label" not in told
    assert "what she guessed" not in told


@pytest.mark.parametrize(
    ("kind", "cell", "shown"),
    [
        ("label", "word-rr", "word-rr"), ("label", "two words", LEFT_OUT),
        ("label", "case-7", "case-7"), ("label", "Jane Doe", LEFT_OUT),
        ("labels", ("lexical", "my own"), ("lexical", LEFT_OUT)),
        ("task", "topic F1", "topic F1"), ("task", "she lost it F1", f"{LEFT_OUT} F1"),
        ("task", "sex F1 (private: lower is better)", "sex F1 (private: lower is better)"),
        ("bound", "too few trials", "too few trials"),
    ],
)  # fmt: skip
def test_cells_of_a_section_that_somebody_typed_are_left_out_unless_they_are_one_word(kind, cell, shown):
    column = Column("name", kind)
    section = Section("A title", Table((column,), ((cell,),)), "How to read it.", ("of my sister",))
    assert section.redact() == Section("A title", Table((column,), ((shown,),)), "How to read it.")
