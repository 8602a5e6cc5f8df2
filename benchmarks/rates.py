"""Draws per second of the mechanisms on one GPU, where nothing waits for the clock.

    python benchmarks/rates.py --texts atis.txt --out benchmarks/results/rates-h200.json

Real architectures with random weights (`architectures.py`), draws as a run makes them. DP-MLM and DP-BART run
three times, and the best counts; `mechanisms.py` has the plain way beside them and model time apart.
DP-Prompt and DP-Paraphrase run once as they are, and once with the model's time taken, for which every pass
waits for the GPU.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from architectures import ARCHITECTURES, save

from mechanisms import GRID, _counted, _draws, _machine, _timed
from tedaudit.models.loading import load_checkpoint
from tedaudit.plugins.registry import Reference, build

CASES: list[tuple[str, dict[str, Any], list[tuple[int, tuple[float, ...]]]]] = [
    ("dp-mlm", {}, [(10_000, GRID), (100_000, (100.0,))]),
    ("dp-bart", {}, [(2000, (100.0,))]),
    ("dp-bart", {"decoder_dtype": "bfloat16"}, [(2000, (100.0,))]),
    ("dp-paraphrase", {}, [(100_000, (100.0,))]),
    ("dp-prompt", {}, [(100_000, (100.0,))]),
]
_STEPWISE = ("dp-paraphrase", "dp-prompt")
_WARM = 2000  # trials that are not counted


def main() -> None:
    """Measure all cases, print each and write them down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="one text a line")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    texts = sorted({line.strip() for line in options.texts.read_text().splitlines() if line.strip()})
    rows = []
    for name, settings, cases in CASES:
        with tempfile.TemporaryDirectory() as folder:
            save(name, texts, Path(folder), peaked=False)
            fields = {"model": folder, **ARCHITECTURES[name].settings, **settings}
            mechanism = build(Reference("mechanism", name, fields))
            for trials, epsilons in cases:
                mechanism.rewrite(_draws(texts, _WARM, epsilons))
                row = {"mechanism": name, **settings, "trials": trials}
                rows.append(row | _measure(name, folder, mechanism, _draws(texts, trials, epsilons)))
                print(json.dumps(rows[-1]), flush=True)
        load_checkpoint.cache_clear()
        torch.cuda.empty_cache()
    found = {"machine": _machine(), "weights": "random", "texts": len(texts), "rows": rows}
    options.out.write_text(json.dumps(found, indent=1))


def _measure(name: str, folder: str, mechanism: Any, draws: Any) -> dict[str, Any]:
    """Return the seconds that draws take, and how many there are in one."""
    if name not in _STEPWISE:
        times = [_timed(lambda: mechanism.rewrite(draws)) for _ in range(3)]
        best = round(len(draws) / min(times))
        return {"draws": len(draws), "seconds": [round(one, 2) for one in times], "per_second": best}
    seconds = _timed(lambda: mechanism.rewrite(draws))
    with _counted(name, folder) as run:
        waiting = _timed(lambda: mechanism.rewrite(draws))
    return {
        "draws": len(draws), "seconds": round(seconds, 2), "per_second": round(len(draws) / seconds),
        "seconds_if_waited_for": round(waiting, 2), "model_seconds": round(run["seconds"], 2),
        "model_busy": round(run["seconds"] / waiting, 3), "rows": run["rows"],
    }  # fmt: skip


if __name__ == "__main__":
    main()
