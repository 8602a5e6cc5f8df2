"""How probable a published text is: against all draws of tiny models, and against rewrites."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest

from tedaudit.nominal import NO_EPSILON
from tedaudit.plugins.abilities import HasTextLikelihood
from tedaudit.plugins.registry import Reference, build
from tedaudit.seeding import derive
from tedaudit.types import Draw
from tiny_models import one_thread

PIECES = {
    "byte-level": ["<unk>", "</s>", "a", "b", "ab", "Ġ", "Ġa", "Ã", "©"],
    "marks": ["<unk>", "</s>", "a", "b", "ab", "▁", "▁a", "\ufffd", "ba"],
}
SIZE = 10  # of the models: a number more than there are tokens
END = 1
CANDIDATES = ("ab a", "b", "a b ab b a")


def save_tokenizer(folder, kind):
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    vocab = {piece: number for number, piece in enumerate(PIECES[kind])}
    core = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>"))
    core.decoder = decoders.ByteLevel() if kind == "byte-level" else decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<unk>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)


def save_model(folder, kind, tokens):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    save_tokenizer(folder, tokens)
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=SIZE, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=END,
            eos_token_id=END, initializer_range=0.6,
        )  # fmt: skip
        GPT2LMHeadModel(config).save_pretrained(folder)
    else:
        config = T5Config(
            vocab_size=SIZE, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0,
            pad_token_id=0, eos_token_id=END, initializer_factor=3.0,
        )  # fmt: skip
        T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    with one_thread():
        yield {
            (kind, tokens): save_model(tmp_path_factory.mktemp(kind), kind, tokens)
            for kind in ("t5", "gpt2")
            for tokens in PIECES
        }


SETTINGS = {
    "dp-prompt": ("t5", {"prompt": "{text}", "max_tokens": 3}),
    "dp-prompt by input": (
        "t5",
        {"prompt": "{text}", "length": "input", "context": 3, "overlong": "truncate"},
    ),
    "dp-paraphrase": ("gpt2", {"separator": " ", "max_tokens": 3}),
    "dp-paraphrase of few": ("gpt2", {"separator": " ", "max_tokens": 3, "top_k": 6}),
    "sampler": ("t5", {"prompt": "{text}", "max_new_tokens": 3}),
    "sampler that looks back": (
        "gpt2",
        {
            "prompt": "{text}",
            "max_new_tokens": 3,
            "top_p": 0.9,
            "repetition_penalty": 1.5,
            "min_new_tokens": 2,
        },
    ),
}


@pytest.fixture
def make(folders):
    def made(setting="dp-prompt", tokens="byte-level", readings=10_000, **more):
        kind, fields = SETTINGS[setting]
        name = setting.split()[0]
        fields = {"model": str(folders[kind, tokens]), "dtype": "float64", **fields, **more}
        if name != "sampler":
            fields = {"low": -2.0, "high": 2.0, **fields}
        mechanism = build(Reference("mechanism", name, fields))
        object.__setattr__(mechanism, "text_readings", readings)
        return mechanism

    return made


def budget_of(mechanism):
    return NO_EPSILON if mechanism.card.name == "sampler" else 9.0


def add_up(mechanism, text):
    """Return the probability of every text that a candidate may publish, from all draws there are."""
    from tedaudit.inference.decoding import decode_all

    [prompt] = mechanism._encode_prompts([text]).values()
    limit = mechanism._compute_limit(prompt)
    draws = [
        tokens
        for length in range(1, limit + 1)
        for tokens in itertools.product(range(SIZE), repeat=length)
        if END not in tokens[:-1] and (length == limit or tokens[-1] == END)
    ]
    [scores] = zip(
        *mechanism.log_likelihoods(draws, [[text]] * len(draws), budget_of(mechanism)), strict=True
    )
    total = defaultdict(float)
    written = decode_all(mechanism._load_checkpoint().tokenizer, draws)
    for words, score in zip(written, scores, strict=True):
        total[mechanism._write(text, words)] += np.exp(score)
    return dict(total)


def ask(mechanism, texts, candidates):
    return mechanism.text_log_likelihood(texts, [candidates] * len(texts), budget_of(mechanism))


@pytest.mark.parametrize(
    ("setting", "tokens"), [("dp-prompt", "marks"), *((setting, "byte-level") for setting in SETTINGS)]
)
def test_if_nothing_is_near_enough_ends_meet_and_all_texts_together_are_certain(
    make, setting, tokens, monkeypatch
):
    from tedaudit.inference import text_search

    monkeypatch.setattr(text_search, "_NEAR", -np.inf)
    mechanism = make(setting, tokens)
    assert isinstance(mechanism, HasTextLikelihood)
    known = add_up(mechanism, CANDIDATES[0])
    assert len(known) > 50
    assert any("\ufffd" in text for text in known)
    found = ask(mechanism, list(known), CANDIDATES[:1])
    lower, upper = np.concatenate(found.lower), np.concatenate(found.upper)
    assert lower == pytest.approx(upper, abs=1e-12)
    possible = np.array(list(known.values())) > 0
    assert (lower[~possible] == -np.inf).all()
    assert lower[possible] == pytest.approx(np.log(np.array(list(known.values()))[possible]), abs=1e-9)
    assert np.exp(lower).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("readings", [1, 2, 7, 1000])
@pytest.mark.parametrize("setting", SETTINGS)
def test_with_few_readings_the_probability_is_between_the_ends(make, setting, readings):
    mechanism = make(setting, readings=readings)
    known = add_up(mechanism, CANDIDATES[0])
    found = ask(mechanism, list(known), CANDIDATES[:1])
    with np.errstate(divide="ignore"):
        truth = np.log(np.array(list(known.values())))
    lower, upper = np.concatenate(found.lower), np.concatenate(found.upper)
    assert (lower <= truth + 1e-9).all()
    assert (upper >= truth - 1e-9).all()
    points = np.concatenate(found.points)
    assert (points >= lower).all()
    if readings == 1:
        assert (upper > lower + 0.1).any()
    if readings == 1000:
        assert (upper <= lower + 0.0101)[truth > -np.inf].all()
