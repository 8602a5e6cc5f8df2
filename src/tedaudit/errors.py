"""The few exceptions a user can act on.

Every message names the thing, the value, what is allowed and the next step.
"""

import difflib
import re
from collections.abc import Iterable

_LOGIN = re.compile(r"(\w+://)[^/\s]+@")
_SECRET = re.compile(
    r"([?&#;][\w.-]*(?:key|token|secret|passw|pwd|auth|sig)[\w.-]*=)[^&\s'\"]+", re.IGNORECASE
)


class TedauditError(Exception):
    """Anything that wrong input or a damaged file can cause; the command line exits with 2.

    Messages quote settings and are copied into issues: keys in addresses are hidden in all of them.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(hide_keys(message))


class SpecError(TedauditError):
    """A setting that does not exist or has a value it cannot have."""


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


def join_names(names: Iterable[str]) -> str:
    """Return names as one readable, sorted list."""
    return ", ".join(sorted(names)) or "(none)"


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" if there is a close name, otherwise an empty string."""
    close = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""
