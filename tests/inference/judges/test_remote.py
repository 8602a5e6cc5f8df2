import math

import pytest

from judging_server import running
from tedaudit.errors import ModelError, SpecError
from tedaudit.inference.judges.base import Prompt, Service
from tedaudit.inference.judges.loading import load_judge

pytest.importorskip("httpx")
PROMPT = Prompt("Which one? ", "1. << a >> 2. << b >>", "answer: [[")
PATIENT = Service(timeout=1.0, attempts=4, concurrency=2)


@pytest.mark.parametrize("faults", [["429", "429"], ["503"], ["close"], ["garbage", "500"], ["hang"]])
def test_a_temporary_failure_is_retried(faults):
    with running(faults) as server:
        assert load_judge(server.backend, PATIENT).answer([PROMPT], 8) == ["answer: [[1]]"]
        assert len(server.bodies) == len(faults) + 1


@pytest.mark.parametrize("fault", ["429", "close", "garbage", "hang"])
def test_a_lasting_failure_ends_with_what_to_do(fault):
    with running([fault] * 9) as server, pytest.raises(ModelError, match=r"continues from there") as caught:
        load_judge(server.backend, Service(timeout=0.3, attempts=2)).answer([PROMPT], 8)
    assert "2 times in a row" in str(caught.value)


def test_a_refusal_is_not_retried():
    with running(["401"]) as server, pytest.raises(ModelError, match="TEDAUDIT_API_KEY"):
        load_judge(server.backend, PATIENT).answer([PROMPT], 8)
    assert len(server.bodies) == 1


def test_endings_are_scored_as_wholes():
    with running() as server:
        scored = load_judge(server.backend, PATIENT).score([PROMPT], [["1]]", "2]]", "10]]"]])[0]
        assert scored.log_probabilities[:2] == pytest.approx([-0.6, -1.6])
        assert scored.log_probabilities[2] == pytest.approx(-0.5 - 3.0 - 0.1)  # one, nought, brackets
        prefixes = [body["messages"][-1]["content"] for body in server.bodies]
    assert sorted(prefixes) == ["answer: [[", "answer: [[1", "answer: [[10", "answer: [[2"]


def test_a_token_that_is_not_returned_is_no_likelier_than_those_that_are():
    with running() as server:
        scored = load_judge(server.backend, PATIENT).score([PROMPT], [["1]]", "7]]"]])[0]
    assert scored.log_probabilities[1] == pytest.approx(-4.0)
    assert math.isfinite(scored.log_probabilities[1])


def test_a_server_without_log_probabilities_is_recognised():
    with running(logprobs=False) as server, pytest.raises(ModelError, match="reading: generate"):
        load_judge(server.backend, PATIENT).score([PROMPT], [["1]]"]])


def test_a_server_that_cannot_score_a_text_is_recognised():
    with running() as server, pytest.raises(ModelError, match="404"):
        load_judge(server.backend, PATIENT).score([PROMPT], [["a whole sentence"]])


def test_the_key_goes_to_the_server_and_not_into_messages(monkeypatch):
    monkeypatch.setenv("TEDAUDIT_API_KEY", "very-secret")
    with running(["401"]) as server, pytest.raises(ModelError) as caught:
        load_judge(server.backend, PATIENT).answer([PROMPT], 8)
    assert server.headers[0]["Authorization"] == "Bearer very-secret"
    assert "very-secret" not in str(caught.value)


def test_texts_for_this_machine_go_through_no_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with running() as server:
        assert load_judge(server.backend, PATIENT).answer([PROMPT], 8)


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("openai:m@http://example.org/v1", "another machine.*allow_remote: true"),
        ("openai:m@http://127.0.0.1.example.org/v1", "another machine"),
        ("openai:m@http://user:pw@127.0.0.1/v1", "user or password"),
        ("openai:m", "openai:MODEL@URL"),
        ("openai:m@ftp://127.0.0.1", "openai:MODEL@URL"),
        ("claude", "hf:ID_OR_PATH"),
        ("hf:", "hf:ID_OR_PATH"),
    ],
)
def test_an_address_that_is_not_allowed_says_why(backend, message):
    with pytest.raises(SpecError, match=message):
        load_judge(backend, Service())


def test_a_remote_server_can_be_allowed():
    assert load_judge("openai:m@https://example.org/v1", Service(allow_remote=True)).fingerprint() == {
        "judge": "openai:m"
    }
