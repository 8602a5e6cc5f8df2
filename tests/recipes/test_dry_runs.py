"""Every recipe runs to its end on a CPU in a dry run: saved, loaded again, measured, card written."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from recipes_tried import card_holds_what_was_printed, run_dry

PROJECT = Path(__file__).parents[2]
RECIPES = {
    "adept": "model.int8.safetensors", "bart": "model.int8.safetensors", "mlm": "clip.json",
    "seq2seq": "clip.json", "paraphraser": "clip.json", "parser": "meta.json",
    "encoder": "model.int8.safetensors",
}  # fmt: skip
RARELY = {"bart", "paraphraser"}  # `make test-all` runs them: adept and seq2seq call nearly all that they do
WITHOUT_OPTIONS = {"checksums", "demo", "models_from_packages", "public_words"}


def test_a_recipe_is_a_script(data, tmp_path):
    arguments = ["--data", str(data), "--out", str(tmp_path), "--dry-run"]
    command = [sys.executable, "recipes/vocabulary.py", *arguments]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "tokenizer.json").is_file()
    card_holds_what_was_printed("vocabulary", tmp_path, done.stdout)


@pytest.mark.usefixtures("unchanged_state")
def test_every_recipe_is_imported_and_says_how_it_is_called(monkeypatch, capsys):
    """Those that only `make test-all` runs, too."""
    scripts = sorted((PROJECT / "recipes").glob("*.py"))
    assert {f"{name}.py" for name in RECIPES} <= {script.name for script in scripts}
    for script in scripts:
        if script.stem in WITHOUT_OPTIONS:
            assert callable(runpy.run_path(str(script), run_name="recipe")["main"])
            continue
        monkeypatch.setattr(sys, "argv", [str(script), "--help"])
        with pytest.raises(SystemExit) as stopped:
            runpy.run_path(str(script), run_name="__main__")
        assert (stopped.value.code, "--dry-run" in capsys.readouterr().out) == (0, True), script.name


@pytest.mark.usefixtures("unchanged_state")
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_dry(name, data, tmp_path, monkeypatch, capsys, is_thorough):
    if name in RARELY and not is_thorough:
        pytest.skip("`make test-all` runs it")
    run_dry(name, ["--data", data, "--out", tmp_path], monkeypatch)
    assert (tmp_path / RECIPES[name]).is_file()
    card_holds_what_was_printed(name, tmp_path, capsys.readouterr().out)
