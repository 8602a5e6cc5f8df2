"""The DP-BART that ships beside DP-MLM, against its formulas: clip range, one noise vector, no window."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tedaudit
from release_rules import encode_port
from tedaudit.attacks.internal import Internal
from tedaudit.attacks.likelihood import Likelihood
from tedaudit.errors import SpecError
from tedaudit.mechanisms.dp_bart import DPBart
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tedaudit.testing import check_attack, check_mechanism
from tiny_models import SENTENCES, one_thread, save_bart

SIZE = 16  # dimensions of the tiny model


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with one_thread():
        folder = save_bart(tmp_path_factory.mktemp("bart"))
        yield build(
            Reference("mechanism", "dp-bart", {"model": str(folder), "variant": "port", "device": "cpu"})
        )


def test_values_are_clipped_to_the_port_s_own_range(port):
    checkpoint = port._load_checkpoint()
    for text, latent in zip(SENTENCES, port.encode(SENTENCES), strict=True):
        expected = encode_port(checkpoint.model, checkpoint.tokenizer, text)
        assert latent.reshape(expected.shape) == pytest.approx(expected, abs=1e-6)
        assert latent.min() < -0.15
        assert -0.2 <= latent.min() <= latent.max() <= 0.1


def test_all_positions_get_the_same_noise_of_the_port_s_scale(port):
    draws = [Draw(text, 50.0, key) for text in SENTENCES for key in range(60)]
    noises = []
    for draw, rewrite in zip(draws, port.rewrite(draws), strict=True):
        residual = (rewrite.latent - port.encode([draw.text])[0]).reshape(-1, SIZE)
        assert np.abs(residual - residual[0]).max() < 1e-6
        noises.append(residual.mean(axis=0))
    scale = 2 * 0.1 * math.sqrt(SIZE) * math.sqrt(2 * math.log(1.25e5)) / 50
    assert port.noise_scale(50.0) == pytest.approx(scale)
    assert np.std(noises) == pytest.approx(scale, rel=0.05)  # 4,800 numbers


def test_latents_of_any_length_are_those_of_the_rewrites(port, monkeypatch):
    draws = [Draw(text, epsilon, 7) for text in (*SENTENCES, "", "the park") for epsilon in (50.0, 2500.0)]
    released = Rewrites.of(port.rewrite(draws)).latents
    monkeypatch.setattr(DPBart, "_run_decoder", None)
    assert port.latents(draws).equals(released)
    assert len(set(released.lengths)) > 2
    assert port.latents(draws[::-1]).take(range(len(draws) - 1, -1, -1)).equals(released)


def test_no_epsilon_holds_for_the_port(port):
    assert port.claim(250.0).actual == math.inf


@pytest.mark.parametrize(("noise", "actual"), [("analytic_gaussian", 504), ("gaussian", 3325)])
def test_the_clip_range_alone_makes_250_more(port, noise, actual):
    wide = DPBart(model=port.model, clip_low=-0.2, noised_for_clip=0.1, noise=noise, device="cpu")
    assert wide.claim(250.0).actual == pytest.approx(actual, abs=1)


def test_a_release_names_its_source_by_its_length_and_by_differences_between_positions(port):
    texts = [*SENTENCES, "the park", "the keys"]
    draws = [Draw(text, 0.01, key) for text in texts for key in range(3)]
    for draw, rewrite in zip(draws, port.rewrite(draws), strict=True):
        scores = port.log_density(rewrite.latent, port.encode(texts), 0.01)
        assert [text for text, score in zip(texts, scores, strict=True) if np.isfinite(score)] == [draw.text]
        noise = (rewrite.latent - port.encode([draw.text])[0]).reshape(-1, SIZE).mean(axis=0)
        scale = port.noise_scale(0.01)
        density = -0.5 * (noise / scale) ** 2 - math.log(scale * math.sqrt(2 * math.pi))
        assert scores.max() == pytest.approx(density.sum(), rel=1e-6)


def test_what_is_attainable_is_everything_at_any_epsilon(port):
    found = next(iter(tedaudit.audit(port, SENTENCES, epsilon=0.1, attack="likelihood", trials=60)))
    assert found.counts.correct == 60
    assert found.measures.attainable == pytest.approx(1.0)


def test_the_contract_is_kept(port):
    short = replace(port, context=12)  # it decodes as many tokens as it reads
    check_mechanism(short, likelihood_pairs=200)  # its density is the formula (above), and names every source
    texts = (*SENTENCES, "the park", "the keys")
    check_attack(Likelihood(), texts, mechanism=port, epsilon=100.0)
    check_attack(Internal(), texts, mechanism=port, epsilon=100.0)
    check_attack(Internal(distance="l2"), texts, mechanism=port, epsilon=100.0)


def test_a_mask_that_shows_the_length_leaves_no_likelihood_of_the_whole_release(port):
    masked = DPBart(model=port.model, mask="text", device="cpu")
    assert "not cover the whole release: the decoder sees the length" in Likelihood().unfit(masked)
    assert Likelihood().unfit(port) == Likelihood().unfit(DPBart(model=port.model)) == ""


def test_a_text_is_cut_at_the_context(port):
    long = "the park " * 300
    assert len(port.encode([long])[0]) == 64 * SIZE  # the tiny model's positions
    assert len(port.pieces(long)) == 64
    assert port.rewrite([Draw(long, 1.0, 1)])[0].error == ""


@pytest.mark.parametrize(
    "wrong",
    [{"clip_low": 0.1}, {"clip_low": math.nan}, {"clipping": "norm", "positions": "text"}, {"context": 2}],
)
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(SpecError):
        DPBart(model="x", **wrong)
