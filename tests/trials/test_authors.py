"""Trials about persons: who takes part, and that nothing but the rewrites tells candidates apart."""

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.plugins.values import Corpus, Plan, Split
from tedaudit.trials.authors import Authors, choose_authors, make_author_plan, repeat_trials, take_trials
from tedaudit.trials.plan import number_replicates

SIZES = {"ann": 3, "bob": 40, "cy": 8, "di": 9, "ed": 1, "flo": 16, "": 5}


def make_corpus() -> tuple[Corpus, list[str]]:
    authors = [name for name, number in SIZES.items() for _ in range(number)]
    order = np.random.default_rng(3).permutation(len(authors))
    column = [authors[i] or None for i in order]
    texts = tuple(f"text number {i}" for i in range(len(column)))
    return Corpus("letters", {"train": Split(texts, {"author": tuple(column)})}), [c or "" for c in column]


def choose(knows: str = "same", numbers: tuple[int, ...] = (4,)) -> Authors:
    return choose_authors(make_corpus()[0], "author", knows, numbers, key=5)  # type: ignore[arg-type]


def owners(positions: np.ndarray) -> np.ndarray:
    return np.asarray(make_corpus()[1])[positions]


def test_authors_with_too_few_texts_leave_and_are_counted() -> None:
    chosen = choose()
    assert len(chosen) == 4
    assert chosen.notes[0].startswith("4 of 6 authors have 4 texts or more")
    assert "5 texts have no author" in chosen.notes


def test_the_largest_number_is_one_that_half_of_the_authors_have_texts_for() -> None:
    assert choose(numbers=(1, 2, 4, 8, 16)).largest == 8
    assert choose("other", (1, 2, 4, 8, 16)).largest == 4


def test_if_other_texts_are_known_they_are_none_of_those_that_are_rewritten() -> None:
    chosen = choose("other")
    assert chosen.known is not None
    for released, known in zip(chosen.released, chosen.known, strict=True):
        assert not set(released.tolist()) & set(known.tolist())
        assert abs(len(released) - len(known)) <= 1


def test_every_candidate_is_seen_in_as_many_different_texts_of_theirs() -> None:
    plan = make_author_plan(choose(), 3, range(200), key=1)
    assert plan.candidates is not None
    shown = plan.candidates.reshape(200, 4, 3)
    for trial in shown:
        for texts in trial.T:
            assert len(set(owners(texts))) == 1
            assert len(set(texts.tolist())) == 4
        assert len(set(owners(trial[0]))) == 3
    assert (plan.secret.reshape(200, 4) == plan.secret[::4, None]).all()


def test_all_texts_of_an_author_are_used_alike() -> None:
    plan = make_author_plan(choose(), 2, range(4000), key=1)
    counts = np.bincount(plan.source, minlength=sum(SIZES.values()))
    bob = counts[owners(np.arange(sum(SIZES.values()))) == "bob"]  # of one of four authors, 40 texts
    assert abs(bob.mean() - 4000 * 4 / 4 / 40) < 5 * (100 / 40) ** 0.5
    assert bob.min() > 60


def test_more_trials_extend_a_plan_and_secrets_are_fair() -> None:
    whole, some = (make_author_plan(choose(), 2, range(n), key=1) for n in (900, 300))
    later = make_author_plan(choose(), 2, range(300, 900), key=1)
    assert np.array_equal(whole.source, np.concatenate([some.source, later.source]))
    assert abs(whole.secret[::4].mean() - 0.5) < 0.06


def test_hidden_pairing_shows_all_texts_of_each_author_in_every_row() -> None:
    plan = make_author_plan(choose(), 2, range(50), key=1, hidden=True)
    assert plan.candidates is not None
    assert plan.known == 4
    assert plan.candidates.shape == (200, 8)
    assert (owners(plan.candidates[:, :4]) == owners(plan.candidates[:, :1])).all()
    own = np.where(plan.secret[:, None] == 0, plan.candidates[:, :4], plan.candidates[:, 4:])
    assert (own == plan.source[:, None]).sum(axis=1).tolist() == [1] * 200


def test_if_other_texts_are_known_the_rewritten_one_is_no_candidate() -> None:
    plan = make_author_plan(choose("other"), 2, range(50), key=1)
    assert plan.candidates is not None
    assert not (plan.candidates == plan.source[:, None]).any()
    own = np.where(plan.secret == 0, plan.candidates[:, 0], plan.candidates[:, -1])
    assert (owners(own) == owners(plan.source)).all()


def test_disjoint_trials_share_no_author_and_rewrite_every_text_once() -> None:
    plan = make_author_plan(choose(), 2, range(2), key=1, hidden=True, disjoint=True)
    assert plan.candidates is not None
    assert len(set(owners(plan.candidates[::4][:, ::4]).ravel())) == 4
    assert number_replicates(plan).replicate.max() == 0


def test_a_plan_of_trials_has_the_first_row_of_each() -> None:
    plan = make_author_plan(choose("other"), 2, range(30), key=1)
    first = take_trials(plan, 4)
    assert len(first) == 30
    assert first.candidates is not None
    assert first.candidates.shape == (30, 2)
    assert np.array_equal(first.source, plan.source[::4])


def test_releases_repeat_a_row_with_noise_of_its_own() -> None:
    once = Plan(np.array([[0, 1], [2, 0]], dtype=np.int32), np.array([0, 1]), np.zeros(2, dtype=np.int32))
    plan = number_replicates(repeat_trials(once, 3))
    assert plan.source.tolist() == [0] * 6
    assert plan.replicate.tolist() == list(range(6))


def test_an_unknown_column_is_refused_with_those_there_are() -> None:
    with pytest.raises(SpecError, match=r"no column 'autor'.*Did you mean 'author'"):
        choose_authors(make_corpus()[0], "autor", "same", (1,), key=0)
