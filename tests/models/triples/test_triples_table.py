import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tedaudit.errors import ModelError
from tedaudit.models.encoders.exact import cosines
from tedaudit.models.triples.extraction import Triple
from tedaudit.models.triples.table import ARRAYS, TEXTS, WHOLE, TripleTable, load_table, save_table
from tedaudit.models.triples.vectors import load_dense_encoder, normalise_to_grid, round_to_grid

TRIPLES = [Triple(f"subject {i}", "sees", f"object é{i}") for i in range(40)]


def saved(folder: Path, number_format: str = "float32", seed: int = 0) -> Path:
    generator = np.random.default_rng(seed)
    vectors = normalise_to_grid(generator.normal(size=(40, 8)))
    arrays = {
        "vectors": vectors.astype(number_format),
        "cluster": generator.permutation(np.arange(40) % 5).astype(np.int32),
        "centroids": generator.normal(size=(5, 8)).astype(np.float32),
    }
    folder.mkdir()
    save_table(folder, TRIPLES, arrays, {"encoder": "some encoder"})
    return folder


@pytest.fixture
def table(tmp_path: Path) -> TripleTable:
    return load_table(str(saved(tmp_path / "table")))


def test_a_table_gives_back_what_was_saved(table: TripleTable) -> None:
    assert len(table) == 40
    assert table.clusters == 5
    assert table.dimensions == 8
    assert [table.text(i) for i in range(40)] == [triple.text for triple in TRIPLES]
    assert table.about == {"encoder": "some encoder"}


def test_the_members_of_the_clusters_are_all_triples_each_once(table: TripleTable) -> None:
    members = [table.members(cluster) for cluster in range(5)]
    assert sorted(np.concatenate(members).tolist()) == list(range(40))
    for cluster, numbers in enumerate(members):
        assert len(numbers) == table.size(cluster)
        assert (np.diff(numbers) > 0).all()
        assert set(table.cluster[numbers]) == {cluster}
        assert [table.place(int(number), cluster) for number in numbers] == list(range(len(numbers)))
    assert table.members(WHOLE).tolist() == list(range(40))
    assert table.place(7, WHOLE) == 7


def test_cosines_are_those_of_the_saved_vectors(tmp_path: Path) -> None:
    folder = saved(tmp_path / "half", "float16")
    table, arrays = load_table(str(folder)), load_file(folder / ARRAYS)
    queries = normalise_to_grid(np.random.default_rng(1).normal(size=(3, 8)))
    wanted = queries @ arrays["vectors"].astype(np.float64).T
    assert np.abs(table.similarity(queries, WHOLE) - wanted).max() < 1e-5
    assert (table.similarity(queries, 2) == table.similarity(queries, WHOLE)[:, table.members(2)]).all()
    centroids = arrays["centroids"].astype(np.float64)
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    assert np.abs(table.cluster_similarity(queries) - queries @ centroids.T).max() < 1e-5
    assert (table.nearest(queries) == (queries @ centroids.T).argmax(axis=1)).all()


def test_cosines_are_the_same_bit_for_bit_whatever_the_order_of_the_sum() -> None:
    generator = np.random.default_rng(2)
    left, right = (
        normalise_to_grid(generator.normal(size=(37, 96))),
        normalise_to_grid(generator.normal(size=(501, 96))),
    )
    whole = cosines(left, right)
    order = generator.permutation(96)
    assert (cosines(left[:, order], right[:, order]) == whole).all()
    assert all((cosines(left[i : i + 1], right) == whole[i]).all() for i in range(37))
    plain = left.astype(np.float32) @ right.astype(np.float32).T
    assert np.abs(plain - whole).max() > 0, "float32 sums would not be exact"


def test_a_row_of_zeros_stays_one() -> None:
    assert (normalise_to_grid(np.zeros((1, 4))) == 0).all()
    assert round_to_grid(np.array([0.3]))[0] * 2**20 == round(0.3 * 2**20)


def test_the_checksum_follows_texts_and_vectors(tmp_path: Path) -> None:
    first, second = saved(tmp_path / "a"), saved(tmp_path / "b")
    third = saved(tmp_path / "c", seed=1)
    assert load_table(str(first)).checksum == load_table(str(second)).checksum
    assert load_table(str(first)).checksum != load_table(str(third)).checksum


@pytest.mark.parametrize("missing", [TEXTS, ARRAYS])
def test_a_missing_file_says_how_to_make_a_table(tmp_path: Path, missing: str) -> None:
    folder = saved(tmp_path / "table")
    (folder / missing).unlink()
    with pytest.raises(ModelError, match="tedaudit corpus triples"):
        load_table(str(folder))


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("cluster", np.zeros(39, dtype=np.int32), "40 lines, 40 vectors and 39 cluster numbers"),
        ("cluster", np.full(40, 5, dtype=np.int32), "from 5 to 5 for 5 centroids"),
        ("cluster", np.full(40, -1, dtype=np.int32), "from -1 to -1"),
        ("cluster", np.zeros(40, dtype=np.int32), "4 clusters without a triple"),
        ("centroids", np.zeros((5, 7), dtype=np.float32), "centroids of \\(5, 7\\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    tmp_path: Path, key: str, value: np.ndarray, complaint: str
) -> None:
    folder = saved(tmp_path / "table")
    save_file({**load_file(folder / ARRAYS), key: value}, folder / ARRAYS)
    with pytest.raises(ModelError, match=complaint):
        load_table(str(folder))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "table")
    shutil.copy(folder / ARRAYS, folder / TEXTS)
    with pytest.raises(ModelError, match="could not be read: LZMAError"):
        load_table(str(folder))


def test_the_zoo_is_named_if_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tedaudit_zoo", None)
    with pytest.raises(ModelError, match="pip install tedaudit-zoo"):
        load_table("zoo:no-such-table")


def test_a_sparse_encoder_is_refused() -> None:
    with pytest.raises(ModelError, match="'lexical' gives sparse vectors"):
        load_dense_encoder("lexical")
