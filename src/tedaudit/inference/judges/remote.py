"""A judge behind an OpenAI-compatible server: vLLM, llama.cpp, Ollama, TGI and others.

Answers come from `chat/completions`. Endings are scored where the server tells log-probabilities: a
short ending token by token, from the likeliest next tokens; a long one in a single call, either by
having the prompt echoed (vLLM) or by forcing every token with a grammar (llama.cpp).
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from tedaudit.errors import ModelError
from tedaudit.inference.judges.base import Prompt, Scored, Service, without_thoughts
from tedaudit.inference.judges.calls import Caller

_SHORT = 8  # characters: endings up to this long are walked
_LIKELIEST = 20  # next tokens asked for; the most that the interface allows
_NO_THOUGHTS = {"chat_template_kwargs": {"enable_thinking": False}}
_GO_ON = {"continue_final_message": True, "add_generation_prompt": False}  # the reply has begun


class RemoteJudge:
    """Scores and answers by HTTP."""

    def __init__(self, backend: str, service: Service) -> None:
        self._caller = Caller(backend, service)
        self._forced: str = ""

    def fingerprint(self) -> Mapping[str, str]:
        """Return the model's name: an address may change, and weights behind one cannot be seen."""
        return {"judge": f"openai:{self._caller.model}"}

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[str]:
        """Return the likeliest reply to each prompt."""

        def one(prompt: Prompt) -> str:
            found = self._chat(prompt, "", {"max_tokens": max_tokens})
            return without_thoughts(str(_message(found)))

        return self._caller.each(one, prompts)

    def score(self, prompts: Sequence[Prompt], endings: Sequence[Sequence[str]]) -> list[Scored]:
        """Return how probable each ending of each prompt is."""

        def one(item: tuple[Prompt, Sequence[str]]) -> Scored:
            prompt, some = item
            if all(len(ending) <= _SHORT for ending in some):
                return Scored(np.asarray(self._walked(prompt, some)), (1,) * len(some))
            found = [self._whole(prompt, ending) for ending in some]
            return Scored(np.asarray([value for value, _ in found]), tuple(tokens for _, tokens in found))

        return self._caller.each(one, list(zip(prompts, endings, strict=True)))

    def _walked(self, prompt: Prompt, endings: Sequence[str]) -> list[float]:
        """Return endings' log-probabilities step by step; what two of them begin with is asked for once."""
        known: dict[str, dict[str, float]] = {}
        return [self._walk(prompt, ending, known) for ending in endings]

    def _walk(self, prompt: Prompt, ending: str, known: dict[str, dict[str, float]]) -> float:
        written, total = "", 0.0
        while written != ending:
            if written not in known:
                known[written] = self._next(prompt, written)
            left = ending[len(written) :]
            fitting = {
                token: value for token, value in known[written].items() if token and left.startswith(token)
            }
            if not fitting:  # less likely than all that were told
                return total + min(known[written].values(), default=0.0)
            token = max(fitting, key=lambda one: (fitting[one], one))
            total += fitting[token]
            written += token
        return total

    def _next(self, prompt: Prompt, written: str) -> dict[str, float]:
        """Return the likeliest next tokens with their log-probabilities."""
        options = {"max_tokens": 1, "logprobs": True, "top_logprobs": _LIKELIEST}
        steps = _steps(self._chat(prompt, written, options))
        if not steps:
            raise ModelError(self._lacks("log-probabilities"))
        found: dict[str, float] = {}
        for entry in steps[0].get("top_logprobs") or []:
            token, value = str(entry.get("token", "")), float(entry.get("logprob") or 0.0)
            found[token] = max(value, found.get(token, -np.inf))
        return found

    def _whole(self, prompt: Prompt, ending: str) -> tuple[float, int]:
        """Return the log-probability of a long ending, and how many tokens it has."""
        if not ending:
            return 0.0, 0
        if not self._forced:
            self._forced = "grammar" if self._tokens("a") is not None else "echo"
        return (
            self._by_grammar(prompt, ending) if self._forced == "grammar" else self._by_echo(prompt, ending)
        )

    def _by_grammar(self, prompt: Prompt, ending: str) -> tuple[float, int]:
        """Have every token forced, as llama.cpp can: the log-probabilities are the model's own."""
        tokens = self._tokens(ending) or []
        grammar = "root ::= " + " ".join(f"<[{token}]>" for token in tokens)
        options = {"max_tokens": len(tokens), "logprobs": True, "top_logprobs": 1, "grammar": grammar}
        steps = _steps(self._chat(prompt, "", options))[: len(tokens)]
        if [step.get("id") for step in steps] != tokens:
            raise ModelError(self._lacks("grammars of tokens"))
        return float(sum(step["logprob"] for step in steps)), len(tokens)

    def _by_echo(self, prompt: Prompt, ending: str) -> tuple[float, int]:
        """Have the prompt echoed with log-probabilities, as vLLM can; the turn is written as plain text."""
        text = f"{prompt.head}{prompt.body}\n{prompt.reply}"
        body = {"model": self._caller.model, "prompt": text + ending, "max_tokens": 1, "temperature": 0}
        found = self._caller.post("/completions", {**body, "echo": True, "logprobs": 1})
        told = (found.get("choices") or [{}])[0].get("logprobs") or {}
        values, offsets = told.get("token_logprobs") or [], told.get("text_offset") or []
        inside = [
            value
            for value, offset in zip(values, offsets, strict=False)
            if value is not None and len(text) <= offset < len(text + ending)
        ]
        if not inside:
            raise ModelError(self._lacks("the log-probabilities of a text that it is given"))
        return float(sum(inside)), len(inside)

    def _tokens(self, text: str) -> list[int] | None:
        """Return a text's tokens where the server can tell them, as llama.cpp can."""
        parts = urlsplit(self._caller.url)
        root = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/v1')}"
        body = {"content": text, "add_special": False, "parse_special": False}
        try:
            found = self._caller.post("/tokenize", body, base=root).get("tokens")
        except ModelError:
            return None
        return found if isinstance(found, list) and all(isinstance(token, int) for token in found) else None

    def _chat(self, prompt: Prompt, written: str, options: Mapping[str, Any]) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt.head + prompt.body}]
        begun = prompt.reply + written
        if begun:
            messages.append({"role": "assistant", "content": begun})
        body = {
            "model": self._caller.model, "messages": messages, "temperature": 0, **_NO_THOUGHTS,
            **(_GO_ON if begun else {}), **options,
        }  # fmt: skip
        return self._caller.post("/chat/completions", body)

    def _lacks(self, what: str) -> str:
        return (
            f"The judge at {self._caller.url} does not tell {what}. Use `reading: generate`, which needs "
            "none, or a server that does: llama.cpp, as `tedaudit judge` starts it, or vLLM."
        )


def _choice(found: Mapping[str, Any]) -> dict[str, Any]:
    choices = found.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def _message(found: Mapping[str, Any]) -> str:
    message = _choice(found).get("message")
    return str(message.get("content") or "") if isinstance(message, dict) else ""


def _steps(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is told of every token of an answer."""
    told = _choice(found).get("logprobs")
    content = told.get("content") if isinstance(told, dict) else None
    return [step for step in content if isinstance(step, dict)] if isinstance(content, list) else []
