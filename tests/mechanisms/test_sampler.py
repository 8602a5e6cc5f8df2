"""The sampler: ordinary sampling from any model, with exact likelihoods and without a claim."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tedaudit.errors import ModelError, SpecError
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.registry import Reference, build, determinants
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive
from tedaudit.testing import check_mechanism
from tedaudit.testing.likelihood_check import PAIRS
from tiny_models import CHAT_TEMPLATE, one_thread, save_bart, save_gpt2, save_llama, save_t5

PLAIN = ("My sister bought a red bicycle.", "she lost her keys in the park", "The doctor called in May!")
MODELS = ("t5", "bart", "gpt2", "chat")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    with one_thread():
        yield {
            "t5": save_t5(tmp_path_factory.mktemp("t5")),
            "bart": save_bart(tmp_path_factory.mktemp("bart")),
            "gpt2": save_gpt2(tmp_path_factory.mktemp("gpt2")),
            "chat": save_llama(tmp_path_factory.mktemp("chat"), CHAT_TEMPLATE),
        }


@pytest.fixture
def make(folders):
    def made(model="t5", **params):
        settings = {"model": str(folders[model]), "context": 48, "max_new_tokens": 5, **params}
        return build(Reference("mechanism", "sampler", settings))

    return made


def draws_of(texts, replicates=3):
    return [Draw(text, NO_EPSILON, derive(1, text, r)) for text in texts for r in range(replicates)]


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("t5", {"temperature": 8.0, "top_p": 0.95, "repetition_penalty": 1.3}),
        ("gpt2", {"temperature": 5.0, "top_k": 200, "no_repeat_ngram_size": 2, "min_new_tokens": 2}),
        ("chat", {"temperature": 4.0, "top_p": 0.95, "encoder_repetition_penalty": 1.1}),
    ],
)
def test_with_cut_supports_and_penalties_the_contract_holds_and_likelihoods_are_those_of_the_draws(
    make, model, settings, is_thorough
):
    """With fewer draws but for `--all`: the library's own probabilities are held against ours below."""
    pairs = PAIRS if is_thorough else 400
    checked = check_mechanism(make(model, max_new_tokens=4, **settings), likelihood_pairs=pairs)
    assert checked.random
    assert checked.unusable == 0
    assert checked.likelihood_p > 0.001


@pytest.mark.parametrize("model", MODELS)
def test_what_was_drawn_has_the_probability_that_the_library_gives_it(make, model):
    """Draws of ours are scored by the library: its `generate`, given the same prompt, is made to say them."""
    import torch

    settings = {"temperature": 0.8, "top_p": 0.9, "repetition_penalty": 1.2}
    mechanism = make(model, prompt="{text} :", **settings)
    checkpoint = mechanism._load_checkpoint()
    for draw, rewrite in zip(d := draws_of(PLAIN), mechanism.rewrite(d), strict=True):
        if model == "chat":
            turn = [{"role": "user", "content": mechanism.prompt.replace("{text}", draw.text)}]
            given = checkpoint.tokenizer.apply_chat_template(turn, add_generation_prompt=True)
            ids = torch.tensor([given["input_ids"]])
        else:
            ids = checkpoint.tokenizer(mechanism.prompt.replace("{text}", draw.text), return_tensors="pt")
            ids = ids["input_ids"]
        total, answers = 0.0, iter(rewrite.tokens)

        def answer(probabilities, num_samples):
            nonlocal total
            token = next(answers)  # noqa: B023 - used within the turn
            total += float(probabilities[0, token].double().log())
            return torch.tensor([[token]])

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "multinomial", answer)
            mask = torch.ones_like(ids)
            checkpoint.model.generate(
                ids, attention_mask=mask, do_sample=True, max_new_tokens=5, top_k=0, **settings
            )
        assert next(answers, None) is None  # the library ends where we do
        [ours] = mechanism.log_likelihood(rewrite.tokens, [draw.text], NO_EPSILON)
        assert ours == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_a_text_that_cannot_give_an_output_has_no_probability(make, model):
    mechanism = make(model, top_k=1)
    [rewrite] = mechanism.rewrite([Draw(PLAIN[0], NO_EPSILON, 1)])
    likely, *others = mechanism.log_likelihood(rewrite.tokens, PLAIN, NO_EPSILON)
    assert likely == 0.0
    assert np.isneginf(others).any()


def test_tokens_after_an_end_and_too_many_tokens_are_impossible(make):
    mechanism = make()
    end = mechanism._find_ends()[0]
    possible = mechanism.log_likelihood((7, end), PLAIN[:1], NO_EPSILON)
    assert np.isfinite(possible).all()
    for tokens in ((end, 7, end), (7,), (7,) * 6, ()):
        assert np.isneginf(mechanism.log_likelihood(tokens, PLAIN[:1], NO_EPSILON)).all()


def test_it_has_no_claim_and_takes_no_epsilon(make):
    mechanism = make()
    assert mechanism.claim(1.0) is None
    assert mechanism.epsilons((1.0, 5.0)) == (NO_EPSILON,)


def test_only_what_is_new_is_decoded(make):
    mechanism = make("gpt2")
    tokenizer = mechanism._load_checkpoint().tokenizer
    for rewrite in mechanism.rewrite(draws_of(PLAIN)):
        assert rewrite.text == tokenizer.decode(rewrite.tokens, skip_special_tokens=True).strip()
        assert 1 <= rewrite.units == len(rewrite.tokens) <= 5


def test_the_prompt_goes_into_the_chat_template_unless_it_is_off(make):
    text, prompt = PLAIN[1], "Say it again: {text}"
    plain = prompt.replace("{text}", text)
    for chat, expected in (("auto", f"<user>{plain}<end><answer>"), ("off", plain)):
        mechanism = make("chat", chat=chat, prompt=prompt)
        [tokens] = mechanism._encode_prompts([text]).values()
        assert mechanism._load_checkpoint().tokenizer.decode(tokens) == expected
    assert (
        make("chat").fingerprint()["chat template"] != make("chat", chat="off").fingerprint()["chat template"]
    )


def test_every_setting_is_part_of_what_determines_the_results(make):
    base = make()
    known = determinants(base)
    for key, value in (
        ("temperature", 0.5),
        ("top_p", 0.9),
        ("repetition_penalty", 1.1),
        ("prompt", "{text}"),
    ):
        assert determinants(replace(base, **{key: value})) != known


def test_a_checkpoint_says_which_tokens_end_a_text_and_which_are_forced(make, folders, tmp_path):
    folder = save_gpt2(tmp_path / "two ends")
    file = folder / "generation_config.json"
    own = {"eos_token_id": [1, 9], "suppress_tokens": [5], "top_p": 0.8, "top_k": 0, "num_beams": 1}
    file.write_text(json.dumps(own | {"min_length": 5, "epsilon_cutoff": 0.01}))
    mechanism = build(Reference("mechanism", "sampler", {"model": str(folder), "max_new_tokens": 3}))
    assert mechanism._find_ends() == (1, 9)
    assert np.isneginf(mechanism.first_token(PLAIN, NO_EPSILON)[:, 5]).all()
    assert mechanism.find_ignored() == {"top_p": 0.8, "min_length": 5, "epsilon_cutoff": 0.01}
    told = [note.text for note in mechanism.arithmetic([NO_EPSILON], []) if note.rule == "checkpoint"]
    assert told[1:] == [
        "min_length is 5 in the checkpoint's generation settings; nothing here does the same",
        "epsilon_cutoff is 0.01 in the checkpoint's generation settings; nothing here does the same",
    ]
    assert mechanism.fingerprint() != make("gpt2").fingerprint()


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"prompt": "Paraphrase this"}, r"must contain \{text\}"),
        ({"temperature": 0.0}, "set top_k=1"),
        ({"context": 0}, "context is 0"),
        ({"top_p": 1.5}, "top_p is 1.5"),
    ],
)
def test_wrong_settings_are_refused(make, settings, match):
    with pytest.raises(SpecError, match=match):
        make(**settings)


def test_a_model_that_computes_no_number_is_told(make, folders, tmp_path):
    """Without a clip range nothing says what to draw then, and there is no claim to keep."""
    shutil.copytree(folders["gpt2"], tmp_path, dirs_exist_ok=True)
    weights = load_file(tmp_path / "model.safetensors")
    weights["transformer.ln_f.weight"][:] = np.nan
    save_file(weights, tmp_path / "model.safetensors", {"format": "np"})
    with pytest.raises(ModelError, match="overflows in float16"):
        replace(make("gpt2"), model=str(tmp_path)).rewrite(draws_of(PLAIN))


def test_more_new_tokens_than_the_model_has_positions_are_refused(make):
    with pytest.raises(ModelError, match="leaves no room for a prompt"):
        make("gpt2", max_new_tokens=128).rewrite(draws_of(PLAIN))


@pytest.mark.parametrize(("model", "room"), [("t5", 48), ("bart", 48), ("gpt2", 48)])
def test_a_long_text_is_cut_and_the_prompt_is_kept(make, model, room):
    mechanism = make(model, prompt="{text} :")
    [tokens] = mechanism._encode_prompts(["word " * 200]).values()
    assert len(tokens) <= room
    assert mechanism._load_checkpoint().tokenizer.decode(tokens, skip_special_tokens=True).endswith(":")
    failing = make(model, overlong="error").rewrite(draws_of(["word " * 200], 1))
    assert [rewrite.error for rewrite in failing] == ["over-long"]
