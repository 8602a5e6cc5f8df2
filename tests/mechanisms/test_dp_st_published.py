"""DP-ST as published: what its release tells beside the triples that it draws."""

from dataclasses import replace

import numpy as np
import pytest

import tedaudit
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.types import Draw
from tiny_dp_st import BICYCLE, BREAD, HELLO, KEYS, MOTHER, ODD, make_dp_st, save_parts
from tiny_triples import PUBLIC


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return save_parts(tmp_path_factory.mktemp("dp-st"))


@pytest.fixture(scope="module")
def published(folders: dict[str, str]) -> DPST:
    return make_dp_st(folders, "published")


def test_published_returns_a_text_without_grouped_triples_unchanged(published: DPST) -> None:
    for text in (HELLO, BREAD, "", "\ud800"):  # the baker has one triple, and it has no near-duplicate
        assert published.rewrite([Draw(text, 1.0, 5)])[0].text == text
    keeping = replace(published, single_triples="keep")
    assert keeping.rewrite([Draw(BREAD, 1.0, 5)])[0].text != BREAD
    assert published.share_without_triples([HELLO, BREAD, KEYS, KEYS]) == 0.5
    assert keeping.share_without_triples([HELLO, BREAD, KEYS, KEYS]) == 0.25
    assert published.share_without_triples([]) == 0.0


def test_published_clusters_have_disjoint_supports(published: DPST) -> None:
    supports = []
    published = replace(published, length="fixed")
    for text in (BICYCLE, MOTHER):
        masses = [published.log_likelihood((number,), [text], 1.0)[0] for number in range(len(PUBLIC))]
        supports.append(set(np.flatnonzero(np.isfinite(masses))))
        assert abs(np.exp(masses).sum() - 1) < 1e-12
        done = published.rewrite([Draw(text, 1.0, key) for key in range(40)])
        assert {one.tokens[0] for one in done if one.tokens} == supports[-1]
    assert not supports[0] & supports[1]


def test_published_splits_the_budget_over_the_texts_own_triples(published: DPST) -> None:
    published = replace(published, length="fixed")
    one, two = published.rewrite([Draw(BICYCLE, 3.0, 1), Draw(KEYS, 3.0, 1)])
    assert (len(one.tokens), len(two.tokens)) == (1, 2)
    assert one.units == two.units == 1
    assert published.log_likelihood((0,), [BICYCLE, KEYS], 3.0)[1] == -np.inf
    shared = replace(published, triple_count="fixed", triples=2)
    assert published.log_likelihood(two.tokens or (), [KEYS], 3.0) == shared.log_likelihood(
        two.tokens or (), [KEYS], 3.0
    )
    assert published.claim(3.0).total == 3.0


def test_published_copies_are_part_of_the_release(published: DPST) -> None:
    texts = (HELLO, BREAD, "", "hello there ", BICYCLE)
    for text in texts[:4]:
        copied = published.rewrite([Draw(text, 1.0, 5)])[0]
        assert copied.text == text
        scores = published.log_likelihood(copied.tokens or (), texts, 1.0)
        assert [t for t, score in zip(texts, scores, strict=True) if score == 0.0] == [text]
        assert np.isneginf(scores).sum() == len(texts) - 1


def test_published_lengths_are_part_of_the_release(published: DPST) -> None:
    """The writer goes on for as long as the text: of two texts with the same triple, one can be ruled out."""
    long = BICYCLE + " today" * 30
    limits = published._load_writing()._compute_limits([BICYCLE, long])
    told = 0
    for key in range(10):
        for text, other in ((BICYCLE, long), (long, BICYCLE)):
            release = published.rewrite([Draw(text, 1.0, key)])[0]
            drawn, written = published._load_writing().split(release.tokens or ())
            own, others = published.log_likelihood(release.tokens or (), [text, other], 1.0)
            assert np.isfinite(own)
            assert len(drawn) == 1
            assert len(written) <= limits[text]
            cut = len(written) == limits[text]
            assert not cut or np.isneginf(others)
            told += np.isneginf(others)
    assert told


def test_published_failures_are_part_of_the_release(published: DPST) -> None:
    """At this epsilon the draw of a text near a public triple overflows, and a farther one's does not."""
    release = published.rewrite([Draw(BICYCLE, 500.0, 3)])[0]
    tokens = release.tokens or ()
    assert np.isfinite(published.log_likelihood(tokens, [BICYCLE], 500.0)).all()
    assert np.isneginf(published.log_likelihood(tokens, [BICYCLE], 5000.0)).all()
    assert np.isfinite(replace(published, overflow="stable").log_likelihood(tokens, [BICYCLE], 5000.0)).all()


def test_if_copies_name_the_source_always_the_whole_release_says_so(published: DPST) -> None:
    texts = [f"hello there number {i}" for i in range(8)]
    found = next(iter(tedaudit.audit(published, texts, epsilon=1.0, attack="likelihood", trials=200)))
    assert found.counts.correct == 200
    assert found.measures.attainable == pytest.approx(1.0)


def test_odd_texts_do_not_break_a_published_batch(published: DPST) -> None:
    done = published.rewrite([Draw(text, 10.0, i) for i, text in enumerate((*ODD, KEYS))])
    assert len(done) == len(ODD) + 1
    assert not any(one.error for one in done)


def test_published_fails_if_exp_overflows_and_sound_does_not(
    published: DPST, folders: dict[str, str]
) -> None:
    draws = [Draw(BICYCLE, 5000.0, 3), Draw(HELLO, 5000.0, 3), Draw(BICYCLE, 500.0, 3)]
    failed, copied, fine = published.rewrite(draws)
    assert (failed.error, failed.text, failed.tokens) == ("overflow", "", None)
    assert copied.text == HELLO
    assert not fine.error
    assert all(not one.error for one in replace(published, overflow="stable").rewrite(draws))
    assert all(not one.error for one in make_dp_st(folders, "sound").rewrite(draws))
