"""DP-ST as published: what its release tells beside the triples that it draws."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import tedaudit
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tiny_dp_st import BICYCLE, BREAD, HELLO, KEYS, MOTHER, ODD, make_dp_st, save_parts
from tiny_triples import PUBLIC, openie_server, row

BOTH = f"{BICYCLE} . {MOTHER}"


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
    one, two = published.rewrite([Draw(BICYCLE, 3.0, 1), Draw(BOTH, 3.0, 1)])
    assert (len(one.tokens), len(two.tokens)) == (1, 2)
    assert one.units == two.units == 1
    assert published.log_likelihood((0,), [BICYCLE, BOTH], 3.0)[1] == -np.inf
    shared = replace(published, triple_count="fixed", triples=2)
    assert published.log_likelihood(two.tokens or (), [BOTH], 3.0) == shared.log_likelihood(
        two.tokens or (), [BOTH], 3.0
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


# How its release groups the triples of a text (sjmeis/DPST 4367fda, DPST.py 191-240)

SISTER = ("my sister", "bought", "a red bicycle")
SISTERS_BICYCLE = ("my sister", "bought", "bicycle")
LONG_SISTER = ("my sister", "bought", "a red bicycle for her trip")
NEW = ("a red bicycle for her trip", "was", "new")
RAIN = ("the rain", "stopped", "early")
NURSE = ("the nurse", "called", "Ann Miller")
HARBOUR = ("the nurse", "called", "Ann Miller in the old harbour")
CALLED = ("in the old harbour", "called", "Ann Miller and her brother Tom")
TOM = ("in the old harbour", "is", "her brother Tom")


def find_pieces(*triples: tuple[str, str, str], **fields: object) -> list[tuple[str, ...]]:
    """Return which of these triples of a text are replaced, as published unless the fields say otherwise."""
    with openie_server(lambda _: [row(*triple) for triple in triples]) as (url, _):
        settings = {"variant": "published", "extractor": f"openie:{url}", **fields}
        mechanism = build(Reference("mechanism", "dp-st", settings))
        assert isinstance(mechanism, DPST)
        return [tuple(piece.split(" | ")) for piece in mechanism.pieces("any text")]


def test_published_leaves_the_centre_of_a_group_out() -> None:
    assert find_pieces(SISTER, SISTERS_BICYCLE, RAIN) == [SISTERS_BICYCLE]
    assert find_pieces(SISTERS_BICYCLE, RAIN, SISTER) == [SISTER]
    assert find_pieces(SISTER, LONG_SISTER, NEW) == [NEW]  # the centre is the longest
    assert find_pieces(SISTER, LONG_SISTER, NEW, groups="disjoint") == [LONG_SISTER]


def test_published_groups_share_members_and_one_triple_may_stand_for_two_groups() -> None:
    chain = (NURSE, HARBOUR, CALLED, TOM)  # each matches the next
    assert find_pieces(*chain) == [CALLED]  # of both {NURSE, CALLED} and {CALLED}
    assert find_pieces(*chain, groups="disjoint") == [CALLED, TOM]
    assert find_pieces(*chain, representative="first") == [NURSE, CALLED]


def test_published_takes_centres_by_matches_then_by_place_and_keeps_the_order_of_the_text() -> None:
    assert find_pieces(TOM, CALLED, HARBOUR, NURSE) == [HARBOUR]
    assert find_pieces(CALLED, TOM, NURSE, HARBOUR, representative="first") == [TOM, HARBOUR]
    found = find_pieces(SISTERS_BICYCLE, NURSE, RAIN, SISTER, HARBOUR, SISTER)
    assert found == [SISTER, HARBOUR]


def test_published_writes_underscores_as_spaces_and_then_keeps_what_was_said_twice() -> None:
    first, second = ("my sister", "bought", "a red_bicycle"), ("my sister", "bought", "red_bicycle")
    assert find_pieces(SISTER, SISTERS_BICYCLE, SISTER) == [SISTERS_BICYCLE]
    spaced = [tuple(part.replace("_", " ") for part in triple) for triple in (first, second)]
    assert find_pieces(first, second) == spaced[1:]
    assert find_pieces(first, RAIN, first) == spaced[:1] * 2  # each matches the other


def write_graph(edges: frozenset[tuple[int, int]]) -> list[tuple[str, str, str]]:
    """Return a triple per node of four; those that share an edge share a string that no other triple has."""
    strings = iter("".join(chr(0x4E00 + 40 * n + i) for i in range(30)) for n in range(40))
    own, verbs = [next(strings) for _ in range(4)], [next(strings)[:3] for _ in range(4)]
    shared = {edge: next(strings) for edge in sorted(edges)}
    objects = [" ".join(text for edge, text in shared.items() if node in edge) or "." for node in range(4)]
    return list(zip(own, verbs, objects, strict=True))


def group_by_rule(edges: frozenset[tuple[int, int]], texts: list[str], representative: str) -> list[int]:
    """Return the nodes that stand for a group, by the release's rule."""
    near = {n: [m for m in range(4) if (n, m) in edges or (m, n) in edges] for n in range(4)}
    covered: list[int] = []
    standing = []
    for count in (3, 2, 1):
        for centre in (n for n in near if len(near[n]) == count):
            if centre not in covered:
                covered += near[centre]
                longest = max(len(texts[n]) for n in near[centre])
                of_group = [n for n in near[centre] if len(texts[n]) == longest]
                standing.append((of_group if representative == "longest" else near[centre])[0])
    return [n for n in range(4) if n in standing]


@pytest.mark.parametrize("representative", ["longest", "first"])
def test_published_groups_are_those_of_the_rule_for_whatever_matches(representative: str) -> None:
    """All 64 ways in which four triples can match."""
    every = [frozenset(part) for n in range(7) for part in combinations(combinations(range(4), 2), n)]
    graphs = {str(number): (edges, write_graph(edges)) for number, edges in enumerate(every)}
    with openie_server(lambda text: [row(*triple) for triple in graphs[text][1]]) as (url, _):
        settings = {"variant": "published", "extractor": f"openie:{url}", "duplicate_similarity": 0.08}
        mechanism = build(Reference("mechanism", "dp-st", {**settings, "representative": representative}))
        assert isinstance(mechanism, DPST)
        for number, (edges, triples) in graphs.items():
            texts = [" | ".join(triple) for triple in triples]
            wanted = [texts[node] for node in group_by_rule(edges, texts, representative)]
            assert list(mechanism.pieces(number)) == wanted, sorted(edges)
    assert len(graphs) == 64


def test_published_splits_the_budget_over_the_triples_that_are_left(folders: dict[str, str]) -> None:
    """One triple gets all of the budget where disjoint groups would leave two with half of it each."""
    with openie_server(lambda _: [row(*t) for t in (NURSE, HARBOUR, CALLED, TOM)]) as (url, _):
        published = replace(make_dp_st(folders, "published"), extractor=f"openie:{url}")
        [one] = published.rewrite([Draw("any text", 40.0, 1)])
        [two] = replace(published, groups="disjoint").rewrite([Draw("any text", 40.0, 1)])
        drawn = [published._load_writing().split(release.tokens or ())[0] for release in (one, two)]
    assert [len(numbers) for numbers in drawn] == [1, 2]
