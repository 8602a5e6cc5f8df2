import torch

from tedaudit.inference import masked
from tedaudit.inference.loading import Checkpoint, load_checkpoint
from tedaudit.inference.masked import MaskedRow, masked_logits


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


def test_many_rows_of_few_lengths_are_read_without_padding_and_say_the_same(monkeypatch):
    checkpoint = load()
    texts = ["the train to Leeds is late", "who brings the noodle salad?", "is it late"]
    rows = make_rows(checkpoint, texts) * 40
    padded = read(checkpoint, rows)
    shapes, original = [], masked._forward
    monkeypatch.setattr(masked, "_forward", lambda *given: shapes.append(given[2]) or original(*given))
    monkeypatch.setattr(Checkpoint, "fixed_rows", 0)  # as on a GPU
    masks = []
    checkpoint.model.base_model.register_forward_pre_hook(
        lambda _, __, given: masks.append(given["attention_mask"]), with_kwargs=True
    )
    whole = read(checkpoint, rows)
    assert shapes == sorted({len(row.ids) for row in rows})
    assert masks == [None] * len(shapes)
    torch.testing.assert_close(whole, padded, atol=1e-3, rtol=1e-4)
    shapes.clear()
    few = read(checkpoint, rows[:5])
    assert shapes == [16]
    torch.testing.assert_close(few, padded[:5], atol=1e-3, rtol=1e-4)
