import hashlib
import json
import re
from collections import Counter
from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from tedaudit.corpora.demo import (
    AUTHORS,
    CURRENCIES,
    GENDERS,
    OTHERS,
    SENTIMENTS,
    TOPICS,
    Choice,
    Demo,
    Grammar,
    Slot,
    compose,
    find_author,
    grammar,
    tidy,
)
from tedaudit.errors import CorpusError
from tedaudit.types import fold_text

CORPUS = Demo().load()
TRAIN, TEST = CORPUS.splits["train"], CORPUS.splits["test"]
ALL = TRAIN.texts + TEST.texts
TAGS = [frozenset(tags) for tags in product(TOPICS, SENTIMENTS, GENDERS, OTHERS, CURRENCIES)]


def share(pattern: str) -> float:
    return float(np.mean([re.search(pattern, text) is not None for text in TRAIN.texts]))


def accuracy(column: str) -> float:
    words = CountVectorizer()
    model = LogisticRegression(C=0.1, max_iter=2000)
    model.fit(words.fit_transform(TRAIN.texts), TRAIN.columns[column])
    return float(model.score(words.transform(TEST.texts), TEST.columns[column]))


def digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, ensure_ascii=False).encode()).hexdigest()


def slots(part: object) -> list[Slot]:
    if isinstance(part, Choice):
        return [slot for option in part.options for inner in option for slot in slots(inner)]
    return [part] if isinstance(part, Slot) else []


def test_there_are_3600_training_and_600_test_messages():
    assert (CORPUS.name, list(CORPUS.splits)) == ("demo", ["train", "test"])
    assert (len(TRAIN), len(TEST)) == (3600, 600)


def test_messages_are_distinct_and_three_to_forty_words_long():
    assert len({fold_text(text).lower() for text in ALL}) == len(ALL) == 4200
    lengths = [len(text.split()) for text in ALL]
    assert (min(lengths), max(lengths)) == (3, 40)


def test_lengths_are_widely_spread():
    lengths = [len(text.split()) for text in TRAIN.texts]
    tenth, half, most = np.percentile(lengths, [10, 50, 90])
    assert tenth <= 7
    assert 14 <= half <= 20
    assert most >= 26
    assert len(set(lengths)) == 38


def test_every_text_has_a_topic_a_sentiment_a_gender_and_an_author():
    for split in (TRAIN, TEST):
        assert set(split.columns) == {"topic", "sentiment", "gender", "author"}
        assert {len(values) for values in split.columns.values()} == {len(split)}
        for column, values in (("topic", TOPICS), ("sentiment", SENTIMENTS), ("gender", GENDERS)):
            counts = Counter(split.columns[column])
            assert set(counts) == set(values)
            assert min(counts.values()) > 0.6 * len(split) / len(values)


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        (r"555[- ]01\d\d", 0.06),
        (r"[\w.]+@(?:example\.(?:com|org|net)|(?:mail|post|office)\.example)\b", 0.05),
        (r"[$£€]\d|(?:\d|ty|ten|een|lve) (?:dollars|pounds|euros)", 0.12),
        (r"\d{1,2} (?:January|March|May|July|October)|(?:January|March|May|July|October) \d{1,2}\b", 0.06),
        (r"\d (?:am|pm)\b|\d:\d\d|half past|quarter (?:to|past)|noon|midnight", 0.10),
        (r"\d+ [A-Z]\w+ (?:Street|Road|Lane|Avenue|Close)", 0.05),
        (r"\b[A-Z]{2}\d{5}\b|\b[A-Z]\d\d[A-Z]\d\d[A-Z]\b|\b\d{5}\b|\b\d{3}-\d{3}\b", 0.06),
    ],
    ids=["telephone", "mail", "money", "date", "time", "address", "number"],
)
def test_messages_hold_what_people_want_hidden(pattern, least):
    assert least < share(pattern) < 0.6


def test_telephone_numbers_and_mail_domains_are_fictional():
    text = " ".join(ALL)
    assert set(re.findall(r"(?<!\d)\d{3}[- ](?=\d{4}\b)(\d\d)", text.replace("+1", ""))) <= {"01"}
    assert set(re.findall(r"@[\w.]+?(?=[.,)!?]?(?:\s|$))", text)) <= {
        *("@example.com", "@example.org", "@example.net"),
        *("@mail.example", "@post.example", "@office.example"),
    }


def test_there_are_more_than_1500_kinds_of_word():
    plain = re.sub(r"\S+@\S+", "", " ".join(TRAIN.texts).lower())
    assert len(set(re.findall(r"[a-z][a-z'-]*", plain))) > 1500


def test_hardly_any_message_is_a_near_copy_of_another():
    bare = [" ".join(word.strip(".,;:!?") for word in text.split()) for text in TRAIN.texts]
    sets = CountVectorizer(token_pattern=r"\S+", binary=True).fit_transform(bare).astype(np.float32)
    shared = (sets @ sets.T).toarray()
    sizes = np.asarray(sets.sum(axis=1))
    alike = shared / (sizes + sizes.reshape(1, -1) - shared)
    np.fill_diagonal(alike, 0)
    assert np.mean(alike.max(axis=1) > 0.8) < 0.01


@pytest.mark.parametrize(
    "slip",
    [
        r"[<>\[\]|_^#*]",  # marks of the grammar
        r"^[a-z]|[.!?] [a-z]",  # a sentence that begins small
        r" [',.!?]|[,.!?;][,.!?;](?! )|[.!?]{2}|  ",  # marks out of place
        r"\b[Aa] [aeioAEIO](?!ne\b|u)|\b[Aa]n (?!hour|honest|MRI|X-ray|HR)[^aeiouAEIOU\d$£€]",
        r"\b(\w{2,}) \1\b(?<!rain rain)(?<!Close close)",  # a word twice
        r"\bfrom (\w+) to \1\b|\b(\w+) (?:and|or) \2\b",
    ],
)
def test_messages_are_free_of_slips(slip):
    smileless = [re.sub(r" [:;]-?[()/]$", "", re.sub(r"(?<=[A-Z])\.(?=[ ,])", "", text)) for text in ALL]
    assert [text for text in smileless if re.search(slip, text)] == []


def test_every_message_and_label_is_the_same_on_every_machine():
    columns = {name: dict(split.columns) for name, split in CORPUS.splits.items()}
    authors = [columns[name].pop("author") for name in CORPUS.splits]
    everything = [[name, split.texts, columns[name]] for name, split in CORPUS.splits.items()]
    assert digest(everything) == "ddfde13b78aecf764e9e88e8d43600f0ce96e3be490fbbc9912d2026460e3a32"
    assert digest(authors) == "47af9b823acf0e9dcc92250c2ae334c6c2bb4c572e02b181dcf9ff3b481862c0"
    assert TRAIN.texts[0] == "Bridget gave a wonderful speech. Thank you for the chess set."


def test_more_messages_extend_the_list_and_leave_the_test_split_alone():
    smaller = Demo(size=2000).load()
    assert smaller.texts == TRAIN.texts[:2000]
    for column in ("gender", "author"):
        assert smaller.splits["train"].columns[column] == TRAIN.columns[column][:2000]
    assert smaller.splits["test"] == TEST


def test_a_message_depends_on_its_number_alone():
    together = list(compose("train", 0, 40))
    assert [next(compose("train", number, 1)) for number in (0, 7, 39)] == [together[at] for at in (0, 7, 39)]
    assert together != list(compose("test", 0, 40))


def test_gender_can_be_told_a_little_better_than_by_chance():
    assert 0.55 < accuracy("gender") < 0.72


def test_no_name_in_a_sign_off_gives_the_gender_away():
    ends = {gender: Counter() for gender in GENDERS}
    for text, gender in zip(TRAIN.texts, TRAIN.columns["gender"], strict=True):
        ends[gender].update(re.findall(r"(?:wishes|egards|[Tt]hanks|care|yours|Yours), (\w+)$", text))
    both = set(ends["F"]) & set(ends["M"])
    assert len(both) > 15
    assert sum(ends["F"][name] + ends["M"][name] for name in both) > 0.9 * (
        ends["F"].total() + ends["M"].total()
    )


def test_an_author_has_one_gender_and_messages_in_both_splits():
    for split in (TRAIN, TEST):
        for author, gender in zip(split.columns["author"], split.columns["gender"], strict=True):
            assert author[0] == gender
    train, test = set(TRAIN.columns["author"]), set(TEST.columns["author"])
    assert len(train) == 2 * AUTHORS
    assert 160 < len(test) < 2 * AUTHORS
    assert test < train


def test_authors_wrote_uneven_but_useful_numbers_of_messages():
    sizes = Counter(TRAIN.columns["author"]).values()
    assert min(sizes) < 3
    assert max(sizes) > 50
    assert sum(8 <= size <= 30 for size in sizes) > 0.6 * len(sizes)
    assert [sum(size >= least for size in sizes) for least in (8, 16, 32)] == [170, 100, 22]


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


def name_authors(seen: int) -> float:
    """Return the share of authors who are named from so many messages by eight other messages of theirs."""
    by_author: dict[str, list[str]] = {}
    for text, author in zip(TRAIN.texts, TRAIN.columns["author"], strict=True):
        by_author.setdefault(author, []).append(text)
    people = [texts for texts in by_author.values() if len(texts) >= 16]
    words = TfidfVectorizer().fit(TRAIN.texts)
    known = words.transform([" ".join(texts[8:16]) for texts in people])
    scores = [np.asarray((words.transform(texts[:seen]) @ known.T).sum(axis=0)) for texts in people]
    return float(np.mean([np.argmax(row) == i for i, row in enumerate(scores)]))


def test_other_messages_of_an_author_are_a_hint_and_several_messages_tell_more_than_one():
    one, four, eight = (name_authors(seen) for seen in (1, 4, 8))
    assert 0.1 < one < four - 0.15 < eight - 0.25 < 0.65


def test_topic_and_sentiment_are_easy_to_tell():
    assert accuracy("topic") > 0.8
    assert accuracy("sentiment") > 0.85


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_fewer_than_two_messages_are_refused(size):
    with pytest.raises(CorpusError, match=rf"cannot have {size} training messages.*2 or more"):
        Demo(size=size)


def test_two_messages_are_enough_and_the_settings_cannot_be_changed():
    demo = Demo(size=2)
    assert len(demo.load().texts) == 2
    with pytest.raises(FrozenInstanceError):
        demo.size = 3


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


def test_short_messages_are_those_of_the_list_that_are_short():
    short = Demo(size=200, longest=10).load()
    wanted = [text for text in TRAIN.texts if len(text.split()) <= 10]
    assert list(short.splits["train"].texts) == wanted[:200]
    assert short.splits["test"].texts == TEST.texts


@pytest.mark.parametrize("longest", [7, 41])
def test_a_length_without_messages_is_refused(longest):
    with pytest.raises(CorpusError, match="from 8 to 40"):
        Demo(longest=longest)
