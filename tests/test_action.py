"""The GitHub Action and the hooks for pre-commit: their very scripts, offline, from the wheel."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

import tedaudit
from command_line import TEXTS
from fresh_environment import call, make_environment

PROJECT = Path(tedaudit.__file__).parents[2]
ACTION, HOOKS = PROJECT / "action.yml", PROJECT / ".pre-commit-hooks.yaml"
SPEC = """
corpus: {name: files, path: texts.txt}
mechanisms: [%s]
attacks: [lexical]
epsilons: [0.5]
trials: 60
"""
OFFLINE = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
pytest.importorskip("hatchling")
pytestmark = pytest.mark.skipif(
    not ACTION.is_file() or os.name != "posix" or shutil.which("bash") is None,
    reason="needs a checkout and bash",
)


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load(ACTION.read_text("utf-8"))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder with the wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(build, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A fresh environment with pip and the libraries of the core, as the wheel finds them in a folder."""
    return make_environment(tmp_path_factory.mktemp("fresh") / "venv", with_pip=True)


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """The programs of a fresh environment that has the command."""
    python = make_environment(tmp_path_factory.mktemp("hooks") / "venv", with_pip=True)
    done = call(python, "-m", "pip", "install", "--no-index", "--find-links", wheels, "tedaudit", **OFFLINE)
    assert done.returncode == 0, done.stderr
    return python.parent


def installed_settings(programs):
    """Return the inputs of the action with which nothing is installed again, which the first job tests."""
    return {"python": programs / "python", "requirement": ""}


@pytest.fixture
def job(tmp_path):
    """A folder with texts and specs: one that keeps its claim and one that breaks it."""
    (tmp_path / "texts.txt").write_text(TEXTS)
    (tmp_path / "kept.yaml").write_text(SPEC % "constant")
    (tmp_path / "broken.yaml").write_text(SPEC % "'py:shouting:shout'")
    (tmp_path / "shouting.py").write_text("def shout(text):\n    return text.upper()\n")
    return tmp_path


AUDIT, GATE = "Audit", "Report and gate"


def do_steps(action, job, only=None, **given):
    """Run the steps of the action as a runner does, and return the code of the first that fails.

    `only` one of them if it is given, with what the others have left.
    """
    inputs = {name: str(known.get("default", "")) for name, known in action["inputs"].items()}
    inputs |= {name.replace("_", "-"): str(value) for name, value in given.items()}
    told, outputs = [], job / "outputs"
    if only != GATE:
        outputs.write_text("")
    for step in [step for step in action["runs"]["steps"] if only in (None, step["name"])]:
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        lines = [line.partition("=") for line in outputs.read_text().splitlines()]
        known |= {f"steps.audit.outputs.{name}": value for name, _, value in lines}
        values = {name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m, known=known: known[m[1]], value)
                  for name, value in step["env"].items()}  # fmt: skip
        script = job / "step.sh"
        script.write_text(step["run"])
        values |= {**OFFLINE, "GITHUB_STEP_SUMMARY": str(job / "summary.md"), "GITHUB_OUTPUT": str(outputs)}
        done = call("bash", "--noprofile", "--norc", "-eo", "pipefail", script, cwd=job, **values)
        told.append(done.stdout + done.stderr)
        if done.returncode:
            return done.returncode, told
    return 0, told


def test_a_job_that_keeps_its_claim_passes_offline_from_the_wheel(action, job, wheels, python):
    code, told = do_steps(action, job, spec="kept.yaml", wheels=wheels, python=python)
    assert code == 0, told
    assert f"tedaudit {tedaudit.__version__}" in told[0]
    root = ET.parse(job / "tedaudit-junit.xml").getroot()
    assert (root.get("failures"), root.get("skipped"), root.get("tests")) == ("0", "0", "2")
    assert "**passed**" in (job / "summary.md").read_text()


def test_a_job_that_breaks_its_claim_fails_and_says_why(action, job, installed):
    code, told = do_steps(action, job, spec="broken.yaml", **installed_settings(installed))
    assert code == 1, told
    assert ET.parse(job / "tedaudit-junit.xml").getroot().get("failures") == "2"
    summary = (job / "summary.md").read_text()
    assert "**failed** for 1 of 1" in summary
    assert not [line for line in TEXTS.splitlines() if line in summary]


def test_gates_may_be_several_or_a_limit(action, job, installed):
    settings = {"spec": "kept.yaml", **installed_settings(installed)}
    assert do_steps(action, job, **settings, fail_on="violated not-tested", fail_above="30")[0] == 0
    assert do_steps(action, job, GATE, **settings, fail_on="out-of-reach", fail_above="30")[0] == 1
    assert do_steps(action, job, GATE, **settings, fail_on="", fail_above="")[0] == 2
    assert do_steps(action, job, GATE, **settings, fail_on="nonsense")[0] == 2


def test_a_workspace_may_persist(action, job, installed):
    settings = {"spec": "kept.yaml", **installed_settings(installed)}
    for only in (None, AUDIT):
        assert do_steps(action, job, only, **settings)[0] == 0
    assert (job / "outputs").read_text() == "run=runs/constant-texts\n"
    (job / "texts.txt").write_text(TEXTS + "one more\n")  # another audit: it replaces the first one's file
    assert do_steps(action, job, **settings)[0] == 0
    assert (job / "outputs").read_text() == "run=runs/constant-texts-2\n"
    shutil.rmtree(job / "runs")
    (job / "named.yaml").write_text((job / "kept.yaml").read_text() + "name: mine\n")
    assert do_steps(action, job, AUDIT, **{**settings, "spec": "named.yaml"})[0] == 0
    assert (job / "outputs").read_text() == "run=runs/mine\n"
    assert do_steps(action, job, AUDIT, **settings, out="here")[0] == 0
    assert sorted(path.name for path in (job / "runs").iterdir()) == ["mine"]
    assert (job / "here" / "manifest.json").is_file()


def test_a_wheel_that_is_not_there_is_not_fetched_from_elsewhere(action, job, tmp_path, python):
    call(python, "-m", "pip", "uninstall", "-y", "tedaudit")
    code, told = do_steps(action, job, spec="kept.yaml", wheels=tmp_path / "none", python=python)
    assert code == 1
    assert "No matching distribution found for tedaudit" in told[0]


def test_the_value_of_an_input_never_becomes_a_command(action, job, python):
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
    evil = "$(touch pwned); touch pwned"
    for name in ("spec", "wheels", "requirement", "fail_above", "out", "junit"):
        do_steps(action, job, **{"spec": "kept.yaml", "python": python, "requirement": "", name: evil})
    assert not (job / "pwned").exists()


def test_every_input_is_used_and_described(action):
    text = ACTION.read_text("utf-8")
    for name, known in action["inputs"].items():
        assert f"inputs.{name} }}}}" in text
        assert known["description"]


def list_hooks():
    return {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text("utf-8"))}


def do_hook(name, job, programs, *arguments):
    """Run a hook's entry as pre-commit does: split as a shell does, arguments after it."""
    hook = list_hooks()[name]
    command = [*shlex.split(hook["entry"]), *(arguments or hook["args"])]
    (job / "tmp").mkdir(exist_ok=True)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return call(*command, cwd=job, PATH=path, TMPDIR=str(job / "tmp"), **OFFLINE)


@pytest.mark.parametrize(("spec", "code"), [("kept.yaml", 0), ("broken.yaml", 1), ("none.yaml", 2)])
def test_the_hook_audits_and_leaves_nothing_behind(spec, code, job, installed):
    done = do_hook("tedaudit-run", job, installed, spec, "--fail-on", "violated")
    assert done.returncode == code, done.stderr
    assert list((job / "tmp").iterdir()) == []
    assert not (job / "runs").exists()


def test_the_hook_runs_again_after_a_change_of_the_code(job, installed):
    assert do_hook("tedaudit-run", job, installed, "broken.yaml", "--fail-on", "violated").returncode == 1
    (job / "shouting.py").write_text("def shout(text):\n    return 'nothing'\n")
    assert do_hook("tedaudit-run", job, installed, "broken.yaml", "--fail-on", "violated").returncode == 0


def test_the_hook_that_lints_needs_no_texts(job, installed):
    done = do_hook("tedaudit-lint", job, installed, "-m", "word-rr", "--fail-on", "error")
    assert done.returncode == 0, done.stderr
    assert "word-rr, settings and source: 2 info" in done.stdout


def test_pre_commit_itself_runs_them(job, installed):
    pytest.importorskip("pre_commit")
    hook = {**list_hooks()["tedaudit-run"], "language": "system", "always_run": True,
            "args": ["broken.yaml", "--fail-on", "violated"]}  # fmt: skip
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    (job / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    path = f"{installed}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "PRE_COMMIT_HOME": str(job / "cache"), **OFFLINE}
    call("git", "init", "-q", cwd=job)
    call("git", "add", ".", cwd=job)
    command = (sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose")
    done = call(*command, cwd=job, **settings)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "violated" in done.stdout
    (job / "shouting.py").write_text("def shout(text):\n    return 'nothing'\n")
    assert call(*command, cwd=job, **settings).returncode == 0
