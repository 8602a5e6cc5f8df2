"""The contract of a plug-in, as checks to call from your own tests; and the tool's own test, `selftest`.

Names are loaded when first used: pytest imports the plugin that lies here whenever it starts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tedaudit.testing.checks import Checked, check_attack, check_mechanism
    from tedaudit.testing.known import Known, SelfTest, selftest
    from tedaudit.testing.subject import ODD, ORDINARY

_HOMES = {
    "tedaudit.testing.checks": ("Checked", "check_attack", "check_mechanism"),
    "tedaudit.testing.known": ("Known", "SelfTest", "selftest"),
    "tedaudit.testing.subject": ("ODD", "ORDINARY"),
}

__all__ = ["ODD", "ORDINARY", "Checked", "Known", "SelfTest", "check_attack", "check_mechanism", "selftest"]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'tedaudit.testing' has no attribute '{name}'")
