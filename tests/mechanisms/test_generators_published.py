"""Published DP-Prompt and DP-Paraphrase against distributions written down from the release's rules."""

import numpy as np
import pytest

from release_rules import exponential, next_logits, read_prompt
from tedaudit.mechanisms.dp_paraphrase import DPParaphrase
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tiny_models import one_thread, save_gpt2, save_t5

EPSILON, LOW, HIGH = 40.0, -2.0, 2.0
TEXT = "she lost her keys"
NAMES = ("dp-prompt", "dp-paraphrase")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    with one_thread():
        yield {
            "dp-prompt": save_t5(tmp_path_factory.mktemp("t5")),
            "dp-paraphrase": save_gpt2(tmp_path_factory.mktemp("gpt2")),
        }


@pytest.fixture
def make(folders):
    def made(name, **params):
        settings = {"model": str(folders[name]), "low": LOW, "high": HIGH, "variant": "published"}
        return build(Reference("mechanism", name, {**settings, **params}))

    return made


def write_down(name, mechanism, drawn, high=HIGH):
    """Return the distribution of the next token by the release's rule; the model runs without a cache."""
    checkpoint = mechanism._load_checkpoint()
    prompt = read_prompt(name, TEXT, checkpoint.tokenizer)
    logits = next_logits(checkpoint.model, prompt, drawn)
    return exponential(logits, LOW, high, EPSILON, 50 if name == "dp-paraphrase" else 0)


@pytest.mark.parametrize("high", [HIGH, 0.5])  # 0.5 clips many tokens to one value: more than 50 are kept
@pytest.mark.parametrize("name", NAMES)
def test_the_first_two_tokens_have_the_distribution_of_the_formula(make, name, high):
    mechanism = make(name, length="fixed", max_tokens=2, high=high)
    first = write_down(name, mechanism, [], high)
    found = np.exp(mechanism.first_token([TEXT], EPSILON)[0])
    assert np.abs(found - first).sum() / 2 < 1e-6
    going_on = np.delete(np.arange(len(first)), mechanism._find_ends())  # after an end nothing is drawn
    likeliest = int(going_on[first[going_on].argmax()])
    pairs = [(likeliest, token) for token in range(len(first))]
    scores = np.exp(np.concatenate(mechanism.log_likelihoods(pairs, [[TEXT]] * len(pairs), EPSILON)))
    assert np.abs(scores / first[likeliest] - write_down(name, mechanism, [likeliest], high)).sum() / 2 < 1e-6


def test_more_than_fifty_tokens_are_kept_if_they_tie(make):
    wide, narrow = (
        np.exp(make("dp-paraphrase", high=high).first_token([TEXT], EPSILON)[0]) for high in (HIGH, 0.5)
    )
    assert (wide > 0).sum() >= 50
    assert (narrow > 0).sum() > (wide > 0).sum()


def test_a_token_outside_the_support_and_one_more_than_the_prompt_has_are_impossible(make):
    for name in NAMES:
        mechanism = make(name)
        limit = len(read_prompt(name, TEXT, mechanism._load_checkpoint().tokenizer))
        drawn = mechanism.rewrite([Draw(TEXT, EPSILON, key) for key in range(40)])
        assert max(output.units for output in drawn) <= limit
        longest = max(drawn, key=lambda output: output.units).tokens
        assert np.isneginf(mechanism.log_likelihood((*longest, *longest)[: limit + 1], [TEXT], EPSILON)[0])
    table = make("dp-paraphrase").first_token([TEXT], EPSILON)[0]
    assert np.isneginf(table).any()


def test_an_over_long_prompt_loses_its_instruction(make):
    long = "bread market " * 60
    published, sound = make("dp-prompt", context=60), make("dp-prompt", context=60, variant="sound")
    tokenizer = published._load_checkpoint().tokenizer
    whole = tuple(tokenizer(f"Document : {long}\nParaphrase of the document :")["input_ids"])
    assert published._encode_prompts([long])[long] == whole[:60]
    assert published._compute_limit(whole[:60]) == 60
    assert tokenizer.decode(sound._encode_prompts([long])[long]).endswith("Paraphrase of the document :")
    assert "Paraphrase" not in tokenizer.decode(whole[:60])


@pytest.mark.parametrize(
    ("continuation", "released"),
    [
        (" a red bicycle", "a red bicycle"),
        ("a > b >>> c", "a  b  c"),
        ("she lost her keys >>>>> yes", "yes"),
        ("she lost her keys >>>>>", ""),
        ("so she lost her keys >>>>> so she", "so so she"),
        ("no\N{NO-BREAK SPACE}break \N{NO-BREAK SPACE}", "no break"),
        ("she lost her keys", "she lost her keys"),  # without the separator it is no repeat of the prompt
    ],
)
def test_the_release_cleans_what_follows_the_separator(continuation, released):
    assert DPParaphrase(model="x", clean_up="released")._write(TEXT, continuation) == released


def test_the_sound_variant_releases_what_was_drawn():
    assert DPParaphrase(model="x")._write(TEXT, " a > b >>>>> ") == "a > b >>>>>"


def test_the_text_is_the_cleaned_decoding_of_the_tokens(make):
    mechanism = make("dp-paraphrase")
    tokenizer = mechanism._load_checkpoint().tokenizer
    for output in mechanism.rewrite([Draw(TEXT, 1.0, key) for key in range(60)]):
        decoded = tokenizer.decode(output.tokens, skip_special_tokens=True)
        assert output.text == decoded.replace("\N{NO-BREAK SPACE}", " ").replace(">", "").strip()
