"""The short ways in from Python: one call, any rewriter, any texts, and nothing left behind unasked."""

import doctest
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tedaudit
import tedaudit.api
from tedaudit import Card, Claim, Corpus, Guess, Rewrite, audit, load_corpus
from tedaudit.attacks.lexical import Lexical
from tedaudit.errors import CorpusError, SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.types import Split

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip


class Shrug:
    """An attack that prefers the first candidate, whatever it sees."""

    card = Card("shrug", "Names the first.")

    def guess(self, seen):
        return [Guess(-np.arange(len(one.candidates), dtype=float)) for one in seen]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A current folder and a folder for temporary files, both empty."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def left(folder):
    return [path for part in ("here", "temporary") for path in (folder / part).iterdir()]


def test_a_plain_function_and_a_list_of_strings_are_enough(elsewhere):
    result = audit(str.upper, TEXTS, epsilon=1.0, trials=200)
    (finding,) = result
    assert result.violated
    assert (finding.label, finding.claim, finding.attack) == ("upper", Claim(1.0, "document"), "lexical")
    assert (finding.bound.correct, finding.bound.trials, finding.bound.candidates) == (200, 200, 2)
    assert result.epsilon == finding.bound.lower > 1
    assert left(elsewhere) == []


def test_a_result_can_be_asserted_in_a_test():
    result = audit(lambda text: "always the same", TEXTS, epsilon=0.5, trials=200)
    assert not result.violated
    assert result.epsilon < 0.5


def test_a_function_without_epsilon_is_audited_without_a_claim():
    (finding,) = audit(lambda text: text, TEXTS, trials=50)
    assert finding.claim is None
    assert finding.verdict == "no claim"


def test_a_function_of_lists_gets_lists():
    sizes = []

    def rewrite(texts: list[str], epsilon: float) -> list[str]:
        sizes.append((len(texts), epsilon))
        return [text[: int(epsilon)] for text in texts]

    result = audit(rewrite, TEXTS, epsilon=[1, 30], trials=150, batch_size=100)
    assert [finding.epsilon for finding in result] == [1, 30]
    assert {epsilon for _, epsilon in sizes} == {1, 30}
    assert max(size for size, _ in sizes) > 1
    short, whole = (finding.bound.correct for finding in result)
    assert short < whole == 150


def test_a_plugin_object_is_used_as_it_is():
    result = audit(WordRR(slots=2), TEXTS, epsilon=[0.5, 20], trials=300)
    assert [str(finding.claim) for finding in result] == ["0.5 per word x 2 = 1", "20 per word x 2 = 40"]
    assert not result.violated
    low, high = (finding.bound.correct for finding in result)
    assert low < high


def test_a_mapping_names_a_mechanism_with_its_fields():
    by_name = audit({"name": "word-rr", "slots": 2}, TEXTS, epsilon=20, trials=60)
    by_object = audit(WordRR(slots=2), TEXTS, epsilon=20, trials=60)
    assert by_name.to_dict() == by_object.to_dict()


def test_several_attacks_and_epsilons_give_a_finding_each():
    result = audit("word-rr", TEXTS, epsilon=(1, 2, 3), attack=["lexical", Shrug()], trials=40)
    assert [(f.epsilon, f.attack) for f in result] == [
        (e, attack) for e in (1, 2, 3) for attack in ("lexical", "shrug")
    ]


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
    (finding,) = audit("identity", TEXTS, trials=30, **options)
    assert (finding.plan, finding.bound.candidates) == (plan, candidates)
    assert finding.bound.method == ("baseline" if "baseline" in plan else "reduced form")
    assert finding.bound.correct == finding.bound.guesses


def test_out_keeps_the_run_and_a_second_call_resumes_it(elsewhere):
    calls = Counter()

    def rewrite(text):
        calls[text] += 1
        return text

    first = audit(rewrite, TEXTS, trials=50, out="kept")
    assert (elsewhere / "here" / "kept" / "report.md").is_file()
    assert calls.total() == 50
    assert audit(rewrite, TEXTS, trials=50, out="kept").to_dict() == first.to_dict()
    assert calls.total() == 50
    longer = audit(rewrite, TEXTS, trials=80, out="kept")
    assert calls.total() == 80
    assert longer.findings[0].bound.trials == 80
    assert longer.folder == Path("kept")


def test_without_out_nothing_stays_on_disk_even_after_a_failure(elsewhere):
    audit("identity", TEXTS, trials=10)
    assert left(elsewhere) == []

    class Short:
        card = Card("short", "Forgets one.")

        def claim(self, epsilon):
            return None

        def rewrite(self, draws):
            return [Rewrite("x")] * (len(draws) - 1)

    with pytest.raises(tedaudit.TedauditError):
        audit(Short(), TEXTS, epsilon=1, trials=10)
    assert left(elsewhere) == []


def test_other_settings_of_a_spec_can_be_given():
    result = audit("identity", TEXTS, trials=40, alpha=0.2, delta=0.1, name="mine")
    assert (result.name, result.alpha) == ("mine", 0.2)
    assert (result.findings[0].bound.error, result.findings[0].bound.delta) == (0.1, 0.1)


def test_the_seed_decides_the_result():
    def counts(seed):
        return [f.bound.correct for f in audit("word-rr", TEXTS, epsilon=[1, 6, 8], trials=90, seed=seed)]

    assert counts(3) == counts(3) != counts(4)


def test_progress_is_reported_to_a_function():
    seen = []
    audit("identity", TEXTS, trials=40, progress=lambda *what: seen.append(what))
    assert seen[-1][1:] == (80, 80)
    assert {what for what, _, _ in seen} >= {"identity: rewriting", "identity: lexical"}


@pytest.mark.parametrize(
    ("corpus", "size"),
    [
        (TEXTS, 30),
        (tuple(TEXTS), 30),
        ((text for text in TEXTS), 30),
        ([*TEXTS, *TEXTS, " "], 30),
        (Corpus("mine", {"train": Split(tuple(TEXTS[:9]))}), 9),
        ({"name": "demo", "size": 12}, 12),
    ],
)
def test_a_corpus_is_a_name_a_corpus_or_any_texts(corpus, size):
    (finding,) = audit("identity", corpus, trials=20, k="all")
    assert finding.bound.candidates == size


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        (
            Path("texts.csv"),
            f"not a {type(Path()).__name__}. For a file use {{'name': 'files', 'path': '...'}}",
        ),
        (3, "not a int"),
        (b"texts", "not a bytes"),
        ([3, 4], "it contains a int"),
        (["only one"], "has 1 distinct text to draw"),
        ([], "has 0 distinct texts to draw"),
    ],
)
def test_what_is_no_corpus_is_refused_with_what_is_one(corpus, said):
    with pytest.raises(CorpusError) as caught:
        audit("identity", corpus)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilons": [1]}, "no setting 'epsilons': give one or several as `epsilon`"),
        ({"attacks": ["lexical"]}, "no setting 'attacks': give one or several as `attack`"),
        ({"mechanisms": ["identity"]}, "no setting 'mechanisms': give one or several as `mechanism`"),
        ({"plans": [{"k": 2}], "k": 3}, "Both `plans` and k were given"),
        ({"trails": 3}, "no setting 'trails'. Did you mean 'trials'?"),
        ({"lambda": 3}, "no setting 'lambda'"),
        ({"epsilon": float("nan")}, "epsilon is nan; it should be a finite number above 0"),
        ({"trials": 0}, "'trials' is 0"),
    ],
)
def test_a_setting_that_is_wrong_or_said_twice_is_refused(settings, said, elsewhere):
    with pytest.raises(SpecError) as caught:
        audit("word-rr", TEXTS, **settings)
    assert said in str(caught.value)
    assert left(elsewhere) == []


def test_numbers_may_come_from_numpy():
    result = audit("word-rr", TEXTS, epsilon=np.array([1.0, 2.0]), trials=np.int64(20))
    assert [finding.epsilon for finding in result] == [1, 2]


def test_a_corpus_is_loaded_by_name_and_options():
    corpus = load_corpus("demo", size=15)
    assert len(corpus.texts) == 15
    with pytest.raises(SpecError, match=r"'demo' has no parameter 'sice'\. Did you mean 'size'"):
        load_corpus("demo", sice=15)
    with pytest.raises(tedaudit.TedauditError, match="no corpus named 'demoo'"):
        load_corpus("demoo")


def test_what_the_docstrings_show_is_true():
    tried = doctest.testmod(tedaudit.api)
    assert tried.attempted > 0
    assert tried.failed == 0
