"""Writes a masked language model into a folder as any library reads it, with its clip range.

    python unpack_model.py zoo:mlm dpmlm-model

Run it where tedaudit is installed. The model is one of the zoo, a folder or a hub id; one that lacks weights
is refused. Without a clip range of its own it gets that of the package dpmlm, and a note says what follows.
"""

import json
import sys
from pathlib import Path

from tedaudit.models.loading import load_checkpoint
from tedaudit.models.places import caution_range

RELEASED = (-3.2093127, 16.304797887802124)  # measured on roberta-base


def unpack(name: str, folder: Path) -> None:
    checkpoint = load_checkpoint("masked", name, "", "cpu", "float32")
    checkpoint.tokenizer.model_max_length = checkpoint.positions  # dpmlm asks how much a model reads
    for part in (checkpoint.model, checkpoint.tokenizer):
        part.save_pretrained(folder)
    for caution in caution_range(name, None, None, RELEASED, "roberta-base"):
        print(f"note: {caution}.", file=sys.stderr)
    low, high = checkpoint.clip or RELEASED
    (folder / "clip.json").write_text(json.dumps({"low": low, "high": high}), "utf-8")


if __name__ == "__main__":
    unpack(sys.argv[1], Path(sys.argv[2]))
