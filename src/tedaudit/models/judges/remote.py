"""A judge behind an OpenAI-compatible server: vLLM, llama.cpp, Ollama, TGI and others.

Answers come from `chat/completions`. Endings are scored if the server returns log-probabilities: a
short ending token by token, from the likeliest next tokens; a long one in a single call, either by
having the prompt echoed (vLLM) or by forcing every token with a grammar (llama.cpp).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from tedaudit.errors import ModelError
from tedaudit.models.judges.base import EndingScores, Prompt, Service, strip_thoughts
from tedaudit.models.judges.calls import BrokenAnswerError, Caller, FailedQuestionError, RefusalError

Item = TypeVar("Item")
Result = TypeVar("Result")
_SHORT = 8  # characters: endings up to this long are scored token by token
_LIKELIEST = 20  # number of next tokens requested; the most that the interface allows
_NEXT, _FORCED = "log-probabilities", "tokens forced by a grammar"
_ECHOED = "the log-probabilities of a given text"
_NO_THOUGHTS = {"chat_template_kwargs": {"enable_thinking": False}}
_CONTINUE = {"continue_final_message": True, "add_generation_prompt": False}  # the reply has begun


class LackingServerError(ModelError):
    """A server that answers, and never returns what a question needs."""


class RemoteJudge:
    """Scores and answers by HTTP."""

    def __init__(self, backend: str, service: Service) -> None:
        self._caller, self._role = Caller(backend, service), service.role
        self._forced: str = ""
        self._proven: set[str] = set()  # what the server has returned at least once
        self._lacking: set[str] = set()  # and what it has left out at least once

    def fingerprint(self) -> Mapping[str, str]:
        """Return the model's name: an address may change, and weights behind one cannot be seen."""
        return {"judge": f"openai:{self._caller.model}"}

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[str | None]:
        """Return the likeliest reply to each prompt, or None if it failed for good."""

        def reply(prompt: Prompt) -> str:
            return strip_thoughts(self._chat(prompt, "", {"max_tokens": max_tokens}, _read_message))

        return self._caller.each(reply, prompts)

    def score(self, prompts: Sequence[Prompt], endings: Sequence[Sequence[str]]) -> list[EndingScores | None]:
        """Return how probable each ending of each prompt is, or None if that failed for good."""

        def score_prompt(item: tuple[Prompt, Sequence[str]]) -> EndingScores:
            prompt, texts = item
            if all(len(text) <= _SHORT for text in texts):
                return EndingScores(np.asarray(self._walk_all(prompt, texts)), (1,) * len(texts))
            scores = [self._score_long(prompt, text) for text in texts]
            return EndingScores(
                np.asarray([value for value, _ in scores]), tuple(tokens for _, tokens in scores)
            )

        return self._caller.each(score_prompt, list(zip(prompts, endings, strict=True)))

    def _walk_all(self, prompt: Prompt, endings: Sequence[str]) -> list[float]:
        """Return endings' log-probabilities token by token; a common prefix is requested once."""
        known: dict[str, dict[str, float]] = {}
        return [self._walk(prompt, ending, known) for ending in endings]

    def _walk(self, prompt: Prompt, ending: str, known: dict[str, dict[str, float]]) -> float:
        written, total = "", 0.0
        while written != ending:
            if written not in known:
                known[written] = self._request_next(prompt, written)
            rest = ending[len(written) :]
            fitting = {
                token: value for token, value in known[written].items() if token and rest.startswith(token)
            }
            if not fitting:  # less likely than all tokens returned
                return total + min(known[written].values(), default=0.0)
            token = max(fitting, key=lambda text: (fitting[text], text))
            total += fitting[token]
            written += token
        return total

    def _request_next(self, prompt: Prompt, written: str) -> dict[str, float]:
        """Return the likeliest next tokens with their log-probabilities."""

        def read(response: Mapping[str, Any]) -> dict[str, float]:
            steps = self._prove(_NEXT, _read_steps(response))
            likeliest: dict[str, float] = {}
            for entry in _read_list(steps[0], "top_logprobs"):
                token, value = str(entry.get("token", "")), _read_number(entry.get("logprob"))
                likeliest[token] = max(value, likeliest.get(token, -np.inf))
            if not likeliest:
                raise BrokenAnswerError("it answered without the likeliest tokens")
            return likeliest

        options = {"max_tokens": 1, "logprobs": True, "top_logprobs": _LIKELIEST}
        with self._needing(_NEXT):
            return self._chat(prompt, written, options, read)

    def _score_long(self, prompt: Prompt, ending: str) -> tuple[float, int]:
        """Return the log-probability of a long ending, and how many tokens it has."""
        if not ending:
            return 0.0, 0
        if not self._forced:
            self._forced = "grammar" if self._tokenize("a") is not None else "echo"
        return (
            self._score_by_grammar(prompt, ending)
            if self._forced == "grammar"
            else self._score_by_echo(prompt, ending)
        )

    def _score_by_grammar(self, prompt: Prompt, ending: str) -> tuple[float, int]:
        """Force every token, as llama.cpp can: the log-probabilities are still the model's own."""
        tokens = self._tokenize(ending) or []

        def read(response: Mapping[str, Any]) -> tuple[float, int]:
            steps = _read_steps(response)[: len(tokens)]
            forced = [step.get("id") for step in steps] == tokens
            self._prove(_FORCED, steps if forced else [])
            return float(sum(_read_number(step.get("logprob")) for step in steps)), len(tokens)

        grammar = "root ::= " + " ".join(f"<[{token}]>" for token in tokens)
        options = {"max_tokens": len(tokens), "logprobs": True, "top_logprobs": 1, "grammar": grammar}
        with self._needing(_FORCED):
            return self._chat(prompt, "", options, read)

    def _score_by_echo(self, prompt: Prompt, ending: str) -> tuple[float, int]:
        """Have the prompt echoed with log-probabilities, as vLLM can; the turn is sent as plain text."""
        text = f"{prompt.head}{prompt.body}\n{prompt.reply}"

        def read(response: Mapping[str, Any]) -> tuple[float, int]:
            echoed = _read_choice(response).get("logprobs")
            told = echoed if isinstance(echoed, dict) else {}
            values, offsets = told.get("token_logprobs") or [], told.get("text_offset") or []
            inside = [
                _read_number(value)
                for value, offset in zip(values, offsets, strict=False)
                if value is not None and len(text) <= _read_number(offset) < len(text + ending)
            ]
            self._prove(_ECHOED, inside)
            return float(sum(inside)), len(inside)

        body = {"model": self._caller.model, "prompt": text + ending, "max_tokens": 1, "temperature": 0}
        with self._needing(_ECHOED):
            return self._caller.post("/completions", {**body, "echo": True, "logprobs": 1}, read)

    def _tokenize(self, text: str) -> list[int] | None:
        """Return a text's tokens if the server can tokenize, as llama.cpp can; otherwise None."""
        parts = urlsplit(self._caller.url)
        root = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/v1')}"
        body = {"content": text, "add_special": False, "parse_special": False}
        try:
            return self._caller.post("/tokenize", body, _read_tokens, base=root)
        except RefusalError:
            return None

    def _chat(
        self,
        prompt: Prompt,
        written: str,
        options: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], Result],
    ) -> Result:
        messages = [{"role": "user", "content": prompt.head + prompt.body}]
        beginning = prompt.reply + written
        if beginning:
            messages.append({"role": "assistant", "content": beginning})
        body = {
            "model": self._caller.model, "messages": messages, "temperature": 0, **_NO_THOUGHTS,
            **(_CONTINUE if beginning else {}), **options,
        }  # fmt: skip
        return self._caller.post("/chat/completions", body, read)

    def _prove(self, feature: str, found: list[Item]) -> list[Item]:
        """Return what was found; nothing is a broken answer."""
        if not found:
            self._lacking.add(feature)
            raise BrokenAnswerError(f"it answered without {feature}")
        self._proven.add(feature)
        return found

    @contextmanager
    def _needing(self, feature: str) -> Iterator[None]:
        """Say what a server lacks if a question failed because it has never returned that."""
        try:
            yield
        except FailedQuestionError as error:
            if feature in self._lacking - self._proven:
                raise LackingServerError(self._explain_lack(feature)) from error
            raise

    def _explain_lack(self, feature: str) -> str:
        return (
            f"The {self._role.name} at {self._caller.url} does not return {feature}. {self._role.without}, "
            "or use a server that does: llama.cpp, as started by `tedaudit judge`, or vLLM."
        )


def _read_choice(response: Mapping[str, Any]) -> dict[str, Any]:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise BrokenAnswerError("it answered without a choice")
    return first


def _read_message(response: Mapping[str, Any]) -> str:
    """Return what the model said; nothing at all is not an answer."""
    message = _read_choice(response).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str) or not content.strip():
        raise BrokenAnswerError("it answered with an empty message")
    return content


def _read_steps(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the server says about every token of an answer."""
    logprobs = _read_choice(response).get("logprobs")
    return _read_list(logprobs, "content") if isinstance(logprobs, dict) else []


def _read_list(holder: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    entries = holder.get(name)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _read_number(value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BrokenAnswerError("it answered with a number that is not one")
    return float(value)


def _read_tokens(response: Mapping[str, Any]) -> list[int] | None:
    tokens = response.get("tokens")
    return tokens if isinstance(tokens, list) and all(isinstance(item, int) for item in tokens) else None
