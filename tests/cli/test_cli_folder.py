"""A run without --out: the folder that it takes, and that it says so first."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUN = ("run", "-m", "word-rr", "-e", "2", "-c", "texts.txt", "-t", "40", "-a", "lexical", "--encoder",
       "lexical")  # fmt: skip
OWN = Path("runs") / "word-rr-texts"


def folders(here):
    return sorted(path.name for path in (here / "runs").iterdir()) if (here / "runs").is_dir() else []


def test_the_path_is_the_first_line_and_the_same_command_goes_on(command, here):
    for more in ((), ("-q",), ("--table", "none"), ("--worst", "1", "--worst-trials", "10", "-q"),
                 ("--engine", "processes", "--workers", "1", "-q"), ("--batch-size", "9")):  # fmt: skip
        code, out, _ = command(*RUN, *more)
        assert code == 0
        assert out.splitlines()[0] == str(OWN)
    assert folders(here) == ["word-rr-texts"]
    code, out, err = command(*RUN, "-t", "60")
    assert out.splitlines()[0] == str(OWN)
    assert "from 40 trials to 60: that is look 3" in err  # the worst pairs were one
    code, out, _ = command(*RUN, "-t", "60", "-q", "--loss")
    assert out.splitlines()[0] == f"{OWN}-2"


def test_beside_json_the_path_is_on_standard_error(command):
    code, out, err = command(*RUN, "--json", "-q")
    assert code == 0
    assert out.startswith("{")
    assert err.splitlines()[0] == str(OWN)


def test_a_run_with_a_name_says_its_folder_too_and_one_with_out_does_not(command, here):
    assert command(*RUN, "--name", "mine", "-q")[1].splitlines()[0] == str(Path("runs") / "mine")
    (here / "named.yaml").write_text((here / "good.yaml").read_text() + "name: own\n")
    assert command("run", "named.yaml", "-q")[1].splitlines()[0] == str(Path("runs") / "own")
    assert str(here / "made") not in command(*RUN, "--out", "made", "-q")[1].splitlines()[0]
    assert folders(here) == ["mine", "own"]
    assert command("run", "good.yaml", "-q")[1].splitlines()[0] == str(
        Path("runs") / "identity-word-rr-texts"
    )


@pytest.mark.parametrize(
    "wrong", [("-m", "nobody"), ("-c", "none.txt"), ("--k", "500"), ("-e", "0"), ("--set", "word-rr.slot=3")]
)
def test_wrong_input_prints_no_path_and_leaves_no_folder(command, here, wrong):
    code, out, _ = command(*RUN, *wrong)
    assert (code, out) == (2, "")
    assert not (here / "runs").exists()


def test_a_plan_says_the_folder_and_writes_nothing(command, here):
    code, out, _ = command(*RUN, "--dry-run")
    assert code == 0
    assert f"To do in {OWN}" in out
    assert not (here / "runs").exists()


def test_the_embedded_audit_is_called_demo_and_what_differs_gets_another(command, here, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", "off")
    flags = ("run", "-t", "20", "-q", "--set", "corpus.size=50", "--table", "none")
    names = [command(*flags, *more)[1].splitlines()[0] for more in ((), ("-e", "4"), ())]
    assert names == [str(Path("runs") / name) for name in ("demo", "demo-2", "demo")]
    assert "To do in runs/demo-2" in command(*flags[:-2], "-e", "4", "--dry-run")[1]


def test_losses_have_folders_of_their_own_too(command, here):
    flags = ("loss", "-m", "word-rr", "-c", "texts.txt", "-t", "40", "-q")
    for epsilon, name in (("2", OWN), ("3", f"{OWN}-2"), ("2", OWN)):
        assert command(*flags, "-e", epsilon)[1].splitlines()[0] == str(name)


@pytest.mark.skipif(os.name != "posix", reason="kills")
def test_a_killed_run_goes_on_by_the_same_command(command, here):
    arguments = (
        "run",
        "-m",
        "py:my_plugins:shout",
        "-e",
        "1",
        "-t",
        "400",
        "-c",
        "texts.txt",
        "-q",
        "-a",
        "lexical",
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "tedaudit", *arguments], env={**os.environ, "HANG_AT": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert running.stdout.readline() == "runs/shout-texts\n"  # it has begun
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert command(*arguments)[1].splitlines()[0] == "runs/shout-texts"
    assert folders(here) == ["shout-texts"]
