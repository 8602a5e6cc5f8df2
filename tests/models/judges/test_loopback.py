import pytest

from tedaudit.models.judges.loopback import is_loopback


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://localhost:1/v1", True),
        ("http://[::1]:1", True),
        ("http://127.8.9.1", True),
        ("http://0.0.0.0", False),
        ("http://10.0.0.1", False),
        ("https://judge.example.org/v1", False),
        ("http://localhost.example.org", False),
        ("http://localhost@example.org/v1", False),
        ("", False),
    ],
)
def test_only_loopback_is_this_machine(url, own):
    assert is_loopback(url) is own
