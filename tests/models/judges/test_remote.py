import math

import pytest

from judging_server import BROKEN, running
from tedaudit.errors import ModelError, SpecError
from tedaudit.models.judges import calls
from tedaudit.models.judges.base import Prompt, Service
from tedaudit.models.judges.local import load_judge

pytest.importorskip("httpx")
PROMPT = Prompt("Which one? ", "1. << a >> 2. << b >>", "answer: [[")
PATIENT = Service(attempts=4, concurrency=2)
UNHURRIED = Service(attempts=4, concurrency=1)


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """Ask again at once."""
    monkeypatch.setattr(calls, "_SHORTEST_WAIT", 0.01)


@pytest.mark.parametrize("faults", [["429", "429"], ["503"], ["close"], ["garbage", "500"]])
def test_a_temporary_failure_is_retried(faults):
    with running(faults) as server:
        assert load_judge(server.backend, PATIENT).answer([PROMPT], 8) == ["answer: [[1]]"]
        assert len(server.bodies) == len(faults) + 1


def test_a_server_that_does_not_answer_is_asked_again():
    with running(["hang"]) as server:
        judge = load_judge(server.backend, Service(timeout=1.0, attempts=50, concurrency=2))
        assert judge.answer([PROMPT], 8) == ["answer: [[1]]"]
        assert len(server.bodies) >= 2  # more if the machine is busy


@pytest.mark.parametrize("fault", BROKEN)
def test_an_answer_that_is_empty_or_broken_is_asked_for_again(fault):
    with running([fault, fault], echoes=True) as server:
        judge = load_judge(server.backend, UNHURRIED)
        assert judge.answer([PROMPT], 8) == ["answer: [[1]]"]
        server.faults += [fault, fault]
        assert judge.score([PROMPT], [["1", "2"]])[0].log_probabilities == pytest.approx([-0.5, -1.5])
        server.faults += [fault, fault]
        scored = judge.score([PROMPT], [["a whole sentence"]])[0]
        assert (scored.log_probabilities.tolist(), scored.tokens) == ([-8.0], (16,))
        assert len(server.bodies) == 9


QUESTIONS = [PROMPT, Prompt("Which one? ", "1. << bane >> 2. << b >>", "answer: [["), PROMPT]


@pytest.mark.parametrize("fault", ["500", "400", "413", "close", "empty", "none", "nan"])
def test_a_question_that_fails_for_good_is_one_without_an_answer(fault):
    with running(poison=("bane", fault), echoes=True) as server:
        judge = load_judge(server.backend, Service(attempts=2, concurrency=1))
        assert judge.answer(QUESTIONS, 8) == ["answer: [[1]]", None, "answer: [[1]]"]
        for endings in (["1", "2"], ["a whole sentence"]):
            scores = judge.score(QUESTIONS, [endings] * 3)
            assert [score is None for score in scores] == [False, True, False]


def test_a_server_that_was_away_while_a_question_was_tried_is_asked_once_more():
    with running(["503"] * 2 + ["503"]) as server:  # both attempts, and the first at a trivial question
        judge = load_judge(server.backend, Service(attempts=2, concurrency=1))
        assert judge.answer([PROMPT], 8) == ["answer: [[1]]"]


def test_twenty_failures_in_a_row_end_it_and_an_answer_between_them_does_not():
    bad = [Prompt("Which one? ", f"{number}. bane") for number in range(19)]
    with running(poison=("bane", "400")) as server:
        judge = load_judge(server.backend, Service(attempts=1, concurrency=1))
        assert judge.answer([*bad, PROMPT, *bad], 8) == [None] * 19 + ["answer: [[1]]"] + [None] * 19
        with pytest.raises(ModelError, match=r"20 questions in a row.*continues from there"):
            judge.answer(bad, 8)


@pytest.mark.parametrize("fault", ["429", "close", "garbage", "hang"])
def test_a_lasting_failure_ends_with_what_to_do(fault):
    with running([fault] * 9) as server, pytest.raises(ModelError, match=r"continues from there") as caught:
        load_judge(server.backend, Service(timeout=0.3, attempts=2)).answer([PROMPT], 8)
    assert "2 times in a row" in str(caught.value)


def test_a_refusal_is_not_retried():
    with running(["401"]) as server, pytest.raises(ModelError, match="TEDAUDIT_API_KEY"):
        load_judge(server.backend, PATIENT).answer([PROMPT], 8)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(("status", "is_told"), [("404", True), ("405", False)])
def test_an_address_that_is_not_there_is_told_how_addresses_end(status, is_told):
    with running([status]) as server, pytest.raises(ModelError, match=f"with {status}") as caught:
        load_judge(server.backend, PATIENT).answer([PROMPT], 8)
    assert ("usually ends with /v1" in str(caught.value)) is is_told


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
    assert "no, Bearer ***" in str(caught.value)  # this server repeats what it was sent
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["very secret", "v\u00e9ry-secret", "very\nsecret"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_API_KEY", key)
    with running() as server, pytest.raises(ModelError, match="TEDAUDIT_API_KEY contains") as caught:
        load_judge(server.backend, PATIENT).answer([PROMPT], 8)
    assert "secret" not in str(caught.value)


def test_a_line_break_after_a_key_is_left_out(monkeypatch):
    monkeypatch.setenv("TEDAUDIT_API_KEY", "very-secret\n")
    with running() as server:
        load_judge(server.backend, PATIENT).answer([PROMPT], 8)
    assert server.headers[0]["Authorization"] == "Bearer very-secret"


@pytest.mark.parametrize(
    "backend",
    [
        "openai:m@http://me:s3cret@127.0.0.1/v1",
        "openai:m@http://s3cret@127.0.0.1/v1",
        "openai:m@http://127.0.0.1/v1?key=s3cret",
        "openai:m@http://127.0.0.1/v1?s3cret",
        "openai:m@http://127.0.0.1/v1#s3cret",
        "openai:m@ftp://me:s3cret@127.0.0.1/v1",
        "openai:m@me:s3cret@127.0.0.1/v1",
        "openai:m@http://me:s3cret@127.0.0.1:port/v1",
        "openai:m@http://[::1/v1?key=s3cret",
        "opnai:m@http://127.0.0.1/v1?key=s3cret",
    ],
)
def test_an_address_with_a_key_is_refused_and_the_key_is_not_shown(backend):
    for allow in (False, True):
        with pytest.raises(SpecError) as caught:
            load_judge(backend, Service(allow_remote=allow))
        assert "s3cret" not in str(caught.value)


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
