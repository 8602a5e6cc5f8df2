"""Real models with a handful of random weights, saved to a folder: small enough to make in every test run."""

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

SENTENCES = (
    "my sister bought a red bicycle on monday",
    "the doctor called about the results in may",
    "nobody paid for the bread at the old market",
    "she lost her keys in the park last night",
    "write one short text about what happened",
)
CHAT_TEMPLATE = "{% for m in messages %}<user>{{ m['content'] }}<end>{% endfor %}<answer>"


def save_tokenizer(folder: Path, chat_template: str = "") -> Any:
    """Train a byte-level tokenizer, which can read any text, and save it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<pad>", "<end>", "<user>", "<answer>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    core.train_from_iterator(SENTENCES, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<end>")
    if chat_template:
        tokenizer.chat_template = chat_template
    tokenizer.save_pretrained(folder)
    return tokenizer


def save_llama(folder: Path, chat_template: str = "", seed: int = 0, room: int = 512) -> Path:
    """Save a decoder-only model with two small layers."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = save_tokenizer(folder, chat_template)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=room, initializer_range=0.5,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def save_gguf(folder: Path, seed: int = 0, lacks: str = "") -> dict[str, Any]:
    """Save a decoder-only model, its head tied, as one GGUF file; return the weights as stored."""
    import gguf
    import numpy as np
    from tokenizers.pre_tokenizers import ByteLevel

    chance = np.random.default_rng(seed)
    words = [*sorted(ByteLevel.alphabet()), "\u0120a", "<|end|>"]
    width, inner, layers, heads = 32, 64, 2, 4
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    writer.add_block_count(layers)
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([gguf.TokenType.NORMAL] * (len(words) - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(["\u0120 a"])
    writer.add_bos_token_id(len(words) - 1)
    writer.add_eos_token_id(len(words) - 1)
    shapes = {"token_embd": (len(words), width), "output_norm": (width,)}
    for layer in range(layers):
        square = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (width, width))
        wide, norms = dict.fromkeys(("ffn_gate", "ffn_up"), (inner, width)), ("attn_norm", "ffn_norm")
        block = square | wide | {"ffn_down": (width, inner)} | dict.fromkeys(norms, (width,))
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    weights = {
        f"{name}.weight": chance.normal(size=shape).astype(np.float32) for name, shape in shapes.items()
    }
    weights.pop(lacks, None)
    for name, value in weights.items():
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def save_t5(folder: Path, seed: int = 0) -> Path:
    """Save an encoder-decoder model with two small layers on either side."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = save_tokenizer(folder)
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        initializer_factor=3.0, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def save_bart_tokenizer(folder: Path) -> Any:
    """Train a byte-level tokenizer with the special tokens of BART, which it puts around every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    core.train_from_iterator(SENTENCES, trainer)
    core.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def save_marian(
    folder: Path, seed: int = 0, sentences: Sequence[str] = SENTENCES, pieces: int = 48, *, tied: bool = True
) -> Path:
    """Save a small translation model: one vocabulary, and a sentencepiece model for each language.

    The other language has its words backwards.
    """
    import io

    import torch
    from sentencepiece import SentencePieceTrainer
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = ["</s>", "<unk>"]
    for name, texts in (("source", sentences), ("target", [text[::-1] for text in sentences])):
        written = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=written, vocab_size=pieces, hard_vocab_limit=False,
            bos_id=-1, minloglevel=2,
        )  # fmt: skip
        (folder / f"{name}.spm").write_bytes(written.getvalue())
        vocabulary += _list_pieces(written.getvalue())
    vocabulary = [*dict.fromkeys(vocabulary), "<pad>"]
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    (folder / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    files = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would like to have sacremoses, and never calls it
        MarianTokenizer(*files).save_pretrained(folder)
    torch.manual_seed(seed)
    pad = numbers["<pad>"]
    config = MarianConfig(
        vocab_size=len(numbers), d_model=16, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, encoder_attention_heads=2, decoder_attention_heads=2, init_std=1.5,
        max_position_embeddings=64, pad_token_id=pad, bos_token_id=0, eos_token_id=0, forced_eos_token_id=0,
        decoder_start_token_id=pad, bad_words_ids=[[pad]], tie_word_embeddings=tied,
    )  # fmt: skip
    model = MarianMTModel(config)
    model.generation_config.update(bad_words_ids=[[pad]], forced_eos_token_id=0)
    model.save_pretrained(folder)
    return folder


def _list_pieces(model: bytes) -> list[str]:
    from sentencepiece import SentencePieceProcessor

    found = SentencePieceProcessor(model_proto=model)
    return [found.id_to_piece(number) for number in range(found.get_piece_size())]


def bart_config(vocabulary: int) -> Any:
    """Return the configuration of a BART with two small layers on either side."""
    from transformers import BartConfig

    return BartConfig(
        vocab_size=vocabulary, d_model=16, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, encoder_attention_heads=2, decoder_attention_heads=2, init_std=0.4,
        max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2, forced_eos_token_id=2,
    )  # fmt: skip


def save_bart(folder: Path, seed: int = 0, **search: Any) -> Path:
    """Save a small BART whose decoder heeds the encoder, and ends texts sooner or later.

    `search` are settings of its own for generating text.
    """
    import torch
    from transformers import BartForConditionalGeneration

    tokenizer = save_bart_tokenizer(folder)
    torch.manual_seed(seed)
    model = BartForConditionalGeneration(bart_config(len(tokenizer)))
    model.final_logits_bias[0, tokenizer.eos_token_id] = 4.0
    model.generation_config.update(**search)
    model.save_pretrained(folder)
    return folder


def word_tokenizer(sentences: tuple[str, ...] = SENTENCES) -> Any:
    """Return a tokenizer by words, lower-cased, with the special tokens of an ADePT model."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", "<s>", "</s>", *sorted({word for text in sentences for word in text.split()})]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    core.normalizer, core.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def save_lstm(folder: Path, seed: int = 0, **config: Any) -> Path:
    """Save a small ADePT model whose latents differ, and that ends texts sooner or later."""
    import torch

    from tedaudit.models.autoencoders.adept import AdeptConfig, AdeptModel, save_adept

    tokenizer = word_tokenizer()
    torch.manual_seed(seed)
    sizes = {"embedding": 12, "hidden": 16, "unpadded": True, **config}
    model = AdeptModel(AdeptConfig(vocabulary=len(tokenizer), **sizes))
    for weight in model.parameters():
        weight.data *= 4
    model.module["output"].bias.data[tokenizer.eos_token_id] += 1.4
    save_adept(folder, model, tokenizer)
    return folder


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: tiny models gain nothing from more, and lose much on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def roberta_tokenizer(sentences: Sequence[str]) -> Any:
    """Return RoBERTa's own tokenizer with few tokens; its mask takes the space in front of it."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
    from transformers import RobertaTokenizer

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=special, initial_alphabet=alphabet)
    core.train_from_iterator(sentences, trainer)
    learnt = json.loads(core.to_str())["model"]
    merges = [tuple(merge) for merge in learnt["merges"]]
    mask = AddedToken("<mask>", lstrip=True, special=True)
    return RobertaTokenizer(vocab=learnt["vocab"], merges=merges, mask_token=mask)


def save_roberta(folder: Path, seed: int = 0, positions: int = 64, tokenizer: Any = None) -> Path:
    """Save a masked language model with two small layers."""
    import torch
    from transformers import RobertaConfig, RobertaForMaskedLM

    if tokenizer is None:
        tokenizer = save_bart_tokenizer(folder)
        tokenizer.add_special_tokens({"mask_token": "<mask>"})
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=positions + 2, pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.5,
    )  # fmt: skip
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder


def save_mpnet(folder: Path, seed: int = 0, positions: int = 64) -> Path:
    """Save a masked language model that counts positions as RoBERTa does, and is called otherwise."""
    import torch
    from transformers import MPNetConfig, MPNetForMaskedLM

    tokenizer = save_bart_tokenizer(folder)
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = MPNetConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=positions + 2, initializer_range=0.5,
    )  # fmt: skip
    MPNetForMaskedLM(config).save_pretrained(folder)
    return folder


def save_mpnet_encoder(folder: Path, seed: int = 0, layers: int = 3) -> Path:
    """Save the body of such a model, an encoder of texts, with a vocabulary of words and ends of words."""
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import MPNetConfig, MPNetModel, PreTrainedTokenizerFast

    words = sorted({word for sentence in SENTENCES for word in sentence.split()} - {"bicycle", "doctor"})
    letters = "abcdefghijklmnopqrstuvwxyz.,'\"-"
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "[unused0]", *words, *letters]
    vocabulary += [f"##{letter}" for letter in letters] + ["<mask>"]
    ids = {token: number for number, token in enumerate(dict.fromkeys(vocabulary))}
    core = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", continuing_subword_prefix="##"))
    core.normalizer = normalizers.BertNormalizer()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    core.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    core.enable_padding(length=24, pad_id=1, pad_token="<pad>")
    PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="[UNK]",
        mask_token="<mask>",
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(seed)
    config = MPNetConfig(
        vocab_size=len(ids), hidden_size=16, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=514, initializer_range=0.5,
    )  # fmt: skip
    MPNetModel(config).save_pretrained(folder)
    return folder


def save_gpt2(folder: Path, seed: int = 0) -> Path:
    """Save a decoder-only model with learnt positions, as DP-Paraphrase uses."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = save_tokenizer(folder)
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=128, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5,
        bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def save_static_encoder(folder: Path, sentences: tuple[str, ...] = SENTENCES, seed: int = 0) -> Path:
    """Save a sentence encoder that averages a random vector per word."""
    import torch

    from tedaudit.models.encoders.sentence import TABLE
    from tedaudit.models.loading import WEIGHTS, save_quantised

    tokenizer = word_tokenizer(sentences)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    generator = torch.Generator().manual_seed(seed)
    save_quantised(folder / WEIGHTS, {TABLE: torch.randn(len(tokenizer), 16, generator=generator)})
    return folder


def drop_weights(folder: Path, *names: str) -> Path:
    """Take weights out of a checkpoint."""
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    weights = load_file(file)
    for name in names:
        del weights[name]
    save_file(weights, file, {"format": "pt"})
    return folder
