"""Recipes for adapters: what is trained is what the saved adapter makes of its base."""

import json
import lzma

import pytest

from recipes_tried import card_holds_what_was_printed, run_dry
from tiny_models import save_marian, save_mpnet_encoder

torch = pytest.importorskip("torch")


@pytest.fixture
def encoder(tmp_path):
    return save_mpnet_encoder(tmp_path / "encoder")


@pytest.fixture
def writer(tmp_path):
    """A small Llama with the shared vocabulary, whose end is numbered as SmolLM2's is."""
    from common.vocabulary import END, tokenizer_for
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tokenizer_for("gpt2")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=256, tie_word_embeddings=True,
        eos_token_id=END, pad_token_id=END, bos_token_id=0,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(tmp_path / "writer")
    tokenizer.save_pretrained(tmp_path / "writer")
    return tmp_path / "writer"


def laid_over(base, adapter, out, task):
    from tedaudit.models.adapters import lay_over
    from tedaudit.models.loading import load_checkpoint

    lay_over(base, adapter, out)
    return load_checkpoint(task, str(out), dtype="float32", device="cpu")


@pytest.mark.usefixtures("unchanged_state")
def test_corrections_that_are_saved_and_laid_over_compute_what_was_trained(encoder, tmp_path):
    import mpnet_mlm

    model, tokenizer, settings = mpnet_mlm.new_model(
        encoder, tmp_path / "adapter", ["bicycle", "doctor", "n't"]
    )
    mpnet_mlm.adapt(model)
    for name, parameter in model.named_parameters():
        if name.endswith((".up", "decoder.bias")):
            torch.nn.init.normal_(parameter, std=0.3)
    mpnet_mlm.save_adapter(tmp_path / "adapter", settings, mpnet_mlm.tensors(model))
    made = laid_over(encoder, tmp_path / "adapter", tmp_path / "out", "masked").model
    ids = tokenizer("the doctor paid for the bicycle", "the <mask> paid for the bicycle", return_tensors="pt")
    with torch.inference_mode():
        trained, saved = (one(input_ids=ids["input_ids"]).logits for one in (model.eval(), made))
        untouched = mpnet_mlm.new_model(encoder, tmp_path / "other", ["bicycle", "doctor", "n't"])[0].eval()
        before = untouched(input_ids=ids["input_ids"]).logits
    assert torch.allclose(trained, saved, atol=0.02)  # half precision
    assert (trained - before).abs().max() > 1


def test_codes_say_where_words_start_and_which_can_be_asked_for(encoder):
    import mpnet_mlm

    tokenizer = mpnet_mlm.tokenizer_of(encoder)
    codes = torch.from_numpy(mpnet_mlm.encoded(tokenizer, ["the bicycle , my sister 's"], 24)).long()
    words = mpnet_mlm.vocabulary_of(tokenizer)
    starts = words.starts(codes)
    assert int(starts.sum()) == 6
    whole = words.is_whole(codes, starts)
    asked = [tokenizer.decode([int(token)]).strip() for token in words.tokens(codes)[whole]]
    assert asked == ["the", ",", "my", "sister"]  # bicycle and 's are of several pieces
    plain = tokenizer("the bicycle , my sister 's", add_special_tokens=False)["input_ids"]
    assert words.tokens(codes)[0, : len(plain)].tolist() == plain


def test_frequent_words_of_several_pieces_become_tokens_those_with_marks_last(encoder):
    import mpnet_mlm

    tokenizer = mpnet_mlm.tokenizer_of(encoder)
    texts = ["my doctor did n't call .", "the doctor 's bicycle", "My Doctor said. And mr. doctor ran said"]
    found = mpnet_mlm.new_words(tokenizer, texts, 20)
    assert found[0] == "doctor"
    assert {"bicycle", "n't", "mr."} <= set(found)
    assert not {"said.", "my", "the", "Doctor"} & set(found)
    marks = [not word.isalnum() for word in found]
    assert marks == sorted(marks)


@pytest.mark.usefixtures("unchanged_state")
def test_the_masked_model_is_made_dry(data, encoder, tmp_path, monkeypatch, capsys):
    out = tmp_path / "mpnet-mlm"
    run_dry("mpnet_mlm", ["--data", data, "--base", encoder, "--out", out], monkeypatch)
    assert (out / "clip.json").is_file()
    settings = json.loads((out / "adapter.json").read_text())
    assert settings["base"] == "all-mpnet-base-v2"
    card_holds_what_was_printed("mpnet-mlm", out, capsys.readouterr().out)


@pytest.mark.usefixtures("unchanged_state")
def test_sentences_go_there_and_back_dry(data, tmp_path, monkeypatch, capsys):
    pytest.importorskip("sentencepiece")
    for seed, name in enumerate(("en-fr", "fr-en")):
        save_marian(tmp_path / "opus-mt" / name, seed=seed)
    arguments = ["--data", data, "--base", tmp_path / "opus-mt", "--out", tmp_path / "pairs"]
    run_dry("round_trips", arguments, monkeypatch)
    from common.text import read_pairs

    found = read_pairs(tmp_path / "pairs" / "round_trips.tsv.xz")
    assert found
    assert f"{len(found)} pairs" in capsys.readouterr().out


@pytest.mark.usefixtures("unchanged_state")
def test_the_paraphraser_is_tuned_dry(data, writer, tmp_path, monkeypatch, capsys):
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    with lzma.open(pairs / "round_trips.tsv.xz", "wt", encoding="utf-8") as lines:
        lines.writelines(f"Text {number} is here.\tHere is text {number}.\n" for number in range(300))
    out = tmp_path / "smollm2-paraphraser"
    arguments = ["--data", data, "--base", writer, "--pairs", pairs, "--out", out]
    run_dry("smollm2_paraphraser", arguments, monkeypatch)
    assert (out / "clip.json").is_file()
    card_holds_what_was_printed("smollm2-paraphraser", out, capsys.readouterr().out)
    assert laid_over(writer, out, tmp_path / "made", "causal").clip is not None
