"""Noise made where the model runs beside noise made by numpy: what differs, and how long each takes.

    python benchmarks/device_noise.py --keys 2000 --size 15360

A latent of DP-BART has 15,360 components (20 positions of 768). Noise is added in float64 and the sum is
rounded to float32; the last figures say how often that ends elsewhere because a normal differs in its last
bits.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tedaudit.models.sampling.noise import make_normals, make_uniforms, make_words
from tedaudit.seeding import derive, normals, uniforms, words

_SCALES = (0.1, 1.0, 10.0, 100.0)
_STEP = 250  # keys at a time


def main() -> None:
    """Compare on the GPU if there is one, else on the CPU, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keys", type=int, default=2000)
    parser.add_argument("--size", type=int, default=15_360)
    settings = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    make_normals([0], 8, device=device)  # warm up
    seconds = {"numpy": 0.0, "torch": 0.0}

    def time_call(which: str, call: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        found = call()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds[which] += time.perf_counter() - begin
        return found

    differing, rounded, units = {"words": 0, "uniforms": 0, "normals": 0}, dict.fromkeys(_SCALES, 0), 0.0
    clean = (0.1 * (2 * uniforms([derive(0, "clean latent")], settings.size)[0] - 1)).astype(np.float32)
    for start in range(0, settings.keys, _STEP):
        keys = [derive(0, "noise", i) for i in range(start, min(start + _STEP, settings.keys))]
        for kind, here, there in (
            ("words", words, make_words),
            ("uniforms", uniforms, make_uniforms),
        ):
            differing[kind] += int(
                (here(keys, settings.size) != there(keys, settings.size, device=device).cpu().numpy()).sum()
            )
        wanted = time_call("numpy", lambda keys=keys: normals(keys, settings.size))
        made = time_call("torch", lambda keys=keys: make_normals(keys, settings.size, device=device))
        found = made.cpu().numpy()
        differing["normals"] += int((found != wanted).sum())
        units = max(units, float((np.abs(found - wanted) / np.spacing(np.abs(wanted))).max()))
        for scale in _SCALES:
            pairs = [(clean + scale * noise).astype(np.float32) for noise in (found, wanted)]
            rounded[scale] += int((pairs[0] != pairs[1]).sum())
    cells = settings.keys * settings.size
    figures = {
        "device": name, "torch": torch.__version__, "keys": settings.keys, "numbers of a key": settings.size,
        "differing words": differing["words"], "differing uniforms": differing["uniforms"],
        "share of normals that differ": differing["normals"] / cells, "most units in the last place": units,
        "share of float32 latents that differ, by scale": {k: v / cells for k, v in rounded.items()},
        "milliseconds a key, numpy": 1000 * seconds["numpy"] / settings.keys,
        "milliseconds a key, torch": 1000 * seconds["torch"] / settings.keys,
    }  # fmt: skip
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
