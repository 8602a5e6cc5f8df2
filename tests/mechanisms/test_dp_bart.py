"""DP-BART: what is noised, what is pruned, what a release brings, and planted flaws."""

import math

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.mechanisms._noise import sigma_for
from tedaudit.mechanisms.dp_bart import DPBart
from tedaudit.models.autoencoders.bart import beam_decode, load_bart
from tedaudit.plugins.registry import determinants
from tedaudit.plugins.values import Draw
from tiny_models import SENTENCES, one_thread, save_bart

PRUNED = (0, 3, 4, 11, 15)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with one_thread():
        yield str(save_bart(tmp_path_factory.mktemp("bart")))


@pytest.fixture
def pruned(tmp_path):
    import torch

    torch.save(torch.tensor(PRUNED), tmp_path / "pruned.pt")
    return str(tmp_path / "pruned.pt")


def _mechanism(folder, **given):
    return DPBart(**{"model": folder, "device": "cpu", **given})


@pytest.mark.parametrize(
    ("noise", "power"), [("gaussian", 0.5), ("analytic_gaussian", 0.5), ("laplace", 1.0)]
)
def test_the_sensitivity_counts_the_kept_numbers_of_the_window(folder, pruned, noise, power):
    whole = _mechanism(folder, noise=noise)
    part = _mechanism(folder, noise=noise, pruned=pruned, window=10, clip=0.2)
    assert whole.sensitivity() == pytest.approx(2 * 0.1 * (20 * 16) ** power)
    assert part.sensitivity() == pytest.approx(2 * 0.2 * (10 * 11) ** power)
    assert part.encode(SENTENCES[:1]).shape == (1, 110)


def test_the_signal_to_noise_ratio_rises_in_step_with_epsilon(folder):
    mechanism = _mechanism(folder, noise="gaussian")
    signal = np.linalg.norm(mechanism.encode(SENTENCES).astype(np.float64), axis=1)
    drawn = mechanism.rewrite([Draw(text, 250.0, 1) for text in SENTENCES])
    noise = [np.linalg.norm(r.latent - c) for r, c in zip(drawn, mechanism.encode(SENTENCES), strict=True)]
    expected = 2 * 0.1 * math.sqrt(320) * math.sqrt(2 * math.log(1.25e5)) / 250 * math.sqrt(320)
    assert noise == pytest.approx([expected] * len(noise), rel=0.15)
    ratios = [signal / (mechanism.noise_scale(eps) * math.sqrt(320)) for eps in (250, 1000, 2500)]
    assert ratios[1] == pytest.approx(4 * ratios[0])
    assert ratios[2] == pytest.approx(10 * ratios[0])


def _with_other_pruned_dimensions(folder, place):
    """Save the same model with its encoder's output changed in the pruned dimensions alone."""
    import copy

    checkpoint = load_bart(folder, device="cpu").checkpoint
    model = copy.deepcopy(checkpoint.model)
    last = model.get_encoder().layers[-1].final_layer_norm
    last.weight.data[list(PRUNED)] *= -3
    last.bias.data[list(PRUNED)] += 0.05
    model.save_pretrained(place)
    checkpoint.tokenizer.save_pretrained(place)
    return str(place)


def test_pruned_dimensions_carry_nothing(folder, pruned, tmp_path):
    changed = _with_other_pruned_dimensions(folder, tmp_path / "changed")
    draws = [Draw(text, epsilon, 6) for text in SENTENCES for epsilon in (100.0, 1e4)]
    whole = [_mechanism(model).encode(SENTENCES) for model in (folder, changed)]
    assert not np.array_equal(*whole)
    one, other = (_mechanism(model, pruned=pruned).rewrite(draws) for model in (folder, changed))
    assert [r.tokens for r in one] == [r.tokens for r in other]
    assert all(np.array_equal(a.latent, b.latent) for a, b in zip(one, other, strict=True))


def test_the_decoder_sees_zeros_where_dimensions_are_pruned(folder, pruned):
    import torch

    mechanism = _mechanism(folder, pruned=pruned)
    draws = [Draw(text, 2500.0, 2) for text in SENTENCES]
    rewrites = mechanism.rewrite(draws)
    hidden = np.zeros((len(draws), 20, 16), dtype=np.float32)
    kept = [i for i in range(16) if i not in PRUNED]
    hidden[:, :, kept] = np.stack([r.latent for r in rewrites]).reshape(len(draws), 20, 11)
    full = torch.ones((len(draws), 20), dtype=torch.long)
    tokens = beam_decode(load_bart(folder, device="cpu").checkpoint, hidden, full, 3, 20)
    assert [r.tokens for r in rewrites] == tokens
    assert all(len(r.tokens) <= 19 for r in rewrites)


def test_a_release_rewrites_as_the_model_it_was_saved_from(folder, pruned, tmp_path):
    import torch

    trained = save_bart(tmp_path / "trained", seed=5)
    state = load_bart(str(trained), device="cpu").checkpoint.model.state_dict()
    release = {"model_state_dict": {f"model.{name}": value for name, value in state.items()}}
    torch.save(release, tmp_path / "release.pt")
    released = _mechanism(folder, weights=str(tmp_path / "release.pt"), pruned=pruned)
    direct = _mechanism(str(trained), pruned=pruned)
    draws = [Draw(text, 1e4, 3) for text in SENTENCES]
    assert [r.tokens for r in released.rewrite(draws)] == [r.tokens for r in direct.rewrite(draws)]
    assert [r.tokens for r in released.rewrite(draws)] != [
        r.tokens for r in _mechanism(folder).rewrite(draws)
    ]
    assert released.fingerprint() == direct.fingerprint()
    assert released.fingerprint()["weights"] != _mechanism(folder).fingerprint()["weights"]
    whole = _mechanism(folder).fingerprint()["kept dimensions"]
    assert released.fingerprint()["kept dimensions"] != whole


def test_a_mask_of_the_text_reaches_the_decoder_and_voids_the_claim(folder):
    draws = [Draw(text, 100.0, key) for text in ("my keys", "", "the park") for key in range(4)]
    full, text = (_mechanism(folder, mask=mask).rewrite(draws) for mask in ("full", "text"))
    assert all(np.array_equal(a.latent, b.latent) for a, b in zip(full, text, strict=True))
    assert [r.tokens for r in full] != [r.tokens for r in text]
    assert _mechanism(folder, mask="text").claim(250.0).actual == math.inf


@pytest.mark.parametrize(("noise", "real"), [("analytic_gaussian", 504), ("gaussian", 3325)])
def test_noise_for_a_narrower_clip_than_the_one_in_use_is_recomputed(noise, real):
    claim = DPBart(clip=0.15, noised_for_clip=0.1, noise=noise).claim(250.0)
    assert claim.epsilon == 250.0
    assert round(claim.actual) == real


def test_norm_clipping_has_its_own_sensitivity_unless_the_flaw_is_planted(folder):
    sound = _mechanism(folder, clipping="norm", clip=5.0)
    assert sound.noise_scale(250.0) == sigma_for("analytic_gaussian", 10.0, 250.0, 1e-5)
    assert sound.claim(250.0).actual == pytest.approx(250.0)
    flawed = _mechanism(folder, clipping="norm", clip=5.0, noised_for_clip=0.1)
    value = 2 * 0.1 * math.sqrt(320)
    assert flawed.noise_scale(250.0) == pytest.approx(sigma_for("analytic_gaussian", value, 250.0, 1e-5))
    assert flawed.sensitivity() == 10.0
    assert flawed.claim(250.0).actual > 1000.0


def test_texts_are_no_longer_than_asked_for(folder):
    draws = [Draw(text, 1e4, key) for text in SENTENCES for key in (1, 2)]
    assert max(len(r.tokens) for r in _mechanism(folder, max_tokens=5).rewrite(draws)) == 4
    greedy, beam = (_mechanism(folder, beams=beams).rewrite(draws) for beams in (1, 3))
    assert [r.tokens for r in greedy] != [r.tokens for r in beam]


def test_the_text_is_the_decoded_tokens_without_special_ones(folder):
    tokenizer = load_bart(folder, device="cpu").checkpoint.tokenizer
    for rewrite in _mechanism(folder).rewrite([Draw(text, 1e4, 4) for text in SENTENCES]):
        assert rewrite.text == tokenizer.decode(list(rewrite.tokens), skip_special_tokens=True).strip()
        assert "</s>" not in rewrite.text


@pytest.mark.parametrize("wrong", [{"beams": 0}, {"noised_for_clip": -1.0}, {"noised_for_clip": math.inf}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SpecError, match=f"'dp-bart': {next(iter(wrong))} is"):
        DPBart(**wrong)


def test_a_decoder_of_another_number_format_gets_the_same_latents_and_another_key(folder):
    import torch

    plain, other = _mechanism(folder), _mechanism(folder, decoder_dtype="float64")
    same = _mechanism(folder, decoder_dtype="float32")
    assert determinants(same) == determinants(plain)
    known = determinants(other)
    assert known.pop("decoder number format") == "torch.float64"
    assert known == determinants(plain)
    draws = [Draw(text, 2500.0, key) for text in SENTENCES for key in range(3)]
    one, two = plain.rewrite(draws), other.rewrite(draws)
    assert one.latents.equals(two.latents)
    assert one == same.rewrite(draws)
    both = _mechanism(folder, dtype="float64")
    assert both._run_decoder(torch.from_numpy(two.latents.matrix()), []) == [r.tokens for r in two]
    assert other._load_decoder().model.dtype == both._load_checkpoint().model.dtype
