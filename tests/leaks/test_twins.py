"""Twins differ in one thing only, whatever the text and its script."""

import pytest

from tedaudit.leaks.twins import KINDS, ZERO_WIDTH, build_twins

TEXTS = [
    "Call Anna at 7 about the rent.", "the the the", "no", "?!", "\u4f60\u597d\u5417\u6211\u5f88\u597d",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "Two lines\nand 12 words", "ends with space ",
    "a" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("text", TEXTS)
def test_any_text_gives_a_twin_that_differs_or_none(kind, text):
    for number in range(12):
        twin = kind.build(text, number)
        if twin is None:
            assert kind.name in ("length", "sentences", "word order")
        else:
            assert twin.first != twin.second
            assert kind.score(twin.first, twin) > kind.score(twin.second, twin)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("case", "Call Anna At 7 About The Rent.", "call anna at 7 about the rent."),
        ("trailing space", "Call Anna at 7 about the rent. ", "Call Anna at 7 about the rent."),
        ("zero-width character", f"C{ZERO_WIDTH}all Anna at 7 about the rent.", TEXTS[0]),
        ("length", "Call Anna at 7 about the rent. rent rent rent rent rent rent rent", TEXTS[0]),
        ("sentences", "Call. Anna at 7 about the rent.", "Call, Anna at 7 about the rent."),
        ("name", "Call Anna at 7 about the rent.", "Call Dmitri at 7 about the rent."),
        ("number", "Call Anna at 137 about the rent.", "Call Anna at 951 about the rent."),
        ("word order", TEXTS[0], "Anna Call at 7 about the rent."),
        ("punctuation", "Call Anna at 7 about the rent!", "Call Anna at 7 about the rent?"),
    ],
)
def test_twins_of_a_plain_text(name, first, second):
    [kind] = [kind for kind in KINDS if kind.name == name]
    twin = kind.build(TEXTS[0], 0)
    assert (twin.first, twin.second) == (first, second)


def test_texts_that_have_the_thing_come_first():
    [kind] = [kind for kind in KINDS if kind.name == "number"]
    twins = build_twins(kind, ["no digit here", "room 12"], 1)
    assert twins[0].first == "room 137"


def test_twins_are_as_many_as_asked_for_if_any_can_be_made():
    for kind in KINDS:
        assert len(build_twins(kind, ["one two three", "four five six"], 15)) == 15
    assert build_twins(KINDS[3], ["?!"], 5) == []
