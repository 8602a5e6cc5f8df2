"""Parts of losses in reports and figures, with a real mechanism on a tiny model."""

import json

import pytest

import tedaudit
from pages import embedded
from tedaudit.estimators.loss import DELTAS
from tedaudit.reports.loss_figures import has_latent, write_loss_figures
from tedaudit.reports.page import chart_losses
from tedaudit.results.losses import read_losses
from tedaudit.results.section import format_loss
from tedaudit.results.telling_losses import tell_losses
from tedaudit.runs.checksums import seal_json
from tiny_models import one_thread, save_lstm, save_roberta


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    top = tmp_path_factory.mktemp("parts")
    with one_thread():
        mlm = {
            "name": "dp-mlm",
            "model": str(save_roberta(top / "mlm")),
            "slots": 8,
            "low": -2.0,
            "high": 2.0,
        }
        adept = {"name": "adept", "model": str(save_lstm(top / "lstm")), "max_tokens": 3}
        yield tedaudit.run(
            {
                "name": "parts", "corpus": "demo",
                "mechanisms": [mlm, adept], "epsilons": [1, 400], "attacks": ["lexical", "likelihood"],
                "trials": 40, "encoder": "lexical", "out": str(top / "run"),
            }
        )  # fmt: skip


def test_the_report_says_which_words_carry_the_loss(result):
    report = result.run.report.read_text()
    assert "## Which words carry the loss" in report
    line = next(line for line in report.splitlines() if line.startswith("| dp-mlm | 400 | 40 |"))
    assert "%" in line
    heading = next(
        line for line in report.splitlines() if "beyond the end" in line and "capitalised words" in line
    )
    assert "words with digits" in heading


def test_the_words_that_carry_the_loss_are_told_without_the_mechanism(result, tmp_path):
    """Their classes were stored by the run, and no text: a reader needs no model, and trusts no name."""
    copy = result.save(tmp_path / "copy")
    before = (copy / "report.md").read_text()
    manifest = json.loads((copy / "manifest.json").read_text())
    for mechanism in manifest["spec"]["mechanisms"]:
        mechanism |= {"name": "py:no_such_module:Thing", "label": mechanism["name"]}
    (copy / "manifest.json").write_text(json.dumps(seal_json(manifest)))
    tedaudit.report(copy)
    section = before[before.index("## Which words carry") :].partition("\n## ")[0]
    assert section in (copy / "report.md").read_text()
    kept = (copy / "pieces.json").read_text()
    assert not any(
        word in kept for text in result.run.corpus().texts for word in text.split() if len(word) > 5
    )
    (copy / "pieces.json").unlink()
    assert any("pieces.json" in line for line in tedaudit.report(copy).told_missing)
    assert "Which words carry" not in (copy / "report.md").read_text()


def test_every_plan_with_losses_has_its_figures(result):
    names = {path.name for path in write_loss_figures(result)}
    assert {"loss.png", "loss-parts.png", "latent.png"} <= {name.split("10000-", 1)[-1] for name in names}


def test_the_page_has_the_figures_of_the_sandwich(result):
    told = embedded(result.folder)["losses"]
    assert told["attacks"] == ["likelihood"]
    rows = {(row["mechanism"], row["epsilon"]): row for row in told["rows"]}
    assert rows["dp-mlm", 1.0]["claim"] == 8.0
    assert rows["dp-mlm", 1.0]["supremum"] <= 8.0
    assert rows["adept", 400.0]["supremum"] >= rows["adept", 1.0]["supremum"]
    losses = read_losses(result)
    assert json.loads(json.dumps(chart_losses(losses), allow_nan=False)) == told
    assert [has_latent(row) for row in losses] == [row.finding.label == "adept" for row in losses]


def test_the_most_of_gaussian_noise_is_told_at_the_largest_delta_that_is_shown(result):
    rows = [row for row in read_losses(result) if row.supremum and row.supremum.is_gaussian]
    assert rows
    section = tell_losses(result, read_losses(result))
    for row in rows:
        most = f"{format_loss(row.supremum.epsilon(DELTAS[-1]))} at delta {DELTAS[-1]:g}"
        assert any(most in map(str, cells) for cells in section.table.rows)
