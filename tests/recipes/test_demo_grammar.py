"""The recipe that writes the demo's messages."""

import gzip
from itertools import product
from pathlib import Path

import pytest
from demo import (
    CURRENCIES,
    GENDERS,
    OTHERS,
    SENTIMENTS,
    TOPICS,
    Choice,
    Grammar,
    Slot,
    compose,
    find_author,
    grammar,
    main,
    tidy,
)

import tedaudit.corpora

TAGS = [frozenset(tags) for tags in product(TOPICS, SENTIMENTS, GENDERS, OTHERS, CURRENCIES)]


def test_the_recipe_writes_the_messages_that_are_built_in(tmp_path):
    main(tmp_path / "demo.csv.gz")
    built_in = Path(tedaudit.corpora.__file__).with_name("demo.csv.gz")
    assert gzip.decompress((tmp_path / "demo.csv.gz").read_bytes()) == gzip.decompress(built_in.read_bytes())


def slots(part: object) -> list[Slot]:
    if isinstance(part, Choice):
        return [slot for option in part.options for inner in option for slot in slots(inner)]
    return [part] if isinstance(part, Slot) else []


def test_a_message_depends_on_its_number_alone():
    together = list(compose("train", 0, 40))
    assert [next(compose("train", number, 1)) for number in (0, 7, 39)] == [together[at] for at in (0, 7, 39)]
    assert together != list(compose("test", 0, 40))


def test_a_message_is_by_whom_its_first_telling_word_belongs_to():
    """People, places and things go before other words, however many of these there are."""
    alone = find_author("Bridget", "F")
    assert find_author("bridget, thanks for the wonderful evening.", "F") == alone
    assert find_author("Wonderful evening", "F") in (
        find_author(one, "F") for one in ("Wonderful", "evening")
    )
    assert find_author("It is wonderful", "F") == find_author("Wonderful", "F")
    pairs = [(one, other) for one in ("Bridget", "Leeds", "chess") for other in ("Karim", "violin")]
    assert all(
        find_author(f"{one} and {other}", gender) in (find_author(one, gender), find_author(other, gender))
        for one, other in pairs
        for gender in GENDERS
    )


def test_every_slot_has_one_best_rule_for_every_message():
    for tags in TAGS:
        todo, seen = ["message"], set()
        while todo:
            name = todo.pop()
            if name in seen or "/" in name:
                continue
            seen.add(name)
            met = sorted((len(needed) for needed, _ in grammar().rules[name] if needed <= tags), reverse=True)
            assert met, (name, sorted(tags))
            assert len(met) == 1 or met[0] > met[1], f"two rules '{name}' fit {sorted(tags)} equally well"
            todo += [slot.name for slot in slots(grammar().find(name, tags))]


def test_every_rule_is_used():
    used = {"message"}
    for rules in grammar().rules.values():
        used |= {slot.name for _, choice in rules for slot in slots(choice)}
    assert set(grammar().rules) <= used


def test_choices_follow_coins_weights_and_tags():
    rules = Grammar("reply = [loud] <cry>! *3 | _\ncry = yes\ncry sad = <oh/ah> no")
    assert rules.write("reply", frozenset(), iter([0.0, 0.4])) == "Loud yes!"
    assert rules.write("reply", frozenset(), iter([0.74, 0.5])) == "Yes!"
    assert rules.write("reply", frozenset(), iter([0.75])) == ""
    assert rules.write("reply", frozenset(["sad", "he"]), iter([0.5, 0.5])) == "Oh no!"


def test_kept_slots_repeat_and_unlike_ones_do_not():
    rules = Grammar("pair = <@town> <@town> <town>\ntown! = Rome | Oslo")
    assert rules.write("pair", frozenset(), iter([0.1, 0.1, 0.1, 0.9])) == "Rome Rome Oslo"


def test_comments_are_left_out_and_indented_lines_continue_a_rule():
    rules = Grammar("# digits\nreply = #\n  | no\n\n# a number\ndigit = 7\n")
    assert rules.write("reply", frozenset(), iter([0.1])) == "7"
    assert rules.write("reply", frozenset(), iter([0.9])) == "No"


def test_a_line_that_is_not_a_rule_is_refused():
    with pytest.raises(ValueError, match=r"not a rule, .*: 'Cry = no'"):
        Grammar("reply = yes\nCry = no\n")


def test_a_missing_or_doubled_rule_is_named():
    with pytest.raises(ValueError, match="no rule 'cry'"):
        Grammar("reply = <cry>").write("reply", frozenset(), iter([]))
    with pytest.raises(ValueError, match="two rules headed 'cry sad'"):
        Grammar("cry sad = no\ncry sad = oh")


@pytest.mark.parametrize(
    ("rough", "tidied"),
    [
        ("a hour  in an union , really .", "An hour in a union, really."),
        ("my cousin 's car", "My cousin's car"),
        ("it is a MRI scan. call J.Doe@Example.com !", "It is an MRI scan. Call j.doe@example.com!"),
        ("a $80 fine or a €18 one ;)", "An $80 fine or an €18 one ;)"),
    ],
)
def test_articles_spaces_and_capitals_are_put_right(rough, tidied):
    assert tidy(rough) == tidied
