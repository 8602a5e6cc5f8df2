"""The contract of a plug-in, as checks to call from your own tests; and the tool's own test, `selftest`."""

from tedaudit.testing.checks import Checked, check_attack, check_mechanism
from tedaudit.testing.known import Known, SelfTest, selftest
from tedaudit.testing.subject import ODD, ORDINARY

__all__ = ["ODD", "ORDINARY", "Checked", "Known", "SelfTest", "check_attack", "check_mechanism", "selftest"]
