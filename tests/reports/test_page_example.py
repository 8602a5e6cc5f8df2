"""The example at the top of the page: chosen by a rule that is stated, and not there if it must not be."""

import json
import shutil

import pytest

from helpers import Failing, SharedWords, given, make_spec, sentences
from pages import embedded
from tedaudit.api import report, run
from tedaudit.results.examples import choose_example, share_of_words


def every_other(text):
    """Keep every other word: the source is known, and half of it is gone."""
    return " ".join(text.split()[1::2])


def audited(folder, mechanism, **changes):
    settings = {"mechanisms": [mechanism], "attacks": ["lexical", SharedWords()], "trials": 200}
    return run(make_spec(folder, **settings | changes))


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    mechanism = {"name": "function", "function": every_other, "label": "every other"}
    return audited(tmp_path_factory.mktemp("run"), mechanism)


def test_it_is_a_right_guess_whose_rewrite_keeps_at_most_half_of_the_words(cut):
    example = choose_example(cut)
    [source] = [one for one in example.candidates if one["source"]]
    assert source["guess"]
    assert source["text"] in sentences(40)
    assert example.output == every_other(source["text"])
    assert share_of_words(source["text"], example.output) <= 0.5
    assert "whose rewrite keeps at most half of the words of its source" in example.choice


def test_it_says_that_it_was_chosen_and_how_often_guesses_are_right(cut):
    example = choose_example(cut)
    strongest = max(cut, key=lambda finding: finding.order)
    assert "chosen to make the point and is not typical" in example.choice
    assert f"{strongest.bound.correct:,} of {strongest.bound.guesses:,} guesses here" in example.choice
    assert "blind guessing is right in 1 of 2" in example.choice
    assert example.story.startswith("every other at epsilon 3 per document rewrote a text. Shown the ")


def test_who_named_the_source_is_read_from_the_guesses(cut):
    example = choose_example(cut)
    [source] = [one["text"] for one in example.candidates if one["source"]]
    others = [one["text"] for one in example.candidates if not one["source"]]
    shared = [len({*text.split()} & {*example.output.split()}) for text in (source, *others)]
    named = shared[0] > max(shared[1:])  # what SharedWords sees
    assert ("lexical and shared-words attacks named" in example.story) == named


def test_a_copy_is_shown_only_if_there_is_nothing_else_and_that_is_said(tmp_path):
    example = choose_example(audited(tmp_path, "identity"))
    [source] = [one for one in example.candidates if one["source"]]
    assert example.output == source["text"]
    assert "none was found whose rewrite keeps at most half" in example.choice


@pytest.mark.parametrize("mechanism", ["constant", Failing(1.0)])
def test_luck_is_no_example(tmp_path, mechanism):
    changes = {} if mechanism == "constant" else {"epsilons": [1]}
    result = audited(tmp_path, mechanism, **changes)
    assert choose_example(result) is None
    assert embedded(tmp_path)["example"] is None


def test_attacks_on_the_draw_give_no_example(tmp_path):
    result = run(make_spec(tmp_path, epsilons=[8], attacks=["likelihood"], trials=200))
    assert any(finding.leaks for finding in result)
    assert choose_example(result) is None


def test_a_redacted_page_has_none(cut, tmp_path):
    assert embedded(cut.folder)["example"]["output"]
    shutil.copytree(cut.folder, tmp_path / "copy")
    report(tmp_path / "copy", redact=True)
    data = embedded(tmp_path / "copy")
    assert data["example"] is None
    assert not any(text in json.dumps(data) for text in sentences(40))


def test_a_long_text_is_cut(tmp_path):
    texts = [f"{name} {'word ' * 400}{name}" for name in ("ann", "bob", "cat", "dan", "eve", "fay")]
    result = audited(tmp_path, "identity", corpus=given(texts))
    example = choose_example(result)
    assert all(len(one["text"]) <= 602 for one in example.candidates)
    assert len(example.output) <= 602
