"""Many sequences of tokens decoded at once."""

import numpy as np
import pytest

pytest.importorskip("transformers")

from tedaudit.models.decoding import decode_all
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


def test_a_tokenizer_with_a_way_of_its_own_keeps_it(tmp_path):
    tokenizer = save_tokenizer(tmp_path)

    class Own(type(tokenizer)):
        def _decode(self, token_ids, **options):
            return super()._decode(token_ids, **options).upper()

    tokenizer.__class__ = Own
    ids = tokenizer("the old market")["input_ids"]
    assert decode_all(tokenizer, [ids]) == ["THE OLD MARKET"]


def test_spaces_are_cleaned_up_if_the_tokenizer_does_so(tmp_path):
    tokenizer = save_bart_tokenizer(tmp_path)
    tokenizer.clean_up_tokenization_spaces = True
    tokenizer.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output = True
    ids = tokenizer("the market .", add_special_tokens=False)["input_ids"]
    assert decode_all(tokenizer, [ids]) == [tokenizer.decode(ids, skip_special_tokens=True)]
    assert decode_all(tokenizer, [ids])[0].endswith("market.")
