import gzip
import json

import pytest

from tedaudit.corpora.trustpilot import Trustpilot
from tedaudit.errors import CorpusError


def _user(number, *reviews, **more):
    rated = [{"text": text, "rating": rating, "title": "x"} for text, rating in reviews]
    return {"user_id": f"user {number}", "reviews": rated, **more}


def _many(count):
    return [
        _user(number, ([f"parcel {number} came"], "5"), ([f"parcel {number} broke"], "1"), gender="F")
        for number in range(count)
    ]


def _lines(users):
    return "".join(json.dumps(user) + "\n" for user in users)


def _all_rows(corpus):
    rows = {}
    for split in corpus.splits.values():
        labels = zip(
            *(split.columns[key] for key in ("gender", "sentiment", "rating", "birth_year")), strict=True
        )
        rows |= dict(zip(split.texts, labels, strict=True))
    return rows


def test_the_original_gives_one_row_a_review_with_the_labels_of_its_user(tmp_path):
    file = tmp_path / "here.jsonl"
    known = _user(90, (["late.", "And wet."], "2"), ("one string", 4), gender="M", birth_year=1970)
    unknown = _user(91, (["kind people"], "5"), gender="unknown")
    file.write_text(_lines([*_many(5), known, unknown]))
    rows = _all_rows(Trustpilot(path=str(file)).load())
    assert rows["late. And wet."] == ("M", "negative", 2, 1970)
    assert rows["one string"] == ("M", "positive", 4, 1970)
    assert rows["kind people"] == (None, "positive", 5, None)
    assert rows["parcel 3 broke"] == ("F", "negative", 1, None)


def test_reviews_of_three_stars_or_none_are_left_out_and_counted(tmp_path):
    file = tmp_path / "here.jsonl"
    file.write_text(_lines([*_many(5), _user(90, (["so so"], "3"), (["no stars"], None)), {"user_id": "z"}]))
    corpus = Trustpilot(path=str(file)).load()
    assert len(_all_rows(corpus)) == 10
    assert "reviews left out for 3 stars: 1" in corpus.notes
    assert "reviews left out for no rating: 1" in corpus.notes


def test_lines_that_are_python_literals_are_read_like_json(tmp_path):
    as_json, as_python = tmp_path / "a.jsonl", tmp_path / "b.auto-adjusted_gender.geocoded.jsonl.tmp"
    users = [*_many(8), _user(90, (["it's fine"], "4"), gender=None)]
    as_json.write_text(_lines(users))
    as_python.write_text("".join(f"{user!r}\n" for user in users))
    assert Trustpilot(path=str(as_python)).load() == Trustpilot(path=str(as_json)).load()


def test_a_user_is_in_one_split_only_wherever_the_line_is(tmp_path):
    users = _many(400)
    forth, back = tmp_path / "forth.jsonl", tmp_path / "back.jsonl.gz"
    forth.write_text(_lines(users))
    back.write_bytes(gzip.compress(_lines(users[::-1]).encode()))
    corpus = Trustpilot(path=str(forth)).load()
    names = {split: {text.split()[1] for text in rows.texts} for split, rows in corpus.splits.items()}
    assert not names["train"] & names["test"]
    assert 20 <= len(names["test"]) <= 60
    assert set(Trustpilot(path=str(back)).load().splits["test"].texts) == set(corpus.splits["test"].texts)
    assert any("split by user" in note for note in corpus.notes)


def test_files_that_are_already_split_stay_split(tmp_path):
    (tmp_path / "train.jsonl").write_text(_lines(_many(30)))
    (tmp_path / "test.jsonl").write_text(_lines([_user(90, (["kind people"], "5"))]))
    corpus = Trustpilot(path=str(tmp_path)).load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 60, "test": 1}
    assert not any("split by user" in note for note in corpus.notes)


def test_users_without_an_id_are_told_apart_by_their_line(tmp_path):
    file = tmp_path / "here.jsonl"
    users = _many(100)
    for user in users:
        del user["user_id"]
    file.write_text(_lines(users))
    assert 0 < len(Trustpilot(path=str(file)).load().splits["test"]) < 60


@pytest.mark.parametrize(
    "line", ["not a user", "[]", '{"reviews": "many"}', '{"reviews": ["one"]}', "open('x')"]
)
def test_a_line_that_is_not_a_user_is_named(tmp_path, line):
    file = tmp_path / "here.jsonl"
    file.write_text(_lines(_many(1)) + line)
    with pytest.raises(CorpusError, match="line 2 is not a user"):
        Trustpilot(path=str(file)).load()


def test_several_countries_are_left_to_the_user(tmp_path):
    for name in ("denmark.jsonl", "france.jsonl"):
        (tmp_path / name).write_text(_lines(_many(3)))
    with pytest.raises(CorpusError, match=r"several files of users: denmark.jsonl, france.jsonl"):
        Trustpilot(path=str(tmp_path)).load()


def test_the_csv_edition_keeps_its_labels(tmp_path):
    (tmp_path / "train.csv").write_text(
        'text,age,age_cat,gender\n"Quick,\nand kind.",42,25-54,F\nNever again!,19,15-24,M\n,30,25-54,M\n'
    )
    (tmp_path / "test.csv").write_text("text,age,age_cat,gender\nWell packed,66,65+,F\n")
    corpus = Trustpilot(path=str(tmp_path)).load()
    assert corpus.texts == ("Quick,\nand kind.", "Never again!")
    assert corpus.splits["train"].columns == {
        "age": ("42", "19"),
        "age_cat": ("25-54", "15-24"),
        "gender": ("F", "M"),
    }
    assert corpus.splits["test"].columns["gender"] == ("F",)


def test_a_folder_with_nothing_known_lists_what_was_looked_for(tmp_path):
    (tmp_path / "united_states.jsonl.zip").write_bytes(b"x")
    with pytest.raises(
        CorpusError, match=r"Looked for: csv .*one user a line\)\. Found: united_states.jsonl.zip"
    ):
        Trustpilot(path=str(tmp_path)).load()


def test_without_path_and_root_the_origin_is_named(monkeypatch):
    monkeypatch.delenv("TEDAUDIT_DATA", raising=False)
    with pytest.raises(CorpusError, match=r"TEDAUDIT_DATA.*bitbucket.org/lowlands"):
        Trustpilot().load()


def test_the_published_subset_has_its_known_sizes(corpora):
    corpus = Trustpilot(path=str(corpora / "trustpilot")).load()
    sizes = {
        note.split(":")[0]: note.split(" of ")[1].split(" ")[0] for note in corpus.notes if "distinct" in note
    }
    assert sizes == {"train": "5,004", "test": "403"}
    assert len(corpus.texts) == 4989
    assert set(corpus.splits["train"].columns["gender"]) == {"F", "M"}
