"""A corpus without a test split: which records are held out depends on their keys alone, and it is said."""

import pytest

from tedaudit.errors import CorpusError, SpecError
from tedaudit.plugins.values import Corpus, Split
from tedaudit.studies.utility.labels import is_held_out, take_labels
from tiny_study import make_study

TEXTS = [f"a text about number {n}" for n in range(200)]


def corpus(texts=TEXTS, **columns):
    moods = tuple("good" if len(text) % 2 else "bad" for text in texts)
    people = tuple(f"person {int(text.split()[-1]) % 25}" for text in texts)
    split = Split(tuple(texts), {"mood": moods, "who": people, **columns})
    return Corpus("mine", {"train": split})


def taken(found, **changes):
    return take_labels(found, make_study("unused", **{"tasks": ["mood"], **changes}))


def test_both_sides_have_every_text_once_and_the_note_says_how():
    found = taken(corpus())
    assert sorted([*found.train, *found.test]) == sorted(TEXTS)
    assert [TEXTS[at] for at in found.positions] == list(found.train)
    [note] = found.notes
    assert note.startswith(f"no test split: {len(found.test)} of 200 texts are held out to test on")
    assert "by a hash of the text" in note
    assert "the same text is always on the same side" in note


def test_the_share_is_about_what_was_asked_for_and_a_larger_one_keeps_the_smaller():
    few, many = (set(taken(corpus(), hold_out=share).test) for share in (0.1, 0.5))
    assert few < many
    assert 5 <= len(few) <= 40
    assert 70 <= len(many) <= 130


def test_a_record_stays_on_its_side_whatever_else_is_in_the_file_and_whatever_the_seed():
    whole = set(taken(corpus()).test)
    part = taken(corpus(TEXTS[::-1][:120]), seed=7)
    assert set(part.test) == whole & set(TEXTS[::-1][:120])
    spaced = taken(corpus([text.replace(" about ", "  about ") for text in TEXTS]))
    assert {text.replace("  ", " ") for text in spaced.test} == whole


def test_records_with_one_key_are_never_on_both_sides():
    found = taken(corpus(), key="who")
    people = [{int(text.split()[-1]) % 25 for text in side} for side in (found.train, found.test)]
    assert people[0].isdisjoint(people[1])
    assert "by a hash of the column 'who'" in found.notes[0]
    by_text = taken(corpus())
    assert set(by_text.test) != set(found.test)


def test_a_record_without_a_key_goes_by_its_text_and_is_counted():
    keys = tuple(None if n % 2 else n for n in range(200))
    found = taken(corpus(pid=keys), key="pid")
    assert "100 texts have no 'pid' and go by their text" in found.notes[0]
    odd = {text for n, text in enumerate(TEXTS) if n % 2}
    assert set(found.test) & odd == set(taken(corpus()).test) & odd


def test_texts_without_a_label_are_left_out_of_both_sides():
    labels = tuple("" if n < 50 else ("x" if n % 2 else "y") for n in range(200))
    found = taken(corpus(mark=labels), tasks=["mark"])
    assert len(found.train) + len(found.test) == 150
    assert [note.split(":")[0] for note in found.notes[1:]] == ["training texts", "held-out texts"]


@pytest.mark.parametrize(
    ("found", "changes", "told"),
    [
        (corpus(), {"key": "whom"}, "has no column 'whom' to hold out by. Did you mean 'who'?"),
        (corpus(TEXTS[:2]), {"hold_out": 1e-6}, "each side needs some"),
        (corpus(), {"test_split": "valid"}, "no split 'valid' to test on"),
    ],
)
def test_wrong_use_is_told(found, changes, told):
    with pytest.raises((SpecError, CorpusError)) as caught:
        taken(found, **changes)
    assert told in str(caught.value)


def test_a_corpus_with_a_test_split_is_used_as_it_is():
    both = Corpus("two", {"train": corpus().splits["train"], "test": corpus(["b 1", "a 22"]).splits["train"]})
    assert taken(both).test == ("b 1", "a 22")
    with pytest.raises(SpecError, match="Leave them out, or name the split"):
        taken(both, key="who")


def test_the_hash_is_a_fixed_one():
    """Another hash would move records from one side to the other, and studies could not be compared."""
    assert [n for n in range(12) if is_held_out(f"record {n}", 0.2)] == [4, 8, 10]
