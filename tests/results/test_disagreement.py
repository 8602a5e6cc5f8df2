import json

import pytest
from typer.testing import CliRunner

import tedaudit
from tedaudit import load_run
from tedaudit.cli import app
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.results.disagreement import disagreements


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    tedaudit.audit(WordRR(slots=6), "demo", epsilon=[5.0, 7.0], attack=["lexical", "likelihood"], trials=400,
                   encoder="lexical", out=str(out))  # fmt: skip
    return out


def test_counts_add_up_and_agree_with_the_findings(folder):
    result = {(f.epsilon, f.attack): f for f in tedaudit.load_run(folder)}
    for one in disagreements(load_run(folder), ("lexical", "likelihood"), {}):
        assert one.counts.trials == 400
        assert one.counts.both + one.counts.first_only == result[one.epsilon, "lexical"].counts.correct
        assert one.counts.both + one.counts.second_only == result[one.epsilon, "likelihood"].counts.correct


def test_examples_are_trials_that_one_alone_got_right(folder):
    found = disagreements(load_run(folder), ("lexical", "likelihood"), {"epsilon": "5"}, examples=4)
    assert len(found) == 1
    examples = found[0].examples
    assert {example.right for example in examples} == {"lexical", "likelihood"}
    assert all(example.source != example.mistaken for example in examples)
    margins = [example.margin for example in examples if example.right == "likelihood"]
    assert margins == sorted(margins, reverse=True)


@pytest.mark.parametrize(
    ("attacks", "only", "message"),
    [
        (("lexical", "lexical"), {}, "two attacks of this run that differ"),
        (("lexical", "llm"), {}, "It has: lexical, likelihood"),
        (("lexical", "likelihood"), {"epsilon": "9"}, "that was asked for has both lexical and likelihood"),
    ],
)
def test_wrong_use_is_explained(folder, attacks, only, message):
    with pytest.raises(SpecError, match=message):
        disagreements(load_run(folder), attacks, only)


def test_the_command_prints_texts_only_where_it_may(folder):
    arguments = ["compare", str(folder), "--examples", "2", "--epsilon", "5"]
    whole = CliRunner().invoke(app, arguments)
    assert whole.exit_code == 0
    assert whole.output.count("only likelihood was right") == 2
    [told] = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)["examples"]
    assert {one["right"] for one in told["examples"]} == {"lexical", "likelihood"}
    assert "was right" not in CliRunner().invoke(app, ["compare", str(folder)]).output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--epsilon", "5"], "--epsilon: say how many trials to show with --examples"),
        (["--attack", "lexical"], "--attack: say how many"),
        (["--examples", "2", "--by", "mechanism"], "name one run, by attack"),
        (["OTHER", "--examples", "2"], "name one run, by attack"),
    ],
)
def test_examples_are_of_two_attacks_of_one_run(folder, more, said):
    refused = CliRunner().invoke(app, ["compare", str(folder), *more])
    assert isinstance(refused.exception, SpecError)
    assert said in str(refused.exception)
