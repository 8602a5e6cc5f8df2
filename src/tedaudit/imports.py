"""Reaches objects by `py:package.module:name`. This runs code: treat a spec that holds one like a program."""

import importlib
import sys
from pathlib import Path
from typing import Any

from tedaudit.errors import PluginError, did_you_mean, listed


def imported(name: str) -> Any:
    """Return what `py:package.module:name` stands for; the current folder counts as importable."""
    module_name, _, attribute = name.removeprefix("py:").partition(":")
    if not module_name or not attribute:
        raise PluginError(f"'{name}' is not of the form py:package.module:name.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise PluginError(
            f"'{name}': cannot import {module_name} ({error}). It must be installed or lie in {here}."
        ) from error
    except Exception as error:  # whatever the module's own code raises
        raise PluginError(
            f"'{name}': {module_name} fails when it is imported: {type(error).__name__}: {error}. "
            f"`python -c 'import {module_name}'` shows where."
        ) from error
    if not hasattr(module, attribute):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise PluginError(
            f"'{name}': {module_name} has no '{attribute}'.{did_you_mean(attribute, public)} "
            f"It has: {listed(public)}."
        )
    return getattr(module, attribute)
