"""The short ways in from Python: one call, any rewriter, any texts, and nothing left behind unasked."""

import gc
import pickle
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tedaudit
import tedaudit.api
from engine_examples import Counting
from tedaudit import (
    NO_EPSILON,
    Card,
    Claim,
    Guess,
    Rewrite,
    audit,
    compare,
    estimate,
    load_run,
    report,
    rewrite,
    run,
)
from tedaudit.attacks.lexical import Lexical
from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.estimators import reduced_form
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.runs.spec.model import parse_spec

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
pytestmark = pytest.mark.usefixtures("elsewhere")


class Shrug:
    """An attack that prefers the first candidate, whatever it sees."""

    card = Card("shrug", "Names the first.")

    def guess(self, seen):
        return [Guess(-np.arange(len(one.candidates), dtype=float)) for one in seen]


def left(folder):
    return [path for part in ("here", "temporary") for path in (folder / part).iterdir()]


def test_a_plain_function_and_a_list_of_strings_are_enough(elsewhere):
    result = audit(str.upper, TEXTS, epsilon=1.0, trials=200, attack="lexical")
    (finding,) = result
    assert result.violated
    assert (finding.label, finding.claim, finding.attack) == ("upper", Claim(1.0, "document"), "lexical")
    assert (finding.bound.correct, finding.bound.trials, finding.bound.candidates) == (200, 200, 2)
    assert finding.alone > result.eps_emp == finding.eps_emp == finding.bound.lower > 1  # for all looks
    assert list((elsewhere / "here").iterdir()) == []


def test_a_result_can_be_asserted_in_a_test():
    result = audit(lambda text: "always the same", TEXTS, epsilon=0.5, trials=200, attack="lexical")
    assert not result.violated
    assert result.eps_emp < 0.5


def test_a_function_without_epsilon_is_audited_without_a_claim():
    (finding,) = audit(lambda text: text, TEXTS, trials=50, attack="lexical")
    assert finding.claim is None
    assert finding.verdict.name == "no claim"
    assert finding.epsilon is NO_EPSILON


def test_a_function_of_lists_gets_lists():
    sizes = []

    def rewrite(texts: list[str], epsilon: float) -> list[str]:
        sizes.append((len(texts), epsilon))
        return [text[: int(epsilon)] for text in texts]

    result = audit(rewrite, TEXTS, epsilon=[1, 30], trials=150, batch_size=100, attack="lexical")
    assert [finding.epsilon for finding in result] == [1, 30]
    assert {epsilon for _, epsilon in sizes} == {1, 30}
    assert max(size for size, _ in sizes) > 1
    short, whole = (finding.bound.correct for finding in result)
    assert short < whole == 150


def test_a_plugin_object_is_used_as_it_is():
    result = audit(WordRR(slots=2), TEXTS, epsilon=[0.5, 20], trials=300, attack="lexical")
    assert [str(finding.claim) for finding in result] == ["0.5 per word x 2 = 1", "20 per word x 2 = 40"]
    assert not result.violated
    low, high = (finding.bound.correct for finding in result)
    assert low < high


def test_a_mapping_names_a_mechanism_with_its_fields():
    by_name = audit({"name": "word-rr", "slots": 2}, TEXTS, epsilon=20, trials=60, attack="lexical")
    by_object = audit(WordRR(slots=2), TEXTS, epsilon=20, trials=60, attack="lexical")
    assert by_name.to_dict() == by_object.to_dict()


def test_several_attacks_and_epsilons_give_a_finding_each():
    result = audit("word-rr", TEXTS, epsilon=(1, 2, 3), attack=["lexical", Shrug()], trials=40)
    assert [(f.epsilon, f.attack) for f in result] == [
        (e, attack) for e in (1, 2, 3) for attack in ("lexical", "shrug")
    ]


def test_an_audit_that_names_no_attack_runs_those_of_the_default_that_fit(tmp_path):
    found = {finding.attack: finding.measures.own_rewrites for finding in audit(str.upper, TEXTS, trials=60)}
    assert (set(found), found["lexical"], found["trained"]) == ({"lexical", "resample", "trained"}, 0, 500)
    assert 30 <= found["resample"] <= 60
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["original,rewrite", *(f"{text},{text.upper()}" for text in TEXTS)]))
    recorded = {"name": "recorded", "path": str(table)}
    assert [finding.attack for finding in audit(recorded, trials=10)] == ["lexical"]


@pytest.mark.parametrize("attack", ["lexical", ["lexical"], Lexical(), [Lexical()], {"name": "lexical"}])
def test_an_attack_is_a_name_an_object_or_a_list_of_them(attack):
    assert [finding.attack for finding in audit("identity", TEXTS, attack=attack, trials=10)] == ["lexical"]


@pytest.mark.parametrize(
    ("options", "plan", "candidates"),
    [
        ({}, "k2-lambda-10000", 2),
        ({"k": 4, "lambda_": 0}, "k4-lambda0", 4),
        ({"lambda_": float("-inf")}, "k2-lambda-inf", 2),
        ({"k": "all"}, "k-all", 30),
        ({"k": 3, "strategy": "nearest", "top": 2}, "k3-nearest2", 3),
        ({"estimator": "baseline"}, "k2-lambda-10000-baseline", 2),
        ({"plans": [{"k": 5, "lambda": 1}]}, "k5-lambda1", 5),
    ],
)
def test_options_of_the_plan_can_be_given_directly(options, plan, candidates):
    (finding,) = audit("identity", TEXTS, trials=30, attack="lexical", **options)
    assert (finding.plan, finding.bound.candidates) == (plan, candidates)
    assert finding.bound.method == ("baseline" if "baseline" in plan else "reduced form")
    assert finding.bound.correct == finding.bound.guesses


def test_out_keeps_the_run_and_a_second_call_resumes_it(elsewhere):
    calls = Counter()

    def rewrite(text):
        calls[text] += 1
        return text

    first = audit(rewrite, TEXTS, trials=50, out="kept", attack="lexical")
    assert (elsewhere / "here" / "kept" / "report.md").is_file()
    assert calls.total() == 50 + 8  # eight calls are made twice, to be compared
    assert audit(rewrite, TEXTS, trials=50, out="kept", attack="lexical").to_dict() == first.to_dict()
    assert calls.total() == 50 + 8
    longer = audit(rewrite, TEXTS, trials=80, out="kept", attack="lexical")
    assert calls.total() == 80 + 8 + 8
    assert longer.findings[0].bound.trials == 80
    assert longer.folder == Path("kept")


def test_without_out_the_run_directory_lives_as_long_as_the_result(elsewhere):
    result = audit("word-rr", TEXTS, epsilon=8, attack=["lexical", Shrug()], trials=40)
    folder = result.folder
    gc.collect()
    assert folder.is_dir()
    assert folder.is_relative_to(elsewhere / "temporary")
    assert folder.stat().st_mode & 0o077 == 0  # texts are private
    assert load_run(folder).to_dict() == result.to_dict()
    assert report(result).to_dict() == result.to_dict()
    assert (folder / "report.html").is_file()
    assert [row.second.finding.attack for row in compare(result).comparisons] == ["shrug"]
    assert len(result.run.corpus().texts) == 30
    assert len(result.guesses(result.findings[0]).choices()) == 40
    copies = [replace(result), pickle.loads(pickle.dumps(result.findings))]
    del result
    gc.collect()
    assert folder.is_dir()  # a copy of the result keeps it too
    del copies
    gc.collect()
    assert left(elsewhere) == []


def test_a_result_that_is_not_kept_goes_without_a_warning(elsewhere):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert audit("identity", TEXTS, trials=10, attack="lexical").findings
        gc.collect()
    assert left(elsewhere) == []
    assert [str(one.message) for one in told] == []


def test_without_out_nothing_stays_on_disk_after_a_failure(elsewhere):
    class Short:
        card = Card("short", "Forgets one.")

        def claim(self, epsilon):
            return None

        def rewrite(self, draws):
            return [Rewrite("x")] * (len(draws) - 1)

    with pytest.raises(tedaudit.TedauditError) as caught:
        audit(Short(), TEXTS, epsilon=1, trials=10, attack="lexical")
    assert "returned" in str(caught.value)
    assert left(elsewhere) == []  # although the error is still there


# --- the other functions


def test_an_audit_is_done_by_the_engine_that_is_given():
    engine = Counting()
    result = audit("word-rr", TEXTS, epsilon=8, trials=40, engine=engine, attack="lexical")
    assert engine.results == 2  # rewrites and guesses
    assert result.to_dict() == audit("word-rr", TEXTS, epsilon=8, trials=40, attack="lexical").to_dict()


def test_run_takes_a_mapping_or_a_spec_and_writes_the_page_unless_told_not_to():
    settings = {"mechanisms": "identity", "corpus": {"name": "demo", "size": 30}, "trials": 20}
    first = run({**settings, "out": "one"})
    second = run(parse_spec({**settings, "out": "two"}), page=False)
    assert first.to_dict() == second.to_dict()
    assert (Path("one") / "report.html").is_file()
    assert not (Path("two") / "report.html").exists()
    assert (Path("two") / "summary.json").is_file()


def test_a_run_is_loaded_with_the_alpha_and_delta_asked_for():
    result = audit("word-rr", TEXTS, epsilon=20, trials=60, out="kept", attack="lexical")
    assert load_run("kept").to_dict() == load_run(Path("kept")).to_dict() == result.to_dict()
    [strict], [slack] = load_run("kept", alpha=1e-4), load_run("kept", delta=0.2)
    assert (strict.bound.error, strict.teda.error) == (2.5e-5, 5e-5)  # half is for later looks
    assert slack.bound.delta == 0.2
    assert strict.bound.lower < result.eps_emp > slack.bound.lower
    with pytest.raises(RunDirectoryError, match="'nowhere' is not a run directory"):
        load_run("nowhere")


def test_reports_are_written_again_with_figures_or_without_texts_if_asked_for(elsewhere):
    result = audit("identity", TEXTS, trials=20, out="kept", attack="lexical")
    page = Path("kept") / "report.html"
    for path in ("report.html", "report.md", "summary.json"):
        (Path("kept") / path).unlink()
    assert report("kept").to_dict() == result.to_dict()
    assert TEXTS[0].split()[0] in page.read_text()
    assert not (Path("kept") / "figures").exists()
    report(result, redact=True)
    assert not any(text in page.read_text() for text in TEXTS)
    pytest.importorskip("matplotlib")
    report("kept", figures=True)
    assert list((Path("kept") / "figures").glob("k2-lambda-10000*"))


def test_runs_and_results_are_compared_with_each_other():
    audit("identity", TEXTS, trials=60, name="first", out="first", attack="lexical")
    second = audit("constant", TEXTS, trials=60, name="second", attack="lexical")
    [row] = compare("first", second, by="mechanism").comparisons
    assert (row.first.finding.label, row.second.finding.label) == ("identity", "constant")
    assert row.epsilon_span.value < 0
    attacks = compare(audit("identity", TEXTS, attack=["lexical", Shrug()], trials=60, out="both"))
    assert attacks.by == "attack"
    turned = compare("both", against="shrug", alpha=0.2)
    assert [row.second.finding.attack for row in turned.comparisons] == ["lexical"]
    assert turned.alpha == 0.2


def test_texts_are_rewritten_for_release_with_fresh_noise_unless_there_is_a_seed():
    done = rewrite("word-rr", TEXTS[:3], 4.0, draws=2)
    assert len(done) == 6
    assert all(isinstance(one, Rewrite) for one in done)
    assert rewrite("word-rr", TEXTS, 1.0) != rewrite("word-rr", TEXTS, 1.0)
    assert rewrite("word-rr", TEXTS, 1.0, seed=3) == rewrite("word-rr", TEXTS, 1.0, seed=3)
    assert [one.text for one in rewrite(str.upper, ["a b", "c"], 1.0)] == ["A B", "C"]
    object_, mapping = WordRR(slots=2), {"name": "word-rr", "slots": 2}
    assert rewrite(object_, TEXTS, 1.0, seed=3) == rewrite(mapping, TEXTS, 1.0, seed=3)


def test_counts_alone_give_a_bound():
    assert estimate(90, 100) == reduced_form(90, 100)
    assert estimate(90, 100, 4, alpha=0.1, delta=0.01) == reduced_form(90, 100, 4, 0.1, 0.01)
    with pytest.raises(SpecError, match="correct is 11"):
        estimate(11, 10)
