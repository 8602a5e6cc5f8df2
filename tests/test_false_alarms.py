"""Rewriters that reveal nothing and claim epsilon 0 are hardly ever accused, over two looks.

`benchmarks/false_alarms.py` does it a thousand times; here sixteen audits have to do.
"""

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "false_alarms.py"
ATTACKS = ("lexical", {"name": "trained", "encoder": "lexical"})


def _load_script():
    spec = importlib.util.spec_from_file_location("false_alarms", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["false_alarms"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_none_of_sixteen_audits_accuses_a_rewriter_that_reveals_nothing():
    script = _load_script()
    names = list(script.FUNCTIONS)
    alarms = [script.audit_twice((names[seed % 2], seed), ATTACKS) for seed in range(16)]
    assert not any(alarm.is_false for alarm in alarms)
