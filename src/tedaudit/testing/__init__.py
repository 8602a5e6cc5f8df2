"""The contract of a plug-in, as checks to call from your own tests."""

from tedaudit.testing.checks import Checked, check_attack, check_mechanism
from tedaudit.testing.subject import ODD, ORDINARY

__all__ = ["ODD", "ORDINARY", "Checked", "check_attack", "check_mechanism"]
