"""Properties of every mechanism that adds noise to a latent: DP-BART and ADePT."""

import shutil
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from scipy.stats import laplace, norm

from tedaudit.errors import SpecError
from tedaudit.mechanisms import _latent
from tedaudit.mechanisms._latent import Latent
from tedaudit.mechanisms._noise import laplaces, sigma_for, true_epsilon
from tedaudit.mechanisms.adept import Adept
from tedaudit.mechanisms.dp_bart import DPBart
from tedaudit.plugins.registry import Reference, build, determinants
from tedaudit.plugins.values import Draw
from tedaudit.seeding import normals
from tiny_models import SENTENCES, one_thread, save_bart, save_lstm

ODD = ("", " \n", "?! ...", "word " * 10_000, "😀 👩‍👧 🇫🇷", "a\x00b\x1b[31m\u202e", "half \ud800 a pair")
CLASSES = {"dp-bart": DPBart, "adept": Adept}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("latent")
    with one_thread():
        yield {"dp-bart": save_bart(place / "bart"), "adept": save_lstm(place / "lstm")}


@pytest.fixture(params=sorted(CLASSES))
def make(request, folders):
    """Return a factory of one of the mechanisms on its tiny model; texts are short by default."""

    def made(**given):
        common = {"model": str(folders[request.param]), "device": "cpu", "max_tokens": 3}
        return CLASSES[request.param](**{**common, **given})

    return made


def _draws(texts=SENTENCES, epsilons=(1.0, 300.0, 1e4), keys=(5, 2**127 + 3)):
    return [
        Draw(text, epsilon, key + i) for i, text in enumerate(texts) for epsilon in epsilons for key in keys
    ]


def _same(one, other):
    return (one.text, one.tokens, one.units, one.error) == (
        other.text,
        other.tokens,
        other.units,
        other.error,
    ) and np.array_equal(one.latent, other.latent)


@pytest.mark.parametrize("noise", ["gaussian", "analytic_gaussian"])
def test_a_released_latent_is_the_clean_one_plus_scaled_normals(make, noise):
    mechanism = make(noise=noise)
    draws = _draws()
    clean = mechanism.encode([draw.text for draw in draws])
    for draw, rewrite, latent in zip(draws, mechanism.rewrite(draws), clean, strict=True):
        sigma = sigma_for(noise, mechanism.sensitivity(), draw.epsilon, 1e-5)
        noisy = latent.astype(np.float64) + sigma * normals([draw.key], len(latent))[0]
        assert np.array_equal(rewrite.latent, noisy.astype(np.float32))
        assert rewrite.latent.dtype == clean.dtype == np.float32


def test_laplace_noise_is_scaled_by_the_l1_distance(make):
    mechanism = make(noise="laplace")
    draw = Draw(SENTENCES[0], 2000.0, 9)
    clean = mechanism.encode([draw.text])[0]
    standard = laplaces([9], len(clean))[0]
    noisy = clean + mechanism.sensitivity() / 2000.0 * standard
    assert np.array_equal(mechanism.rewrite([draw])[0].latent, noisy.astype(np.float32))
    assert mechanism.sensitivity() == pytest.approx(make().sensitivity() * np.sqrt(len(clean)))


def test_standard_laplace_numbers_are_quantiles_of_their_uniforms():
    numbers = np.sort(laplaces([1, 2], 20_000).ravel())
    ranks = (np.arange(len(numbers)) + 0.5) / len(numbers)
    assert np.abs(laplace.cdf(numbers) - ranks).max() < 1.95 / np.sqrt(len(numbers))  # Kolmogorov, 1 in 1000
    assert not np.array_equal(laplaces([1], 8), laplaces([2], 8))


def test_a_draw_is_the_same_alone_and_in_any_batch(make):
    mechanism = make(clip=1.0, max_tokens=12)
    draws = _draws((*SENTENCES, ODD[0], ODD[3]), epsilons=(1.0, 1e4))
    together = mechanism.rewrite(draws)
    turned = mechanism.rewrite([*draws[:3], *draws[::-1]])[3:][::-1]
    assert all(map(_same, together, turned))
    for i in range(0, len(draws), 6):
        assert _same(mechanism.rewrite([draws[i]])[0], together[i])
    assert len({rewrite.tokens for rewrite in together}) > 5  # else equality would mean little
    assert len({len(rewrite.tokens) for rewrite in together}) > 2


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_latents_are_those_of_the_rewrites_and_nothing_is_decoded(make, monkeypatch, noise):
    mechanism = make(noise=noise)
    draws = _draws((*SENTENCES, *ODD))
    released = mechanism.rewrite(draws).latents
    monkeypatch.setattr(type(mechanism), "_run_decoder", None)
    made = mechanism.latents(draws)
    assert made.equals(released)
    assert made.values.dtype == np.float32
    turned = mechanism.latents([*draws[5:8], *draws[::-1]])
    assert turned.take(range(len(draws) + 2, 2, -1)).equals(made)
    assert all(mechanism.latents([draws[i]]).equals(made.take([i])) for i in range(0, len(draws), 5))
    assert (len(mechanism.latents([])), mechanism.latents([]).values.dtype) == (0, np.float32)


@pytest.mark.parametrize("clipping", ["value", "norm"])
def test_what_a_model_cannot_compute_is_clipped_too_and_gets_its_noise(make, monkeypatch, clipping):
    """A model with few digits overflows, and noise added to what is no number would be lost."""
    mechanism = make(clipping=clipping)
    run, broken = type(mechanism)._run_encoder, SENTENCES[0]

    def overflow(self, texts):
        hidden = run(self, texts).clone()
        for row, text in enumerate(texts):
            if text == broken:
                hidden[row, 0], hidden[row, 1], hidden[row, 2] = np.nan, np.inf, -np.inf
        return hidden

    monkeypatch.setattr(type(mechanism), "_run_encoder", overflow)
    [clean] = mechanism.encode([broken])
    assert np.linalg.norm(clean.astype(np.float64)) <= mechanism.largest_norm()
    assert clean[0] == 0
    assert clean[1] > 0 > clean[2]
    drawn = mechanism.rewrite([Draw(broken, 1.0, key) for key in range(4)])
    assert all(np.isfinite(rewrite.latent).all() for rewrite in drawn)


def test_a_small_memory_gives_the_same_rewrites(make, monkeypatch):
    draws = _draws(SENTENCES[:3], epsilons=(1.0, 300.0))
    wanted = make().rewrite(draws)
    latents = make().latents(draws)
    clean = make().encode(SENTENCES)
    monkeypatch.setattr(_latent, "_CELLS", 1)
    assert all(map(_same, make().rewrite(draws), wanted))
    monkeypatch.setattr(_latent, "_LATENTS", {"cpu": 5 * clean.shape[1]})  # a text lies in two blocks
    monkeypatch.setattr(_latent, "_TEXTS", 2)
    monkeypatch.setattr(_latent, "_TABLE", 3)
    assert all(map(_same, make().rewrite(draws), wanted))
    assert make().latents(draws).equals(latents)
    assert np.array_equal(make().encode(SENTENCES), clean)


def test_epsilons_share_the_noise_of_a_key(make):
    mechanism = make()
    low, high = mechanism.rewrite([Draw(SENTENCES[1], 10.0, 4), Draw(SENTENCES[1], 500.0, 4)])
    clean = mechanism.encode([SENTENCES[1]])[0].astype(np.float64)
    first = (low.latent - clean) / mechanism.noise_scale(10.0)
    second = (high.latent - clean) / mechanism.noise_scale(500.0)
    assert first == pytest.approx(second, abs=1e-4)


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_every_string_gives_an_ordinary_draw(make, variant):
    mechanism = make(**make().variants[variant])
    size = mechanism.encode([SENTENCES[0]]).shape[1]
    for rewrite in mechanism.rewrite(_draws(ODD, epsilons=(0.1, 2500.0), keys=(1,))):
        assert rewrite.error == ""
        assert rewrite.units == 1
        assert rewrite.tokens
        assert rewrite.latent.shape == (size,)
        assert np.isfinite(rewrite.latent).all()
    assert mechanism.rewrite([]) == []


def test_a_long_text_is_read_up_to_the_window(make):
    mechanism = make()
    start = " ".join(SENTENCES * 3)
    one, other, third = mechanism.encode([f"{start} the park", f"{start} my keys", SENTENCES[1]])
    assert np.array_equal(one, other)
    assert not np.array_equal(one, third)


@pytest.mark.parametrize("clipping", ["value", "norm"])
def test_no_two_latents_are_further_apart_than_the_sensitivity(make, clipping):
    mechanism = make(clipping=clipping, clip=0.3)
    latents = mechanism.encode([*SENTENCES, *ODD]).astype(np.float64)
    if clipping == "value":
        assert np.abs(latents).max() <= 0.3
        assert np.abs(latents).max() > 0.2999999
    else:
        assert (np.linalg.norm(latents, axis=1) <= 0.3).all()
        assert np.linalg.norm(latents, axis=1).max() > 0.2999999
    apart = np.linalg.norm(latents[:, None] - latents[None], axis=2)
    assert 0 < apart.max() <= mechanism.sensitivity()


def test_without_budget_the_released_latent_hides_its_source(make):
    mechanism = make()
    epsilon = 1e-7
    latents = mechanism.encode([*SENTENCES, *ODD]).astype(np.float64)
    apart = np.linalg.norm(latents[:, None] - latents[None], axis=2).max()
    variation = 2 * norm.cdf(apart / (2 * mechanism.noise_scale(epsilon))) - 1
    assert 0 < variation <= 1e-5 + epsilon
    worst = 2 * norm.cdf(mechanism.sensitivity() / (2 * mechanism.noise_scale(epsilon))) - 1
    assert worst == pytest.approx(1e-5, rel=0.02)
    (rewrite,) = mechanism.rewrite([Draw(SENTENCES[0], epsilon, 3)])
    scores = mechanism.latent_log_likelihood(rewrite.latent, [*SENTENCES, *ODD], epsilon)
    assert np.ptp(scores) < 1e-3


@pytest.mark.parametrize("noise", ["gaussian", "analytic_gaussian", "laplace"])
def test_the_log_density_is_that_of_the_noise(make, noise):
    mechanism = make(noise=noise)
    (rewrite,) = mechanism.rewrite([Draw(SENTENCES[2], 50.0, 8)])
    scores = mechanism.latent_log_likelihood(rewrite.latent, SENTENCES, 50.0)
    clean = mechanism.encode(SENTENCES).astype(np.float64)
    family = laplace if noise == "laplace" else norm
    wanted = family.logpdf(rewrite.latent[None], clean, mechanism.noise_scale(50.0)).sum(axis=1)
    assert scores == pytest.approx(wanted, rel=1e-9)
    assert scores.dtype == np.float64


def test_the_likeliest_source_of_a_latent_is_the_true_one_at_a_large_epsilon(make):
    mechanism = make()
    for i, rewrite in enumerate(mechanism.rewrite([Draw(text, 1e4, 7) for text in SENTENCES])):
        scores = mechanism.latent_log_likelihood(rewrite.latent, SENTENCES, 1e4)
        assert int(scores.argmax()) == i


def test_laplace_log_densities_never_differ_by_more_than_epsilon(make):
    mechanism = make(noise="laplace")
    for rewrite in mechanism.rewrite(_draws(epsilons=(3.0,))):
        scores = mechanism.latent_log_likelihood(rewrite.latent, [*SENTENCES, *ODD], 3.0)
        assert np.ptp(scores) <= 3.0


@pytest.mark.parametrize("epsilon", [0.5, 50.0, 250.0, 2500.0])
def test_a_claim_names_its_epsilon_and_what_the_noise_gives(make, epsilon):
    nowhere = "no model is needed to state a claim"
    sound, published = make(model=nowhere), make(model=nowhere, noise="gaussian")
    for mechanism in (sound, published, make(model=nowhere, noise="laplace")):
        claim = mechanism.claim(epsilon)
        assert (claim.epsilon, claim.unit, claim.max_units) == (epsilon, "sentence", 1)
        assert claim.neighbours == "any two texts"
    assert sound.claim(epsilon).actual == pytest.approx(epsilon, rel=1e-6)
    real = true_epsilon(1.0, sigma_for("gaussian", 1.0, epsilon, 1e-5), 1e-5)
    assert published.claim(epsilon).actual == real
    assert make(model=nowhere, noise="laplace").claim(epsilon).delta == 0.0
    assert sound.claim(epsilon).delta == published.claim(epsilon).delta == 1e-5


def test_a_claim_prints_both_epsilons_if_they_differ(make):
    assert str(make().claim(250.0)) == "250 per sentence, delta 1e-05"
    assert str(make(noise="gaussian").claim(250.0)) == "250 per sentence, delta 1e-05 (really 1550)"


def test_variants_are_sets_of_fields_and_the_defaults_are_the_sound_one(make):
    kind = type(make())
    defaults = {part.name: part.default for part in fields(kind)}
    assert set(kind.variants) - {"port"} == {"sound", "published"}
    assert set(kind.variants["sound"]) == set(kind.variants["published"]) <= set(defaults)
    assert all(defaults[name] == value for name, value in kind.variants["sound"].items())
    made = build(Reference("mechanism", kind.card.name, {"variant": "published"}))
    assert made == kind(**kind.variants["published"])
    assert build(Reference("mechanism", kind.card.name)) == kind(**kind.variants["sound"])
    assert made.noise == "gaussian"


@pytest.mark.parametrize(
    "wrong", [{"clip": 0.0}, {"clip": float("inf")}, {"delta": 0.0}, {"delta": 1.0}, {"window": 2}]
)
def test_fields_that_make_no_sense_are_refused(make, wrong):
    with pytest.raises(SpecError, match=f"{next(iter(wrong))} is"):
        make(**wrong)


def test_loading_and_rewriting_leave_the_global_generators_alone(make, tmp_path):
    import torch

    fresh = shutil.copytree(make().model, tmp_path / "fresh")
    before, numbers = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    make(model=str(fresh)).rewrite(_draws(SENTENCES[:1]))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numbers)  # noqa: NPY002


def test_the_fingerprint_follows_the_weights(make, tmp_path):
    same, number_format = make().fingerprint(), make(dtype="float64").fingerprint()
    assert same == make().fingerprint()
    assert number_format["number format"] != same["number format"]
    save = save_bart if isinstance(make(), DPBart) else save_lstm
    other = make(model=str(save(tmp_path, seed=1))).fingerprint()
    assert other["weights"] != same["weights"]


def test_keys_say_nothing_of_noise_that_numpy_makes(make):
    assert "noise" not in make().fingerprint()
    assert make().noise_source() == make(noise_on="cpu").noise_source() == "numpy"
    assert determinants(make(noise_on="cpu")) == determinants(make())
    assert "noise_on" not in determinants(make())


def test_keys_and_tables_name_noise_that_a_gpu_makes(make, monkeypatch):
    import torch

    monkeypatch.setattr(Latent, "_find_home", lambda _: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "a GPU")
    assert make().fingerprint()["noise"] == "torch on cuda"
    assert make().noise_source() == "torch on a GPU"
    for other in (make(noise_on="cpu"), make(noise="laplace")):  # uniforms are the same everywhere
        assert "noise" not in other.fingerprint()
        assert other.noise_source() == "numpy"


def test_importing_the_mechanisms_does_not_import_torch():
    code = (
        "import sys, tedaudit.mechanisms.dp_bart, tedaudit.mechanisms.adept;"
        "sys.exit(bool({'torch', 'transformers', 'polars', 'pydantic', 'typer', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("noise", ["gaussian", "analytic_gaussian", "laplace"])
def test_the_noise_of_a_key_is_what_a_draw_with_it_adds(make, noise):
    mechanism = make(noise=noise)
    drawn = mechanism.noise_of([5, 6], 300.0)
    clean = mechanism.encode(SENTENCES[:1])[0]
    released = [mechanism.rewrite([Draw(SENTENCES[0], 300.0, key)])[0].latent for key in (5, 6)]
    np.testing.assert_allclose(np.stack(released) - clean, drawn, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_expected_norm_of_the_noise_is_that_of_many_draws(make, noise):
    mechanism = make(noise=noise)
    squares = (mechanism.noise_of(range(4000), 50.0) ** 2).sum(axis=1)
    assert np.sqrt(squares.mean()) == pytest.approx(mechanism.noise_norm(50.0), rel=0.03)


def test_no_latent_is_longer_than_the_largest_norm(make):
    for clipping in ("value", "norm"):
        mechanism = make(clip=0.01, clipping=clipping)
        norms = np.linalg.norm(mechanism.encode(SENTENCES).astype(np.float64), axis=1)
        assert norms.max() <= mechanism.largest_norm()
        assert norms.max() > 0.5 * mechanism.largest_norm()


def test_pieces_stop_where_the_window_does(make):
    mechanism = make(window=6)
    assert len(mechanism.pieces(SENTENCES[0])) == 6
    assert 2 <= len(mechanism.pieces("")) <= 6
