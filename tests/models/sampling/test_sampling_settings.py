"""Sampling agrees with transformers' own `generate`: every sequence of a tiny vocabulary has its probability.

`generate` runs as it is. Only the last step, `torch.multinomial`, is replaced: it writes down the very
probabilities that the library would draw from, and answers with the token of the sequence that is asked for.
"""

import itertools
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tedaudit.errors import ModelError, SpecError
from tedaudit.models.loading import Checkpoint
from tedaudit.models.sampling.exponential import Prefixes, noise_for, sample
from tedaudit.models.sampling.generation import (
    Request,
    first_log_probabilities,
    generate,
    log_likelihood_terms,
)
from tedaudit.models.sampling.settings import PublicSettings, SamplingRule, SamplingSettings
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.seeding import derive
from tiny_models import one_thread

SIZE, END, LONGEST = 6, 1, 4  # 781 sequences
PROMPTS = [(2, 3, 4), (5,), (5, 2, 3, 4, 3, 5, 5, 2, 3, 5, 4), (3, 5, 5)]
SETTINGS = {
    "plain": {},
    "temperature": {"temperature": 1.7},
    "cold": {"temperature": 0.3},
    "top_k": {"top_k": 3},
    "top_p": {"top_p": 0.8},
    "min_p": {"min_p": 0.1},
    "typical_p": {"typical_p": 0.7},
    "repetition": {"repetition_penalty": 1.8},
    "reward for repetition": {"repetition_penalty": 0.6},
    "no repeat": {"no_repeat_ngram_size": 2},
    "no repeated token": {"no_repeat_ngram_size": 1},
    "encoder repetition": {"encoder_repetition_penalty": 1.6},
    "encoder no repeat": {"encoder_no_repeat_ngram_size": 2},
    "min length": {"min_new_tokens": 2},
    "all length": {"min_new_tokens": LONGEST},
    "usual": {"temperature": 0.7, "top_k": 4, "top_p": 0.9},
    "temperature before top_p": {"temperature": 2.5, "top_p": 0.6},
    "penalty before top_k": {"repetition_penalty": 3.0, "top_k": 2},
    "everything": {
        "temperature": 1.3, "top_k": 5, "top_p": 0.95, "min_p": 0.02, "typical_p": 0.9,
        "repetition_penalty": 1.2, "no_repeat_ngram_size": 3, "encoder_repetition_penalty": 1.1,
        "encoder_no_repeat_ngram_size": 3, "min_new_tokens": 2,
    },
}  # fmt: skip
PUBLIC = {
    "bad words": {"bad_words_ids": ((3,), (2, 5), (5, 5))},
    "forced end": {"forced_eos_token_id": (END,)},
    "forced begin": {"forced_bos_token_id": 5},
    "suppressed": {"suppress_tokens": (3, 5)},
    "suppressed begin": {"begin_suppress_tokens": (END, 2, 3)},
    "suppressed after a forced begin": {"begin_suppress_tokens": (2, 3), "forced_bos_token_id": 5},
}


def tiny(kind, eos=END):
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    torch.manual_seed(3)
    if kind == "decoder-only":
        config = GPT2Config(
            vocab_size=SIZE, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=eos,
            pad_token_id=0, initializer_range=0.5, attn_implementation="eager",
        )  # fmt: skip
        model = GPT2LMHeadModel(config)
    else:
        config = T5Config(
            vocab_size=SIZE, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0,
            pad_token_id=0, eos_token_id=eos, initializer_factor=2.0, attn_implementation="eager",
        )  # fmt: skip
        model = T5ForConditionalGeneration(config)
    return Checkpoint(kind, model.double().eval(), SimpleNamespace(pad_token_id=0))


def rule_for(kind, ends=(END,), public=None, **settings):
    start = 0 if kind == "encoder-decoder" else None
    chosen = SamplingSettings(**{"max_new_tokens": LONGEST, **settings})
    return SamplingRule(chosen, ends, start, PublicSettings(**(public or {})))


@pytest.fixture(params=["decoder-only", "encoder-decoder"])
def kind(request):
    with one_thread():
        yield request.param


def sequences(ends=(END,)):
    """Return every sequence that a draw can end with."""
    return [
        tokens
        for length in range(1, LONGEST + 1)
        for tokens in itertools.product(range(SIZE), repeat=length)
        if (tokens[-1] in ends or length == LONGEST) and not set(tokens[:-1]) & set(ends)
    ]


def ask_library(checkpoint, prompt, wanted, monkeypatch, **options):
    """Return the probability of each sequence, as `generate` multiplies it up from what it draws from."""
    found = torch.zeros(len(wanted), dtype=torch.float64)
    step = 0

    def answer(probabilities, num_samples):
        nonlocal step
        tokens = torch.tensor([tokens[step] if step < len(tokens) else 0 for tokens in wanted])
        logs = probabilities.double().gather(1, tokens[:, None])[:, 0].log()
        found.add_(torch.where(torch.tensor([step < len(tokens) for tokens in wanted]), logs, 0.0))
        step += 1
        return tokens[:, None]

    neutral = {"top_k": 0, "top_p": 1.0, "temperature": 1.0, "max_new_tokens": LONGEST, "do_sample": True}
    with monkeypatch.context() as patch:
        patch.setattr(torch, "multinomial", answer)
        ids = torch.tensor([prompt])
        checkpoint.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            num_return_sequences=len(wanted),
            **{**neutral, **options},
        )
    return found.exp().numpy()


def log_likelihoods(*asked):
    return np.array([terms.sum() for terms in log_likelihood_terms(*asked)])


def ask_ours(checkpoint, rule, prompts, wanted):
    pairs = [(prompt, tokens) for prompt in prompts for tokens in wanted]
    return np.exp(log_likelihoods(checkpoint, rule, pairs, NO_EPSILON)).reshape(len(prompts), -1)


def take_prompts(name, is_thorough):
    """Return numbers of prompts to ask the library for: the longest, and another that depends on the name."""
    another = (0, 1, 3)[[*SETTINGS, *PUBLIC].index(name) % 3]
    return range(len(PROMPTS)) if is_thorough else (2, another)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_sequence_has_the_probability_that_the_library_gives_it(kind, name, monkeypatch, is_thorough):
    checkpoint, settings, wanted = tiny(kind), SETTINGS[name], sequences()
    ours = ask_ours(checkpoint, rule_for(kind, **settings), PROMPTS, wanted)
    assert ours.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    for number in take_prompts(name, is_thorough):
        prompt, row = PROMPTS[number], ours[number]
        theirs = ask_library(checkpoint, prompt, wanted, monkeypatch, **settings)
        assert ((row == 0) == (theirs == 0)).all()
        assert row == pytest.approx(theirs, rel=2e-5, abs=1e-9)


@pytest.mark.parametrize("name", PUBLIC)
def test_what_a_checkpoint_forbids_or_forces_is_what_the_library_makes_of_it(
    kind, name, monkeypatch, is_thorough
):
    checkpoint, wanted = tiny(kind), sequences()
    for key, value in PUBLIC[name].items():
        given = [list(v) if isinstance(v, tuple) else v for v in value] if isinstance(value, tuple) else value
        setattr(checkpoint.model.generation_config, key, given)
    public = PublicSettings.read(checkpoint)
    assert public == PublicSettings(**PUBLIC[name])
    rule = rule_for(kind, public=PUBLIC[name], top_p=0.9)
    ours = ask_ours(checkpoint, rule, PROMPTS, wanted)
    for number in take_prompts(name, is_thorough):
        prompt, row = PROMPTS[number], ours[number]
        theirs = ask_library(checkpoint, prompt, wanted, monkeypatch, top_p=0.9)
        assert row == pytest.approx(theirs, rel=2e-5, abs=1e-9)


def test_several_tokens_may_end_a_text(kind, monkeypatch):
    ends = (END, 4)
    checkpoint, wanted = tiny(kind, list(ends)), sequences(ends)
    rule = rule_for(kind, ends, min_new_tokens=2, top_k=5)
    [ours] = ask_ours(checkpoint, rule, PROMPTS[:1], wanted)
    theirs = ask_library(checkpoint, PROMPTS[0], wanted, monkeypatch, min_new_tokens=2, top_k=5)
    assert ours.sum() == pytest.approx(1.0, abs=1e-9)
    assert ours == pytest.approx(theirs, rel=2e-5, abs=1e-9)
    for tokens in generate(
        checkpoint, rule, [Request(PROMPTS[0], NO_EPSILON, key, LONGEST) for key in range(60)], ends
    ):
        assert tokens in wanted


@pytest.mark.parametrize("name", ["plain", "usual", "everything", "repetition"])
def test_draws_follow_the_probabilities_of_their_sequences(kind, name):
    from scipy.stats import chi2

    checkpoint, rule, draws = tiny(kind), rule_for(kind, **SETTINGS[name]), 3000
    wanted = sequences()
    [chance] = ask_ours(checkpoint, rule, PROMPTS[:1], wanted)
    counts = dict.fromkeys(wanted, 0)
    requests = [Request(PROMPTS[0], NO_EPSILON, derive(5, i), LONGEST) for i in range(draws)]
    for tokens in generate(checkpoint, rule, requests, (END,)):
        counts[tokens] += 1
    seen = np.array(list(counts.values()))
    assert (seen[chance == 0] == 0).all()
    frequent = draws * chance >= 5
    rest = np.array([seen[~frequent].sum(), draws * chance[~frequent].sum()])
    statistic = ((seen - draws * chance)[frequent] ** 2 / (draws * chance)[frequent]).sum()
    statistic += (rest[0] - rest[1]) ** 2 / max(rest[1], 1e-9)
    assert statistic < chi2.ppf(1 - 1e-9, frequent.sum() + 1)  # fixed keys: passes or fails for good


@pytest.mark.parametrize("name", ["everything", "encoder no repeat", "repetition"])
def test_a_draw_gives_the_same_tokens_alone_and_in_any_batch(kind, name):
    checkpoint, rule = tiny(kind), rule_for(kind, **{**SETTINGS[name], "max_new_tokens": 6})
    requests = [Request(PROMPTS[i % 4], NO_EPSILON, derive(7, i), 6) for i in range(40)]
    together = generate(checkpoint, rule, requests, (END,))
    assert together == [generate(checkpoint, rule, [request], (END,))[0] for request in requests]
    assert len(set(together)) > 5


def test_portions_that_fit_in_memory_change_nothing(kind, monkeypatch):
    import tedaudit.models.sampling.settings as module

    checkpoint, rule, wanted = tiny(kind), rule_for(kind, **SETTINGS["everything"]), sequences()[::17]
    whole = ask_ours(checkpoint, rule, PROMPTS, wanted)
    monkeypatch.setattr(module, "_CELLS", {"cpu": 2 * SIZE})
    assert ask_ours(checkpoint, rule, PROMPTS, wanted) == pytest.approx(whole, abs=1e-12)


def test_the_first_token_has_a_distribution_of_its_own(kind):
    checkpoint, rule = tiny(kind), rule_for(kind, top_k=2)
    table = first_log_probabilities(checkpoint, rule, PROMPTS, NO_EPSILON)
    assert np.exp(table).sum(axis=1) == pytest.approx(1.0)
    assert (np.isfinite(table).sum(axis=1) == 2).all()


def test_a_wide_support_and_a_narrow_one_are_sampled_alike():
    """A support is listed by its items only if it is small: where the line is drawn changes no draw."""
    import tedaudit.models.sampling.exponential as module

    rule, keys = rule_for("encoder-decoder", top_k=9), [derive(1, i) for i in range(300)]
    torch.manual_seed(0)
    logits = rule.adjust(torch.randn(1, 40), Prefixes.start([(2,)], "cpu"))
    rows, noise = torch.zeros(300, dtype=torch.long), torch.from_numpy(noise_for(keys, 1)[:, 0])
    epsilons = torch.full((300,), float(NO_EPSILON), dtype=torch.float64)
    drawn = {}
    for share in (1, 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_NARROW", share)
            drawn[share] = sample(rule, logits, rows, epsilons, noise).tolist()
    assert drawn[1] == drawn[40]
    assert len(set(drawn[1])) == 9


def test_settings_that_leave_no_token_are_an_error_when_drawn_and_impossible_when_scored(kind):
    rule = rule_for(kind, public={"suppress_tokens": tuple(range(SIZE))})
    with pytest.raises(ModelError, match="No token is left that could be drawn"):
        generate(tiny(kind), rule, [Request(PROMPTS[0], NO_EPSILON, 1, 2)], (END,))
    assert log_likelihoods(tiny(kind), rule, [(PROMPTS[0], (3, 4))], NO_EPSILON).tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 0.0), ("temperature", float("inf")), ("top_p", 0.0), ("top_p", 1.1), ("typical_p", 0.0),
     ("min_p", -0.1), ("top_k", -1), ("repetition_penalty", 0.0), ("no_repeat_ngram_size", -1),
     ("encoder_repetition_penalty", -1.0), ("min_new_tokens", 99), ("max_new_tokens", 0)],
)  # fmt: skip
def test_a_setting_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"{name} is {value}"):
        SamplingSettings(**{name: value})


def test_the_defaults_are_those_that_change_nothing():
    from tedaudit.leaks.lint.model import check_setting

    for entry in fields(SamplingSettings):
        assert check_setting(entry.name, entry.default) is None
