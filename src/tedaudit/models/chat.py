"""The text that a chat template puts around a user's turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.errors import ModelError

_MARK = "\u2402here\u2402"
# Llama's template would otherwise tell the model today's date, and Qwen's would let it think.
_OPTIONS = {"date_string": "26 Jul 2024", "enable_thinking": False}


Message = Mapping[str, str]  # its role and its content


def render_turn(tokenizer: Any, content: str, earlier: Sequence[Message] = ()) -> str:
    """Return a user's turn as the tokenizer's chat template writes it, up to where the answer begins."""
    turns = [*map(dict, earlier), {"role": "user", "content": content}]
    return str(tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False, **_OPTIONS))


def chat_frame(tokenizer: Any, earlier: Sequence[Message] = ()) -> tuple[str, str] | None:
    """Return the text that a chat template puts before and after a user's turn; None without a template.

    Earlier messages of the same chat are part of what comes before.
    """
    if not getattr(tokenizer, "chat_template", None):
        return None
    try:
        before, mark, after = render_turn(tokenizer, _MARK, earlier).partition(_MARK)
    except Exception as error:
        if not earlier:
            raise
        roles = ", ".join(dict.fromkeys(message["role"] for message in earlier))
        raise ModelError(  # each template raises what it likes about roles and their order
            f"The model's chat template does not take the messages before the turn, of {roles} ({error}). "
            "Many take no system message, and most want user and assistant in turn."
        ) from error
    if not mark:
        raise ModelError(
            "The model's chat template does not show the user's turn unchanged. Use another model."
        )
    return before, after
