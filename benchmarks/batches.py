"""DP-BART beside the release's own way, which encodes and decodes batches of 32 draws.

    python benchmarks/batches.py --corpus atis --draws 96 --out benchmarks/results/batches-cpu.json

Both ways rewrite the same draws with the same model in one process, and CPU time is compared, as many threads
as OMP_NUM_THREADS says. "bart-base" is its architecture with random weights and its generation settings
(forced first and last token, no triple of tokens twice), "plain" the same without them, "zoo" the trained
model of tedaudit-zoo. Each text has two replicates at two epsilons, as in an audit; the release's way knows
nothing of that and encodes each draw.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from architectures import save

from tedaudit.models.autoencoders.bart import load_bart
from tedaudit.models.zoo import find_folder
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive

SIZE = 32  # draws that the release decodes at a time
EPSILONS = (100.0, 1000.0)
SETTINGS = {"forced_bos_token_id": 0, "forced_eos_token_id": 2, "no_repeat_ngram_size": 3}


def main() -> None:
    """Measure what is asked for, print it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--draws", type=int, default=96)
    parser.add_argument("--model", action="append", choices=("bart-base", "plain", "zoo"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    texts = list(dict.fromkeys(build(Reference("corpus", options.corpus)).load().texts))
    draws = [
        Draw(text, epsilon, derive(0, "batches", text, replicate))
        for text in texts[: -(-options.draws // 4)]
        for replicate in (0, 1)
        for epsilon in EPSILONS
    ][: options.draws]
    rows = []
    for name in options.model or ("zoo", "bart-base", "plain"):
        with _find_model(name, texts) as folder:
            rows.append({"model": name, **measure(folder, draws, SETTINGS if name == "bart-base" else {})})
        print(json.dumps(rows[-1]), flush=True)
    if options.out is not None:
        about = {
            "machine": platform.machine(), "threads": os.environ.get("OMP_NUM_THREADS", "all"),
            "torch": torch.__version__, "corpus": options.corpus,
        }  # fmt: skip
        options.out.write_text(json.dumps({**about, "rows": rows}, indent=1))


def measure(folder: str, draws: Sequence[Draw], settings: dict[str, Any]) -> dict[str, Any]:
    """Return draws per second of CPU time, both ways."""
    mechanism = build(Reference("mechanism", "dp-bart", {"model": folder, "dtype": "float32"}))
    config = load_bart(folder, dtype="float32").checkpoint.model.generation_config
    for name, value in settings.items():
        setattr(config, name, value)
    found = _time(lambda: mechanism.rewrite(draws))
    plain = _time(lambda: rewrite_in_batches(mechanism, draws))
    return {
        "draws": len(draws), "ours per second": round(len(draws) / found, 3),
        "batches of 32 per second": round(len(draws) / plain, 3), "ratio": round(plain / found, 2),
    }  # fmt: skip


def rewrite_in_batches(mechanism: Any, draws: Sequence[Draw]) -> None:
    """Rewrite as the release does: encode, clip, add noise and decode, a batch at a time."""
    bart = load_bart(mechanism.model, dtype="float32")
    model, tokenizer = bart.checkpoint.model, bart.checkpoint.tokenizer
    for start in range(0, len(draws), SIZE):
        batch = draws[start : start + SIZE]
        read = tokenizer(
            [draw.text for draw in batch], padding="max_length", truncation=True,
            max_length=mechanism.window, return_tensors="pt",
        ).to(model.device)  # fmt: skip
        scales = torch.tensor([mechanism.noise_scale(draw.epsilon) for draw in batch], device=model.device)
        with torch.inference_mode():
            encoded = model.get_encoder()(input_ids=read.input_ids, attention_mask=read.attention_mask)
            clipped = encoded.last_hidden_state.clamp(-mechanism.clip, mechanism.clip)
            noisy = clipped + scales[:, None, None] * torch.randn_like(clipped)
            encoded.last_hidden_state = torch.zeros_like(noisy)
            encoded.last_hidden_state[..., bart.kept] = noisy[..., bart.kept]
            out = model.generate(
                encoder_outputs=encoded, attention_mask=torch.ones_like(read.input_ids),
                num_beams=mechanism.beams, max_length=mechanism.max_tokens, early_stopping=True,
                do_sample=False,
            )  # fmt: skip
        tokenizer.batch_decode(out.clamp(max=len(tokenizer) - 1), skip_special_tokens=True)


@contextmanager
def _find_model(name: str, texts: list[str]) -> Iterator[str]:
    if name == "zoo":
        yield str(find_folder("zoo:bart-pruned"))
        return
    with tempfile.TemporaryDirectory() as folder:
        save("dp-bart", texts, Path(folder), peaked=False)
        yield folder
        load_bart.cache_clear()


def _time(call: Callable[[], Any]) -> float:
    """Return CPU seconds; on a GPU, seconds."""
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    start = clock()
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - start


if __name__ == "__main__":
    main()
