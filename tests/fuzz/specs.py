"""Mutated specs: each runs, or is refused in one line, and touches nothing outside its folder.

PYTHONPATH=src:tests python -m fuzz.specs --cases 10000 --seed 0
"""

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml

from fuzz.command import main
from fuzz.mutations import NAMES, PLAUSIBLE, YAML, Tally, flip, replace_in_tree, spoil, try_case, working_in
from tedaudit.api import run
from tedaudit.runs.spec.flags import merge_flags, parse_k
from tedaudit.runs.spec.model import AuditSpec, parse_spec, read_spec
from tedaudit.studies.forecast.forecast import plan_audit

TEXTS = "".join(f"{who} {did} the {what}\n" for who in ("ann", "bob", "cat", "dan") for did in ("lost",
"sold")
                for what in ("ring", "boat", "lamp"))  # fmt: skip
PAIRS = "original,rewrite,epsilon\n" + "".join(
    f"{text},x {n},1\n" for n, text in enumerate(TEXTS.splitlines())
)
BASES: tuple[dict[str, Any], ...] = (
    {
        "name": "small", "corpus": {"name": "files", "path": "texts.txt"}, "mechanisms": ["identity"],
        "attacks": ["lexical"], "plans": [{"k": 2, "lambda": 0}], "trials": 20, "encoder": "lexical",
    },
    {
        "name": "words", "corpus": {"name": "files", "path": "texts.txt", "column": "text", "encoding":
        "utf-8"},
        "mechanisms": [{"name": "word-rr", "slots": 3, "label": "words", "epsilons": [1, 2.5]}, "constant"],
        "epsilons": [1, 4], "attacks": [{"name": "lexical", "label": "by words"}], "trials": 15, "seed": 7,
        "plans": [{"k": 3, "strategy": "nearest", "top": 2}, {"k": "all"}], "encoder": "lexical", "alpha":
        0.05,
        "delta": 0.001, "batch_size": 7, "block": 5,
    },
    {
        "name": "table", "mechanisms": [{"name": "recorded", "path": "pairs.csv", "max_units": 2}],
        "trials": 4,
        "plans": [{"k": 2, "lambda": -10000.0, "estimator": "baseline"}], "encoder": "lexical",
    },
    {
        "name": "code", "corpus": {"name": "files", "path": "texts.txt"}, "epsilons": 2, "trials": 10,
        "mechanisms": [{"name": "py:json:dumps", "unit": "word", "batch": False}], "encoder": "lexical",
    },
)  # fmt: skip
_MARK = "placeholder-of-the-fuzzer"
_MOST_TRIALS = 500


def fuzz_specs(cases: int, seed: int) -> Tally:
    """Try mutated specs, the same ones for the same seed."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "case"
        for number in range(cases):
            rng = random.Random(f"{seed} {number}")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "texts.txt").write_text(TEXTS)
            (folder / "pairs.csv").write_text(PAIRS)
            (folder / "audit.yaml").write_bytes(_mutate(rng))
            with working_in(folder):
                try_case(tally, f"spec {seed} {number}", lambda rng=rng: _try(rng))
            strangers = [path.name for path in Path(outer).iterdir() if path.name not in ("case", "home")]
            if strangers:
                tally.broken.append((f"spec {seed} {number}", f"it wrote outside of its folder: {strangers}"))
                shutil.rmtree(Path(outer) / strangers[0], ignore_errors=True)
    return tally


def _mutate(rng: random.Random) -> bytes:
    """Return a spec with something in the place of something else, or with a spoilt text."""
    tree: Any = rng.choice(BASES)
    chosen = []
    style = rng.random()
    for _ in range(rng.choice((1, 1, 1, 2)) if style < 0.6 else 0):
        tree = replace_in_tree(tree, rng, f"{_MARK}{len(chosen)}")
        chosen.append(rng.choice(YAML if rng.random() < 0.6 else PLAUSIBLE))
    text = yaml.safe_dump(tree, sort_keys=False, default_flow_style=rng.choice((None, False, True)))
    for place, fragment in enumerate(chosen):
        text = text.replace(f"{_MARK}{place}", fragment)
    for _ in range(rng.choice((1, 1, 2)) if style > 0.55 else 0):
        text = spoil(text, rng, YAML)
    raw = text.encode("utf-8", "surrogatepass")
    return flip(raw, rng) if rng.random() < 0.1 else raw


def _try(rng: random.Random) -> None:
    flags: dict[str, Any] = {}
    assignments = []
    if rng.random() < 0.05:
        flags["k"] = parse_k(rng.choice(NAMES))
    if rng.random() < 0.05:
        flags[rng.choice(("name", "encoder", "strategy", "estimator", "corpus"))] = rng.choice(NAMES)
    if rng.random() < 0.1:
        label = rng.choice(("words", "identity", "corpus", "lexical", "recorded", rng.choice(NAMES)))
        key = rng.choice(("slots", "path", "column", "encoding", "label", rng.choice(NAMES)))
        assignments.append(f"{label}.{key}={rng.choice(YAML)}")
    spec = parse_spec(merge_flags(read_spec(Path("audit.yaml")), flags, assignments))
    if rng.random() < 0.5 and spec.out:
        spec = spec.model_copy(update={"out": ""})
    if _is_small(spec):
        run(spec, page=rng.random() < 0.1)
        if rng.random() < 0.2:
            run(spec, page=False)
        if rng.random() < 0.1:
            plan_audit(spec)


def _is_small(spec: AuditSpec) -> bool:
    rows = spec.trials * len(spec.mechanisms) * len(spec.plans) * max(1, len(spec.epsilons))
    return rows <= _MOST_TRIALS * 10 and spec.trials <= _MOST_TRIALS


if __name__ == "__main__":
    main(fuzz_specs, __doc__)
