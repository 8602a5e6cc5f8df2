"""What is told of a link study: what is in its folder, who can read it, what is refused; two pages for a
committee, what is on them, what is not, and that it is printed on two sheets."""

import csv
import json
import os
from dataclasses import replace
from datetime import date
from functools import cache

import pytest

import tedaudit
from helpers import sentences
from pages import count_sheets, read_words
from tedaudit.attacks.embedding import Embedding
from tedaudit.attacks.lexical import Lexical
from tedaudit.errors import RunDirectoryError
from tedaudit.reports.writers.html import write_document
from tedaudit.studies.link.inference import Share
from tedaudit.studies.link.linker import find_compared
from tedaudit.studies.link.result import ALL
from tedaudit.studies.link.study_folder import write_records, write_report
from tedaudit.studies.link.telling import (
    LIMITS,
    SOURCE,
    redact_names,
    tell_bound,
    tell_committee,
    tell_headline,
    tell_linkability,
    tell_singling_out,
    tell_title,
)
from tedaudit.studies.link.trials import make_row

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


# --- Title and headline: for which table would they be false?


def link_texts(originals, rewrites, **settings):
    return tedaudit.link({"original": originals, "rewrite": rewrites}, attacks="lexical", **settings)


def test_the_title_names_the_file_its_records_and_the_day(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("original,rewrite\n" + "".join(f"{text},{text}\n" for text in TEXTS))
    result = replace(tedaudit.link(file, out=tmp_path / "study"), made=date(2026, 3, 9))
    assert tell_title(result) == "pairs.csv, 60 records, 9 March 2026"
    report = (tmp_path / "study" / "report.md").read_text("utf-8")
    assert report.startswith("# pairs.csv, 60 records, ")
    assert f"**{tell_headline(result)}**" in report


def test_the_headline_counts_matches_beside_blind_guessing():
    assert tell_headline(link_texts(TEXTS, TEXTS)) == (
        "Someone who holds all 60 originals matched 60 of the 60 rewrites to the right one by comparing "
        "words; blind guessing matches 1 on average."
    )


def test_the_headline_counts_originals_that_occur_twice_once():
    headline = tell_headline(link_texts([*TEXTS, *TEXTS[:5]], [*TEXTS, *TEXTS[:5]]))
    assert headline.startswith(
        "Someone who holds all 60 different originals, and one rewrite of each, matched 60 of the 60 rewrites"
    )


def test_the_headline_calls_what_was_not_shown_chance_and_counts_failures():
    some = [*TEXTS[:3], *["nothing"] * 57]
    result = link_texts(TEXTS, some)
    [found] = result
    weak = replace(found, rows={**found.rows, ALL: make_row(2, 60)}, places={1: Share(2, 60, 0.0, 0.1)})
    assert "matched 2 of the 60 rewrites" in tell_headline(replace(result, attacks=(weak,)))
    assert tell_headline(replace(result, attacks=(weak,))).endswith("on average, so this may be chance.")
    none = replace(found, rows={**found.rows, ALL: make_row(0, 60)}, places={1: Share(0, 60, 0.0, 0.1)})
    headline = tell_headline(replace(result, attacks=(none,)))
    assert "matched 0 of the 60 rewrites" in headline
    assert headline.endswith("blind guessing matches 1 on average.")
    assert "matched 2 of the 2 rewrites" in tell_headline(link_texts(TEXTS[:2], TEXTS[:2]))
    assert tell_headline(link_texts(TEXTS[:2], ["", ""])).startswith("Someone who holds both originals ")


def test_attacks_are_told_by_what_they_compare_if_that_is_true():
    trained = Embedding("some/model")
    assert find_compared({"lexical": Lexical(), "embedding": trained}) == {
        "lexical": "words", "embedding": "meaning",
    }  # fmt: skip
    assert find_compared({"embedding": Embedding("lexical")}) == {"embedding": ""}  # no model: no meaning
    assert find_compared({"a": Lexical(), "b": Lexical()}) == {"a": "", "b": ""}  # which one is which?
    [found] = link_texts(TEXTS, TEXTS)
    assert found.name == "compares words"
    plain = replace(found, attack="mine", compares="")
    assert plain.name == "mine"
    assert tell_linkability(plain).startswith("With the attack 'mine', the adversary matched 60 of 60 ")


# --- Two pages for a committee.

WORDS = ("zebu", "quokka", "narwhal", "okapi", "axolotl", "tapir", "gecko", "ibis")


@cache
def make_result():
    """A release whose words, ids and classes stand nowhere else."""
    texts = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS[:4]]
    labels = ["vexillum" if text.startswith(WORDS[:4]) else "quincunx" for text in texts]
    table = {
        "id": [f"patient-{number:03}" for number in range(len(texts))], "original": texts,
        "rewrite": [f"{text.split()[0]} hoopoe" for text in texts], "species": labels,
    }  # fmt: skip
    return tedaudit.link(table, private="species")


def write_committee(result, ids=0):
    pages = tell_committee(redact_names(result), ids)
    return write_document(pages, pages[0][0])


def test_it_has_two_pages_that_say_what_was_measured_and_what_not():
    document = write_committee(make_result())
    text = read_words(document)
    assert document.count("<section>") == 2
    [found] = make_result()
    for sentence in (
        *LIMITS,
        SOURCE,
        tell_bound(make_result()),
        tell_headline(make_result()),
        tell_singling_out(found),
    ):
        assert " ".join(sentence.split()) in text
    for word in ("Singling out", "Linkability", "Inference", "species"):
        assert word in text


def test_the_most_certain_guesses_are_not_only_the_few_that_were_right():
    [found] = make_result().attacks
    parts = tuple(replace(found.sure[0], size=size, right=right) for size, right in zip(
        (512, 256, 128, 64, 32, 16), (44, 40, 36, 30, 20, 16), strict=True))  # fmt: skip
    weak = replace(make_result(), attacks=(replace(found, sure=parts),))
    text = read_words(write_committee(weak), 2)
    shown = [f"{part.right} ({100 * part.right / part.size:.1f}%)" in text for part in parts]
    assert shown == [True] * 4 + [False, True]


def test_sentences_say_what_part_of_the_guesses_and_under_which_condition():
    [found] = make_result().attacks
    everything = replace(found.sure[0], size=256, right=250)
    assert "nearly all guesses were right (97.7%), sure or not." in tell_singling_out(
        replace(found, sure=(everything,))
    )
    few = replace(everything, size=128, right=128)
    weak = replace(everything, right=9)
    sentence = tell_singling_out(replace(found, sure=(weak, few)))
    assert sentence == "Comparing words, the adversary was right in 128 of its 128 surest guesses (100.0%)."
    assert tell_bound(make_result()).startswith("If each record was rewritten on its own, ")


def test_an_attack_that_is_never_nearly_always_right_is_told_by_its_surest_eighth():
    [found] = make_result().attacks
    sizes = (256, 128, 64, 32, 16)
    weak = replace(found, sure=tuple(replace(found.sure[0], size=size, right=9) for size in sizes))
    sentence = tell_singling_out(weak)
    assert sentence == "Comparing words, the adversary was right in 9 of its 32 surest guesses (28.1%)."


def test_it_holds_no_text_no_id_and_no_class():
    document = write_committee(make_result())
    for private in (*WORDS, "hoopoe", "patient", "vexillum", "quincunx"):
        assert private not in document.lower()


def test_ids_are_named_if_asked_for():
    text = read_words(write_committee(make_result(), ids=3))
    named = [record.id for record in make_result().rank_evidence(3)]
    assert all(name in text for name in named)
    assert text.count("patient-") == 3
    assert not any(word in text for word in WORDS)


def test_the_same_figures_give_the_same_file():
    assert write_committee(make_result()) == write_committee(make_result())


def test_names_of_several_words_become_numbers():
    [found], [inference] = make_result().attacks, make_result().inferences
    given = replace(
        make_result(),
        source="what zebu said.csv",
        attacks=(replace(found, attack="secret words here", compares=""),),
        inferences=(replace(inference, column="the $x$ of zebu"),),
    )
    shown = redact_names(given)
    assert shown.attacks[0].attack == "attack 1"
    assert shown.inferences[0].column == "column 1"
    assert tell_title(shown).startswith("A table, 256 records, ")
    document = write_committee(given)
    assert "secret" not in document
    assert "zebu" not in document


def test_the_fullest_document_is_printed_on_two_sheets(browser):
    [found], [inference] = make_result().attacks, make_result().inferences
    full = replace(
        make_result(),
        attacks=tuple(
            replace(found, attack=f"a-rather-long-name-of-an-attack-{n}", compares="") for n in range(6)
        ),
        inferences=tuple(replace(inference, column=f"a_rather_long_name_of_a_column_{n}") for n in range(9)),
    )
    assert count_sheets(browser, write_committee(full, ids=50)) == 2


def test_bounds_speak_of_all_attacks_although_two_are_shown():
    [found] = make_result().attacks
    attacks = tuple(replace(found, attack=f"a{n}", compares="") for n in range(6))
    many = replace(make_result(), attacks=attacks)
    text = read_words(write_committee(many), 2)
    told = "The probability that any of the 13 bounds of this study is too high is at most 0.005"
    assert told in text
    assert "a1" in text
    assert "a2" not in text
