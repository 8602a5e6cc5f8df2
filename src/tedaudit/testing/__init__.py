"""The contract of a plug-in, as checks to call from your own tests."""

from tedaudit.testing.checks import ODD, ORDINARY, Checked, check_attack, check_mechanism

__all__ = ["ODD", "ORDINARY", "Checked", "check_attack", "check_mechanism"]
