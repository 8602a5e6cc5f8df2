"""`tedaudit loss` as its users meet it."""

import json
import sys

import pytest

from tiny_models import save_t5

AUDIT = ("run", "-m", "word-rr", "--set", "word-rr.slots=3", "-e", "4", "--lambda", "0", "-q")
RUN = (*AUDIT, "-c", "texts.txt", "-t", "200", "--out", "made")
OF_A_TABLE = (*AUDIT, "-c", "t.csv", "-t", "60", "--out", "made")


def test_losses_of_a_run_without_likelihoods_are_computed_from_its_rewrites(command, here):
    assert command(*RUN)[0] == 0
    made = {path.name: path.stat().st_mtime_ns for path in (here / "made" / "rewrites").rglob("*.parquet")}
    code, out, err = command("loss", "made", "-q")
    assert (code, err) == (0, "")
    assert "what an adversary that knows the mechanism learns" in out
    assert "4 per word" in out
    assert made == {p.name: p.stat().st_mtime_ns for p in (here / "made" / "rewrites").rglob("*.parquet")}


ADDED = (
    "checksum",
    "written",
    "looks",
    "models",
    "attacks",
    "tables",
    "cards",
)  # what a look, and an attack more, may change


def settle(told):
    """Return what a manifest says, at any depth, but for what may change."""
    if not isinstance(told, dict):
        return told
    return {key: settle(value) for key, value in told.items() if key not in ADDED}


@pytest.fixture
def labelled(here):
    """A folder with a table of texts that have a label."""
    rows = [(text, ("boat" in text) * 1) for text in (here / "texts.txt").read_text().splitlines()]
    (here / "t.csv").write_text("text,topic\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return here


@pytest.mark.parametrize("corpus", ["t.csv", "demo", ""])
@pytest.mark.parametrize("folder", ["made", "here", "moved"])
def test_an_attack_that_is_added_leaves_what_determines_the_run_as_it_was(
    command, labelled, corpus, folder, monkeypatch
):
    """Of whatever corpus, and from wherever the run is named; a study of its texts can follow."""
    named = ("-c", corpus, *(("--set", "corpus.size=60") if corpus == "demo" else ())) if corpus else ()
    assert command(*AUDIT, *named, "-t", "60", "--out", "made", "-a", "lexical")[0] == 0
    before = json.loads((labelled / "made" / "manifest.json").read_text())
    if folder == "moved":
        (labelled / "made").rename(labelled / "moved")
        (labelled / "t.csv").unlink()
    place = labelled / folder.replace("here", "made")
    assert command("loss", place if folder == "here" else place.name, "-q")[0] == 0
    after = json.loads((place / "manifest.json").read_text())
    assert settle(after) == settle(before)
    assert after["spec"]["attacks"] == [*before["spec"]["attacks"], {"name": "likelihood", "label": ""}]
    assert [after["looks"][: len(before["looks"])], len(after["looks"])] == [before["looks"], 2]
    if folder != "moved":
        study = ("utility", "--run", place.name, "--task", "topic", "--classifier", "tfidf", "--seeds", "1")
        assert command(*study, "-q")[0] == 0


GOING_ON = {
    "records": ("records", "made", "-t", "10", "--count", "5"), "replay": ("replay", "made", "0"),
    "worst": (*OF_A_TABLE, "--worst", "2", "--worst-trials", "10"),
    "utility": ("utility", "--run", "made", "--task", "topic", "--classifier", "tfidf", "--seeds", "1"),
    "leaks": ("leaks", "made", "-t", "50"), "report": ("report", "made"), "loss": ("loss", "made"),
}  # fmt: skip


@pytest.mark.parametrize("going_on", GOING_ON)
def test_no_command_that_goes_on_with_a_run_changes_what_determines_it(command, labelled, going_on):
    assert command(*OF_A_TABLE)[0] == 0
    before = json.loads((labelled / "made" / "manifest.json").read_text())
    assert command(*GOING_ON[going_on])[0] == 0
    after = json.loads((labelled / "made" / "manifest.json").read_text())
    assert settle(after) == settle(before)


def test_losses_that_are_there_are_read_and_nothing_is_written(command, here):
    assert command(*RUN, "-a", "likelihood")[0] == 0
    before = {path: path.stat().st_mtime_ns for path in (here / "made").rglob("*") if path.is_file()}
    code, out, _ = command("loss", "made", "--json")
    [row] = json.loads(out)["losses"]
    assert code == 0
    assert row["trials"] == 200
    assert 4 <= row["largest"] <= 12.00001
    assert json.loads(out)["contradictions"] == []
    assert before == {path: path.stat().st_mtime_ns for path in (here / "made").rglob("*") if path.is_file()}


def test_a_mechanism_alone_is_enough(command, here):
    code, out, _ = command(
        "loss", "-m", "word-rr", "-e", "2", "-c", "texts.txt", "-t", "100", "-o", "alone", "-q", "--redact"
    )
    assert code == 0
    assert "its text" not in out
    assert "word-rr" in out
    assert (here / "alone" / "summary.json").exists()


def test_a_run_tells_its_losses_if_asked(command, here):
    code, out, _ = command(*RUN, "--loss")
    assert code == 0
    assert "what an adversary that knows the mechanism learns" in out
    assert "knows nothing" in out
    assert "## Loss" in (here / "made" / "report.md").read_text()
    code, out, _ = command(*RUN, "--loss", "--json")
    assert (code, len(json.loads(out)["losses"])) == (0, 1)


def test_a_run_without_a_plan_for_losses_is_not_begun(command, here):
    code, _, err = command(*RUN, "--k", "3", "--loss")
    assert code == 2
    assert "two candidates" in err
    assert not (here / "made").exists()


def test_settings_beside_a_run_are_refused(command, here):
    assert command(*RUN)[0] == 0
    code, _, err = command("loss", "made", "-e", "2", "-t", "50")
    assert code == 2
    assert "leave out --epsilon, --trials" in err


def test_what_has_no_loss_is_explained(command, here):
    assert command("loss")[2].startswith("error: Name a run directory, or a mechanism")
    assert command("run", "-m", "identity", "-c", "texts.txt", "-t", "30", "-q", "--out", "id")[0] == 0
    code, _, err = command("loss", "id", "-q")
    assert code == 2
    for told in ("the mechanism's own `log_likelihood`", "tutorial-mechanism-author.md", "run -a lexical"):
        assert told in err
    assert "eave it out" not in err  # this command has no other attack
    assert command(*RUN, "--k", "3")[0] == 0
    looks = json.loads((here / "made" / "manifest.json").read_text())["looks"]
    code, _, err = command("loss", "made", "-q")
    assert code == 2
    assert "two candidates" in err
    assert json.loads((here / "made" / "manifest.json").read_text())["looks"] == looks  # nothing was spent


def test_a_sampler_has_a_loss_without_an_epsilon_and_a_cut_support_an_infinite_one(command, here):
    pytest.importorskip("transformers")
    folder = save_t5(here / "model")
    settings = [f"model={folder}", "max_new_tokens=4", "prompt='{text}'", "temperature=3.0"]
    rows = {}
    for top_k in (0, 2):
        given = [*settings, f"top_k={top_k}"]
        flags = [part for setting in given for part in ("--set", f"sampler.{setting}")]
        code, out, err = command(
            "loss",
            "-m",
            "sampler",
            *flags,
            "-c",
            "texts.txt",
            "-t",
            "60",
            "-o",
            f"made{top_k}",
            "-q",
            "--json",
        )
        assert (code, err) == (0, "")
        told = json.loads(out)
        assert told["contradictions"] == []
        [rows[top_k]] = told["losses"]
    assert {(row["epsilon"], row["claim"]) for row in rows.values()} == {(None, None)}
    assert (rows[0]["impossible"], rows[0]["mean"] > 1) == (0, True)
    assert rows[2]["impossible"] > 30
    assert rows[2]["mean"] is None
    assert [at["lower"] for at in rows[2]["epsilon_at"]] == [None] * 3
    out = command("loss", "made2")[1]
    assert "infinite" in out
    assert "above infinite" not in " ".join(out.split())


MECHANISMS = """\
from dataclasses import dataclass
from typing import ClassVar
from tedaudit import Card, Claim, Rewrite
from tedaudit.mechanisms.word_rr import WordRR

@dataclass(frozen=True)
class FailsByCoin(WordRR):
    card: ClassVar[Card] = Card("fails-by-coin", "Fails in 8 % of calls, whatever the text.")
    def rewrite(self, draws):
        made = zip(draws, super().rewrite(draws), strict=True)
        return [Rewrite("", error="busy") if draw.key % 100 < 8 else one for draw, one in made]

@dataclass(frozen=True)
class ClaimsLess(WordRR):
    card: ClassVar[Card] = Card("claims-less", "Loses three times what it claims.")
    def claim(self, epsilon):
        return Claim(epsilon, "document")
"""
SMALL_RUN = ("-c", "texts.txt", "--lambda", "0", "-q", "-o", "made")


@pytest.fixture
def mechanisms(here, monkeypatch):
    """Mechanisms of somebody else, in a module of the current folder."""
    (here / "lossy.py").write_text(MECHANISMS)
    monkeypatch.delitem(sys.modules, "lossy", raising=False)


def read_screen(out):
    """Return the tables of losses of a first screen, and all of it in one line."""
    return out.partition("Losses have no ceiling")[0].split(), " ".join(out.split())


@pytest.mark.usefixtures("mechanisms")
def test_a_coin_that_fails_whatever_the_text_has_no_infinite_loss(command):
    """What failures may tell is a term of its own: whether one comes may depend on the text."""
    asked = ("-m", "py:lossy:FailsByCoin", "--set", "slots=3", "-e", "6", "-t", "400", "--loss", *SMALL_RUN)
    code, out, _ = command("run", *asked)
    words, flat = read_screen(out)
    assert code == 0
    assert "inf" not in words
    assert "unknown" in words
    assert "they may tell more" in flat
    [row] = json.loads(command("loss", "made", "--json")[1])["losses"]
    assert 15 < row["unknown"] < 60
    for at in row["epsilon_at"][:1]:
        assert 0 < at["lower"] <= at["point"] <= at["upper_known"] <= 18
        assert at["upper"] is None
    told = " ".join(command("loss", "made")[1].split())
    assert "infinite" not in told
    assert "may tell more" in told


def test_a_first_screen_has_the_ends_of_losses_and_their_median(command):
    code, out, _ = command("run", "-m", "word-rr", "-e", "50", "-t", "20", "--loss", *SMALL_RUN)
    words, flat = read_screen(out)
    assert code == 0
    assert {"above", "median"} <= set(words)  # so few trials have no upper end
    assert "no mean" in flat
    more = command("run", "-m", "word-rr", "-e", "50", "-t", "400", "--loss", *SMALL_RUN[:-1], "more")[1]
    assert "above" not in read_screen(more)[0]
    assert "to" in read_screen(more)[0]


@pytest.mark.usefixtures("mechanisms")
def test_a_claim_that_no_guesses_can_refute_may_be_refuted_by_likelihoods_in_the_same_trials(command):
    asked = ("-m", "py:lossy:ClaimsLess", "--set", "slots=3", "-e", "8", "-t", "20", *SMALL_RUN)
    flat = " ".join(command("run", *asked, "-a", "lexical")[1].split())
    assert "1 out of reach" in flat
    assert "no number of right guesses in these trials" in flat
    assert command("loss", "made", "-q", "--yes")[0] == 0
    [claim] = json.loads(command("report", "made", "--json")[1])["claims"]
    assert claim["verdict"] == "violated"


def test_the_most_that_a_drawn_pair_can_lose_is_less_than_another_pair_can(command, here):
    """So it is never told as the most of all pairs of these texts."""
    texts = ["red", "blue", "green", "white", "black", "one two three four five"]
    (here / "few.txt").write_text("\n".join(texts))
    asked = ("-m", "word-rr", "-e", "4", "--set", "slots=5", "-c", "few.txt", "--lambda", "0", "--seed", "1")
    most = {}
    for trials in ("1", "40"):
        assert command("run", *asked, "-o", f"made{trials}", "-t", trials, "-a", "likelihood", "-q")[0] == 0
        [row] = json.loads(command("loss", f"made{trials}", "--json")[1])["losses"]
        most[trials] = row["supremum"]["largest"]
    assert most["1"] < most["40"]
    page = (here / "made1" / "report.html").read_text()
    told = " ".join(command("loss", "made1")[1].split())
    assert "of a pair that was drawn" in page
    assert "between two of these texts" not in page
    assert "other pairs of the same texts may lose more" in told
