"""The battery's report in words: what is said, what is left out, and that nothing said is false."""

import csv
import random
import re
import time
import zlib

import leaky_rewriters as planted
import pytest

from helpers import sentences
from tedaudit.leaks.finder import find_leaks
from tedaudit.leaks.run_leaks import RunLeaks
from tedaudit.leaks.telling import tell, tell_run
from tedaudit.reports.writers.markdown import write_section
from tedaudit.reports.writers.terminal import write_lines

TEXTS = sentences(40)


def write_markdown(report, *, redact=False):
    [section] = tell_run(RunLeaks((report,), report.error))
    return write_section(section.redact() if redact else section)


@pytest.fixture(scope="module")
def copied():
    return find_leaks(lambda text: f"{text}|<b>`", TEXTS, trials=50)


def test_lines_fit_a_terminal_and_name_culprit_strength_and_fix(copied):
    lines = write_lines(tell(copied))
    assert max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    for cause in copied.causes:
        assert cause.finding.culprit[1:] in shown
        for finding in (cause.finding, *cause.others):
            assert f"{finding.signs.followed} of {finding.signs.pairs}" in shown
    assert "Share found in a rewrite of its own text" in shown
    assert "Not run:" in shown


@pytest.mark.parametrize("write", [lambda r: read(r, redact=True),
                                   lambda r: write_markdown(r, redact=True)])  # fmt: skip
def test_redacted_reports_hold_no_text(copied, write):
    shown = write(copied)
    assert not any(text in shown for text in TEXTS)
    assert "bicycle" not in shown
    assert "<b>" not in shown


def test_markdown_escapes_what_a_table_would_read(copied):
    shown = write_markdown(copied)
    assert "<b>" not in shown
    assert any(text in shown for text in TEXTS)
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(copied.causes)


def test_silence_is_no_proof_and_says_the_smallest_p_value():
    report = find_leaks(lambda text: "the same", TEXTS, trials=50)
    shown = read(report)
    assert "No leak was found" in shown
    assert "proves nothing" in shown
    assert "The smallest p-value was 1" in shown


def test_a_claim_without_a_maximum_is_not_shown_as_a_number_of_its_own():
    from dataclasses import dataclass
    from typing import ClassVar

    from tedaudit.plugins.values import Card, Claim, Rewrite

    @dataclass(frozen=True)
    class Endless:
        card: ClassVar[Card] = Card("endless", "Says nothing.")

        def claim(self, epsilon):
            return Claim(epsilon, "word", max_units=None)

        def rewrite(self, draws):
            return [Rewrite("x") for _ in draws]

    report = find_leaks(Endless(), TEXTS, trials=50)
    assert report.claims == ("1e-06 for each unit, 0.01 for 10,000 of them",)


def test_tests_out_of_reach_are_counted():
    report = find_leaks(planted.constant, TEXTS, trials=50, claim=9.0)
    assert "out of reach" in read(report)
    assert report.to_dict()["tests"][0]["in_reach"] is False


def read(report, **settings):
    return " ".join(" ".join(write_lines(tell(report, **settings))).split())


WHO = ("Anna Smith", "Boris Lund", "Chloe Okafor", "Dmitri Baker", "Elena Vale")
WARDS, DRUGS = ("Cardiology", "Oncology", "Surgery"), ("Aspirin", "Metformin", "Warfarin", "Ibuprofen")


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """The battery on a table of notes whose rewrites hold no name, but other words with a capital letter."""
    rng = random.Random(4)
    rows = []
    for number in range(400):
        ward, drug = rng.choice(WARDS), rng.choice(DRUGS)
        text = f"Patient {rng.choice(WHO)} was seen by {ward} and was given {drug}, note {number}."
        rows.append((text, f"The patient was seen by {ward} and got {drug}."))
    path = tmp_path_factory.mktemp("notes") / "notes.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("original", "rewrite"), *rows])
    return find_leaks({"name": "recorded", "path": str(path)})


def test_rewrites_without_a_name_are_not_said_to_have_any(notes):
    shown = read(notes)
    assert "capitalised words" in notes.names
    assert not re.search(r"\bnames?\b", shown)
    assert "Words that the text writes with a capital letter come back." in shown


def test_an_example_marks_which_words_came_back(notes):
    [finding] = [found for found in notes.findings if found.name == "capitalised words"]
    for text, output, back in zip(
        finding.example.texts, finding.example.outputs, finding.example.back, strict=True
    ):
        assert set(back) <= {*WARDS, *DRUGS}
        assert all(word in text and word in output for word in back)
        assert not back or f"(came back: {', '.join(map(repr, back))})" in read(notes)
    assert any(finding.example.back)
    assert not any(word in read(notes, redact=True) for back in finding.example.back for word in back)


def test_the_same_texts_are_no_example_twice(notes):
    shown = read(notes)
    for finding in notes.findings:
        for text in finding.example.texts:
            assert shown.count(text) <= 1


def test_two_leaks_with_one_example_show_it_once_and_say_what_came_back_in_each():
    def keep(text):
        return f"{text.split()[-1]} {'!' if text.endswith('!') else '.'} {' '.join(planted.draw(9))}"

    report = find_leaks(keep, [f"{text}{'!?'[i % 2]}" for i, text in enumerate(TEXTS)], trials=60)
    shown = read(report)
    assert len(report.causes) > 1
    for text in {text for cause in report.causes for text in cause.finding.example.texts}:
        assert shown.count(f"from {text!r}") <= 1


def test_twins_are_spoken_of_only_if_there_are_any(notes, copied):
    assert "twin" not in read(notes).replace("recognition, twins, state, determinism: a table has", "")
    assert "and twins of them" in read(copied)


def test_a_reason_that_several_parts_share_is_told_once(notes):
    assert read(notes).count("a table has one rewrite of each text") == 1


def test_a_rewriter_that_drops_names_and_keeps_how_sentences_begin_is_not_said_to_release_names():
    texts = [
        f"{who} called. {verb} the {thing} was late."
        for who in WHO
        for verb in ("Yesterday", "Maybe", "Luckily")
        for thing in ("train", "parcel", "doctor")
    ]

    def begin(text):
        kept = [words.split()[0] for words in text.split(". ")[1:]]
        return " ".join([*kept, *planted.draw(8)])

    report = find_leaks(begin, texts, trials=100)
    assert "capitalised words" in report.names
    assert "name" not in report.names
    assert not any(re.search(r"\bnames?\b", finding.culprit) for finding in report.findings)


SEEDS = {"fixed": lambda text: 42, "clock": lambda text: int(time.time()) // 3600, "text": lambda text: text}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_noise_that_comes_again_is_one_leak_however_many_tests_see_it(seed):
    def shift(text):
        noise = random.Random(seed(text))
        return " ".join(str((zlib.crc32(f"{i}{text}".encode()) + noise.randrange(10)) % 10) for i in range(6))

    report = find_leaks(shift, TEXTS, trials=100)
    [cause] = report.causes
    assert cause.finding.name == "same output"
    assert len(report.findings) > 3
    assert "1 leak was found" in read(report)
    assert {found["cause"] for found in report.to_dict()["findings"]} == {1}


def test_a_text_that_comes_back_whole_is_one_leak_however_many_tests_see_it():
    report = find_leaks(planted.copy_one_in_ten, sentences(200), trials=200)
    [cause] = report.causes
    assert cause.finding.name == "whole text"
    assert len(cause.others) > 3


def test_what_another_leak_does_not_explain_is_a_leak_of_its_own():
    def copy_some_and_keep_length(text):
        return text if zlib.crc32(text.encode()) % 4 == 0 else planted.keep_length(text)

    texts = [" ".join(planted.draw(random.randrange(3, 20))) for _ in range(200)]
    names = {cause.finding.name for cause in find_leaks(copy_some_and_keep_length, texts, trials=200).causes}
    assert {"whole text", "length"} <= names

    def repeat_some_and_append_a_sum(text):
        total = zlib.crc32(text.encode())
        return "again" if total % 4 == 0 else " ".join([*planted.draw(9), str(total)])

    names = {
        cause.finding.name for cause in find_leaks(repeat_some_and_append_a_sum, texts, trials=200).causes
    }
    assert {"same output", "two texts"} <= names


def test_what_tells_outputs_apart_is_one_trait_of_several_and_not_the_reason():
    report = find_leaks(lambda text: f"{zlib.crc32(text.encode())} {planted.draw(1)[0]}", TEXTS, trials=100)
    assert "two texts" in report.names
    assert "What tells them apart: " in read(report)
    assert "Most telling" not in read(report)


def test_words_put_into_twins_are_marked_if_they_come_back():
    report = find_leaks(planted.keep_order, TEXTS, trials=60)
    found = {outcome.name: outcome.example.back for outcome in report.findings if outcome.part == "twins"}
    assert all(len(side) == 1 for side in found["name"])
    first, second = found["word order"]
    assert first == second[::-1]
    assert found["length"] == ((), ())
