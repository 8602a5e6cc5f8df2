"""A check says what a run would read, because the readers of a run do it; and it shows no text."""

import bz2
import gzip
import json
import lzma

import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tedaudit.corpora._check import MOST_LINES, check_files, count_authors, count_texts, is_garbled
from tedaudit.corpora.files import Files
from tedaudit.errors import TedauditError
from tedaudit.runs.preparation import load_texts
from tedaudit.runs.spec.model import PluginSpec
from world_texts import BIDI, LANGUAGES, ODD, write_texts

FORMATS = ("csv", "tsv", "jsonl", "ndjson", "parquet", "txt")


def write(path, texts, labels=None):
    """Write texts as the format that a file's name ends in; a compressed one too."""
    rows = [{"id": str(i), "text": text, "label": "ab"[i % 2]} for i, text in enumerate(texts)]
    packers = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    *_, kind = (
        path.name.removesuffix(path.suffix).split(".") if path.suffix[1:] in packers else [path.suffix[1:]]
    )
    if kind == "parquet":
        polars.DataFrame(rows).write_parquet(path)
        return path
    if kind in ("jsonl", "ndjson"):
        lines = [json.dumps(row) for row in rows]
    elif kind == "txt":
        lines = [row["text"] for row in rows]
    else:
        cell = (lambda value: '"' + value.replace('"', '""') + '"') if kind == "csv" else str
        lines = [
            ("\t" if kind == "tsv" else ",").join(map(cell, row.values()))
            for row in [dict(zip(rows[0], rows[0], strict=True)), *rows]
        ]
    raw = ("\n".join(lines) + "\n").encode()
    path.write_bytes(packers.get(path.suffix[1:], bytes)(raw))
    return path


def run_reads(path, **fields):
    """Return the texts that a run reads, or what it says instead."""
    try:
        return load_texts(PluginSpec(name="files", path=str(path), **fields), {}).texts
    except TedauditError as error:
        return str(error)


def check(path, author="", **fields):
    return check_files(Files(str(path), **fields), author)


@pytest.mark.parametrize("kind", [*FORMATS, "csv.gz", "jsonl.bz2", "txt.xz"])
@pytest.mark.parametrize("language", ["chinese", "arabic", "hindi", "emoji"])
def test_every_format_is_read_as_a_run_reads_it(tmp_path, kind, language):
    texts = write_texts(language)
    checked = check(write(tmp_path / f"texts.{kind}", texts))
    assert checked.is_readable
    assert checked.corpus.texts == run_reads(tmp_path / f"texts.{kind}") == tuple(texts)
    [file] = checked.files
    assert file.facts.distinct == len(texts)
    assert [column.name for column in file.columns if column.use == "text"] == ["text"]
    assert file.bytes.format == kind.split(".")[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_that_is_told_holds_a_text(tmp_path, language):
    texts = write_texts(language)
    told = json.dumps(check(write(tmp_path / "texts.csv", texts)).to_dict(), ensure_ascii=False)
    assert not any(text in told for text in texts)


def test_columns_are_told_apart_with_a_reason(tmp_path):
    [file] = check(write(tmp_path / "texts.csv", write_texts("english"))).files
    assert [(column.name, column.use) for column in file.columns] == [
        ("id", "id"), ("text", "text"), ("label", "label"),
    ]  # fmt: skip
    assert "180 values in 180 rows, each once" in file.columns[0].why
    assert "usual" in file.columns[1].why
    assert "2 values in 180 rows" in file.columns[2].why


def test_a_text_in_place_of_a_name_is_not_shown(tmp_path):
    secret = "Nora bought the red bicycle last week"
    (tmp_path / "a.csv").write_text(f"{secret},{secret}\nb,c\n")
    (tmp_path / "b.csv").write_text(f"{secret},{secret}!\nb,c\n")
    (tmp_path / "c.csv").write_text("李明昨天卖掉了祖母的戒指,李明昨天卖掉了红色的自行车\nb,c\n")
    for name in "abc":
        checked = check(tmp_path / f"{name}.csv")
        assert not checked.is_readable
        assert "characters)" in checked.error
        for part in ("bicycle", "戒指"):
            assert part not in json.dumps(checked.to_dict(), ensure_ascii=False)
    assert check(tmp_path / "b.csv", header=False, column="column_1").is_readable


def test_lines_that_a_run_refuses_are_all_named(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,a,b\n2,ok\n3,c,d\n4,"x\ny"\n5,e,f,g\n')
    (tmp_path / "a.tsv").write_text("id\ttext\n1\ta\tb\n2\tok\n")
    (tmp_path / "a.jsonl").write_text('{"text":"a"}\nno\n\n[1]\n{"text":"b"}\n')
    (tmp_path / "b.jsonl").write_text('{"text":"a"}\n{"text":3}\n{"text":"b"}\n')
    where = {}
    for name in ("a.csv", "a.tsv", "a.jsonl", "b.jsonl"):
        checked = check(tmp_path / name)
        assert checked.error == run_reads(tmp_path / name)
        where[name] = [one.where for one in checked.files[0].refused]
    assert where == {
        "a.csv": ["line 2", "line 4", "line 7"], "a.tsv": ["line 2"], "a.jsonl": ["line 2", "line 4"],
        "b.jsonl": ["row 2"],
    }  # fmt: skip


def test_an_open_quote_is_named_by_the_line_where_it_opens(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,"a\nb"\n2,"c\n3,d\n')
    [file] = check(tmp_path / "a.csv").files
    assert [one.where for one in file.refused] == ["line 4"]


def test_of_many_refused_lines_a_few_are_named_and_all_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text("no\n" * 500)
    [file] = check(tmp_path / "a.jsonl").files
    assert (file.refusals, len(file.refused)) == (500, MOST_LINES)


ACCENTS = "id,text\n1,caf\u00e9\n2,na\u00efve\n3,plain\n"


@pytest.mark.parametrize(
    ("raw", "found", "suspicion", "readable"),
    [
        (ACCENTS.encode(), "utf-8", "", True),
        (b"\xef\xbb\xbf" + ACCENTS.encode(), "utf-8 with a byte order mark", "", True),
        (ACCENTS.encode("utf-16"), "utf-16", "set the encoding to utf-16", False),
        (ACCENTS.encode("latin-1"), "not utf-8; cp1252 would do", "Look at some texts", False),
        (b"id,text\n1,a\n2,b\n", "ascii", "", True),
        ("id,text\n1,abc\n2,bcd\n".encode("utf-16-le"), "utf-16 without a mark", "utf-16-le", False),
        ("id,text\n1,abc\n2,bcd\n".encode("utf-16-be"), "utf-16 without a mark", "utf-16-be", False),
    ],
)
def test_the_encoding_is_found(tmp_path, raw, found, suspicion, readable):
    (tmp_path / "a.csv").write_bytes(raw)
    checked = check(tmp_path / "a.csv")
    facts = checked.files[0].bytes
    assert facts.found.startswith(found)
    assert suspicion in facts.suspicion
    assert checked.is_readable == readable == (not isinstance(run_reads(tmp_path / "a.csv"), str))


def test_lines_that_cannot_be_decoded_are_named(tmp_path):
    (tmp_path / "a.csv").write_bytes(ACCENTS.encode("latin-1"))
    facts = check(tmp_path / "a.csv").files[0].bytes
    assert (facts.undecodable, facts.first_undecodable) == (2, (2, 3))
    assert check(tmp_path / "a.csv", encoding="latin-1").is_readable
    (tmp_path / "b.csv").write_bytes(ACCENTS.encode())
    assert (
        "set the encoding to utf-8" in check(tmp_path / "b.csv", encoding="cp1252").files[0].bytes.suspicion
    )


@pytest.mark.parametrize(
    "right", ["caf\u00e9", "\u201cyes\u201d", "r\u00e9sum\u00e9 \u2013 \u00fcber", "日本"]
)
def test_text_that_was_decoded_wrongly_before_is_noticed(right):
    wrong = (
        right.encode().decode("cp1252", "replace") if right != "日本" else right.encode().decode("latin-1")
    )
    assert is_garbled(f"so {wrong} and")
    assert not is_garbled(f"so {right} and")


def test_duplicates_are_counted_by_what_makes_them_so():
    facts = count_texts(["a b", "a b", "a  b", "caf\u00e9", "cafe\u0301", "A b", " ", ""])
    assert (facts.exact, facts.folded, facts.cased, facts.blank, facts.distinct) == (1, 3, 1, 2, 3)


def test_lengths_are_of_distinct_texts():
    facts = count_texts(["a", "字字字", "ab cd ef gh", "a", ""])
    assert facts.characters == {"shortest": 1, "median": 3.0, "longest": 11}
    assert facts.words == {"shortest": 1, "median": 3.0, "longest": 4}


def test_scripts_and_hidden_characters_are_counted():
    facts = count_texts(["a", "字字字", "a\nb", *BIDI, "\ufffd?"])
    assert facts.hidden["bidi"].first == (4, 5, 6, 7, 8)
    assert facts.hidden["line"].first == (3,)
    assert facts.replaced.first == (9,)
    assert facts.scripts.letters["Han"] == 3
    assert facts.words["longest"] == 3


def test_half_a_surrogate_is_refused_as_a_run_refuses_it(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text":"a"}\n{"text":"\\ud800"}\n{"text":"b"}\n')
    checked = check(tmp_path / "a.jsonl")
    assert checked.error == run_reads(tmp_path / "a.jsonl")
    assert checked.files[0].facts.surrogates.first == (2,)


def test_a_folder_is_checked_split_by_split(tmp_path):
    write(tmp_path / "train.csv", write_texts("thai"))
    write(tmp_path / "test.csv", write_texts("thai")[:9])
    checked = check(tmp_path)
    assert [file.split for file in checked.files] == ["train", "test"]
    assert "9 texts of other splits are also in train" in checked.notes


@pytest.mark.parametrize("name", ["none.csv", "a.docx", "empty.csv", "names.csv", "one.txt"])
def test_what_cannot_be_read_has_the_error_of_a_run(tmp_path, name):
    (tmp_path / "a.docx").write_text("x")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "names.csv").write_text("id,text\n")
    (tmp_path / "one.txt").write_text("one\none\n")
    checked = check(tmp_path / name)
    assert checked.error == run_reads(tmp_path / name)
    assert not checked.is_readable


CELLS = st.one_of(st.text(max_size=12), st.sampled_from(ODD))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELLS, max_size=3), max_size=6), st.sampled_from(["csv", "tsv", "txt"]))
def test_whatever_is_in_a_file_check_and_run_agree(tmp_path, rows, kind):
    path = tmp_path / f"any.{kind}"
    mark = "\t" if kind == "tsv" else ","
    path.write_bytes(
        "\n".join(mark.join(row) for row in [["text", "b"], *rows]).encode("utf-8", "surrogatepass")
    )
    checked, read = check(path), run_reads(path)
    assert checked.is_readable == (not isinstance(read, str))
    if checked.is_readable:
        assert checked.corpus.texts == read
        assert checked.files[0].facts.distinct == len(read)
    json.dumps(checked.to_dict())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.sampled_from(FORMATS))
def test_whatever_the_bytes_are_check_and_run_agree(tmp_path, raw, kind):
    path = tmp_path / f"any.{kind}"
    path.write_bytes(raw)
    checked, read = check(path), run_reads(path)
    assert checked.is_readable == (not isinstance(read, str))
    json.dumps(checked.to_dict())


def test_texts_are_counted_for_each_author_as_a_run_reads_them():
    texts = ["a", "b", "c", "c ", "d", " ", "e", "f", "a"]
    facts = count_authors(texts, ["Nora", "Nora", "Nora", "Omar", "Omar", "Omar", None, "", "Nora"], "who")
    assert (facts.authors, facts.texts) == (2, {"fewest": 2, "median": 2.5, "most": 3})
    assert facts.at_least == {"1": 2, "2": 2, "4": 0, "8": 0, "16": 0}
    assert (facts.unnamed, facts.shared) == (2, 1)


@pytest.mark.parametrize("nobody", [None, "", "  ", float("nan")])
def test_a_column_without_any_author_is_told_and_not_refused(nobody):
    facts = count_authors(["a", "b"], [nobody] * 2)
    assert (facts.authors, facts.unnamed, facts.shared) == (0, 2, 0)
    assert facts.texts == {"fewest": 0, "median": 0, "most": 0}


def test_numbers_can_be_authors_and_one_may_have_ten_thousand_texts():
    facts = count_authors([f"text {i}" for i in range(10_001)], [7] * 10_000 + [8])
    assert (facts.authors, facts.texts["fewest"], facts.texts["most"]) == (2, 1, 10_000)
    assert facts.at_least["16"] == 1


def test_a_text_whose_first_row_names_nobody_is_of_whom_another_row_names():
    facts = count_authors(["a", "a", "b"], ["", "Nora", "Nora"])
    assert (facts.texts["most"], facts.unnamed, facts.shared) == (2, 0, 0)


def test_authors_are_counted_if_named_or_called_author_and_recur_in_splits(tmp_path):
    (tmp_path / "train.csv").write_text("text,author,who\na,Nora,1\nb,Nora,2\nc,Omar,3\n")
    (tmp_path / "test.csv").write_text("text,author\nd,Nora\ne,Vera\n")
    found = check(tmp_path)
    assert [file.authors.authors for file in found.files] == [2, 2]
    assert found.recurring == found.to_dict()["authors_in_several_splits"] == 1
    named = check(tmp_path, author="who")
    assert named.files[0].authors.texts["most"] == 1
    assert named.files[1].authors is None
    assert (named.is_readable, named.recurring) == (True, None)
    told = json.dumps(found.to_dict())
    assert not any(name in told for name in ("Nora", "Omar", "Vera"))
    assert check(write(tmp_path / "plain.csv", ["a", "b"])).files[0].authors is None


def test_a_column_of_authors_that_is_not_there_is_refused_with_a_near_one(tmp_path):
    (tmp_path / "a.csv").write_text("text,writer\na,Nora\nb,Omar\n")
    found = check(tmp_path / "a.csv", author="writr")
    assert found.error.endswith(
        "no column 'writr' beside the text. It has: writer. Did you mean 'writer'? "
        "Name the column of authors with --author."
    )
    assert not check(tmp_path / "a.csv", author="text").is_readable
