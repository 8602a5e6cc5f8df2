"""The few exceptions a user can act on.

Every message names the thing, the value, what is allowed and the next step. What it quotes may come from
a file or a path of somebody else: a message is one line of bounded length without control characters.
"""

import difflib
import re
import reprlib
from collections.abc import Iterable

_LONGEST = 4_000  # characters of a message: what is beyond was quoted
_LONGEST_NAME = 100  # characters of a name that is worth comparing with others
_QUOTES = reprlib.Repr()
_QUOTES.maxstring = _QUOTES.maxother = _QUOTES.maxlong = 200
_LOGIN = re.compile(r"(\w{1,20}://)[^/\s]+@")  # no part without a limit before another: a text may be long
_SECRET = re.compile(
    r"([?&#;][\w.-]{0,60}(?:key|token|secret|passw|pwd|auth|sig)[\w.-]{0,60}=)[^&\s'\"]+", re.IGNORECASE
)


class TedauditError(Exception):
    """Anything that wrong input or a damaged file can cause; the command line exits with 2.

    Messages quote settings and are copied into issues: keys in addresses are hidden in all of them.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(hide_keys(message))

    def __str__(self) -> str:
        return escape_control(shorten(super().__str__(), _LONGEST))


class SpecError(TedauditError):
    """A setting that does not exist or has a value it cannot have."""


class PathError(TedauditError):
    """A path that no file can have, or a file that cannot be used."""


class PluginError(TedauditError):
    """A plug-in that cannot be found, built or loaded."""


class ContractError(TedauditError):
    """A plug-in that broke its contract: wrong length, wrong type, scores that are not numbers."""


class InfrastructureError(TedauditError):
    """The machine or the network failed several times in a row: that is no output, so no attack sees it."""


class CorpusError(TedauditError):
    """Texts that cannot be read or cannot be audited."""


class ModelError(TedauditError):
    """A model that is not installed, cannot be loaded or does not fit."""


class EncoderError(ModelError):
    """A sentence encoder that is not installed or returns something unusable."""


class RunDirectoryError(TedauditError):
    """A run directory that does not fit what is asked of it, or a damaged file in it."""


class RunInUseError(RunDirectoryError):
    """A run directory that another process is writing to."""


def hide_keys(text: str) -> str:
    """Return a text without the users, passwords and keys in its addresses."""
    return _SECRET.sub(r"\1***", _LOGIN.sub(r"\1***@", text))


def escape_control(text: str) -> str:
    """Return a text in one line that does nothing to a terminal: what cannot be printed is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shorten(text: str, longest: int) -> str:
    """Return a text without its middle if it is longer than that."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"


def quote(value: object) -> str:
    """Return a value as a message shows it: short, whatever its size and however deep it is."""
    try:
        return _QUOTES.repr(value)
    except (ValueError, RecursionError):  # Python refuses to write down whole numbers of many digits
        return f"a value of type {type(value).__name__} that is too large to be shown"


def join_names(names: Iterable[str]) -> str:
    """Return names as one readable, sorted list."""
    return ", ".join(sorted(names)) or "(none)"


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" if there is a close name, otherwise an empty string."""
    names = [other for other in allowed if len(other) <= _LONGEST_NAME]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6) if len(name) <= _LONGEST_NAME else []
    return f" Did you mean '{close[0]}'?" if close else ""
