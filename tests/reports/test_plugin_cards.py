"""The cards of plug-ins on a page: what they depart from, and nothing run for their sake."""

import sys

import pytest

from pages import embedded
from tedaudit.reports.plugin_cards import describe_plugins


def test_cards_come_with_departures_and_settings(made):
    cards = embedded(made.folder)["cards"]
    by_name = {card["name"]: card for card in cards["mechanisms"]}
    assert by_name["word-rr"]["departures"] == [
        "words outside the vocabulary count as empty slots; longer texts are cut"
    ]
    assert by_name["word-rr"]["settings"] == {"slots": "3"}
    assert cards["attacks"][0]["sees"] == ["text"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no-such-plugin", "This mechanism does not come with tedaudit"),
        ("py:no_such_module:rewrite", "which a report does not load"),
        ("py:", "which a report does not load"),
        ("py:json:no_such", "which a report does not load"),
        ("py:textwrap:dedent", "which a report does not load"),
    ],
)
def test_a_plugin_that_is_gone_or_is_code_without_a_card_leaves_one_that_says_so(name, told):
    (card,) = describe_plugins({"mechanisms": [{"name": name, "label": "mine"}]})["mechanisms"]
    assert (card["name"], card["label"]) == (name, "mine")
    assert told in card["missing"]
    assert ("does not come with" in card["missing"]) == (not name.startswith("py:"))


def test_code_that_a_manifest_names_is_not_run_for_its_card(tmp_path, monkeypatch):
    (tmp_path / "trap_for_reports.py").write_text("raise SystemExit('run!')\n")
    monkeypatch.syspath_prepend(tmp_path)
    (card,) = describe_plugins({"attacks": [{"name": "py:trap_for_reports:Attack"}]})["attacks"]
    assert "missing" in card
    assert "trap_for_reports" not in sys.modules
