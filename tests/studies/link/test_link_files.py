"""The folder of a link study: what is in it, who can read it, and what is refused."""

import csv
import json
import os

import pytest

import tedaudit
from helpers import sentences
from tedaudit.errors import RunDirectoryError
from tedaudit.studies.link.files import write_records, write_report
from tedaudit.studies.link.words import LIMITS

TEXTS = sentences(60)
TABLE = {
    "id": [f"person-{n}" for n in range(60)], "original": TEXTS,
    "rewrite": [" ".join(text.split()[:4]) if n % 2 else "(empty)" for n, text in enumerate(TEXTS)],
}  # fmt: skip


def test_the_folder_is_closed_and_holds_figures_report_and_records_without_texts(tmp_path):
    result = tedaudit.link(TABLE, out=tmp_path / "study")
    assert result.folder == tmp_path / "study"
    assert sorted(path.name for path in result.folder.iterdir()) == ["link.json", "records.csv", "report.md"]
    if os.name == "posix":
        assert result.folder.stat().st_mode & 0o777 == 0o700
    content = "".join(path.read_text("utf-8") for path in result.folder.iterdir())
    assert not any(text in content for text in (*TEXTS, "(empty)"))
    assert json.loads((result.folder / "link.json").read_text("utf-8")) == result.to_dict()


def test_records_have_a_row_each_with_the_figures_of_every_attack():
    result = tedaudit.link(TABLE, attacks=["lexical", {"name": "embedding", "encoder": "lexical"}])
    rows = list(csv.DictReader(write_records(result).splitlines()))
    assert {row["id"] for row in rows} == set(TABLE["id"])
    assert list(rows[0])[:6] == ["id", "attack", "rank", "tied", "margin", "same_original"]
    ranks = {TABLE["id"][n]: rank for n, rank in enumerate(result.attacks[1].ranks.rank.tolist())}
    assert all(float(row["rank_embedding"]) == ranks[row["id"]] for row in rows)


def test_texts_are_in_the_table_if_asked_for():
    result = tedaudit.link(TABLE)
    row = next(csv.DictReader(write_records(result, texts=True).splitlines()))
    assert row["original"] == TEXTS[TABLE["id"].index(row["id"])]


def test_the_report_says_what_it_does_not_say_and_shows_ids_literally():
    names = ["<b>x</b>|", *TABLE["id"][1:]]
    report = write_report(tedaudit.link({**TABLE, "id": names}), count=60)
    assert "<b>" not in report
    assert all(limit.split(";")[0].split("'")[0] in report for limit in LIMITS)


def test_an_earlier_study_is_replaced_and_anything_else_is_refused(tmp_path):
    tedaudit.link(TABLE, out=tmp_path / "study")
    tedaudit.link(TABLE, out=tmp_path / "study", seed=4)
    assert json.loads((tmp_path / "study" / "link.json").read_text())["seed"] == 4
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(RunDirectoryError, match="holds no link study"):
        tedaudit.link(TABLE, out=tmp_path / "other")
    with pytest.raises(RunDirectoryError, match="is a file"):
        tedaudit.link(TABLE, out=tmp_path / "other" / "mine.txt")


def test_the_study_of_another_table_is_not_replaced_and_that_of_the_same_is(tmp_path):
    folder = tmp_path / "study"
    tedaudit.link(TABLE, out=folder, attacks="lexical")
    tedaudit.link(TABLE, out=folder, attacks="lexical", seed=5)
    assert json.loads((folder / "link.json").read_text("utf-8"))["seed"] == 5
    other = {**TABLE, "rewrite": [*TABLE["rewrite"][:-1], "another"]}
    with pytest.raises(RunDirectoryError, match=r"another table \(60 records\)"):
        tedaudit.link(other, out=folder, attacks="lexical")
    assert json.loads((folder / "link.json").read_text("utf-8"))["seed"] == 5
