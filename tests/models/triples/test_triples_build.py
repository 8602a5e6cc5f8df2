from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from tedaudit.errors import CorpusError, ModelError, SpecError
from tedaudit.models.triples.build import TableRecipe, build_table
from tedaudit.models.triples.extraction import Triple, as_triple
from tedaudit.models.triples.table import WHOLE
from tedaudit.models.triples.vectors import embed, load_dense_encoder
from tiny_triples import PARSES, minilm, save_parser


class Words:
    """Takes the first three words of a text as its triple: an extractor that needs no model."""

    def extract(self, texts: Sequence[str]) -> list[list[Triple]]:
        found = [as_triple(*text.split()[:3]) if len(text.split()) > 2 else None for text in texts]
        return [[triple] if triple else [] for triple in found]

    def fingerprint(self) -> Mapping[str, str]:
        return {"extractor": "words"}


def recipe(**changes: object) -> TableRecipe:
    return TableRecipe(**{"extractor": Words(), "encoder": minilm(), "clusters": 3, **changes})  # type: ignore[arg-type]


TEXTS = [
    f"{who} {did} {what}" for who in ("cats", "we") for did in ("see", "eat") for what in ("fish", "trains")
]


def test_a_table_is_made_from_a_corpus_by_a_real_parser(tmp_path: Path) -> None:
    parser = save_parser(tmp_path / "parser")
    corpus = [text for text, _, _ in PARSES] * 2
    table = build_table(corpus, tmp_path / "table", recipe(extractor=f"spacy:{parser}"))
    lines = [table.text(i) for i in range(len(table))]
    assert "my sister | bought | a red bicycle" in lines
    assert len(set(lines)) == len(lines), "doubles are dropped"
    assert 1 <= table.clusters <= 3
    assert table.dimensions == 32
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parser", "table"], "no scratch folder stays"


def test_a_triple_lies_in_the_cluster_nearest_to_it(tmp_path: Path) -> None:
    table = build_table(TEXTS, tmp_path / "table", recipe(number_format="float32"))
    vectors = embed(load_dense_encoder(minilm()), [table.text(i) for i in range(len(table))], 32)
    assert (table.nearest(vectors) == table.cluster).all()
    assert np.abs(np.diag(table.similarity(vectors, WHOLE)) - 1).max() < 1e-5
    assert table.about["encoder weights"] == load_dense_encoder(minilm()).fingerprint()["encoder weights"]


def test_the_same_recipe_gives_the_same_table(tmp_path: Path) -> None:
    first, second = (build_table(TEXTS, tmp_path / name, recipe()) for name in "ab")
    assert first.checksum == second.checksum


def test_as_many_clusters_as_triples_is_the_most(tmp_path: Path) -> None:
    table = build_table(TEXTS, tmp_path / "most", recipe(clusters=8))
    assert 4 <= table.clusters <= 8
    assert min(table.size(cluster) for cluster in range(table.clusters)) >= 1
    with pytest.raises(SpecError, match="8 distinct triples, fewer than the 9 clusters"):
        build_table(TEXTS, tmp_path / "more", recipe(clusters=9))
    assert not (tmp_path / "more").exists()


def test_texts_are_streamed_and_progress_is_reported(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    texts = (text for _ in range(300) for text in TEXTS)
    build_table(texts, tmp_path / "table", recipe(), lambda read, found: told.append((read, found)))
    assert told == [(1024, 8), (2048, 8), (2400, 8)]


def test_a_corpus_without_triples_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="No triple was found in 2 texts"):
        build_table(["hello", ""], tmp_path / "table", recipe())
    assert list(tmp_path.iterdir()) == []


def test_a_failure_halfway_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken():
        yield from TEXTS * 200
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        build_table(broken(), tmp_path / "table", recipe())
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="already exists"):
        build_table(TEXTS, tmp_path, recipe())


def test_overlong_triples_are_left_out(tmp_path: Path) -> None:
    table = build_table([*TEXTS, f"a {'b' * 300} c"], tmp_path / "table", recipe())
    assert len(table) == 8


@pytest.mark.parametrize("name", ["clusters", "dimensions", "max_characters"])
def test_numbers_below_one_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match=f"{name} is 0"):
        recipe(**{name: 0})


def test_more_dimensions_than_the_encoder_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="gives 384 dimensions, but 400 are requested"):
        build_table(TEXTS, tmp_path / "table", recipe(dimensions=400))
