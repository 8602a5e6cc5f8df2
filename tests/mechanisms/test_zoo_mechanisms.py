"""The six mechanisms on the trained models of the zoo, as a newcomer runs them: no model named."""

import numpy as np
import pytest

from tedaudit.api import load_corpus
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.registry import Reference, build, zoo_fields
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive

pytest.importorskip("tedaudit_zoo")
SIX = ("adept", "dp-bart", "dp-paraphrase", "dp-prompt", "dp-mlm", "dp-st")
TEXT = ("dp-paraphrase", "dp-prompt", "dp-mlm", "dp-st")  # adept and dp-bart need a far larger epsilon


@pytest.fixture(scope="module")
def texts():
    return load_corpus("demo").texts[::90]


@pytest.fixture
def mechanism(request, monkeypatch):
    monkeypatch.delenv("TEDAUDIT_ZOO")
    return build(Reference("mechanism", request.param))


def draws_of(texts, epsilon):
    return [Draw(text, epsilon, derive(0, "zoo test", text)) for text in texts]


def resemblance(texts, rewrites):
    """Return the mean cosine of texts and their rewrites."""
    encoder = load_encoder("zoo:encoder")
    written = encoder.encode([rewrite.text for rewrite in rewrites])
    return float((encoder.encode(texts) * written).sum(axis=1).mean())


@pytest.mark.parametrize("mechanism", SIX, indirect=True)
def test_every_mechanism_runs_with_nothing_but_its_name(mechanism, texts):
    assert all(getattr(mechanism, key) == f"zoo:{model}" for key, model in zoo_fields(mechanism).items())
    draws = draws_of(texts[:3], 10.0) + draws_of(texts[:3], 1000.0)
    done = mechanism.rewrite(draws)
    assert len(done) == len(draws)
    assert not any(rewrite.error for rewrite in done)
    assert all(rewrite.units for rewrite in done)
    assert mechanism.rewrite(draws[:1])[0].text == done[0].text
    assert mechanism.claim(10.0).epsilon == 10.0


@pytest.mark.parametrize("mechanism", TEXT, indirect=True)
def test_at_a_high_epsilon_rewrites_resemble_their_source_more(mechanism, texts):
    some = texts[::8]
    low, high = (mechanism.rewrite(draws_of(some, epsilon)) for epsilon in (1.0, 1000.0))
    assert resemblance(some, high) > resemblance(some, low) + 0.05


@pytest.mark.parametrize("mechanism", ["dp-bart", "adept"], indirect=True)
def test_without_noise_the_auto_encoders_bring_the_text_back(mechanism, texts):
    short = [text for text in texts if len(text.split()) <= 8]  # longer ones are cut to 20 tokens
    assert resemblance(short, mechanism.rewrite(draws_of(short, 1e7))) > 0.97


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("adept", "sound"),
        ("adept", "published"),
        ("dp-bart", "sound"),
        ("dp-bart", "published"),
        ("dp-bart", "port"),
    ],
)
def test_latents_are_to_the_bit_those_of_the_rewrites_in_any_batch_and_nothing_is_decoded(
    name, variant, texts, monkeypatch
):
    monkeypatch.delenv("TEDAUDIT_ZOO")
    mechanism = build(Reference("mechanism", name, {"variant": variant}))
    some = [*texts[:20], ""]  # more than the encoder reads at a time
    draws = [draw for epsilon in (50.0, 2500.0) for draw in draws_of(some, epsilon)]
    few = list(range(0, len(draws), 6))  # decoding takes long
    wanted = Rewrites.of(mechanism.rewrite([draws[i] for i in few])).latents

    monkeypatch.setattr(type(mechanism), "_run_decoder", None)
    turned = mechanism.latents(draws[::-1])  # in another order, beside other texts and epsilons
    assert turned.take([len(draws) - 1 - i for i in few]).equals(wanted)
    assert all(mechanism.latents([draws[i]]).equals(wanted.take([n])) for n, i in enumerate(few))
    assert turned.values.dtype == wanted.values.dtype == np.float32
