import json

import numpy as np
import pytest

from tedaudit.errors import ModelError
from tedaudit.models.adapters import (
    ADAPTER,
    SETTINGS,
    WORDS,
    add,
    is_adapter,
    lay_over,
    read_settings,
)
from tedaudit.models.loading import load_checkpoint
from tiny_models import save_llama, save_mpnet_encoder

pytest.importorskip("torch")

LAYER = "encoder.layer.0.attention.attn.q.weight"


def save(folder, settings, tensors, words=()):
    from safetensors.numpy import save_file

    folder.mkdir()
    (folder / SETTINGS).write_text(json.dumps({"base": "tiny", **settings}))
    save_file(tensors, folder / ADAPTER)
    if words:
        (folder / WORDS).write_text("".join(f"{word}\n" for word in words))
    return folder


def weights_of(folder):
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_mpnet_encoder(tmp_path_factory.mktemp("base"))


def masked(base, words=()):
    """Settings and a head that make a masked model of an encoder, cut after two of its three layers."""
    size = json.loads((base / "config.json").read_text())["vocab_size"] + len(words)
    head = {
        "lm_head.dense.weight": np.eye(16, dtype=np.float16), "lm_head.dense.bias": np.zeros(16, np.float16),
        "lm_head.layer_norm.weight": np.ones(16, np.float16), "lm_head.bias": np.zeros(size, np.float16),
        "lm_head.layer_norm.bias": np.zeros(16, np.float16),
    }  # fmt: skip
    config = {"architectures": ["MPNetForMaskedLM"], "num_hidden_layers": 2, "vocab_size": size}
    return {"layers": 2, "prefix": "mpnet.", "dropped": ["pooler."], "config": config}, head


def test_a_low_rank_product_is_added_and_a_new_tensor_takes_its_place(base, tmp_path):
    chance = np.random.default_rng(0)
    down, up = (chance.normal(size=shape).astype(np.float16) for shape in ((3, 16), (16, 3)))
    settings, tensors = masked(base)
    name = f"mpnet.{LAYER}"
    tensors |= {f"{name}:down": down, f"{name}:up": up}
    lay_over(base, save(tmp_path / "adapter", settings, tensors), tmp_path / "out")
    before, after = weights_of(base), weights_of(tmp_path / "out")
    product = up.astype(np.float64) @ down.astype(np.float64)
    assert np.array_equal(after[name], (before[LAYER] + product).astype(np.float32))
    assert np.array_equal(after["lm_head.dense.weight"], np.eye(16))
    unchanged = LAYER.replace(".q.", ".k.")
    assert np.array_equal(after[f"mpnet.{unchanged}"], before[unchanged])


def test_a_product_has_the_same_bits_in_whatever_order_it_is_added_up():
    chance = np.random.default_rng(0)
    down, up = (chance.normal(size=shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    base = chance.normal(size=(64, 64)).astype(np.float32)
    sums = []
    for order in (np.arange(32), np.arange(32)[::-1], chance.permutation(32)):
        weights = {"w": base}
        add(weights, {"w:down": down[order], "w:up": up[:, order]})
        sums.append(weights["w"])
    assert all(one.tobytes() == sums[0].tobytes() for one in sums)
    in_float32 = [base + up[:, order].astype(np.float32) @ down[order].astype(np.float32) for order in
                  (np.arange(32), np.arange(32)[::-1])]  # fmt: skip
    assert in_float32[0].tobytes() != in_float32[1].tobytes()


def test_layers_after_the_last_that_is_kept_and_what_is_dropped_are_gone(base, tmp_path):
    settings, tensors = masked(base)
    lay_over(base, save(tmp_path / "adapter", settings, tensors), tmp_path / "out")
    names = weights_of(tmp_path / "out")
    assert any("layer.2." in name for name in weights_of(base))
    assert not any("layer.2." in name or "pooler" in name for name in names)
    checkpoint = load_checkpoint("masked", str(tmp_path / "out"), dtype="float32", device="cpu")
    assert checkpoint.model.config.num_hidden_layers == 2
    words = checkpoint.model.mpnet.embeddings.word_embeddings.weight
    assert checkpoint.model.lm_head.decoder.weight.data_ptr() == words.data_ptr()  # tied, as it must be


def test_new_words_are_tokens_that_begin_as_the_mean_of_their_pieces(base, tmp_path):
    words = ("bicycle", "doctor", "n't", "well-known")
    settings, tensors = masked(base, words)
    lay_over(base, save(tmp_path / "adapter", settings, tensors, words), tmp_path / "out")
    plain = load_checkpoint("body", str(base), device="cpu").tokenizer
    size = len(plain)
    checkpoint = load_checkpoint("masked", str(tmp_path / "out"), dtype="float32", device="cpu")
    tokenizer = checkpoint.tokenizer
    table = weights_of(tmp_path / "out")["mpnet.embeddings.word_embeddings.weight"]
    for number, word in enumerate(words, size):
        assert tokenizer(word, add_special_tokens=False)["input_ids"] == [number]
        assert tokenizer.decode([number]).strip() == word
        pieces = plain(word, add_special_tokens=False)["input_ids"]
        assert len(pieces) > 1
        assert np.allclose(table[number], table[pieces].mean(axis=0), atol=1e-6)
    assert tokenizer("my Doctor does n't", add_special_tokens=False)["input_ids"][-1] == size + 2
    inside = tokenizer("don'tx", add_special_tokens=False)["input_ids"]
    assert size + 2 not in inside  # a word with marks is found between spaces alone
    other = "my sister paid for the keys"
    assert tokenizer(other)["input_ids"] == plain(other)["input_ids"]


def test_a_vector_may_begin_as_that_of_another_text(base, tmp_path):
    words = ("bicycle", "n't\tdoctor")
    settings, tensors = masked(base, words)
    lay_over(base, save(tmp_path / "adapter", settings, tensors, words), tmp_path / "out")
    table = weights_of(tmp_path / "out")["mpnet.embeddings.word_embeddings.weight"]
    pieces = load_checkpoint("body", str(base), device="cpu").tokenizer("doctor", add_special_tokens=False)
    assert np.allclose(table[-1], table[pieces["input_ids"]].mean(axis=0), atol=1e-6)
    tokenizer = load_checkpoint("masked", str(tmp_path / "out"), device="cpu").tokenizer
    assert tokenizer.decode([len(table) - 1]).strip() == "n't"


def test_words_with_marks_before_others_are_refused(base, tmp_path):
    """A library would number them after all others, so that two words were one."""
    words = ("n't", "bicycle")
    adapter = save(tmp_path / "adapter", *masked(base, words), words)
    with pytest.raises(ModelError, match=r"words\.txt.*marks after all others"):
        lay_over(base, adapter, tmp_path / "out")


def test_an_adapter_of_another_base_is_refused_by_the_name_of_the_matrix(base, tmp_path):
    settings, tensors = masked(base)
    tensors |= {"mpnet.other.weight:down": np.ones((1, 4)), "mpnet.other.weight:up": np.ones((4, 1))}
    adapter = save(tmp_path / "adapter", settings, tensors)
    with pytest.raises(ModelError, match=r"mpnet\.other\.weight.*base has none.*another base"):
        lay_over(base, adapter, tmp_path / "out")


def test_a_base_in_numbers_that_numpy_does_not_have_is_refused_by_their_name(base, tmp_path):
    import shutil

    from safetensors.torch import load_file, save_file

    short = shutil.copytree(base, tmp_path / "short")
    weights = load_file(short / "model.safetensors")
    save_file({name: value.bfloat16() for name, value in weights.items()}, short / "model.safetensors")
    with pytest.raises(ModelError, match=r"model\.safetensors' .*bfloat16.* save the base again in one"):
        lay_over(short, save(tmp_path / "adapter", *masked(base)), tmp_path / "out")


def test_settings_that_cannot_be_read_name_the_file(tmp_path):
    (tmp_path / SETTINGS).write_text('{"bse": "tiny"}')
    assert is_adapter(tmp_path)
    with pytest.raises(ModelError, match=SETTINGS):
        read_settings(tmp_path)


def test_a_causal_model_keeps_its_head_and_the_settings_of_its_texts(tmp_path):
    base = save_llama(tmp_path / "base")
    (base / "generation_config.json").write_text('{"eos_token_id": 1}')
    lay_over(base, save(tmp_path / "adapter", {}, {}), tmp_path / "out")
    assert (tmp_path / "out" / "generation_config.json").is_file()
    before, after = (load_checkpoint("causal", str(f), device="cpu") for f in (base, tmp_path / "out"))
    assert before.checksum() == after.checksum()
