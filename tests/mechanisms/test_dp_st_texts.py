"""How a published text ranks candidates for DP-ST: by the public triples that it seems to tell."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tedaudit.api import load_corpus
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.models.triples.reading import add_alignments
from tedaudit.plugins.protocols import HasTextLikelihood
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive
from tiny_dp_st import BICYCLE, BREAD, HELLO, KEYS, MOTHER, ODD, RENT, make_dp_st, save_parts
from tiny_triples import PUBLIC

TOLD = "A woman bought a bicycle. Somebody lost a key."
TEXTS = (BICYCLE, KEYS, BREAD, MOTHER, RENT, HELLO, "")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return save_parts(tmp_path_factory.mktemp("dp-st texts"))


@pytest.fixture(scope="module")
def sound(folders):
    return make_dp_st(folders, "sound")


@pytest.mark.parametrize("choice", ["private", "whole"])
def test_a_score_adds_up_the_probabilities_of_the_triples_that_are_told(sound, choice):
    mechanism: DPST = replace(sound, cluster_choice=choice)
    (scores,) = mechanism.text_log_likelihood([TOLD], [TEXTS], 30.0).points
    for text, score in zip(TEXTS, scores, strict=True):
        everything = [(one, other) for one in range(len(PUBLIC)) for other in range(len(PUBLIC))]
        joint = {drawn: mechanism.log_likelihood(drawn, [text], 30.0)[0] for drawn in everything}
        first, second = (
            [
                np.logaddexp.reduce([value for drawn, value in joint.items() if drawn[slot] == number])
                for number in (0, 3)
            ]
            for slot in (0, 1)
        )
        masses = np.array([first, second])
        assert score == pytest.approx(add_alignments(masses, -math.log(len(PUBLIC))), rel=1e-9)


def test_who_tells_what_a_text_tells_is_its_source(sound):
    (scores,) = sound.text_log_likelihood([TOLD], [(f"{BICYCLE} . {KEYS}", MOTHER, HELLO)], 60.0).points
    assert scores.argmax() == 0


def test_it_is_a_score_and_depends_on_its_text_and_candidates_alone(sound):
    assert isinstance(sound, HasTextLikelihood)
    texts, asked = (TOLD, "The nurse called.", ""), (TEXTS[:2], TEXTS, TEXTS[2:5])
    together = sound.text_log_likelihood(texts, asked, 30.0)
    assert together.is_score
    for i in (2, 0, 1):
        (alone,) = sound.text_log_likelihood([texts[i]], [asked[i]], 30.0).points
        assert np.array_equal(alone, together.points[i])


def test_whatever_was_published_has_finite_scores(sound):
    found = sound.text_log_likelihood(ODD, [TEXTS] * len(ODD), 30.0)
    assert np.isfinite(found.points).all()


def test_a_text_without_triples_is_published_as_it_is_and_nothing_else(folders):
    mechanism = replace(make_dp_st(folders, "published"), single_triples="keep")
    same, other = mechanism.text_log_likelihood([HELLO, TOLD], [(HELLO, BICYCLE)] * 2, 30.0).points
    assert same[0] == 0.0
    assert same[0] > same[1]
    assert other[0] == -math.inf
    assert math.isfinite(other[1])


def test_on_trained_models_the_text_names_its_source_above_chance(monkeypatch):
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO")
    mechanism = build(Reference("mechanism", "dp-st", {"device": "cpu"}))
    short = [text for text in load_corpus("demo").texts if len(text.split()) <= 14]
    texts = [text for text in short[:120] if mechanism.pieces(text)][:40]
    written = mechanism.rewrite([Draw(text, 800.0, derive(0, "told", text)) for text in texts])
    pairs = list(zip(texts, [*texts[1:], texts[0]], strict=True))
    found = mechanism.text_log_likelihood([rewrite.text for rewrite in written], pairs, 800.0)
    assert sum(own > other for own, other in found.points) >= 32  # of 40: by chance, once in 10,000 times
