"""The text that a chat template puts around a user's turn."""

from typing import Any

from tedaudit.errors import ModelError

_MARK = "\u2402here\u2402"
# Llama's template would otherwise tell the model today's date, and Qwen's would let it think.
_OPTIONS = {"date_string": "26 Jul 2024", "enable_thinking": False}


def render_turn(tokenizer: Any, content: str) -> str:
    """Return a user's turn as the tokenizer's chat template writes it, up to where the answer begins."""
    turn = [{"role": "user", "content": content}]
    return str(tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False, **_OPTIONS))


def chat_frame(tokenizer: Any) -> tuple[str, str] | None:
    """Return the text that a chat template puts before and after a user's turn; None without a template."""
    if not getattr(tokenizer, "chat_template", None):
        return None
    before, mark, after = render_turn(tokenizer, _MARK).partition(_MARK)
    if not mark:
        raise ModelError(
            "The model's chat template does not show the user's turn unchanged. Use another model."
        )
    return before, after
