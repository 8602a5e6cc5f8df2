import numpy as np
import pytest

import tiny_models
from tedaudit.errors import ModelError
from tedaudit.models.judges.base import Prompt, strip_thoughts
from tedaudit.models.judges.local import LocalJudge, _Row
from tedaudit.models.loading import load_checkpoint

pytest.importorskip("transformers")
PROMPTS = [
    Prompt("read this: ", "my sister bought a red bicycle", "answer: [["),
    Prompt("read this: ", "", "answer: [["),
    Prompt("read this: ", "nobody paid for the bread at the old market, or so she said", "answer: [["),
    Prompt("another beginning ", "in may", "answer: [["),
]
ENDINGS = [
    [f"{number}]]" for number in range(1, 13)],
    ["", "a", "the doctor called"],
    ["2]]"],
    ["x", "xy", "y"],
]


@pytest.fixture(scope="module", params=["with a chat template", "without one"])
def judge(request, tmp_path_factory):
    template = tiny_models.CHAT_TEMPLATE if request.param == "with a chat template" else ""
    folder = tiny_models.save_llama(tmp_path_factory.mktemp("judge"), template)
    return LocalJudge(load_checkpoint("causal", str(folder), "", "cpu", "float32", "sdpa"))


def plainly(judge, prompts, endings):
    """Score every ending as a text of its own, without sharing anything."""
    sharing, judge.shares = judge.shares, False
    try:
        return judge.score(prompts, endings)
    finally:
        judge.shares = sharing


def test_endings_scored_together_have_the_scores_that_each_has_alone(judge):
    assert judge.shares
    together, apart = judge.score(PROMPTS, ENDINGS), plainly(judge, PROMPTS, ENDINGS)
    for one, other in zip(together, apart, strict=True):
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)
        assert one.tokens == other.tokens
    assert together[1].log_probabilities[0] == 0.0  # the empty ending is certain


def test_scores_do_not_depend_on_the_batch(judge):
    together = judge.score(PROMPTS * 5, ENDINGS * 5)
    for number in range(len(PROMPTS)):
        alone = judge.score([PROMPTS[number]], [ENDINGS[number]])[0].log_probabilities
        for copy in together[number :: len(PROMPTS)]:
            assert np.array_equal(np.round(copy.log_probabilities, 5), np.round(alone, 5))


def test_all_tokens_of_a_distribution_are_scored_to_one(judge):
    vocabulary = [(-1, token) for token in range(len(judge._tokenizer))]
    prompt = PROMPTS[0]
    before = judge._tokenize_special(judge._before) + judge._tokenize(prompt.head)
    tree = _Row(judge._tokenize_rests([prompt])[0], (), tuple((step,) for step in vocabulary))
    values = judge._score_together([tree], tree.width, before, judge._read_head(before))[0]
    assert np.exp(values).sum() == pytest.approx(1.0, abs=1e-5)


def test_replies_do_not_depend_on_the_batch(judge):
    together = judge.answer(PROMPTS, 6)
    assert together == [judge.answer([prompt], 6)[0] for prompt in PROMPTS]


def test_control_tokens_in_a_text_are_only_text(judge):
    tokens = judge._tokenize("<end> stop <user>")
    special = {judge._tokenizer.convert_tokens_to_ids(name) for name in ("<end>", "<user>", "<answer>")}
    assert not special & set(tokens)


def test_a_prompt_that_does_not_fit_says_what_to_do(judge):
    with pytest.raises(ModelError, match="longest"):
        judge.score([Prompt("head ", "word " * 600)], [["1]]"]])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>1 or 2? [[1]]</think>answer: [[2]]", "answer: [[2]]"),
        ("<think>it never ends [[1]]", ""),
        ("answer: [[1]]", "answer: [[1]]"),
    ],
)
def test_thoughts_are_left_out(text, left):
    assert strip_thoughts(text) == left


def test_a_raw_prompt_is_read_without_a_frame(judge):
    prompts = [Prompt("", "my sister bought", raw=True), Prompt("she said ", "nothing", raw=True)]
    endings = [[" a red bicycle", "x"], ["ab"]]
    for one, other in zip(judge.score(prompts, endings), plainly(judge, prompts, endings), strict=True):
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)
    assert judge._tokenize_rests(prompts)[0] == judge._tokenize("my sister bought")
