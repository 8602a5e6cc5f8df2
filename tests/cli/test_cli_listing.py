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


def test_one_plug_in_is_listed_with_what_its_settings_mean(command):
    code, out, _ = command("ls", "mechanisms", "word-rr")
    card = strict(command("ls", "mechanisms", "word-rr", "--json")[1])
    assert code == 0
    assert [setting["name"] for setting in card["settings"]] == ["slots", "vocabulary"]
    for setting in card["settings"]:
        assert setting["meaning"] in out
        assert f"{setting['type']}; default: {setting['default']}" in out
    assert "dp-mlm" not in out


def test_variants_are_listed_with_what_they_set(command):
    assert (
        "variant=published: length=input, top_k=0, overlong=truncate"
        in command("ls", "mechanisms", "dp-prompt")[1]
    )


def test_a_setting_that_must_be_given_says_so_and_a_plug_in_without_settings_too(command):
    assert "str; must be given" in command("ls", "corpora", "files")[1]
    assert "It has no settings." in command("ls", "attacks", "lexical")[1]


def test_a_function_has_the_settings_of_the_mechanism_that_calls_it(command):
    assert "max_units" in command("ls", "mechanisms", "py:my_plugins:shout")[1]


def test_what_has_no_settings_to_show_is_refused_by_name(command):
    code, _, err = command("ls", "models", "mlm")
    assert code == 2
    assert "`tedaudit ls models` takes no name; attacks, corpora, mechanisms have settings" in err
    code, _, err = command("ls", "corpora", "py:my_plugins:shout")
    assert (code, "it has no `card`" in err) == (2, True)


def test_cards_say_what_was_made_for_english(capsys):
    assert call("ls", "mechanisms") == 0
    told = capsys.readouterr().out
    assert "made for English: the default list of public words" in told
    assert "made for English: the default model, rules for words, sentences and stop words" in told
    assert call("ls", "attacks") == 0
    listed = capsys.readouterr().out.split("lexical  ")[1].split("likelihood  ")[0]
    assert "made for English" not in listed
