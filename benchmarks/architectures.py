"""The real architectures with random weights, and the plain way to run each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tedaudit.models.loading import load_checkpoint

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@dataclass(frozen=True)
class Architecture:
    """How to make a model, how the plain way runs it, and which module a row goes through."""

    make: Callable[[], Any]
    plain: Callable[[str, Sequence[str], float], None]
    counted: Callable[[str], Any]
    zoo: str
    settings: dict[str, Any] = field(default_factory=dict)


def loaded(task: Any, folder: str, dtype: str = "auto") -> Any:
    """Return the checkpoint that the mechanism itself uses."""
    return load_checkpoint(task, folder, "", "auto", dtype)


def save(name: str, texts: Sequence[str], folder: Path, *, peaked: bool) -> None:
    """Write model and tokenizer; a peaked one fills the clip range at its output layer."""
    torch.manual_seed(0)
    model = ARCHITECTURES[name].make()
    if peaked:
        head = model.get_output_embeddings()
        if head.weight is model.get_input_embeddings().weight:
            head.weight = torch.nn.Parameter(head.weight.clone())
            model.config.tie_word_embeddings = False
        with torch.no_grad():
            head.weight.mul_(40.0)  # with the wider clip range of PEAKED
    model.save_pretrained(folder)
    tokenizer_for(name, texts).save_pretrained(folder)


def tokenizer_for(name: str, texts: Sequence[str]) -> Any:
    """Return a small byte-level tokenizer of these texts, with the special tokens that the model expects."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=4000, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    if name in ("dp-mlm", "dp-bart"):
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    elif name == "dp-prompt":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 2)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        mask_token="<mask>",
    )  # fmt: skip


class _ClipAndTemper(transformers.LogitsProcessor):
    """Clip first, then temperature: what the public implementations put into `generate`."""

    def __init__(self, low: float, high: float, epsilon: float) -> None:
        self._low, self._high, self._temperature = low, high, 2 * (high - low) / epsilon

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        return scores.clamp(self._low, self._high) / self._temperature


def _plain_sampling(task: Any, template: str, low: float, high: float) -> Callable[..., None]:
    def plain(folder: str, texts: Sequence[str], epsilon: float) -> None:
        checkpoint = loaded(task, folder)
        for text in texts:
            ids = checkpoint.tokenizer(template.replace("{text}", text), return_tensors="pt").input_ids
            limit = ids.shape[1] if task == "causal" else 32
            out = checkpoint.model.generate(
                ids.to(checkpoint.device), do_sample=True, top_k=0, max_new_tokens=limit,
                logits_processor=transformers.LogitsProcessorList([_ClipAndTemper(low, high, epsilon)]),
                pad_token_id=1,
            )  # fmt: skip
            checkpoint.tokenizer.decode(out[0].clamp(max=3999), skip_special_tokens=True)

    return plain


def _plain_masked(folder: str, texts: Sequence[str], epsilon: float) -> None:
    checkpoint = loaded("masked", folder)
    tokenizer, low, high = checkpoint.tokenizer, -3.2093127, 16.304797887802124
    for text in texts:
        words = text.split()
        for i in range(len(words)):
            masked = " ".join([*words[:i], tokenizer.mask_token, *words[i + 1 :]])
            ids = tokenizer(" ".join(words), masked, return_tensors="pt").input_ids
            with torch.inference_mode():
                logits = checkpoint.model(ids.to(checkpoint.device)).logits[0]
            where = int((ids[0] == tokenizer.mask_token_id).nonzero()[-1])
            probabilities = (logits[where].float().clamp(low, high) * epsilon / (2 * (high - low))).softmax(
                -1
            )
            tokenizer.decode([int(torch.multinomial(probabilities, 1).clamp(max=3999))])


def _plain_bart(folder: str, texts: Sequence[str], epsilon: float) -> None:
    checkpoint = loaded("seq2seq", folder, "float32")
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    for text in texts:
        read = tokenizer(text, padding="max_length", truncation=True, max_length=20, return_tensors="pt")
        ids = read.input_ids.to(checkpoint.device)
        with torch.inference_mode():
            encoded = model.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids))
        clipped = encoded.last_hidden_state.clamp(-0.1, 0.1)
        encoded.last_hidden_state = clipped + torch.randn_like(clipped) * 100 / epsilon
        out = model.generate(
            encoder_outputs=encoded,
            attention_mask=torch.ones_like(ids),
            num_beams=3,
            min_length=20,
            max_length=20,
        )
        tokenizer.decode(out[0].clamp(max=3999), skip_special_tokens=True)


def _t5() -> Any:
    config = transformers.T5Config(
        vocab_size=32128, d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=1, pad_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config)


def _gpt2() -> Any:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(bos_token_id=2, eos_token_id=2))


def _roberta() -> Any:
    return transformers.RobertaForMaskedLM(
        transformers.RobertaConfig(vocab_size=50265, max_position_embeddings=514)
    )


def _bart() -> Any:
    config = transformers.BartConfig(
        vocab_size=50265, d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
        decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072, forced_eos_token_id=None,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    return transformers.BartForConditionalGeneration(config)


_PROMPT = "Document : {text}\nParaphrase of the document :"
PEAKED = {"low": -200.0, "high": 200.0}
_FLAT = {"low": -2.0, "high": 2.0}  # random weights give logits around 0, far from the published ranges

ARCHITECTURES = {
    "dp-mlm": Architecture(
        _roberta, _plain_masked, lambda folder: loaded("masked", folder).model.base_model, "mlm"
    ),
    "dp-prompt": Architecture(
        _t5, _plain_sampling("seq2seq", _PROMPT, -2.0, 2.0),
        lambda folder: loaded("seq2seq", folder).model, "seq2seq", {**_FLAT, "variant": "sound"},
    ),
    "dp-paraphrase": Architecture(
        _gpt2, _plain_sampling("causal", "{text} >>>>> ", -2.0, 2.0),
        lambda folder: loaded("causal", folder).model, "paraphraser", {**_FLAT, "length": "input"},
    ),
    "dp-bart": Architecture(
        _bart, _plain_bart,
        lambda folder: loaded("seq2seq", folder, "float32").model.get_decoder(), "bart-pruned",
    ),
}  # fmt: skip
