import pytest

from tedaudit.errors import ModelError
from tedaudit.models.chat import chat_frame, render_turn
from tiny_models import save_tokenizer

TURN = "<|user|>{{ messages[0]['content'] }}<|end|>{% if add_generation_prompt %}<|assistant|>{% endif %}"


def test_a_turn_is_framed_as_the_template_says(tmp_path):
    assert chat_frame(save_tokenizer(tmp_path, TURN)) == ("<|user|>", "<|end|><|assistant|>")


def test_a_tokenizer_without_a_template_frames_nothing(tmp_path):
    assert chat_frame(save_tokenizer(tmp_path)) is None


def test_neither_the_date_nor_thoughts_get_in(tmp_path):
    template = "{{ date_string }}|{{ enable_thinking }}|" + TURN
    assert chat_frame(save_tokenizer(tmp_path, template)) == (
        "26 Jul 2024|False|<|user|>",
        "<|end|><|assistant|>",
    )


def test_a_template_that_hides_the_turn_is_refused(tmp_path):
    with pytest.raises(ModelError, match="does not show"):
        chat_frame(save_tokenizer(tmp_path, "{{ messages[0]['content'] | upper }}"))


def test_a_turn_is_written_as_the_template_writes_it(tmp_path):
    assert render_turn(save_tokenizer(tmp_path, TURN), "a b") == "<|user|>a b<|end|><|assistant|>"
