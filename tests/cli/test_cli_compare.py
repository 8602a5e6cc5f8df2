"""compare and card as their users meet them: real runs of the mechanisms that need no model."""

import json
import subprocess
import sys

import pytest

from command_line import call


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs on the demo corpus: two that share a plan, one of another seed, one of another corpus."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "texts.txt").write_text("".join(f"text number {n} of some\n" for n in range(30)))
    shared = ["-a", "lexical", "-t", "300", "--lambda", "0", "--quiet"]
    three = ["-m", "identity", "-m", "constant", "-m", "word-rr", "-e", "8"]
    specs = {
        "first": [*three, "-c", "demo"],
        "second": [*three, "-c", "demo", "--set", "word-rr.slots=4"],
        "seeded": [*three, "-c", "demo", "--seed", "9"],
        "others": [*three, "-c", str(folder / "texts.txt")],
    }
    for name, flags in specs.items():
        call("run", *flags, *shared, "--name", name, "--out", folder / name)
    return folder


@pytest.fixture
def command(typed):
    """The command line, wherever the tests are run."""
    return typed


def test_two_runs_are_compared_in_a_table_with_its_reading(runs, command):
    code, out, err = command("compare", runs / "first", runs / "second")
    flat = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "│ k2-lambda0 │ identity │ lexical │ any │ first │ second │ 1.0000, 1.0000 │ 300 │ 0 │ 0 │" in flat
    assert "unknown" not in flat  # success rates have no such trouble
    assert "Compared with first: no run is in more settings" in flat
    assert "Rows that differ come first, then the largest differences of success rates." in flat
    assert "McNemar's exact test" in flat
    assert "Kendall's tau-b" in flat


def test_the_answer_comes_first_with_margin_error_and_plan(runs, command):
    _, out, _ = command("compare", runs / "first", runs / "second", "--margin", "0.1", "--alpha", "0.04")
    assert out.startswith("Against first: ")
    flat = " ".join(out.split())
    assert "The margin is 0.1" in flat
    assert "at an error of 0.02 for all comparisons" in flat
    assert "k2-lambda0: k = 2, lambda = 0, reduced form" in flat
    _, out, _ = command("compare", runs / "first", "--by", "mechanism", "--against", "constant")
    assert out.startswith("Against constant: worse")


def test_a_gate_fails_on_what_it_names_and_an_answer_that_is_none_is_no_pass(runs, command):
    pair = ("compare", runs / "first", runs / "second")  # identity is always named in both
    for flags, expected in (
        (("worse", "not-told"), 1),
        (("not-told",), 1),
        (("worse",), 0),
    ):
        code, out, err = command(*pair, *(part for flag in flags for part in ("--fail-on", flag)))
        assert code == expected
        assert "not told" in err
        assert ("That is no pass" in err) == (expected == 0)
        assert out.startswith("Against first: not told")
    against = ("compare", runs / "first", "--by", "mechanism", "--against")
    code, out, err = command(*against, "constant", "--fail-on", "worse", "--json")
    assert (code, json.loads(out)["answer"]) == (1, "worse")
    assert "worse in " in err


def test_a_release_that_is_no_worse_passes_both_gates(command, tmp_path):
    for name in ("released", "candidate"):
        call("run", "-m", "constant", "-a", "lexical", "-t", "300", "--lambda", "0", "-q", "--out",
             tmp_path / name)  # fmt: skip
    gates = ("--fail-on", "worse", "--fail-on", "not-told")
    code, out, err = command("compare", tmp_path / "released", tmp_path / "candidate", *gates)
    assert code == 0
    assert "no worse than by 0.05 in any of 1 comparison" in out
    assert "no worse" in err
    assert "no pass" not in err
    reached = (tmp_path / "released", tmp_path / "candidate", "--margin", "0.001")
    assert command("compare", *reached, *gates)[0] == 1


def test_json_has_the_same_content_and_nothing_else_is_printed(runs, command):
    code, out, _ = command("compare", runs / "first", runs / "second", "--json")
    told = json.loads(out, parse_constant=pytest.fail)  # a bare Infinity is not JSON
    assert code == 0
    assert (told["by"], [run["name"] for run in told["runs"]]) == ("run", ["first", "second"])
    identity = next(one for one in told["comparisons"] if one["first"]["mechanism"] == "identity")
    assert identity["counts"] == {"both": 300, "first_only": 0, "second_only": 0, "neither": 0}
    assert identity["epsilon_difference"] == {"value": 0.0, "low": None, "high": None}
    assert [one["mechanisms"] for one in told["agreements"]] == [3]


def test_one_scale_is_shown_and_another_on_request(runs, command):
    _, out, _ = command("compare", runs / "first", runs / "second")
    assert "difference of success" in out
    assert "difference of eps" not in out
    _, out, _ = command("compare", runs / "first", runs / "second", "--scale", "epsilon")
    flat = " ".join(out.split())
    assert "│ unknown │" in flat  # neither was ever wrong
    assert "difference of eps" in flat
    assert "difference of success" not in flat.split("Compared with")[0]
    assert "largest differences of epsilon" in flat


def test_a_run_with_another_seed_is_reported_as_unpaired(runs, command):
    _, out, _ = command("compare", runs / "first", runs / "seeded")
    assert "unpaired" in out
    assert "seed: 0 -> 9" in out


def test_mechanisms_of_one_run_are_compared_with_the_one_named(runs, command):
    code, out, _ = command("compare", runs / "first", "--by", "mechanism", "--against", "word-rr", "--json")
    pairs = {
        (one["first"]["mechanism"], one["second"]["mechanism"]) for one in json.loads(out)["comparisons"]
    }
    assert code == 0
    assert pairs == {("word-rr", "identity"), ("word-rr", "constant")}


def test_a_page_is_written_to_the_given_path(runs, command, tmp_path):
    page = tmp_path / "new" / "page.html"
    code, out, _ = command("compare", runs / "first", runs / "second", "--out", page)
    assert code == 0
    assert f"To read in a browser: {page}" in out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_runs_on_different_corpora_are_compared(runs, command):
    code, out, _ = command("compare", runs / "first", runs / "others")
    assert code == 0
    assert "the texts differ (first: demo, 3,600 texts; others: files, 30 texts)" in " ".join(out.split())
    assert "A difference between runs on different texts also reflects the texts." in " ".join(out.split())


WRONG = {
    "no run": (("compare", "first", "empty"), ("'{}/empty' is not a run directory", "`tedaudit run`")),
    "one attack": (("compare", "first"), ("no two attacks", "lexical", "--by mechanism")),
    "itself": (("compare", "first", "first"), ("is named twice",)),
    "reference": (("compare", "first", "second", "--against", "frist"), ("Did you mean 'first'?",)),
    "page": (("compare", "first", "second", "--out", "page.pdf"), ("must be an HTML file",)),
    "alpha": (("compare", "first", "second", "--alpha", "2"), ("alpha is 2.0",)),
    "margin": (("compare", "first", "second", "--margin", "0"), ("margin is 0.0", "between 0 and 1")),
    "gate of another command": (
        ("compare", "first", "second", "--fail-on", "violated"),
        ("`compare` cannot find that", "worse, not-told"),
    ),
    "gate of attacks": (("compare", "first", "--fail-on", "worse"), ("no attack is one", "name two runs")),
    "gate without a release": (
        ("compare", "first", "second", "--by", "mechanism", "--fail-on", "worse"),
        ("what was released", "--against"),
    ),
    "gate of three": (
        ("compare", "first", "second", "seeded", "--fail-on", "not-told"),
        ("what was released", "--against"),
    ),
    "card of no run": (("export", "empty", "-f", "card"), ("is not a run directory",)),
    "card of whom": (
        ("export", "first", "-f", "card", "-m", "word-r"),
        ("no mechanism 'word-r'", "Did you mean 'word-rr'?"),
    ),
    "card where": (
        ("export", "first", "-f", "card", "--out", "texts.txt"),
        ("cards need a folder",),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_reported_with_a_way_out_and_writes_nothing(case, runs, command):
    (runs / "empty").mkdir(exist_ok=True)
    arguments, fragments = WRONG[case]
    placed = [runs / part if (runs / part).exists() or "." in part else part for part in arguments]
    before = sorted(runs.rglob("*"))
    code, out, err = command(*placed)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert all(fragment.replace("{}", str(runs)) in err for fragment in fragments)
    assert sorted(runs.rglob("*")) == before


def test_what_is_typed_wrong_is_refused_and_the_help_page_named(runs, command):
    for arguments in (("compare",), ("compare", runs / "first", "--by", "epsilon")):
        code, _, err = command(*arguments)
        assert code == 2
        assert "compare --help" in err


def test_cards_are_written_into_the_run_or_a_given_folder(runs, command, tmp_path):
    code, out, _ = command(
        "export", runs / "second", "-f", "card", "-m", "word-rr", "--out", tmp_path / "cards"
    )
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "cards").iterdir()) == [
        "word-rr.card.json",
        "word-rr.card.md",
    ]
    assert out.count("Wrote ") == 2
    assert command("export", runs / "second", "-f", "card")[0] == 0
    assert len(list((runs / "second" / "cards").iterdir())) == 6


def test_a_run_with_cards_in_it_can_still_be_read(runs, command):
    assert command("export", runs / "seeded", "-f", "card")[0] == 0
    assert command("estimate", runs / "seeded", "--json")[0] == 0


@pytest.mark.parametrize("verb", ["compare", "export"])
def test_no_model_library_is_loaded(runs, verb):
    script = (
        "import sys, tedaudit.cli as cli\n"
        "try:\n"
        f"    sys.argv = ['tedaudit', {verb!r}, {str(runs / 'first')!r}, *sys.argv[1:]]; cli.main()\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code\n"
        "heavy = {'torch', 'sklearn', 'transformers', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    more = [str(runs / "second")] if verb == "compare" else ["-f", "card"]
    done = subprocess.run([sys.executable, "-c", script, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
