"""Examples in DP-ST's prompt: what the writer reads before the triples that were drawn."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tedaudit.errors import ModelError, SpecError
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.plugins.values import Draw
from tiny_dp_st import BICYCLE, KEYS, make_dp_st, save_parts
from tiny_models import CHAT_TEMPLATE, save_llama

NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHAT_TEMPLATE
)
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Input triples: [a, b, c]"},
    {"role": "assistant", "content": "A does b to c."},
]


@pytest.fixture(scope="module")
def mechanism(tmp_path_factory: pytest.TempPathFactory) -> DPST:
    folder = tmp_path_factory.mktemp("dp-st examples")
    long = save_llama(folder / "long", CHAT_TEMPLATE, room=4096)
    return make_dp_st({**save_parts(folder), "model": str(long)}, "sound")


def save(path: Path, messages: object) -> str:
    path.write_text(json.dumps(messages), "utf-8")
    return str(path)


def read_prompt(mechanism: DPST, drawn: tuple[int, ...] = (0, 3)) -> str:
    """Return what the writer reads for the drawn triples."""
    return str(mechanism._load_writer().tokenizer.decode(mechanism._load_writing()._build_prompt(drawn)))


def test_our_examples_are_turns_of_the_chat_in_the_form_of_the_template(mechanism: DPST) -> None:
    template = "Tell these facts:\n{triples}"
    plain, shown = (
        read_prompt(replace(mechanism, template=template, examples=examples)) for examples in ("", "ours")
    )
    assert plain.count("<user>") == 1
    assert shown.count("<user>") == 7, "three examples, each with an answer, and the question"
    assert shown.endswith(plain)
    assert shown.startswith(
        "<user>Tell these facts:\nNora | repaired | the old piano<end><user>Nora repaired"
    )


def test_triples_can_be_given_as_dictionaries_in_examples_too(mechanism: DPST) -> None:
    prompt = read_prompt(replace(mechanism, template="Input triples: {records}", examples="ours"), (0,))
    for who, verb, what in (("Nora", "repaired", "the old piano"), ("a woman", "bought", "a bicycle")):
        assert f"Input triples: [{{'object': '{what}', 'property': '{verb}', 'subject': '{who}'}}]" in prompt


def test_a_file_holds_any_messages_word_for_word(mechanism: DPST, tmp_path: Path) -> None:
    found = read_prompt(replace(mechanism, examples=save(tmp_path / "chat.json", CHAT)), (0,))
    assert found.startswith(
        "<user>Be brief.<end><user>Input triples: [a, b, c]<end><user>A does b to c.<end>"
        "<user>Say a woman | bought | a bicycle"
    )


def test_a_model_without_a_chat_template_reads_examples_as_paragraphs(
    mechanism: DPST, tmp_path: Path
) -> None:
    plain = replace(mechanism, model=str(save_llama(tmp_path / "plain", room=4096)))
    chat = save(tmp_path / "chat.json", CHAT)
    assert read_prompt(replace(plain, examples=chat)) == "\n\n".join(
        [*(message["content"] for message in CHAT), read_prompt(plain)]
    )


def test_examples_change_the_text_and_the_key_and_not_what_is_drawn(mechanism: DPST, tmp_path: Path) -> None:
    draws = [Draw(text, 20.0, key) for text in (BICYCLE, KEYS) for key in range(3)]
    other = save(tmp_path / "other.json", CHAT[1:])
    several = [replace(mechanism, examples=examples) for examples in ("", "ours", other)]
    done = [one.rewrite(draws) for one in several]
    assert len({tuple(rewrite.tokens for rewrite in rewrites) for rewrites in done}) == 1
    assert len({tuple(rewrite.text for rewrite in rewrites) for rewrites in done}) == 3
    keys = [one.fingerprint().get("example messages") for one in several]
    assert keys[0] is None
    assert len(set(keys)) == 3
    same = save(tmp_path / "same.json", CHAT[1:])
    assert replace(mechanism, examples=same).fingerprint() == several[2].fingerprint()


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([], "has none"),
        ({"role": "user", "content": "a"}, "could not be read"),
        ([{"role": "poet", "content": "a"}], "another role"),
        ([{"role": "user", "content": 3}], "without a text"),
        ([{"role": "user"}], "could not be read"),
        (["Be brief."], "could not be read"),
        ([{"role": [], "content": "a"}], "another role"),
    ],
)
def test_a_file_of_another_shape_is_refused(
    mechanism: DPST, tmp_path: Path, messages: object, complaint: str
) -> None:
    with pytest.raises(SpecError, match=f"(?s){complaint}.*JSON file with a list of messages"):
        replace(mechanism, examples=save(tmp_path / "wrong.json", messages)).fingerprint()


def test_a_missing_file_is_refused(mechanism: DPST, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="FileNotFoundError"):
        replace(mechanism, examples=str(tmp_path / "none.json")).rewrite([Draw(KEYS, 1.0, 1)])


def test_examples_that_leave_no_room_for_triples_are_refused(mechanism: DPST) -> None:
    with pytest.raises(ModelError, match="room for 300"):
        replace(mechanism, examples="ours", context=300).rewrite([Draw(KEYS, 1.0, 1)])


def test_a_chat_template_that_refuses_the_messages_says_why(mechanism: DPST, tmp_path: Path) -> None:
    strict = replace(mechanism, model=str(save_llama(tmp_path / "strict", NO_SYSTEM, room=4096)))
    with pytest.raises(ModelError, match="no system"):
        read_prompt(replace(strict, examples=save(tmp_path / "chat.json", CHAT)))
    assert "A does b" in read_prompt(replace(strict, examples=save(tmp_path / "turns.json", CHAT[1:])))
