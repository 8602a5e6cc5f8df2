"""utility as its users meet it: flags, a file or an audit in, a study and its table out."""

import json

import pytest

import tedaudit
from command_line import process

SMALL = ("--set", "corpus.size=200", "--classifier", "tfidf", "--seeds", "2")


def test_flags_alone_make_a_study_and_the_table_is_printed(tmp_path):
    done = process(
        "utility", "--task", "topic", "--private", "gender", "-m", "identity", "-m", "word-rr", "-e", 8,
        "--note", "The demo corpus stands in.", "-o", tmp_path / "s", *SMALL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "(not rewritten)" in done.stdout
    assert "gender F1 (private: lower is better)" in done.stdout
    assert "The demo corpus stands in." in done.stdout
    assert {"utility.json", "utility.md", "study.json"} <= {path.name for path in (tmp_path / "s").iterdir()}
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0


def test_a_yaml_file_is_read_flags_override_it_and_json_is_printed(tmp_path, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(
        "name: mine\ncorpus: {name: demo, size: 200}\nmechanisms: [identity]\ntasks: topic\n"
        "classifier: tfidf\nseeds: 3\n"
    )
    code, out, err = typed("utility", "study.yaml", "--seeds", 1, "--json", "-q")
    assert code == 0, err
    data = json.loads(out)
    assert (data["seeds"], data["rows"][0]["epsilon"]) == (1, None)
    assert (tmp_path / "runs" / "mine-utility" / "utility.json").is_file()


def test_an_audit_lends_its_settings_and_its_report_shows_the_result(tmp_path, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = ("run", "-m", "word-rr", "-e", 2, "-e", 8, "--trials", 100, "--encoder", "lexical", "-q")
    assert typed(*run, "--set", "corpus.size=200", "-o", "runs/x")[0] == 0
    code, out, err = typed("utility", "--run", "runs/x", "--task", "topic", *SMALL[2:4], "--seeds", 1)
    assert code == 0, err
    assert "tedaudit report runs/x" in out
    rows = json.loads((tmp_path / "runs/x/utility.json").read_text())["rows"]
    assert [(row["mechanism"], row["epsilon"]) for row in rows] == [("word-rr", 2), ("word-rr", 8)]
    assert typed("report", "runs/x", "--no-figures")[0] == 0
    assert '"task":"topic F1"' in (tmp_path / "runs/x/report.html").read_text()


def test_an_audit_of_texts_given_in_python_takes_the_corpus_that_is_asked_for(tmp_path, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = tedaudit.load_corpus("demo", size=200).texts
    tedaudit.audit("word-rr", texts, epsilon=8, trials=50, attack="lexical", encoder="lexical", out="runs/x")
    study = ("utility", "--run", "runs/x", "--task", "topic", *SMALL[2:4], "--seeds", 1, "-q")
    code, _, err = typed(*study)
    assert (code, "--corpus" in err) == (2, True)
    assert typed(*study, "--corpus", "demo")[0] == 0


def test_a_column_from_which_nothing_can_be_learnt_is_told_and_passes_no_gate_in_silence(tmp_path, typed):
    rows = [f"a day number {n},{'good' if n % 2 else 'bad'},north" for n in range(400)]
    (tmp_path / "one.csv").write_text("\n".join(["text,mood,ward", *rows]))
    study = ("utility", "-c", tmp_path / "one.csv", "--private", "ward", "-m", "constant", *SMALL[2:4], "-q")
    both = (*study, "--private", "mood", "-o", tmp_path / "s", "--fail-above", 1)
    code, out, told = typed(*both)
    assert code == 0
    assert "'ward' has only one class" in " ".join(out.split())
    assert "'ward': not tested: 'ward' has only one class" in " ".join(told.split())
    assert "not found above the limit: the bound is 0, not above 1" in told
    assert typed(*both, "--fail-on", "out-of-reach")[0] == 0
    assert "mood F1" in out
    assert "'ward' has only one class" in (tmp_path / "s" / "utility.md").read_text()
    assert typed(*both, "--fail-on", "not-tested")[0] == 1
    code, _, told = typed(*study, "-o", tmp_path / "t")
    assert (code, "only one class" in told) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--task", "topic"), "'mechanisms' is missing"),
        (("-m", "identity"), "Corpus 'demo' has: author, gender, sentiment, topic"),
        (("-m", "identity", "--task", "topik"), "Did you mean 'topic'"),
        (("-m", "word-rr", "--task", "topic"), "'word-rr' needs an epsilon"),
        (("-m", "identity", "--task", "topic", "--seeds", "0"), "'seeds' is 0"),
        (("-m", "identity", "--task", "topic", "--run", "nowhere"), "is not the run directory of an audit"),
    ],
)
def test_wrong_use_ends_with_2_and_writes_nothing(arguments, told, tmp_path, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = typed("utility", *arguments, "--classifier", "tfidf", "-o", "s")
    assert code == 2
    assert told in err
    assert list(tmp_path.iterdir()) == []


def test_one_file_without_a_test_split_is_enough_and_it_is_said_what_was_held_out(tmp_path, typed):
    kinds = (("dreadful", "bad"), ("lovely", "good"))
    rows = [f"{n},a {kinds[n % 2][0]} day number {n},{kinds[n % 2][1]}" for n in range(120)]
    (tmp_path / "one.csv").write_text("\n".join(["id,text,mood", *rows]))
    study = ("utility", "-c", tmp_path / "one.csv", "--task", "mood", "-m", "identity", *SMALL[2:4], "-q")
    code, out, err = typed(*study, "--seeds", 1, "-o", tmp_path / "s")
    assert code == 0, err
    told = " ".join(out.split())
    assert "no test split: " in told
    assert "clean ones that a hash of the text held out." in told
    assert "chosen by a hash of the text" in told
    assert "hash of the text" in (tmp_path / "s" / "utility.md").read_text()
    by_id = ("--key", "id", "--hold-out", "0.5", "--json")
    code, out, err = typed(*study, "--seeds", 1, "-o", tmp_path / "t", *by_id)
    assert code == 0, err
    data = json.loads(out)
    assert data["train"] + data["test"] == 120
    assert 30 < data["test"] < 90
    assert any("the column 'id'" in note for note in data["notes"])


def test_the_gate_judges_what_rewrites_tell_of_private_columns(tmp_path, typed):
    kinds = (("dreadful", "bad"), ("lovely", "good"))
    rows = [f"a {kinds[n % 2][0]} day number {n},{kinds[n % 2][1]}" for n in range(400)]
    (tmp_path / "one.csv").write_text("\n".join(["text,mood", *rows]))
    study = ("utility", "-c", tmp_path / "one.csv", "--private", "mood", *SMALL[2:4], "--seeds", 1, "-q")
    leaky = (*study, "-m", "identity", "-o", tmp_path / "s")
    code, out, told = typed(*leaky, "--fail-above", "1", "--json")
    assert code == 1
    assert "--fail-above 1: identity, 'mood': the bound is" in told
    found = json.loads(out)["rows"][0]["guessed_from_rewrites"]
    assert found["eps_emp"] == found["ceiling"] > 1
    assert typed(*leaky, "--fail-above", "9")[0] == 0
    assert typed(*leaky, "--fail-above", "9", "--fail-on", "out-of-reach")[0] == 1
    code, out, told = typed(*study, "-m", "constant", "-o", tmp_path / "t", "--fail-above", "1")
    assert (code, "not found above the limit: the bound is 0, not above 1" in told) == (0, True)
    assert "Private columns" in out
    code, _, told = typed(*study, "-m", "constant", "--private-records", "0", "--fail-above", "1")
    assert code == 2
    assert "--private-records be above 0" in told


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        (("--fail-on", "violated"), "`utility` cannot find that. It is one of: not-tested, out-of-reach."),
        (("--fail-on", "not-tested"), "not-tested is about a limit, and there is none. `utility` tests no"),
        (("--fail-above", "nan"), "--fail-above is nan"),
    ],
)
def test_a_gate_that_could_never_fail_is_refused_before_any_work(tmp_path, typed, gate, told):
    study = ("utility", "-c", "demo", "--private", "gender", "-m", "constant", "-o", tmp_path / "s")
    code, _, error = typed(*study, *gate)
    assert code == 2
    assert told in " ".join(error.split())
    assert not (tmp_path / "s").exists()
