"""How often a run calls functions and servers: what is announced against what really happens."""

import re

import pytest

import tedaudit
from command_line import process
from helpers import Stop, make_spec, stopped
from judging_server import running
from tedaudit.api import run
from tedaudit.attacks.llm import LLM
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.mechanisms.function import Function
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Callee
from tedaudit.runs.calls import CallCounts, find_callee
from tedaudit.studies.utility.study import run_study
from tiny_study import make_study


class Counting:
    """A function that counts how often it is called."""

    def __init__(self):
        self.texts = 0

    def __call__(self, text, epsilon):
        self.texts += 1
        return text.upper()


class CountingLists(Counting):
    def __call__(self, texts):
        self.texts += len(texts)
        return [text.upper() for text in texts]


def announced(spec, **options):
    """Run an audit, and return the lines that were announced."""
    lines = []
    run(spec, announce=lines.append, **options)
    return lines


def numbers(line):
    """Return the number of each thing in a line: "up to 1,200 calls of the function 'f'"."""
    return [int(number.replace(",", "")) for number in re.findall(r"up to ([\d,]+) ", line)]


@pytest.mark.parametrize(("kind", "unit"), [(Counting, "calls of"), (CountingLists, "texts to")])
def test_a_function_is_called_as_often_as_was_said(tmp_path, kind, unit):
    function = kind()
    plans = [{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}]  # the same secrets and noise at times
    spec = make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1, 2], plans=plans)
    (line,) = announced(spec)
    assert line.startswith("This run needs up to ")
    assert f"{unit} the function '{kind.__name__}' (" in line
    assert line.endswith(" for the run, 16 to see whether it repeats itself).")  # 8 for each plan
    assert numbers(line) == [function.texts]
    assert 200 < function.texts < 400


def test_a_plan_that_needs_no_new_rewrite_repeats_none(tmp_path):
    function = Counting()
    plans = [{"k": 2, "lambda": 0}, {"k": 2, "lambda": 0, "estimator": "baseline"}]
    (line,) = announced(make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1], plans=plans))
    assert numbers(line) == [function.texts]
    longer = make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1], plans=plans, trials=130)
    before = function.texts
    (line,) = announced(longer)
    assert numbers(line) == [function.texts - before]


def test_what_attacks_try_for_themselves_is_counted_too(tmp_path):
    function = Counting()
    attacks = [{"name": "trained", "encoder": "lexical", "rewrites": 40}, "lexical"]
    spec = make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1, 2], attacks=attacks)
    (line,) = announced(spec)
    told = "(200 for the run, 8 to see whether it repeats itself, 80 by attacks that try it)"
    assert told in line
    assert numbers(line) == [function.texts] == [288]
    assert announced(spec) == []


def test_a_run_that_goes_on_says_what_is_left(tmp_path):
    function = Counting()
    spec = make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1, 2], attacks=["lexical"])
    stopped(spec, 2)
    before = function.texts
    assert 0 < before < 200
    (line,) = announced(spec)
    assert line.startswith("This run still needs up to ")
    assert numbers(line) == [function.texts - before] == [208 - before]
    assert announced(spec) == []  # nothing is left


def test_a_new_attack_that_practises_calls_again_and_others_do_not(tmp_path):
    function = Counting()
    spec = make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1], attacks=["lexical"])
    announced(spec)
    before = function.texts
    attacks = ["lexical", {"name": "trained", "encoder": "lexical", "rewrites": 40}]
    (line,) = announced(make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1], attacks=attacks))
    assert numbers(line) == [40] == [function.texts - before]


@pytest.mark.parametrize(("settings", "times"), [({}, 1), ({"both_orders": True}, 2)])
def test_a_judge_is_asked_as_often_as_was_said(tmp_path, settings, times):
    with running() as server:
        judge = {"name": "llm", "judge": server.backend, "reading": "generate", **settings}
        spec = make_spec(tmp_path / "run", mechanisms=["word-rr"], epsilons=[2], trials=50, attacks=[judge])
        (line,) = announced(spec)
        assert f"questions to the judge 'tiny' at {server.url.removeprefix('http://')}." in line
        assert numbers(line) == [50 * times]
        assert 50 * times * 0.8 < len(server.bodies) <= 50 * times  # the same question is asked once


def test_a_likelihood_asks_about_every_candidate():
    backend = "openai:m@http://127.0.0.1:8000/v1"
    assert LLM(judge=backend, reading="likelihood").callee(5).per_row == 5
    assert LLM(judge=backend, reading="choice").callee(5).per_row == 1
    assert LLM(judge="hf:nothing").callee(5) is None


def test_examples_for_a_judge_are_made_once_for_each_epsilon(tmp_path):
    function = Counting()
    with running() as server:
        judge = {"name": "llm", "judge": server.backend, "reading": "generate", "shots": 3}
        spec = make_spec(tmp_path / "run", mechanisms=[function], epsilons=[1, 2], trials=90, attacks=[judge])
        (line,) = announced(spec)
    assert numbers(line) == [function.texts, 180]
    assert function.texts == 180 + 8 + 2 * 3
    assert "8 to see whether it repeats itself, 6 by attacks that try it)" in line


def test_nothing_is_said_if_nothing_is_called(tmp_path):
    assert announced(make_spec(tmp_path / "run", mechanisms=["word-rr"], attacks=["lexical"])) == []
    assert find_callee(WordRR()) is None


def test_an_openie_server_is_named_without_its_path():
    extractor = "openie:http://127.0.0.1:9000/some/path"
    assert DPST(extractor=extractor).callee(2) == Callee("the OpenIE server at 127.0.0.1:9000", "texts to")
    assert find_callee(DPST(extractor="zoo:parser")) is None


def test_it_is_said_before_the_first_call_and_before_anything_is_written(tmp_path):
    function = Counting()

    def stop(_line):
        raise Stop

    with pytest.raises(Stop):
        run(make_spec(tmp_path / "run", mechanisms=[function]), announce=stop)
    assert function.texts == 0
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_the_line_goes_to_standard_error_from_python_and_from_the_shell(tmp_path, capsys):
    texts = [f"a text with number {number}" for number in range(20)]
    tedaudit.audit(str.title, texts, trials=20, attack="lexical")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("This run needs up to 28 calls of the function 'str.title' (20 for the run, 8 ")
    assert err.count("\n") == 1
    (tmp_path / "mine.py").write_text("def f(text):\n    return text\n")
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    flags = ("run", "-m", "py:mine:f", "-c", "texts.txt", "-t", "20", "--json")
    loud = process(*flags, "--out", "loud", cwd=tmp_path)
    assert loud.stderr.count("This run needs up to 28 calls of the function 'f' (20 for the run, 8 ") == 1
    assert loud.stdout.startswith("{")
    assert "This run" not in process(*flags, "--out", "quiet", "--quiet", cwd=tmp_path).stderr


def test_a_study_of_utility_says_it_too(tmp_path):
    function, lines = Counting(), []
    study = make_study(tmp_path / "study", mechanisms=[function], epsilons=[1, 2], limit=30)
    run_study(study, announce=lines.append)
    assert function.texts == 30 * 2 * 2
    assert lines == ["This run needs up to 120 calls of the function 'Counting'."]
    run_study(study, announce=lines.append)
    assert len(lines) == 1
    longer = make_study(tmp_path / "study", mechanisms=[function], epsilons=[1, 2, 3], limit=30)
    run_study(longer, announce=lines.append)
    assert lines[1] == "This run still needs up to 60 calls of the function 'Counting'."


def test_several_callees_are_one_line_with_thousands_marked():
    counts = CallCounts()
    counts.add(Callee("the function 'f'"), 1500)
    counts.add(Callee("the judge 'm' at host", "questions to", 4), 500)
    counts.add(Callee("the function 'f'"), 1)
    counts.add(Callee("nobody"), 0)
    assert counts.describe(resumed=False) == (
        "This run needs up to 1,501 calls of the function 'f' and up to 2,000 questions to the judge 'm' "
        "at host."
    )


def test_a_function_is_called_by_its_name():
    assert Function(str.upper).callee(2).name == "the function 'str.upper'"
