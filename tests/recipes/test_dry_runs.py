"""Every recipe runs to its end on a CPU in a dry run: saved, loaded again, measured, card written."""

import lzma
import os
import random
import runpy
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

DATA = os.environ.get("TEDAUDIT_DATA", "")
PROJECT = Path(__file__).parents[2]
RECIPES = {
    "adept": "model.int8.safetensors", "bart": "model.int8.safetensors", "mlm": "clip.json",
    "seq2seq": "clip.json", "paraphraser": "clip.json", "parser": "meta.json",
    "encoder": "model.int8.safetensors",
}  # fmt: skip
RARELY = {"bart", "paraphraser"}  # `make test-all` runs them: adept and seq2seq call nearly all that they do
WITHOUT_OPTIONS = {"checksums", "public_words"}
LINES = {
    "text/gutenberg.txt.xz": 150, "text/tatoeba.txt.xz": 150, "text/wikitext2.txt.xz": 150,
    "text/paraphrases.tsv.xz": 300, "snli/entailment.tsv": 300, "snips/snips_2017_train.csv": 300,
    "ud-ewt/train.conllu.xz": 3000, "ud-ewt/dev.conllu.xz": 1500, "ud-ewt/test.conllu.xz": 1500,
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The beginning of every file of the public text: a dry run reads some of them whole."""
    if not Path(DATA, "text").is_dir():
        pytest.skip("TEDAUDIT_DATA has no public text")
    folder = tmp_path_factory.mktemp("data")
    for name, count in LINES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        compressed = name.endswith(".xz")
        with (lzma.open if compressed else open)(Path(DATA, name), "rb") as whole:
            first = b"".join(islice(whole, count))
        if name.startswith("ud-ewt"):
            first = first[: first.rindex(b"\n\n") + 2]  # whole sentences
        (folder / name).write_bytes(lzma.compress(first) if compressed else first)
    return folder


@pytest.fixture
def unchanged_state():
    """A recipe is a script and may seed and set what it likes: put back what it has changed."""
    torch = pytest.importorskip("torch")
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    precision = torch.get_float32_matmul_precision()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    torch.set_rng_state(states[2])
    torch.set_float32_matmul_precision(precision)


def card_holds_what_was_printed(name, folder, printed):
    card = (folder / "card.md").read_text("utf-8")
    figures = [line for line in printed.splitlines() if line.startswith(f"{name}") and ": " in line]
    assert figures
    for line in figures:
        _, _, figure = line.partition(": ")
        label, _, value = figure.rpartition(": ")
        assert f"| {label} | {value} |" in card


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
    script = PROJECT / "recipes" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(script), "--data", str(data), "--out", str(tmp_path), "--dry-run"])
    runpy.run_path(str(script), run_name="__main__")
    assert (tmp_path / RECIPES[name]).is_file()
    card_holds_what_was_printed(name, tmp_path, capsys.readouterr().out)
