"""Draws per second of the mechanisms, and of the plain way to run them, side by side on one machine.

    python benchmarks/mechanisms.py --texts atis.txt --out benchmarks/results/mechanisms.json

Architectures are the real ones (FLAN-T5-base, GPT-2, RoBERTa-base, BART-base) with random weights and a
small tokenizer trained on the texts. Random logits are flat, so prefixes hardly ever agree: that is the
cost *without* sharing. The rows marked "peaked" have the output layer scaled up until the clip range is
filled, so that draws at high epsilon agree, as a trained model's do. `--weights zoo` takes the trained models
of tedaudit-zoo instead.

The plain way is one text at a time with the library's own `generate` (clip, then temperature, then sample;
beam search for BART), and for DP-MLM one masked pass per word, as the public implementations do.
"""

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from architectures import ARCHITECTURES, PEAKED, save

from tedaudit.models.loading import load_checkpoint
from tedaudit.models.zoo import find_folder as folder_of
from tedaudit.plugins.batches import Draws
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive, uniforms

GRID = (0.1, 0.5, 1.0, 10.0, 50.0, 100.0, 250.0, 750.0, 1000.0, 2500.0)
SHOWN = (10.0, 100.0, 1000.0)
WEIGHTS = dict.fromkeys(("dp-prompt", "dp-paraphrase"), ("random", "peaked"))


def main() -> None:
    """Measure what is asked for and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, required=True, help="one text a line")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--plain", type=int, default=12, help="texts that the plain way rewrites")
    parser.add_argument("--mechanism", action="append", choices=list(ARCHITECTURES))
    parser.add_argument("--weights", choices=["random", "peaked", "zoo"], help="by default all that apply")
    options = parser.parse_args()
    texts = sorted({line.strip() for line in options.texts.read_text().splitlines() if line.strip()})
    result: dict[str, Any] = {"machine": _machine(), "texts": len(texts), "draws": options.draws, "rows": []}
    for name in options.mechanism or list(ARCHITECTURES):
        for weights in [options.weights] if options.weights else WEIGHTS.get(name, ("random",)):
            with _saved(name, weights, texts) as folder:
                result["rows"] += measure(name, weights, folder, texts, options)
            load_checkpoint.cache_clear()
            torch.cuda.empty_cache()
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(result, indent=1))


def measure(name: str, weights: str, folder: str, texts: list[str], options: Any) -> list[dict[str, Any]]:
    """Return the rows of one mechanism: ours at several epsilons and sizes, and the plain way."""
    settings = {"model": folder, **ARCHITECTURES[name].settings, **(PEAKED if weights == "peaked" else {})}
    if weights == "zoo":  # which has a clip range of its own
        settings = {key: value for key, value in settings.items() if key not in ("low", "high")}
    mechanism = build(Reference("mechanism", name, settings))
    mechanism.rewrite(_draws(texts, 64, (100.0,)))  # warm up
    few = texts[:: len(texts) // options.plain][: options.plain]
    ARCHITECTURES[name].plain(folder, few[:2], 100.0)  # warm up
    rate = len(few) / _timed(lambda: ARCHITECTURES[name].plain(folder, few, 100.0))
    cases: list[tuple[str, int, tuple[float, ...]]] = [(f"eps {e:g}", options.draws, (e,)) for e in SHOWN]
    cases += [
        ("ten epsilons", options.draws, GRID),
        ("eps 100, ten times the draws", 10 * options.draws, (100.0,)),
    ]
    rows = []
    for case, trials, epsilons in cases:
        draws = _draws(texts, trials, epsilons)
        with _counted(name, folder) as run:
            seconds = _timed(lambda some=draws: mechanism.rewrite(some))
        rows.append(
            {
                "mechanism": name, "weights": weights, "case": case, "draws": len(draws),
                "seconds": round(seconds, 3), "draws_per_second": round(len(draws) / seconds, 1),
                "plain_per_second": round(rate, 2), "ratio": round(len(draws) / seconds / rate, 1),
                "model_rows_per_draw": round(run["rows"] / len(draws), 3),
                "model_seconds": round(run["seconds"], 3),
            }
        )  # fmt: skip
        print(json.dumps(rows[-1]), flush=True)
    rows.append(
        {"mechanism": name, "weights": weights, "case": "disagreement", **_disagreement(mechanism, texts)}
    )
    print(json.dumps(rows[-1]), flush=True)
    return rows


@contextmanager
def _saved(name: str, weights: str, texts: list[str]) -> Iterator[str]:
    """Give the folder of a model: a trained one, or one that is made and thrown away."""
    if weights == "zoo":
        yield str(folder_of(f"zoo:{ARCHITECTURES[name].zoo}"))
        return
    with tempfile.TemporaryDirectory() as folder:
        save(name, texts, Path(folder), peaked=weights == "peaked")
        yield folder


def _draws(texts: list[str], trials: int, epsilons: tuple[float, ...]) -> Draws:
    """Return draws as a run makes them: uniform texts, replicates counted, epsilons sharing keys."""
    picks = (uniforms([derive(0, "benchmark")], trials)[0] * len(texts)).astype(int)
    counts: dict[int, int] = {}
    draws = []
    for pick in picks.tolist():
        counts[pick] = counts.get(pick, 0) + 1
        key = derive(0, "rewrite", texts[pick], counts[pick])
        draws += [Draw(texts[pick], epsilon, key) for epsilon in epsilons]
    return Draws.of(sorted(draws, key=lambda draw: draw.text))


def _disagreement(mechanism: Any, texts: list[str]) -> dict[str, Any]:
    """Return how often a draw comes out otherwise alone than in a batch."""
    draws = _draws(texts, 200, (10.0, 1000.0))
    together = mechanism.rewrite(draws)
    alone = [mechanism.rewrite([draw])[0] for draw in draws]
    differing = sum(a.text != b.text for a, b in zip(together, alone, strict=True))
    return {"draws": len(draws), "differing": differing, "share": differing / len(draws)}


@contextmanager
def _counted(name: str, folder: str) -> Iterator[dict[str, float]]:
    """Count the rows that go through the model, and the time until they are through."""
    model = ARCHITECTURES[name].counted(folder)
    run = {"rows": 0.0, "seconds": 0.0, "since": 0.0}

    def before(_: Any, arguments: Any, keywords: Any) -> None:
        _synchronise()
        run["since"] = time.perf_counter()
        first = keywords.get("input_ids", keywords.get("decoder_input_ids"))
        first = arguments[0] if first is None else first
        run["rows"] += first.shape[0]

    def after(*_: Any) -> None:
        _synchronise()
        run["seconds"] += time.perf_counter() - run["since"]

    handles = [model.register_forward_pre_hook(before, with_kwargs=True), model.register_forward_hook(after)]
    try:
        yield run
    finally:
        for handle in handles:
            handle.remove()


def _timed(call: Callable[[], Any]) -> float:
    _synchronise()
    start = time.perf_counter()
    call()
    _synchronise()
    return time.perf_counter() - start


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _machine() -> dict[str, str]:
    import transformers

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or "cpu"
    return {
        "device": device, "date": time.strftime("%Y-%m-%d"), "python": platform.python_version(),
        "torch": torch.__version__, "transformers": transformers.__version__,
    }  # fmt: skip


if __name__ == "__main__":
    main()
