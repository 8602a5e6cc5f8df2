"""Many sequences of tokens decoded at once."""

import numpy as np
import pytest

pytest.importorskip("transformers")

from tedaudit.inference.decoding import decode_all
from tiny_models import save_bart_tokenizer, save_tokenizer


@pytest.mark.parametrize("save", [save_tokenizer, save_bart_tokenizer])
def test_every_sequence_is_decoded_as_if_alone(save, tmp_path):
    tokenizer = save(tmp_path)
    numbers = np.random.default_rng(0).integers(0, len(tokenizer) + 5, (40, 6)).tolist()
    sequences = [tuple(row[: place % 7]) for place, row in enumerate(numbers)]
    sequences += sequences[:10]  # some of them twice, one of them empty
    wanted = [
        tokenizer.decode([number for number in row if number < len(tokenizer)], skip_special_tokens=True)
        for row in sequences
    ]
    assert decode_all(tokenizer, sequences) == wanted
    assert decode_all(tokenizer, []) == []
