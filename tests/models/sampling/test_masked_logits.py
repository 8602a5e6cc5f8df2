from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForMaskedLM

from tedaudit.models.loading import Checkpoint, load_checkpoint
from tedaudit.models.sampling import masked
from tedaudit.models.sampling.masked import MaskedRow, masked_logits


def load():
    load_checkpoint.cache_clear()
    return load_checkpoint("masked", "zoo:mlm")


def read(checkpoint, rows):
    found = [None] * len(rows)
    for numbers, logits in masked_logits(checkpoint, rows):
        for number, row in zip(numbers, logits, strict=True):
            found[number] = row.clone()
    return torch.stack(found)


def make_rows(checkpoint, texts):
    tokenizer = checkpoint.tokenizer
    ids = [tokenizer(text)["input_ids"] for text in texts]
    return [MaskedRow(one, place) for one in ids for place in range(1, len(one) - 1)]


def test_rows_that_are_known_are_not_run_again_and_say_the_same(monkeypatch):
    checkpoint = load()
    rows = make_rows(checkpoint, ["the train to Leeds is late", "who brings the noodle salad?"])
    first = read(checkpoint, rows)
    run = []
    original = masked._forward
    monkeypatch.setattr(masked, "_forward", lambda *given: run.append(1) or original(*given))
    new = make_rows(checkpoint, ["the train from Tampa"])
    mixed = [*rows[::-1], *new]
    again = read(checkpoint, mixed)
    assert len(run) == -(-len(new) // checkpoint.fixed_rows)
    assert torch.equal(again[: len(rows)], first.flip(0))
    assert torch.equal(read(load(), mixed), again)


def test_fused_attention_is_given_a_mask_that_it_takes_as_it_is_and_says_the_same(monkeypatch):
    checkpoint = load()
    rows = make_rows(checkpoint, ["the train to Leeds is late", "who brings the noodle salad?", "is it late"])
    eager = read(checkpoint, rows)
    shapes, original = [], masked._forward
    monkeypatch.setattr(masked, "_forward", lambda *given: shapes.append(given[2]) or original(*given))
    monkeypatch.setattr(Checkpoint, "fixed_rows", 0)  # as on a GPU
    checkpoint.model.set_attn_implementation("sdpa")
    masks = []
    checkpoint.model.base_model.register_forward_pre_hook(
        lambda _, __, given: masks.append(given["attention_mask"]), with_kwargs=True
    )
    fused = read(checkpoint, rows)
    assert shapes == [16]
    assert [(mask.dtype, mask.ndim) for mask in masks] == [(torch.bool, 4)]
    assert not masks[0].all()  # some rows are padded
    torch.testing.assert_close(fused, eager, atol=1e-3, rtol=1e-4)
    load_checkpoint.cache_clear()


@pytest.mark.parametrize("kind", sorted(masked._READS_WHOLE))
def test_models_that_are_given_a_mask_read_it_as_they_read_their_own(kind):
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    if kind == "distilbert":
        sizes = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, vocab_size=40, pad_token_id=0, **sizes)
    model = AutoModelForMaskedLM.from_config(config, attn_implementation="sdpa").eval()
    checkpoint = Checkpoint(kind, model, SimpleNamespace(pad_token_id=0))
    ids = torch.randint(4, 40, (3, 8))
    is_read = np.arange(8) < np.array([[8], [5], [3]])
    ids[torch.from_numpy(~is_read)] = 0
    with torch.inference_mode():
        whole = model(input_ids=ids, attention_mask=masked._make_mask(checkpoint, is_read)).logits
        plain = model(input_ids=ids, attention_mask=torch.from_numpy(is_read).long()).logits
        blind = model(input_ids=ids).logits
    rows = torch.from_numpy(is_read)
    torch.testing.assert_close(whole[rows], plain[rows])
    assert not torch.allclose(blind[rows], plain[rows], atol=1e-4)
