import json

import pytest
from typer.testing import CliRunner

import tedaudit
from tedaudit.cli import app
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.results.disagreement import disagreements
from tedaudit.store.directory import RunDirectory


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    tedaudit.audit(WordRR(slots=6), "demo", epsilon=[5.0, 7.0], attack=["lexical", "likelihood"], trials=400,
                   encoder="lexical", out=str(out))  # fmt: skip
    return out


def test_counts_add_up_and_agree_with_the_findings(folder):
    result = {(f.epsilon, f.attack): f for f in tedaudit.load_run(folder)}
    for one in disagreements(RunDirectory(folder), ("lexical", "likelihood"), {}):
        assert one.counts.trials == 400
        assert one.counts.both + one.counts.first_only == result[one.epsilon, "lexical"].counts.correct
        assert one.counts.both + one.counts.second_only == result[one.epsilon, "likelihood"].counts.correct


def test_examples_are_trials_that_one_alone_got_right(folder):
    found = disagreements(RunDirectory(folder), ("lexical", "likelihood"), {"epsilon": "5"}, examples=4)
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
        (("lexical", "likelihood"), {"epsilon": "9"}, "with these filters"),
    ],
)
def test_wrong_use_is_explained(folder, attacks, only, message):
    with pytest.raises(SpecError, match=message):
        disagreements(RunDirectory(folder), attacks, only)


def test_the_command_prints_texts_only_where_it_may(folder):
    arguments = ["disagree", str(folder), "lexical", "likelihood", "--epsilon", "5"]
    whole = CliRunner().invoke(app, arguments)
    assert whole.exit_code == 0
    assert "only likelihood was right" in " ".join(whole.output.split())
    redacted = CliRunner().invoke(app, [*arguments, "--redact", "--json"])
    assert json.loads(redacted.output)[0]["examples"] == []
