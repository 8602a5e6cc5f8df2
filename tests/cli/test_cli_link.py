"""link as its users meet it: a table in, figures, gates and files out, and nothing leaves the machine."""

import csv
import json
import os
import socket

import pytest

from command_line import process
from helpers import sentences, strict
from judging_server import running

TEXTS = sentences(120)


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A folder with a table of pairs, which is the current one."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "pairs.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["person", "before", "after", "gender", "guess"])
        for number, text in enumerate(TEXTS):
            table.writerow([f"p{number}", text, " ".join(text.split()[:4]), *("fm"[number % 2],) * 2])
    return tmp_path


PAIRS = ("link", "pairs.csv", "--id", "person", "--original", "before", "--rewrite", "after", "-q")


def test_a_strangers_table_is_linked_offline_with_worst_records_by_id(release, typed, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("something was sent")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    code, out, _ = typed(*PAIRS, "--private", "gender", "--count", "3")
    assert code == 0
    for heading in ("Linkability", "Singling out", "Inference", "Bounds", "Records by evidence"):
        assert heading in out
    rows = list(csv.DictReader((release / "runs" / "pairs-link" / "records.csv").open()))
    assert {row["id"] for row in rows} == {f"p{number}" for number in range(120)}
    assert rows[0]["id"] in out
    assert not any(text in out for text in TEXTS)
    assert (release / "runs" / "pairs-link" / "committee.html").is_file()


def test_a_document_of_earlier_figures_does_not_stay_beside_others(release, typed):
    document = release / "study" / "committee.html"
    assert typed(*PAIRS, "-o", "study")[0] == 0
    assert document.is_file()
    assert typed(*PAIRS, "-o", "study", "--no-committee", "--seed", "5")[0] == 0
    assert not document.exists()


def test_what_a_file_holds_is_told(release, typed):
    out = " ".join(typed(*PAIRS, "--no-committee", "-o", "study")[1].split())
    assert "link.json: the same figures as JSON" in out
    assert "with their texts" not in out
    assert "records.csv: all records by id, with their texts" in " ".join(
        typed(*PAIRS, "--no-committee", "-o", "study", "--texts")[1].split()
    )


def test_json_has_the_figures_and_no_text(release, typed):
    code, out, _ = typed(*PAIRS, "--json", "--no-committee", "-o", "study")
    told = strict(out)
    assert code == 0
    assert told["kind"] == "link"
    assert told["attacks"][0]["linkability"][0]["asked"] == 120
    assert not any(text in out for text in TEXTS)
    assert not (release / "study" / "committee.html").exists()


def test_the_gate_has_the_codes_of_every_gate(release, typed):
    flags = (*PAIRS, "--no-committee", "--json")
    code, _, told = typed(*flags, "--fail-above", "1")
    assert code == 1
    assert "--fail-above 1: lexical, all originals: the bound is" in told
    code, _, told = typed(*flags, "--fail-above", "40")
    assert code == 0
    assert "out of reach" in told
    assert typed(*flags, "--fail-above", "40", "--fail-on", "out-of-reach")[0] == 1
    assert typed(*flags)[0] == 0
    assert typed(*flags, "--fail-above", "-1")[0] == 2


def test_a_private_column_that_cannot_be_guessed_is_told_and_passes_no_gate_in_silence(release, typed):
    with (release / "pairs.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["person", "before", "after", "ward", "gender"])
        for number, text in enumerate(TEXTS):
            table.writerow([f"p{number}", text, text, "north", "fm"[number % 2]])
    flags = (*PAIRS, "--no-committee", "--private", "ward", "--private", "gender", "-o", "study")
    code, out, _ = typed(*flags)
    told = " ".join(out.split())
    assert code == 0
    assert "'ward' has only one value" in told
    assert "'gender': a classifier" in told
    assert "'ward' has only one value" in (release / "study" / "report.md").read_text()
    assert json.loads((release / "study" / "link.json").read_text())["not_inferred"][0]["column"] == "ward"
    code, _, told = typed(*flags, "--fail-above", "40")
    assert code == 0
    assert "'ward' guessed: not tested: 'ward' has only one value" in " ".join(told.split())
    for gate in ("not-tested", "out-of-reach"):  # none hides the other
        assert typed(*flags, "--fail-above", "40", "--fail-on", gate)[0] == 1


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        (
            ("--fail-on", "violated"),
            "'violated'. `link` cannot find that. It is one of: not-tested, out-of-reach.",
        ),
        (("--fail-on", "violated", "--fail-above", "1"), "`link` tests no claim: --fail-above 2.0 fails if"),
        (("--fail-on", "out-of-reac", "--fail-above", "1"), "Did you mean 'out-of-reach'?"),
        (("--fail-on", "out-of-reach"), "out-of-reach is about a limit, and there is none. `link` tests no"),
    ],
)
def test_a_gate_that_could_never_fail_is_refused_before_any_work(release, typed, gate, told):
    code, _, error = typed(*PAIRS, "--no-committee", "-o", "study", *gate)
    assert code == 2
    assert told in " ".join(error.split())
    assert not (release / "study").exists()


def test_a_limit_that_is_kept_says_the_largest_bound(release, typed):
    path = release / "constant.csv"
    path.write_text("original,rewrite\n" + "".join(f"{text},nothing\n" for text in TEXTS))
    code, _, told = typed("link", path, "-q", "--no-committee", "--fail-above", "1")
    assert code == 0
    assert "not found above the limit: the bound is 0, not above 1" in told


def test_texts_go_into_the_table_if_asked_for(release, typed):
    assert typed(*PAIRS, "--no-committee", "--texts", "-o", "study")[0] == 0
    assert TEXTS[0] in (release / "study" / "records.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing.csv",), "There is no file"),
        (("pairs.csv",), "has no column 'original'"),
        ((*PAIRS[1:], "--private", "gendr"), "Did you mean 'gender'"),
        ((*PAIRS[1:], "-a", "trained"), "cannot be used for linking"),
        ((*PAIRS[1:], "--set", "embedding.encoder=lexical"), "nothing here is called 'embedding'"),
        ((*PAIRS[1:], "-o", "pairs.csv"), "is a file"),
    ],
)
def test_wrong_use_is_one_line_and_exits_with_2(release, typed, arguments, told):
    code, _, err = typed("link", *arguments)
    assert code == 2
    assert told in err
    assert "Traceback" not in err


def test_people_are_named_by_several_texts(release, typed):
    with (release / "people.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "author", "original", "rewrite", "gender"])
        for number, text in enumerate(TEXTS):
            words = f"word{number % 12} {text}"
            table.writerow([number, f"writer{number % 12}", words, words.split()[0], "fm"[number % 2]])
    flags = ("link", "people.csv", "--author", "author", "--private", "gender", "-q", "-a", "lexical")
    code, out, _ = typed(*flags, "--author-texts", "3")
    told = " ".join(out.split())
    assert code == 0
    assert "Knowing other texts of 12 people, the attack named" in told
    assert "and 12 from 3; from 3 unrewritten ones" in told
    for heading in (
        "People who wrote several texts",
        "Bounds for several texts together",
        "People by evidence",
    ):
        assert heading in out
    code, out, _ = typed(*flags, "--knows", "same", "--json", "--no-committee")
    assert strict(out)["several_rewrites"][0]["knows"] == "same"
    assert typed(*flags, "--author-texts", "300")[0] == 2


def test_an_attack_takes_its_fields(release, typed):
    code, out, _ = typed(
        *PAIRS, "--no-committee", "--json", "-a", "embedding", "--set", "embedding.encoder=lexical"
    )
    assert code == 0
    assert [found["attack"] for found in strict(out)["attacks"]] == ["embedding"]


def test_what_rewrite_pairs_writes_is_read_by_link_and_by_recorded(tmp_path, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"p{number},{text},{'fm'[number % 2]}\n" for number, text in enumerate(TEXTS))
    (tmp_path / "texts.csv").write_text("id,text,gender\n" + rows)
    done = process(
        "rewrite", "texts.csv", "-m", "word-rr", "-e", "30", "--pairs", "--keep", "gender", "-o", "pairs.csv",
        "-q", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not for release" in done.stderr
    table = list(csv.DictReader((tmp_path / "pairs.csv").open()))
    assert list(table[0]) == ["id", "gender", "original", "rewrite", "error"]
    assert [row["original"] for row in table] == TEXTS
    if os.name == "posix":
        assert (tmp_path / "pairs.csv").stat().st_mode & 0o777 == 0o600
    code, out, _ = typed("link", "pairs.csv", "--private", "gender", "--json", "--no-committee", "-q")
    assert code == 0
    found = strict(out)
    assert found["records_by_evidence"][0]["id"].startswith("p")
    recorded = ("run", "-m", "recorded", "--set", "recorded.path=pairs.csv", "--trials", "50", "-q", "--json")
    code, out, err = typed(*recorded, "--encoder", "lexical", "-a", "lexical")
    assert code == 0, err
    assert {claim["verdict"] for claim in strict(out)["claims"]} <= {"no claim"}  # a table states none


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--pairs",), "reads a file"),
        (("texts.csv", "--pairs", "--draws", "2", "-o", "out.csv"), "makes one draw"),
        (("texts.csv", "--pairs", "--format", "txt"), "csv or jsonl"),
        (("texts.csv", "--pairs", "--keep", "gendre"), "Did you mean 'gender'"),
        (("texts.csv", "--pairs", "--keep", "error"), "pairs have one of that name"),
        (("texts.csv", "--keep", "gender"), "with --pairs only"),
    ],
)
def test_what_does_not_go_with_pairs_is_refused(tmp_path, typed, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text("id,text,gender,error\n1,a b,f,x\n2,c d,m,y\n")
    code, out, err = typed("rewrite", *arguments, "-m", "identity", "-e", "1")
    assert code == 2
    assert told in err
    assert out == ""


def test_guesses_that_are_brought_are_counted_and_bound_only_what_is_declared(release, typed):
    flags = (*PAIRS, "--no-committee", "--private", "gender", "--guesses", "guess")
    out = " ".join(typed(*flags)[1].split())
    assert "the guesses that were brought were right about 120 of 120 records" in out
    assert "it was not declared" in out
    told = strict(typed(*flags, "--json", "--guesses-fixed")[1])["inference"][0]
    assert (told["guesser"], told["eps_emp"] > 1) == ("brought", True)
    code, _, err = typed(*PAIRS, "--private", "gender", "--guesses-fixed")
    assert code == 2
    assert "name their column" in err


def test_a_judge_is_asked_for_a_private_column_with_its_own_settings(release, typed):
    with running(answer="answer: [[2]]") as judging:
        judge = ("--classifier", "llm", "--set", f"llm.judge={judging.backend}")
        flags = (*PAIRS, "--no-committee", "--json", "--private", "gender", *judge)
        code, out, err = typed(*flags, "--set", "llm.reading=generate")
        assert code == 0, err
        assert strict(out)["inference"][0]["guesser"] == "llm"
        assert judging.bodies
