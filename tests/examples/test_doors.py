"""The examples, one for each way in: short, and run as their first lines say."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tedaudit
from environments import find_environment

EXAMPLES = Path(__file__).parents[2] / "examples"
DOORS = ("inspect_scorer", "judge_release", "money_flag", "test_gate")

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the tests do not run from a checkout")


def run_python(*arguments, cwd):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_there_is_one_for_each_way_in_and_each_is_under_forty_lines():
    files = sorted(EXAMPLES.glob("*.py"))
    assert tuple(path.stem for path in files) == DOORS
    assert [path.name for path in files if len(path.read_text("utf-8").splitlines()) >= 40] == []


def test_a_release_is_judged(tmp_path):
    done = run_python(EXAMPLES / "judge_release.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "of 600 rewrites lead back to their original, among 600" in done.stdout
    with (tmp_path / "pairs.csv").open("w", newline="") as file:
        texts = tedaudit.load_corpus("demo").texts[:50]
        csv.writer(file).writerows([["original", "rewrite"], *([text, text.upper()] for text in texts)])
    done = run_python(EXAMPLES / "judge_release.py", "pairs.csv", cwd=tmp_path)
    assert "50 of 50 rewrites lead back to their original, among 50" in done.stdout


def test_a_mechanism_is_audited(tmp_path):
    done = run_python(EXAMPLES / "money_flag.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "money-flag" in done.stdout
    assert "no violation found" in done.stdout


def test_a_gate_in_pytest_passes_and_refuses(tmp_path):
    done = run_python("-m", "pytest", "-p", "no:cacheprovider", EXAMPLES / "test_gate.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


SCORED = """
import json, sys
import inspect_ai
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_scorer import paraphrase

def answer(make):
    def generate(messages, *rest):
        output = ModelOutput.from_content("mockllm/model", make(messages[-1].text.partition(": ")[2]))
        output.usage = ModelUsage()  # or inspect_ai counts tokens, with a list from the network
        return output
    return get_model("mockllm/model", custom_outputs=generate, memoize=False)

found = {}
for name, make in {"copies": str.upper, "fixed": lambda text: "Thank you."}.items():
    [log] = inspect_ai.eval(paraphrase(), model=answer(make), display="none", log_dir="logs")
    assert log.status == "success"
    found[name] = {key: metric.value for key, metric in log.results.scores[0].metrics.items()}
print(json.dumps(found))
"""


def test_a_scorer_for_inspect_tells_copies_from_a_fixed_answer(tmp_path, is_thorough):
    if not is_thorough:
        pytest.skip("inspect_ai is some 80 packages: tried with --all")
    python = find_environment("inspect", tmp_path, ["inspect_ai"], shared=True)
    paths = os.pathsep.join(map(str, (EXAMPLES, EXAMPLES.parent / "src")))
    done = subprocess.run(
        [python, "-c", SCORED], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["copies"]["mean"] == 1
    assert found["copies"]["eps_emp"] > 5
    assert found["fixed"]["eps_emp"] == 0
