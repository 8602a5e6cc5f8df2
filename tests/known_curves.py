"""Calibrations on curves that are known: the script that counts their misses, and small ones of tests."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

from tedaudit.studies.calibrate.rounds import SearchSettings, find_epsilons
from tedaudit.studies.calibrate.search import Grid
from tedaudit.studies.calibrate.target import parse_target

_SCRIPT = Path(__file__).parent.parent / "benchmarks" / "calibrate.py"


@cache
def load_script():
    """Return `benchmarks/calibrate.py` as a module."""
    spec = importlib.util.spec_from_file_location("calibrate_benchmark", _SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibrate_benchmark"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def calibrate_curves(curves, value, *, trials=4000, seed=0, by="success", error=0.01, limits=(0.01, 1000)):
    """Calibrate to curves of success, one for each attack, and return the answer and where it drew."""
    source = load_script().CurveSource(curves, seed)
    target = parse_target(by, value, 2)
    settings = SearchSettings((target,), Grid.between(*limits), trials, error, {"known": tuple(curves)})
    [found] = find_epsilons(settings, source)
    return found, source
