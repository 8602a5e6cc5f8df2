"""`tedaudit calibrate` and `tedaudit frontier` as their users meet them."""

import importlib.util
import json

from command_line import contents

CALIBRATE = ("calibrate", "-m", "word-rr", "--set", "word-rr.slots=3", "-c", "texts.txt", "--lambda", "0",
             "-t", "600", "--from", "0.1", "--to", "100", "-q", "--out", "made")  # fmt: skip


def test_an_answer_is_printed_with_what_it_does_not_say(command, here):
    code, out, err = command(*CALIBRATE, "--target", "1", "-a", "lexical")
    assert (code, err) == (0, "")
    assert "Epsilon for a target" in out
    assert "crosses the target of success 0.7311 (epsilon 1)" in out
    assert "another attack may find more" in out
    assert "No claim is tested here" in out
    assert (here / "made" / "report.md").exists()
    code, out, _ = command(*CALIBRATE, "--target", "1", "-a", "lexical", "--json")
    [answer] = json.loads(out)["answers"]
    assert (answer["by"], answer["target_epsilon"]) == ("success", 1)
    assert answer["answer"] == "interval"
    assert answer["low"] < answer["high"]
    assert [attempt["side"] for attempt in answer["attempts"]][:2] == ["low", "high"]


def test_eps_emp_is_no_target_and_is_told_beside_the_answer_as_the_fresh_trials_have_it(command, here):
    code, _, err = command(*CALIBRATE, "--target", "1", "--by", "eps_emp")
    assert code == 2
    assert "--by success with --target 0.7311 or --target 1, the epsilon that it stands for" in " ".join(
        err.split()
    )
    assert not (here / "made").exists()
    attacks = ("-a", "lexical", "-a", "resample", "-a", "likelihood")
    [answer] = json.loads(command(*CALIBRATE, "--target", "1", *attacks, "--json")[1])["answers"]
    [fresh] = (here / "made" / "studies").iterdir()
    assert "eps_emp" not in fresh.name  # a name of a lower bound is none of a target
    code, out, _ = command("export", str(fresh), "--format", "json")
    rows = json.loads(out)["rows"]
    ends = [[row["lower"] for row in rows if row["epsilon"] == answer[end]] for end in ("low", "high")]
    assert [answer["eps_emp_low"], answer["eps_emp_high"]] == list(map(max, ends))
    assert list(map(max, ends)) != list(map(min, ends))  # attacks prove different amounts
    code, out, _ = command(*CALIBRATE, "--target", "0.9", "--target", "1.1", "-a", "lexical")
    assert code == 2
    assert not out


def test_several_targets_and_losses_are_taken(command, here):
    code, out, _ = command(*CALIBRATE, "--target", "1", "--target", "6", "--by", "loss@0.05", "--json")
    answers = json.loads(out)["answers"]
    assert (code, [answer["target"] for answer in answers]) == (0, [1, 6])
    assert all(answer["attacks"] == ["likelihood"] and answer["by"] == "loss@0.05" for answer in answers)
    assert answers[0]["high"] <= answers[1]["low"]


def test_without_an_attack_those_that_fit_are_run(command):
    code, out, _ = command(*CALIBRATE, "--target", "9", "--json", "--set", "trained.encoder=lexical")
    [answer] = json.loads(out)["answers"]
    assert code == 0
    assert answer["attacks"] == ["lexical", "resample", "trained", "text-likelihood"]
    assert answer["answer"] == "above the ceiling of the trials"


def test_wrong_use_is_explained(command, here):
    for arguments, reason in (
        (("calibrate", "--target", "2"), "Name what to calibrate"),
        ((*CALIBRATE,), "Name a target"),
        ((*CALIBRATE, "--target", "2", "--by", "luck"), "it is measured by success or loss@DELTA"),
        (("calibrate", "good.yaml", "--target", "2"), "finds the epsilons itself"),
        (("frontier", "-m", "word-rr", "-c", "texts.txt", "--target", "2"), "Name what to learn"),
    ):
        code, _, err = command(*arguments)
        assert code == 2
        assert reason in err
    assert not (here / "made").exists()


def test_it_says_what_it_takes_before_it_starts_and_a_dry_run_says_no_more(command, here):
    flags = ("-m", "word-rr", "-c", "texts.txt", "--target", "1", "-a", "lexical", "-t", "200")
    before = contents(here)
    code, out, _ = command("calibrate", *flags, "--dry-run")
    assert (code, contents(here)) == (0, before)
    row = [cell.strip() for cell in out.splitlines()[4].strip("│ ").split("│")]
    assert row[:4] == ["word-rr", "13", "2,600", "400"]  # half decades from 0.01 to 10,000; two ends
    high = ("-m", "word-rr", "-c", "texts.txt", "--target", "9", "-a", "lexical", "-t", "200", "--dry-run")
    assert "Nothing: no target is in reach of so many trials." in command("calibrate", *high)[1]
    assert " 400 │" in command("calibrate", *flags, "--target", "9", "--dry-run")[1]  # of the other alone
    _, _, err = command("calibrate", *flags, "-o", "made")
    assert "What this calibration takes" in err
    _, _, err = command("calibrate", *flags, "-o", "made")  # which goes on
    assert "What this calibration takes" not in err


def test_a_frontier_is_printed_and_kept_in_the_report(command, here):
    flags = (
        "frontier", "-m", "word-rr", "-c", "demo", "--set", "corpus.size=300", "--encoder", "lexical", "-t",
        "400", "--from", "0.5", "--to", "50", "-a", "lexical", "--target", "1", "--task", "topic",
        "--private", "gender", "--classifier", "tfidf", "--seeds", "1", "-q", "--out", "made",
    )  # fmt: skip
    code, out, err = command(*flags)
    assert (code, err) == (0, "")
    assert "Utility at equal measured privacy" in out
    assert "Equal measured privacy is not equal privacy" in out
    assert "## Utility at equal measured privacy" in (here / "made" / "report.md").read_text()
    assert (here / "made" / "figures" / "frontier.png").exists()
    assert out.rstrip().endswith("Figure: made/figures/frontier.png")
    assert (here / "made-utility" / "utility.json").exists()
    code, out, _ = command(*flags, "--json")
    told = json.loads(out)
    assert code == 0
    assert [(point["task"], point["role"]) for point in told["points"]] == [
        ("topic", "utility"),
        ("gender", "private"),
    ]


def test_no_figure_is_named_if_none_can_be_drawn(command, here, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else find(name, *rest)
    )
    code, out, _ = command(*CALIBRATE, "--target", "1", "-a", "lexical", "-t", "100")
    assert code == 0
    assert "Everything is in made (report.md).\nNo figures were drawn: matplotlib is not installed" in out
    flags = (
        "frontier", "-m", "word-rr", "-c", "demo", "--set", "corpus.size=300", "--encoder", "lexical", "-t",
        "100", "--from", "0.5", "--to", "50", "-a", "lexical", "--target", "1", "--task", "topic",
        "--classifier", "tfidf", "--seeds", "1", "-q", "--out", "other",
    )  # fmt: skip
    code, out, _ = command(*flags)
    assert code == 0
    assert ".png" not in out
    assert not (here / "made" / "figures").exists()
    assert not (here / "other" / "figures").exists()
