"""`tedaudit loss` as its users meet it."""

import json

import pytest

from tiny_models import save_t5

RUN = ("run", "-m", "word-rr", "--set", "word-rr.slots=3", "-e", "4", "-c", "texts.txt", "--lambda", "0",
       "-t", "200", "-q", "--out", "made")  # fmt: skip


def test_losses_of_a_run_without_likelihoods_are_computed_from_its_rewrites(command, here):
    assert command(*RUN)[0] == 0
    made = {path.name: path.stat().st_mtime_ns for path in (here / "made" / "rewrites").rglob("*.parquet")}
    code, out, err = command("loss", "made", "-q")
    assert (code, err) == (0, "")
    assert "what an adversary that knows the mechanism learns" in out
    assert "4 per word" in out
    assert made == {p.name: p.stat().st_mtime_ns for p in (here / "made" / "rewrites").rglob("*.parquet")}


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
