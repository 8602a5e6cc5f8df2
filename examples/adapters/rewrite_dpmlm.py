"""Rewrites texts with the package dpmlm 1.3.0, in an environment of its own (dpmlm.yaml).

Every line in is a JSON object with a text, an epsilon and a key for the noise, every line out one with the
rewrite.
"""

import argparse
import json
import os
import sys
from pathlib import Path


def read_settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path, help="a folder, as unpack_model.py writes it")
    parser.add_argument("--low", type=float, help="lower end of the logits; else the model's in clip.json")
    parser.add_argument("--high", type=float, help="upper end of the logits")
    parser.add_argument("--batch", action="store_true", help="the package's batch mode")
    parser.add_argument("--rewrite-stop-words", action="store_true", help="else they are kept")
    return parser.parse_args()


def main() -> None:
    settings = read_settings()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever libraries print goes to standard error
    os.environ["HF_HUB_OFFLINE"] = "1"  # before they are imported; the model is a folder
    import numpy as np
    from dpmlm import DPMLM

    clip = json.loads((settings.model / "clip.json").read_text("utf-8"))
    low = clip["low"] if settings.low is None else settings.low
    high = clip["high"] if settings.high is None else settings.high
    if not low < high:
        sys.exit(f"the clip range is {low} to {high}; --low must be below --high")
    bounds = {"clip_min": low, "clip_max": high, "sensitivity": high - low}
    mechanism = DPMLM(MODEL=str(settings.model), calibration=bounds)
    rewrite = mechanism.dpmlm_rewrite_batch if settings.batch else mechanism.dpmlm_rewrite
    for line in sys.stdin:
        request = json.loads(line)
        key = request["draw_key"]
        np.random.seed([int(key[i : i + 8], 16) for i in range(0, 32, 8)])  # noqa: NPY002 - the package's own
        try:
            made = rewrite(request["text"], request["epsilon"], STOP=settings.rewrite_stop_words)
            answer = {"text": str(made[0] if isinstance(made, tuple) else made)}
        except MemoryError:  # the machine's fault, not the text's
            raise
        except Exception as error:  # an output too, named by its type alone
            answer = {"error": f"raised-{type(error).__name__}"}
        print(json.dumps({"id": request["id"], **answer}), file=answers, flush=True)


if __name__ == "__main__":
    main()
