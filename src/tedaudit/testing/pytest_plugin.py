"""A pytest plugin: the fixture `assert_private`, and one line for every audit at the end.

It is imported whenever pytest starts, so it imports nothing that costs time.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tedaudit.testing.listeners import listening

if TYPE_CHECKING:
    from tedaudit.results.findings import AuditResult

_PROPERTY = "tedaudit"


@pytest.fixture
def assert_private() -> "Callable[..., AuditResult]":
    """Return `tedaudit.assert_private`."""
    import tedaudit

    return tedaudit.assert_private


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note every audit of a test with its report, which other processes pass on."""
    with listening(lambda line: item.user_properties.append((_PROPERTY, line))):
        return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line for every audit."""
    audits: dict[str, list[str]] = {}
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        lines = [line for name, line in getattr(report, "user_properties", ()) if name == _PROPERTY]
        if len(lines) > len(audits.get(report.nodeid, ())):  # a test has a report for each of its phases
            audits[report.nodeid] = lines
    if not audits:
        return
    terminalreporter.section("privacy audits")
    for test, lines in audits.items():
        for line in lines:
            terminalreporter.write_line(f"{test}: {line}")
