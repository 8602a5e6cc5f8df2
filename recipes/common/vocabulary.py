"""The vocabulary that the models share, with the special tokens and templates that each kind expects."""

import copy
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
START, PAD, END, UNKNOWN, MASK = range(5)
FILE = Path(__file__).parents[2] / "zoo" / "src" / "tedaudit_zoo" / "models" / "vocabulary" / "tokenizer.json"
Kind = Literal["roberta", "bart", "t5", "gpt2", "adept"]
_TEMPLATES: dict[str, tuple[str, str]] = {
    "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
    "bart": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
    "t5": ("$A </s>", "$A </s> $B </s>"),
    "gpt2": ("$A", "$A $B"),
    "adept": ("$A", "$A $B"),
}


def tokenizer_for(kind: Kind, file: Path = FILE) -> Any:
    """Return the shared tokenizer as a model of this kind uses it."""
    from tokenizers import AddedToken, Tokenizer, processors
    from transformers import PreTrainedTokenizerFast

    base = Tokenizer.from_str(json.dumps(copy.deepcopy(json.loads(file.read_text(encoding="utf-8")))))
    single, pair = _TEMPLATES[kind]
    base.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[("<s>", START), ("</s>", END)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=base, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        mask_token=AddedToken("<mask>", lstrip=True, special=True),
        padding_side="left" if kind == "gpt2" else "right",
    )  # fmt: skip


def encoded(tokenizer: Any, texts: list[str], width: int) -> npt.NDArray[Any]:
    """Return token ids without special tokens, cut and padded to a width, one row per text."""
    table = np.full((len(texts), width), PAD, dtype=np.int16 if len(tokenizer) < 1 << 15 else np.int32)
    for start in range(0, len(texts), 100_000):
        some = texts[start : start + 100_000]
        found = tokenizer.backend_tokenizer.encode_batch_fast(some, add_special_tokens=False)
        for row, one in enumerate(found, start):
            ids = one.ids[:width]
            table[row, : len(ids)] = ids
    return table
