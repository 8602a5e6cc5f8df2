"""Rewrites texts with the package dpmlm: run by `dpmlm-release` in an environment of its own."""

import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer with the model that the first argument, a JSON object, names."""
    from answering import answer_requests, split_key, take_over_output  # beside this file

    answers = take_over_output()
    settings = json.loads(sys.argv[1])
    os.environ["HF_HUB_OFFLINE"] = "1"  # the model is a folder
    import nltk

    if settings["nltk_data"]:
        nltk.data.path.insert(0, settings["nltk_data"])
    import numpy as np
    from dpmlm import DPMLM

    low, high = settings["low"], settings["high"]
    bounds = {"clip_min": low, "clip_max": high, "sensitivity": abs(high - low)}
    mechanism = DPMLM(MODEL=settings["model"], calibration=bounds)
    rewriter = mechanism.dpmlm_rewrite_batch if settings["batch"] else mechanism.dpmlm_rewrite

    def rewrite(request: dict[str, Any]) -> str:
        np.random.seed(split_key(request))  # noqa: NPY002 - the package draws from it
        made = rewriter(request["text"], request["epsilon"], STOP=settings["rewrite_stop_words"])
        return str(made[0] if isinstance(made, tuple) else made)

    answer_requests(answers, rewrite)


if __name__ == "__main__":
    main()
