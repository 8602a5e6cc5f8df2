"""How a published text ranks candidates for DP-BART and ADePT: by what the encoder reads in it."""

from collections import Counter

import numpy as np
import pytest

from tedaudit.api import load_corpus
from tedaudit.mechanisms.adept import Adept
from tedaudit.mechanisms.dp_bart import DPBart
from tedaudit.plugins.protocols import HasTextLikelihood
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive
from tiny_models import SENTENCES, one_thread, save_bart, save_lstm

CLASSES = {"dp-bart": DPBart, "adept": Adept}
PUBLISHED = ("the doctor bought bread", "", SENTENCES[2])
ASKED = (SENTENCES[:2], SENTENCES[1:4], (SENTENCES[2], SENTENCES[0]))
ODD = ("", " \n", "word " * 5_000, "half \ud800 a pair", "a\x00b")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("read again")
    with one_thread():
        yield {"dp-bart": save_bart(place / "bart"), "adept": save_lstm(place / "lstm")}


@pytest.fixture(params=sorted(CLASSES))
def make(request, folders):
    def made(kind=CLASSES[request.param], **given):
        return kind(**{"model": str(folders[request.param]), "device": "cpu", "max_tokens": 3, **given})

    made.kind = CLASSES[request.param]
    return made


@pytest.mark.parametrize("noise", ["analytic_gaussian", "laplace"])
def test_a_score_is_the_log_density_of_the_noise_between_two_latents(make, noise):
    mechanism = make(noise=noise)
    found = mechanism.text_log_likelihood(PUBLISHED, ASKED, 40.0)
    scale = mechanism.noise_scale(40.0)
    for text, candidates, scores in zip(PUBLISHED, ASKED, found.points, strict=True):
        read, *latents = np.asarray(mechanism.encode([text, *candidates]), dtype=np.float64)
        gaps = np.stack(latents) - read
        expected = (
            -np.abs(gaps).sum(axis=1) / scale
            if noise == "laplace"
            else -np.square(gaps).sum(axis=1) / (2 * scale**2)
        )
        assert np.diff(scores) == pytest.approx(np.diff(expected), rel=1e-9)
        assert np.ptp(scores) > 0


def test_it_is_a_score_and_never_a_probability(make):
    mechanism = make()
    assert isinstance(mechanism, HasTextLikelihood)
    assert mechanism.text_log_likelihood(PUBLISHED, ASKED, 40.0).is_score
    assert len(mechanism.text_log_likelihood([], [], 40.0)) == 0


def test_a_text_that_comes_back_unchanged_names_its_source(make):
    (scores,) = make().text_log_likelihood([SENTENCES[2]], [SENTENCES], 40.0).points
    assert scores.argmax() == 2


def test_a_score_depends_on_its_text_and_candidates_alone(make, monkeypatch):
    monkeypatch.setattr("tedaudit.mechanisms._latent._TEXTS", 2)
    mechanism = make()
    together = mechanism.text_log_likelihood(PUBLISHED, ASKED, 40.0).points
    for i in (2, 1, 0):
        (alone,) = mechanism.text_log_likelihood([PUBLISHED[i]], [ASKED[i]], 40.0).points
        assert np.array_equal(alone, together[i])


def test_each_candidate_is_read_once_however_often_it_recurs(make):
    read = Counter()

    class Counting(make.kind):
        def _run_encoder(self, texts):
            read.update(texts)
            return super()._run_encoder(texts)

    make(Counting).text_log_likelihood(["what"] * 4, [SENTENCES[:2], SENTENCES[1:3]] * 2, 40.0)
    assert read == dict.fromkeys(("what", *SENTENCES[:3]), 1)


def test_whatever_was_published_has_finite_scores(make):
    found = make().text_log_likelihood(ODD, [(*SENTENCES[:1], *ODD)] * len(ODD), 40.0)
    assert all(np.isfinite(row).all() for row in found.points)


def test_latents_of_other_lengths_are_far_and_not_impossible(folders):
    settings = {"variant": "port", "model": str(folders["dp-bart"]), "device": "cpu"}
    mechanism = build(Reference("mechanism", "dp-bart", settings))
    asked = ("she", "she lost", " ".join(SENTENCES[:2]))
    short, long = mechanism.text_log_likelihood(["she", asked[2]], [asked, asked], 40.0).points
    assert np.isfinite([*short, *long]).all()
    assert short.argmax() == 0
    assert long.argmax() == 2
    scale = mechanism.noise_scale(40.0)
    read, other = (np.asarray(latent, dtype=np.float64) for latent in mechanism.encode(["she", "she lost"]))
    gap = np.square(np.pad(read, (0, len(other) - len(read))) - other).sum() / (2 * scale**2)
    assert short[0] - short[1] == pytest.approx(gap, rel=1e-9)


@pytest.mark.parametrize(("name", "epsilon"), [("adept", 200.0), ("dp-bart", 500.0)])
def test_on_trained_models_the_text_names_its_source_above_chance(name, epsilon, monkeypatch):
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO")
    mechanism = build(Reference("mechanism", name, {"device": "cpu"}))
    texts = [text for text in load_corpus("demo").texts if len(text.split()) <= 14][:60]
    written = mechanism.rewrite([Draw(text, epsilon, derive(0, "read again", text)) for text in texts])
    pairs = list(zip(texts, [*texts[1:], texts[0]], strict=True))
    found = mechanism.text_log_likelihood([rewrite.text for rewrite in written], pairs, epsilon)
    assert sum(own > other for own, other in found.points) >= 44  # of 60: by chance, once in 5,000 times
