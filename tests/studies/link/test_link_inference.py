"""Inference of a private column: known answers, who is held out, and what is refused."""

import random
from dataclasses import replace

import pytest

from judging_server import running
from tedaudit import link
from tedaudit.errors import CorpusError, SpecError
from tedaudit.studies.link.inference import BROUGHT, LLM, _hold_out, infer_column
from tedaudit.studies.link.table import ColumnNames, read_release
from tedaudit.studies.link.telling import (
    NO_BOUND,
    redact_names,
    tell_committee,
    tell_findings,
    tell_inference,
)

SIZE = 600


def make_release(rewrite, originals=None, labels=None):
    labels = labels or ["f" if number % 2 else "m" for number in range(SIZE)]
    originals = originals or [
        f"note {number} by {'her' if label == 'f' else 'him'}" for number, label in enumerate(labels)
    ]
    rewrites = [rewrite(text, label) for text, label in zip(originals, labels, strict=True)]
    return read_release(
        {"original": originals, "rewrite": rewrites, "gender": labels}, ColumnNames(private=("gender",))
    )


def infer(release):
    return infer_column(release, "gender", "tfidf", 0, (0.01, 0.01))


def test_a_column_that_the_rewrites_tell_is_inferred():
    found = infer(make_release(lambda text, label: text.split()[-1]))
    assert found.rewrites.rate == found.originals.rate == 1
    assert found.is_shown
    assert found.gain[0] > 0.3
    assert found.epsilon > 2.5
    assert found.trained + found.rewrites.asked == SIZE


def test_a_column_that_only_the_originals_tell_is_not():
    found = infer(make_release(lambda text, label: "nothing at all"))
    assert found.originals.rate == 1
    assert found.rewrites.right == found.frequent.right
    assert not found.is_shown
    assert found.gain[0] <= 0 <= found.gain[1]
    assert found.epsilon == 0


def test_records_with_the_same_original_are_held_out_together():
    originals = [f"note {number // 3} by nobody" for number in range(SIZE)]
    release = make_release(lambda text, label: text, originals)
    held_out = _hold_out(release, "gender", 0)
    assert 0.2 < held_out.mean() < 0.45
    for position in range(len(release.pool)):
        assert len(set(held_out[release.position == position].tolist())) == 1


def test_records_without_a_value_are_left_out():
    labels = ["f", "m", ""] * (SIZE // 3)
    found = infer(make_release(lambda text, label: text, labels=labels))
    assert found.trained + found.rewrites.asked == 2 * SIZE // 3


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["f"] * SIZE, "only one value"),
        ([f"name {number}" for number in range(SIZE)], "does not look like a class"),
        (["f", "m"] * 10 + [""] * (SIZE - 20), "has a value in 20 records"),
    ],
)
def test_a_column_that_cannot_be_inferred_is_refused(labels, told):
    with pytest.raises(CorpusError, match=told):
        infer(make_release(lambda text, label: text, labels=labels))


# --- A column that nobody can guess: it is told, and the rest of the study is done.

FEW = 160


def make_columns():
    """Two columns that can be guessed, and all kinds that cannot, with what is told of each."""
    sizes = range(FEW)
    good = {"gender": ["fm"[n % 2] for n in sizes], "region": [f"r{n % 3}" for n in sizes]}
    impossible = {
        "one": (["a"] * FEW, "only one value"),
        "distinct": ([f"v{n}" for n in sizes], "does not look like a class"),
        "empty": ([""] * FEW, "has a value in 0 records"),
        "few": (["ab"[n % 2] if n < 20 else None for n in sizes], "has a value in 20 records"),
    }
    return good, impossible


def link_columns(columns, private, **settings):
    texts = [f"note {n} by {columns['gender'][n]}" for n in range(FEW)]
    table = {"original": texts, "rewrite": texts, **columns}
    return link(table, private=private, attacks="lexical", **settings)


@pytest.mark.parametrize("kind", make_columns()[1])
def test_a_column_that_cannot_be_guessed_loses_nothing_of_the_others(kind):
    good, impossible = make_columns()
    values, told = impossible[kind]
    result = link_columns({**good, kind: values}, [kind, *good])
    alone = link_columns(good, list(good))
    assert result.inferences == alone.inferences
    assert (result.eps_emp, result.rows) == (alone.eps_emp, alone.rows)
    assert any(f"'{kind}'" in sentence and told in sentence for sentence in tell_findings(result))
    assert [one["column"] for one in result.to_dict()["not_inferred"]] == [kind]
    assert not any(kind in sentence for sentence in tell_findings(alone))


def test_a_study_whose_columns_cannot_be_guessed_at_all_links_and_says_so_on_every_page():
    good, impossible = make_columns()
    result = link_columns({**good, "one": impossible["one"][0]}, "one")
    assert result.inferences == ()
    assert result.strongest.linkability.rate == 1
    told = [sentence for page in tell_committee(result) for part in page[1] for sentence in part.sentences]
    assert any("'one'" in sentence and "only one value" in sentence for sentence in told)
    assert not any("no private column was named" in sentence for sentence in told)


def test_a_value_that_nobody_could_learn_is_named_with_its_number_wherever_it_was_held_out():
    """Of two values, nothing can be learnt then; of three, the two others are."""
    good, _ = make_columns()
    outcomes = set()
    for seed in range(12):
        rare = ["rare" if n == 7 else "usual" for n in range(FEW)]
        three = ["rare" if n == 7 else "ab"[n % 2] for n in range(FEW)]
        result = link_columns({**good, "two": rare, "three": three}, ["two", "gender", "three"], seed=seed)
        columns = {found.column for found in result.inferences}
        assert columns >= {"gender", "three"}
        told = {name: next(s for s in tell_findings(result) if f"'{name}'" in s) for name in ("two", "three")}
        assert ("'rare' (1)" in told["two"]) == ("two" not in columns)
        outcomes |= {("two", "two" in columns), ("three", "'rare' (1)" in told["three"])}
        pages = [
            s for page in tell_committee(redact_names(result)) for part in page[1] for s in part.sentences
        ]
        assert not any("'rare'" in sentence for sentence in pages)  # no value stands on them
    assert len(outcomes) == 4  # each happens


def test_a_limit_is_not_passed_in_silence_by_a_column_that_was_not_guessed():
    good, impossible = make_columns()
    result = link_columns({**good, "one": impossible["one"][0]}, ["one", "gender"])
    verdict = result.judge_limit(50)["'one' guessed"]
    assert (verdict.name, "only one value" in verdict.reason) == ("not tested", True)


def test_guesses_of_a_column_that_cannot_be_guessed_lose_nothing_either():
    good, impossible = make_columns()
    columns = {**good, "one": impossible["one"][0], "guess": good["gender"], "more": impossible["one"][0]}
    result = link_columns(columns, ["one", "gender"], guesses=["more", "guess"], guesses_fixed=True)
    alone = link_columns(columns, "gender", guesses="guess", guesses_fixed=True)
    assert result.inferences == alone.inferences
    assert [one.column for one in result.not_inferred] == ["one"]


# --- Guesses that somebody brings, and those of a language model.

COLUMNS = {
    "original": [f"note {number} by nobody" for number in range(SIZE)],
    "rewrite": ["nothing"] * SIZE,
    "gender": ["m", "f", "f"] * (SIZE // 3),
}


def bring(named, **settings):
    table = {**COLUMNS, "guess": named}
    brought = {"private": "gender", "guesses": "guess", "attacks": "lexical", **settings}
    return link(table, **brought)


def test_guesses_that_are_brought_bound_epsilon_only_if_it_is_declared_how_they_were_made():
    guesses = COLUMNS["gender"]
    [counted], [bounded] = bring(guesses).inferences, bring(guesses, guesses_fixed=True).inferences
    assert (counted.guesser, counted.epsilon, counted.originals) == (BROUGHT, None, None)
    assert NO_BOUND in tell_inference(counted)
    assert counted.rewrites.asked == SIZE
    assert bounded.epsilon == bounded.ceiling > 3
    assert NO_BOUND not in tell_inference(bounded)
    assert replace(bounded, epsilon=None, ceiling=0, bound_error=0) == replace(
        counted, ceiling=0, bound_error=0
    )


def test_side_information_shows_a_gain_and_no_bound():
    result = bring(COLUMNS["gender"])  # the rewrites say nothing: the guesses come from elsewhere
    assert result.inferences[0].gain[0] > 0.2
    assert result.eps_emp == 0
    assert not any(verdict.is_violation for verdict in result.judge_limit(0.5).values())


def test_bounds_of_columns_share_the_error_with_those_of_attacks_and_are_judged_with_them():
    result = bring(COLUMNS["gender"], guesses_fixed=True)
    assert result.number_of_bounds == 3
    errors = [bound.error for bound, _ in result.bounds.values()]
    assert [*errors, result.inferences[0].bound_error] == pytest.approx([0.005 / 3] * 3)
    assert result.eps_emp == result.inferences[0].epsilon
    assert result.judge_limit(1)["'gender' guessed"].is_violation
    assert bring(COLUMNS["gender"]).number_of_bounds == 2


def test_an_empty_guess_and_one_that_is_no_value_are_wrong():
    [found] = bring(["", "f", "other"] * (SIZE // 3)).inferences
    assert found.rewrites.right == SIZE // 3
    assert found.unanswered == 2 * SIZE // 3
    assert "400 records, which count as wrong" in tell_inference(found)


def test_declared_guesses_that_keep_an_epsilon_raise_no_more_alarms_than_stated():
    coins, alarms = random.Random(3), 0
    keep = 2.718281828 / 3.718281828  # randomised response of epsilon 1
    for _ in range(200):
        truth = COLUMNS["gender"][:120]
        said = [one if coins.random() < keep else "fm"[one == "f"] for one in truth]
        table = {name: values[:120] for name, values in COLUMNS.items()} | {"guess": said}
        found = link(
            table, private="gender", guesses="guess", guesses_fixed=True, attacks="lexical", alpha=0.4
        )
        alarms += found.inferences[0].epsilon > 1
    assert alarms <= 200 * 0.2 / 3


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"guesses": ["guess", "guess"]}, "There are 2 columns of guesses"),
        ({"guesses": "gender"}, "'gender' is the private column itself"),
        ({"guesses": (), "guesses_fixed": True}, "name their column with --guesses"),
    ],
)
def test_guesses_that_belong_to_nothing_are_refused(settings, told):
    with pytest.raises(SpecError, match=told):
        bring(COLUMNS["gender"], **settings)


def test_guesses_that_are_no_value_at_all_are_refused():
    with pytest.raises(CorpusError, match="no guess could be right"):
        bring(["female", "male", "male"] * (SIZE // 3))
    with pytest.raises(CorpusError, match=r"no column 'gess'.*Did you mean 'guess'.*--guesses"):
        bring(COLUMNS["gender"], guesses="gess")


def test_a_language_model_on_this_machine_guesses_and_unusable_answers_are_wrong():
    release = make_release(lambda text, label: text)
    with running(answer="answer: [[1]]", poison=("note 7 ", "400")) as judging:
        asked = {"name": LLM, "judge": judging.backend, "reading": "generate", "attempts": 1}
        found = infer_column(release, "gender", asked, 0, (0.01, 0.01))
        prompts = [body["messages"][0]["content"] for body in judging.bodies]
    assert (found.guesser, found.trained) == (LLM, 0)
    assert found.unanswered <= 1
    assert found.epsilon < 0.5  # it names the first value that it is shown, and the order is a coin
    assert 0.3 < found.rewrites.rate < 0.7
    assert all("Values of the attribute <<gender>>:" in prompt for prompt in prompts if "note" in prompt)
    assert not any("Candidate original" in prompt for prompt in prompts)


def test_a_language_model_elsewhere_is_asked_only_if_that_is_allowed():
    release = make_release(lambda text, label: text)
    with pytest.raises(SpecError, match="allow_remote"):
        infer_column(
            release, "gender", {"name": LLM, "judge": "openai:m@http://example.org/v1"}, 0, (0.01, 0.01)
        )
