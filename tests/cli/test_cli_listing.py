"""ls as its users meet it: every plug-in with its card."""

import pytest

from command_line import call
from helpers import strict


@pytest.mark.parametrize(
    ("kind", "some"), [("mechanisms", "word-rr"), ("attacks", "lexical"), ("corpora", "demo")]
)
def test_plugins_are_listed_with_their_cards_and_parameters(kind, some, command):
    code, out, _ = command("ls", kind)
    cards = strict(command("ls", kind, "--json")[1])
    assert code == 0
    assert some in [card["name"] for card in cards]
    for card in cards:
        assert f"{card['name']}  {card['summary']}" in " ".join(out.split(" "))
        if card["parameters"]:
            assert "takes: " + ", ".join(card["parameters"]) in out


def test_cards_say_what_was_made_for_english(capsys):
    assert call("ls", "mechanisms") == 0
    told = capsys.readouterr().out
    assert "made for English: the default list of public words" in told
    assert "made for English: the default model, rules for words, sentences and stop words" in told
    assert call("ls", "attacks") == 0
    listed = capsys.readouterr().out.split("lexical  ")[1].split("likelihood  ")[0]
    assert "made for English" not in listed
