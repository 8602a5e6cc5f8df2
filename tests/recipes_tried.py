"""Recipes that are tried: run dry in this process, and what their cards must hold."""

import runpy
import sys
from pathlib import Path

RECIPES = Path(__file__).parents[1] / "recipes"


def run_dry(name, arguments, monkeypatch):
    """Run a recipe as a script does, with a few steps."""
    script = RECIPES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, arguments), "--dry-run"])
    runpy.run_path(str(script), run_name="__main__")


def card_holds_what_was_printed(name, folder, printed):
    card = (folder / "card.md").read_text("utf-8")
    figures = [line for line in printed.splitlines() if line.startswith(f"{name}") and ": " in line]
    assert figures
    for line in figures:
        _, _, figure = line.partition(": ")
        label, _, value = figure.rpartition(": ")
        assert f"| {label} | {value} |" in card
