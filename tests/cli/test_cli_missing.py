"""What a run has lost, or has not made yet, is named by every command that reads it, and no gate passes."""

import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import tedaudit
from command_line import TEXTS, call
from helpers import Stop, summary
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Claim

SPEC = """\
corpus: {name: files, path: texts.csv, column: text}
mechanisms: [identity, {name: word-rr, slots: 4}]
attacks: [lexical, resample, likelihood]
epsilons: [1, 5]
trials: 60
block: 20
out: made
"""
LOST = {
    "a mechanism": ("guesses/*/identity", "identity"),
    "an attack": ("guesses/*/*/*/resample", "resample"),
    "an epsilon": ("guesses/*/word-rr/5", "epsilon 5"),
    "a table": ("guesses/*/word-rr/1/lexical", "lexical on word-rr at epsilon 1"),
    "a part": ("guesses/*/word-rr/1/lexical/part-000000020-*", "lexical on word-rr at epsilon 1"),
    "the last part": ("guesses/*/word-rr/1/lexical/part-000000040-*", "40 of 60"),
    "all guesses": ("guesses", "identity"),
    "a plan": ("plans/*", "plan k2"),
    "the corpus": ("corpus", "corpus"),
    "rewrites": ("rewrites/identity", "rewrites of identity"),
    "part of the rewrites": ("rewrites/word-rr/5/part-000000.parquet", "rewrites of word-rr"),
    "own rewrites": ("own_rewrites/word-rr/1", "word-rr"),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a finished run of two mechanisms, two epsilons and three attacks."""
    folder = tmp_path_factory.mktemp("whole")
    rows = [f"{text},{'odd' if number % 2 else 'even'}" for number, text in enumerate(TEXTS.splitlines())]
    (folder / "texts.csv").write_text("\n".join(["text,kind", *rows, ""]))
    (folder / "audit.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call("run", "audit.yaml", "-q") == 0
    return folder


@pytest.fixture
def copied(whole, tmp_path, monkeypatch):
    """A copy of it, which is the current folder."""
    shutil.copytree(whole, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def lose(folder, pattern):
    """Remove what fits a pattern from the run, and see that it was there."""
    found = list((folder / "made").glob(pattern))
    assert found
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(params=LOST)
def lost(request, copied):
    """A run that has lost something, and a word that names it."""
    pattern, named = LOST[request.param]
    lose(copied, pattern)
    return named


def told(answer):
    return " ".join("".join(answer[1:]).split())


def test_a_whole_run_is_finished_and_passes(copied, typed):
    code, out, err = typed("report", "made", "--no-figures", "--fail-above", "99")
    assert code == 0, err
    assert "not finished" not in (out + err)
    assert typed("report", "made", "--check")[0] == 0
    assert summary(copied / "made")["finished"] is True
    assert tedaudit.load_run("made").finished


def test_what_is_lost_is_named_and_no_gate_passes(lost, copied, typed):
    for words in (("report", "made", "--check"), ("estimate", "made"), ("compare", "made")):
        answer = typed(*words)
        assert answer[0] in ((2,) if "--check" in words else (0, 2))
        for said in ("not finished", lost, "same command again"):
            assert said in told(answer), (words, told(answer))
    for gate in (("--fail-above", "99"), ("--fail-on", "out-of-reach")):
        code, out, _ = typed("export", "made", "-f", "junit", *gate)
        assert code == 1
        assert int(ET.fromstring(out).get("failures")) > 0
        assert "not finished" in out
        assert lost in out
    assert typed("report", "made", "--no-figures", "--fail-above", "99")[0] == 1
    found = summary(copied / "made")
    assert found["finished"] is False
    assert any(lost in line for line in found["missing"])
    for name in ("report.md", "report.html"):
        text = " ".join((copied / "made" / name).read_text().split())
        assert "not finished" in text
        assert lost in text
    result = tedaudit.load_run("made")
    assert not result.finished
    assert any(lost in str(one) for one in result.missing)
    assert "not finished" in str(result)
    assert "not finished" in result._repr_html_()
    if result.findings:
        assert any("not finished" in note for note in tedaudit.compare("made").notes)


@pytest.mark.parametrize("pattern", ["guesses/*/identity", "corpus"])
@pytest.mark.parametrize(
    "words",
    [
        ("report", "made", "--no-figures", "--table", "full"), ("estimate", "made", "--table", "none"),
        ("export", "made", "-f", "csv"), ("export", "made", "-f", "json"), ("export", "made", "-f", "latex"),
        ("export", "made", "-f", "markdown", "--fail-on", "violated"), ("export", "made", "-f", "card"),
        ("records", "made", "--loss", "-q"), ("replay", "made", "0"), ("loss", "made", "-q"),
        ("compare", "made", "-a", "lexical", "-a", "resample", "--examples", "1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_other_command_names_it_too(pattern, copied, words, typed):
    lose(copied, pattern)
    shown = told(typed(*words))
    assert "not finished" in shown, shown
    assert pattern.rpartition("/")[2] in shown, shown


def test_the_same_command_makes_just_what_is_missing(lost, copied, typed):
    kept = {path: path.stat().st_mtime_ns for path in (copied / "made").rglob("part-*")}
    before = summary(copied / "made")
    typed("report", "made", "--no-figures")  # a look at what is left, which is not the run
    assert typed("run", "audit.yaml", "-q")[0] == 0
    assert summary(copied / "made") == before
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert typed("report", "made", "--check")[0] == 0


def test_whatever_a_copy_lacks_is_named(copied, typed):
    shutil.copytree("made", "half", ignore=shutil.ignore_patterns("guesses", "*rewrites", "plans", "corpus"))
    shown = told(typed("report", "half", "--check"))
    for named in ("identity", "word-rr", "lexical", "resample", "likelihood", "plan k2", "corpus"):
        assert named in shown, named
    assert typed("report", "half", "--fail-above", "99")[0] in (1, 2)


@pytest.mark.parametrize(
    "words",
    [
        ("utility", "--run", "made", "--task", "kind", "-m", "identity", "-c", "texts.csv", "--set",
         "corpus.column=text", "--hold-out", "0.5", "-q"),
        ("leaks", "made", "--trials", "50", "-q"), ("records", "made", "--count", "1", "-t", "20", "-q"),
    ],
    ids=["utility", "leaks", "records"],
)  # fmt: skip
def test_commands_that_go_on_from_a_run_name_it_too(copied, words, typed):
    lose(copied, "guesses/*/word-rr")
    shown = told(typed(*words))
    assert "not finished" in shown, shown
    assert "word-rr" in shown


def test_a_mechanism_that_is_not_there_does_not_pass_a_search_for_leaks(copied, typed):
    assert typed("run", "-m", "constant", "-c", "texts.csv", "--column", "text", "-t", "40", "-q", "-o",
                 "made2")[0] == 0  # fmt: skip
    assert typed("leaks", "made2", "--trials", "50", "-q", "--fail-on", "finding")[0] == 0
    shutil.rmtree("made2/rewrites/constant")
    assert typed("leaks", "made2", "--trials", "50", "-q", "--fail-on", "finding")[0] in (1, 2)


def test_what_the_last_command_did_not_name_is_missed_all_the_same(copied, typed):
    (copied / "other.yaml").write_text(SPEC.replace("identity, ", ""))
    assert typed("run", "other.yaml", "-q")[0] == 0
    assert tedaudit.load_run("made").finished
    lose(copied, "guesses/*/identity")
    assert typed("run", "other.yaml", "-q")[0] == 0
    assert "identity" in " ".join(map(str, tedaudit.load_run("made").missing))


def test_a_mechanism_that_was_never_begun_may_be_given_up(copied):
    """Whoever stops a run and takes a slow mechanism out of the spec has a finished run in the end."""

    def stop(what, *_):
        if "identity" in what:
            raise Stop

    spec = {
        "corpus": {"name": "files", "path": "texts.csv", "column": "text"}, "attacks": ["lexical"],
        "mechanisms": ["identity", "constant"], "trials": 40, "out": "other",
    }  # fmt: skip
    with pytest.raises(Stop):
        tedaudit.run(spec, progress=stop)
    assert "constant" in " ".join(map(str, tedaudit.load_run("other").missing))
    tedaudit.run({**spec, "mechanisms": ["identity"]})
    assert tedaudit.load_run("other").finished


def test_a_run_that_still_goes_on_is_not_finished(copied, typed):
    seen = []

    def look(what, *_):
        if "lexical" in what and not seen:
            seen.append(tedaudit.load_run("going").missing)

    spec = {"corpus": ["a b", "c d", "e f"], "mechanisms": ["identity"], "trials": 300, "block": 100}
    tedaudit.run({**spec, "corpus": {"name": "files", "path": "texts.csv", "column": "text"}, "out": "going"},
                 progress=look)  # fmt: skip
    [missing] = seen
    assert any("of 300" in str(one) for one in missing)
    assert tedaudit.load_run("going").finished


def test_more_trials_for_one_mechanism_do_not_make_another_unfinished(copied, typed):
    (copied / "more.yaml").write_text(SPEC.replace("identity, ", "").replace("trials: 60", "trials: 80"))
    assert typed("run", "more.yaml", "-q")[0] == 0
    assert tedaudit.load_run("made").finished


def test_lost_pairs_and_sections_are_missed(copied, typed):
    assert typed("run", "audit.yaml", "-q", "--worst", "1", "--worst-trials", "20")[0] == 0
    assert tedaudit.load_run("made").finished
    lose(copied, "studies/pairs-*/identity")
    code, out, err = typed("report", "made", "--no-figures", "--fail-above", "99")
    assert code in (1, 2)
    assert "identity" in out + err
    assert "not finished" in out + err


def test_a_lost_part_of_fresh_trials_is_missed(copied, typed):
    assert typed("run", "audit.yaml", "-q", "--worst", "1", "--worst-trials", "20")[0] == 0
    lose(copied, "studies/pairs-*/word-rr/5/guesses/*/*/*/*")
    assert not tedaudit.load_run("made").finished


class ClaimsLess(WordRR):
    """Claims half of what it spends: one output tells it for sure."""

    def claim(self, epsilon):
        return Claim(epsilon / 2, "word", max_units=self.slots)


def test_a_certain_loss_that_is_gone_passes_no_gate(copied, typed):
    mechanism = ClaimsLess(slots=3, vocabulary=("ann", "bob", "ring", "boat", "lost", "sold"))
    texts = TEXTS.splitlines()
    tedaudit.audit(mechanism, texts, epsilon=30.0, attack="likelihood", trials=60, out="certain")
    gate = ("report", "certain", "--no-figures", "--fail-on", "violated")
    assert typed(*gate)[0] == 1
    Path("certain/certain.json").unlink()
    code, out, err = typed(*gate)
    assert code == 1
    assert "certain.json" in out + err


def test_a_redacted_report_names_no_label_of_several_words(copied, typed):
    (copied / "audit.yaml").write_text(
        SPEC.replace("identity,", "{name: identity, label: the secret name},").replace(
            "out: made", "out: red"
        )
    )
    assert typed("run", "audit.yaml", "-q")[0] == 0
    shutil.rmtree(next(Path("red/guesses").glob("*/the secret name")))
    typed("report", "red", "--redact", "--no-figures")
    assert summary(Path("red"))["missing"]
    for name in ("summary.json", "report.md", "report.html"):
        assert "secret name" not in (Path("red") / name).read_text()


def test_calibrations_name_lost_fresh_trials(copied, typed):
    asked = ("calibrate", "-m", "word-rr", "--set", "word-rr.slots=2", "-c", "texts.csv", "--set",
             "corpus.column=text", "-a", "lexical", "--target", "1", "-t", "200", "-q", "-o",
             "calibrated")  # fmt: skip
    assert typed(*asked)[0] == 0
    assert tedaudit.load_run("calibrated").finished
    [fresh] = Path("calibrated/studies").glob("calibrate-*")
    shutil.rmtree(fresh)
    shown = told(typed("report", "calibrated", "--no-figures"))
    assert "not finished" in shown
    assert fresh.name in shown
    assert typed(*asked)[0] == 0
    assert tedaudit.load_run("calibrated").finished


def test_the_embedded_assertion_does_not_pass_an_unfinished_run(copied):
    texts = TEXTS.splitlines()
    settings = {"out": "asserted", "battery": False, "lint": False, "trials": 200}
    tedaudit.assert_private("constant", texts, fail_above=1.0, **settings)
    tedaudit.assert_private("constant", texts, fail_above=1.0, attack=["resample"], **settings)
    shutil.rmtree(next(Path("asserted/guesses").glob("*/constant/*/lexical")))
    with pytest.raises(AssertionError, match="not finished"):
        tedaudit.assert_private("constant", texts, fail_above=1.0, attack=["resample"], **settings)
