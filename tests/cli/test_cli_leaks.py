"""`tedaudit leaks` and `tedaudit lint`: what they print, and with which code they end."""

import json
import re
import sys

import pytest

from command_line import process

REWRITERS = """\
import random

def shout(text):
    return text.upper()

def say(text):
    return random.choice(["yes", "no", "perhaps so"])

def seeded(text):
    random.seed(3)
    return random.choice(["yes", "no"])
"""
QUICK = ("-c", "texts.txt", "--trials", "50", "-q")


@pytest.fixture
def folder(here, monkeypatch):
    monkeypatch.delitem(sys.modules, "rewriters", raising=False)  # that of a folder that is gone
    (here / "rewriters.py").write_text(REWRITERS)
    return here


def test_leaks_names_what_leaks_in_eighty_columns(folder, command):
    code, out, err = command("leaks", "-m", "py:rewriters:shout", *QUICK)
    assert (code, err) == (0, "")
    assert "Whole texts come back, but for case and white space" in out
    assert "Fix: " in out
    assert max(map(len, out.splitlines())) <= 80


def test_leaks_ends_with_1_only_if_it_is_told_to_and_something_leaks(folder, command):
    assert command("leaks", "-m", "py:rewriters:shout", *QUICK, "--fail-on", "finding")[0] == 1
    assert command("leaks", "-m", "constant", *QUICK, "--fail-on", "finding")[0] == 0
    code, _, err = command("leaks", "-m", "constant", *QUICK, "--fail-on", "findings")
    assert (code, "Did you mean 'finding'?" in err) == (2, True)


def test_leaks_as_json_holds_every_test_and_redacted_no_text(folder, command):
    texts = (folder / "texts.txt").read_text().splitlines()
    code, out, _ = command("leaks", "-m", "py:rewriters:shout", *QUICK, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["findings"][0]["example"]["texts"][0] in {*texts, *(text.strip() for text in texts)}
    assert {"part", "culprit", "strength", "interval", "adjusted_p", "fix"} <= data["findings"][0].keys()
    for arguments in (("--json",), ()):
        shown = command("leaks", "-m", "py:rewriters:shout", *QUICK, "--redact", *arguments)[1].lower()
        assert not any(text.lower() in shown for text in texts if len(text) > 5)
        assert "Whole texts".lower() in shown


def test_leaks_says_that_silence_proves_nothing(folder, command):
    code, out, _ = command("leaks", "-m", "py:rewriters:say", *QUICK)
    assert code == 0
    assert "No leak was found" in " ".join(out.split())
    assert "proves nothing" in " ".join(out.split())


def test_leaks_needs_a_mechanism(command):
    code, _, err = command("leaks", "-c", "texts.txt")
    assert (code, "needs a mechanism" in err) == (2, True)
    code, _, err = command("leaks", "-m", "constant", "--set", "output")
    assert (code, "KEY=VALUE" in err) == (2, True)


def test_lint_names_a_fixed_seed_and_ends_with_1_if_told_to(folder, command):
    code, out, _ = command("lint", "-m", "py:rewriters:seeded")
    assert code == 0
    assert "error: fixed seed: line" in out
    assert re.match(r"\S+, settings and source: 1 error\b", out)  # levels without a note are not counted
    assert "nothing found" in command("lint", "-m", "py:rewriters:say")[1]
    assert max(map(len, out.splitlines())) <= 80
    assert command("lint", "-m", "py:rewriters:seeded", "--fail-on", "error")[0] == 1
    assert command("lint", "-m", "py:rewriters:say", "--fail-on", "error")[0] == 0
    assert command("lint", "-m", "py:rewriters:seeded", "--fail-on", "warning")[0] == 1  # and what is graver
    code, _, err = command("lint", "-m", "word-rr", "--fail-on", "violated")
    assert (code, "`lint` cannot find that. It is one of: error, warning." in err) == (2, True)


def test_leaks_lints_first_and_may_fail_on_a_note(folder, command):
    code, out, _ = command("leaks", "-m", "py:rewriters:seeded", *QUICK, "--fail-on", "error")
    assert code == 1
    assert "error: " in out.partition("zero budget")[0]
    told = json.loads(command("leaks", "-m", "py:rewriters:seeded", *QUICK, "--json")[1])
    assert told["lint"][0]["counts"]["error"] > 0
    assert command("leaks", "-m", "constant", *QUICK, "--fail-on", "error")[0] == 0


def test_lint_reads_the_settings_of_a_model_folder(folder, command):
    (folder / "model").mkdir()
    (folder / "model" / "generation_config.json").write_text('{"top_k": 50, "do_sample": true}')
    code, out, _ = command("lint", "--model", "model", "--json", "--fail-on", "error")
    assert code == 1
    assert json.loads(out)["notes"][0]["fix"] == "top_k=0"
    code, _, err = command("lint", "--model", "model", "-m", "word-rr")
    assert (code, "--mechanism or --model" in err) == (2, True)
    code, _, err = command("lint", "--model", "nowhere")
    assert (code, "is not a folder" in err) == (2, True)


def test_leaks_in_a_process_of_its_own_finds_a_seed_that_repeats(folder):
    done = process("leaks", "-m", "py:rewriters:shout", *QUICK, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "fresh process" in {finding["name"] for finding in json.loads(done.stdout)["findings"]}
