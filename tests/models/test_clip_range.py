"""Clip ranges are measured on public texts as mechanisms let a model read private ones."""

import json
import os

import numpy as np
import pytest

from tedaudit.errors import ModelError
from tedaudit.models import clip_range
from tedaudit.models.clip_range import (
    clear_place,
    mask_words,
    measure,
    measure_model,
    place_range,
    read_prompt,
    store_range,
)
from tedaudit.models.loading import load_checkpoint
from tedaudit.models.places import find_clip, read_clip
from tedaudit.models.sampling.masked import masked_logits
from tiny_models import (
    SENTENCES,
    save_bart,
    save_gpt2,
    save_llama,
    save_marian,
    save_mpnet,
    save_roberta,
    save_t5,
)

MAKERS = [save_gpt2, save_llama, save_t5, save_bart, save_marian, save_roberta, save_mpnet]


@pytest.mark.parametrize("save", MAKERS)
def test_a_range_is_measured_on_every_kind_of_model_and_found_with_it(save, tmp_path):
    folder = save(tmp_path)
    told = []
    found = measure_model(str(folder), SENTENCES, advance=lambda *step: told.append(step))
    assert found.low < found.high
    assert found.texts == len(SENTENCES)
    assert told[-1][0] == found.places > 2
    assert set(found.draws) == {1.0, 10.0, 100.0, 1000.0}
    best = [likeliest for likeliest, _ in found.draws.values()]
    bits = [entropy for _, entropy in found.draws.values()]
    assert best == sorted(best)
    assert bits == sorted(bits, reverse=True)
    store_range(found, place_range(str(folder)), "five sentences")
    about = json.loads((folder / "clip.json").read_text())
    assert (about["low"], about["high"]) == (found.low, found.high)
    assert about["measured_on"] == f"five sentences, {found.places} places"
    task = clip_range.find_task(str(folder))
    assert load_checkpoint(task, str(folder), device="cpu").clip == (found.low, found.high)
    assert [path.name for path in folder.glob("*.partial")] == []


def test_the_range_is_that_of_the_rule(tmp_path):
    """The mean of the first percentile and of the largest with a deviation, at every word masked in turn."""
    import torch

    checkpoint = load_checkpoint("masked", str(save_roberta(tmp_path)), device="cpu", dtype="float32")
    rows = [row for text in SENTENCES for row in mask_words(checkpoint, text)]
    logits = torch.cat([block for _, block in masked_logits(checkpoint, rows)])
    found = measure(checkpoint, "masked", SENTENCES)
    largest = logits.amax(dim=1)
    assert found.places == len(rows) == sum(len(text.split()) for text in SENTENCES)
    assert found.high == pytest.approx(float(largest.mean() + largest.std()), abs=1e-3)
    least = logits.sort(dim=1).values[:, logits.shape[1] // 100 - 1]
    assert found.low == pytest.approx(float(least.mean()), abs=1e-3)


def test_a_model_that_writes_is_followed_along_its_likeliest_continuation(tmp_path):
    import torch

    checkpoint = load_checkpoint("causal", str(save_gpt2(tmp_path)), device="cpu", dtype="float32")
    prompt = read_prompt(checkpoint, f"{SENTENCES[0]} > ")
    with torch.inference_mode():
        ids = list(prompt)
        largest = []
        for _ in range(24):
            logits = checkpoint.model(torch.tensor([ids])).logits[0, -1]
            largest.append(logits.max())
            ids.append(int(logits.argmax()))
            if ids[-1] == checkpoint.tokenizer.eos_token_id:
                break
    found = measure(checkpoint, "causal", SENTENCES[:1], "{text} > ")
    assert found.places == len(largest)
    assert found.high == pytest.approx(
        float(torch.stack(largest).mean() + torch.stack(largest).std()), abs=2e-3
    )


@pytest.mark.parametrize(("save", "task"), [(save_roberta, "masked"), (save_gpt2, "causal")])
def test_texts_are_read_from_all_of_a_file_and_counted_as_they_are(save, task, tmp_path, monkeypatch):
    checkpoint = load_checkpoint(task, str(save(tmp_path)), device="cpu", dtype="float32")
    first, second = (
        [f"{SENTENCES[kind].rsplit(' ', 2)[0]} {word}" for word in " ".join(SENTENCES).split()]
        for kind in (0, 1)
    )
    monkeypatch.setattr(clip_range, "_PLACES", 100)
    monkeypatch.setattr(clip_range, "_PROMPTS", 2)
    found, beginning = (measure(checkpoint, task, texts) for texts in (first + second, first))
    assert found.places == beginning.places == 100
    assert (found.low, found.high) != (beginning.low, beginning.high)
    assert 100 / 24 <= found.texts <= 100 / 6 + 1  # of 88


@pytest.mark.parametrize("places", [1, 2, 3])
def test_of_few_places_enough_are_kept_to_say_what_draws_are_like(places, tmp_path, monkeypatch):
    checkpoint = load_checkpoint("masked", str(save_roberta(tmp_path)), device="cpu", dtype="float32")
    monkeypatch.setattr(clip_range, "_CELLS", 12_000 * 321 // 8)
    text = " ".join(SENTENCES[0].split()[: places + 1])
    found = measure(checkpoint, "masked", [text])
    assert found.places == places + 1
    assert np.isfinite(list(found.draws.values())).all()


def test_a_prompt_is_cut_at_its_beginning_to_what_a_model_reads(tmp_path):
    checkpoint = load_checkpoint("causal", str(save_gpt2(tmp_path)), device="cpu", dtype="float32")
    whole = checkpoint.tokenizer("red " * 400)["input_ids"]
    assert read_prompt(checkpoint, "red " * 400, 100) == tuple(whole[-100:])
    assert measure(checkpoint, "causal", ["red " * 400]).places > 1  # of 128 positions


def test_no_more_logits_are_kept_than_a_limit_whatever_the_vocabulary(tmp_path, monkeypatch):
    checkpoint = load_checkpoint("masked", str(save_roberta(tmp_path)), device="cpu", dtype="float32")
    seen = []
    describe = clip_range._describe_draw
    monkeypatch.setattr(clip_range, "_CELLS", 12_000 * 321 // 8)  # an eighth of the places

    def count(clip, some, epsilon):
        seen.append(len(some))
        return describe(clip, some, epsilon)

    monkeypatch.setattr(clip_range, "_describe_draw", count)
    found = measure(checkpoint, "masked", SENTENCES)
    assert 1 <= max(seen) <= found.places // 4


def test_texts_without_places_are_refused(tmp_path):
    with pytest.raises(ModelError, match=r"have 1 places at which .*2 are needed"):
        measure_model(str(save_roberta(tmp_path)), ["word"])


def test_a_sentence_encoder_is_told_that_it_has_no_head(tmp_path):
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="no head that predicts words: it is a sentence encoder"):
        measure_model(str(tmp_path), SENTENCES)


def test_a_model_of_the_zoo_cannot_be_given_another_range():
    with pytest.raises(ModelError, match="the files of the zoo are checked"):
        place_range("zoo:mlm")


def test_the_range_of_a_hub_model_lies_in_the_folder_of_models(tmp_path, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_MODELS", str(tmp_path / "models"))
    file = place_range("some/model", "v1")
    assert read_clip(file) is None
    store_range(clip_range.Measured(-1.0, 1.0, 2, 3, {}), file, "two texts")
    assert find_clip("some/model", "v1") == (-1.0, 1.0)
    assert read_clip(place_range("some/model", "v1")) == (-1.0, 1.0)


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_measured(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "access", lambda *told: asked.append(told))
    monkeypatch.setenv("TEDAUDIT_MODELS", str(tmp_path / "not" / "made"))
    for name in (str(tmp_path), "some/model"):
        with pytest.raises(ModelError, match=r"cannot be written to\. Copy the model's folder and measure"):
            clear_place(place_range(name))
        assert asked.pop() == (tmp_path, os.W_OK)
