"""Every recipe runs to its end on a CPU in a dry run: saved, loaded again, measured, card written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = os.environ.get("TEDAUDIT_DATA", "")
PROJECT = Path(__file__).parents[2]
RECIPES = {
    "vocabulary": "tokenizer.json", "adept": "model.int8.safetensors", "bart": "model.int8.safetensors",
    "mlm": "clip.json", "seq2seq": "clip.json", "paraphraser": "clip.json",
    "parser": "meta.json", "encoder": "model.int8.safetensors",
}  # fmt: skip

pytestmark = pytest.mark.skipif(not Path(DATA, "text").is_dir(), reason="TEDAUDIT_DATA has no public text")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_dry(name, tmp_path):
    out = tmp_path / name
    command = [sys.executable, f"recipes/{name}.py", "--data", DATA, "--out", str(out), "--dry-run"]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=PROJECT, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (out / RECIPES[name]).is_file()
    card = (out / "card.md").read_text("utf-8")
    figures = [line for line in done.stdout.splitlines() if line.startswith(f"{name}") and ": " in line]
    assert figures
    for line in figures:
        _, _, figure = line.partition(": ")
        label, _, value = figure.rpartition(": ")
        assert f"| {label} | {value} |" in card
