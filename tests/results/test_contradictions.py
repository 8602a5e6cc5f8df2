"""Successes that likelihoods cannot explain are said aloud in every report."""

import math
from dataclasses import replace

import numpy as np
import pytest

from helpers import SharedWords, make_spec, sentences, stopped
from tedaudit.api import load_run, run
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.results.contradictions import ERROR, note_contradictions
from tedaudit.seeding import uniforms
from tedaudit.types import Card, Guess, Rewrite

WORDS = tuple(sorted({word for text in sentences(40) for word in text.split()}))[:12]
TRIALS = 3000
SETTINGS = {"trials": TRIALS, "block": 0, "attacks": ["likelihood", SharedWords()], "epsilons": [2]}


class Right(WordRR):
    pass


class TwiceEpsilon(WordRR):
    def log_likelihood(self, tokens, candidates, epsilon):
        return super().log_likelihood(tokens, candidates, 2 * epsilon)


class Flipped(WordRR):
    def log_likelihood(self, tokens, candidates, epsilon):
        return -super().log_likelihood(tokens, candidates, epsilon)


class HalfEpsilon(WordRR):
    def log_likelihood(self, tokens, candidates, epsilon):
        return super().log_likelihood(tokens, candidates, epsilon / 2)


class KeepsTheRest(WordRR):
    """Releases the whole text beside what it draws, and its likelihood knows nothing of that."""

    def rewrite(self, draws):
        rewrites = super().rewrite(draws)
        pairs = zip(draws, rewrites, strict=True)
        return [replace(rewrite, text=f"{rewrite.text} {draw.text}") for draw, rewrite in pairs]


def _made(folder, kind, **changes):
    mechanism = kind(slots=4, vocabulary=WORDS)
    return run(make_spec(folder, **SETTINGS | {"mechanisms": [mechanism]} | changes))


def _notes(result):
    assert load_run(result.folder).notes == result.notes
    found = [note for note in result.notes if "not those of what it releases" in note]
    report = (result.folder / "report.md").read_text(encoding="utf-8")
    page = (result.folder / "report.html").read_text(encoding="utf-8")
    assert all("not those of what it releases" in text for text in (report, page)) == bool(found)
    return found


def test_right_likelihoods_are_not_spoken_of(tmp_path):
    result = _made(tmp_path, Right)
    assert [finding.measures.attainable is not None for finding in result] == [True, True]
    assert _notes(result) == []


@pytest.mark.parametrize("kind", [TwiceEpsilon, Flipped])
def test_a_likelihood_attack_that_falls_below_what_it_promises_is_told(kind, tmp_path):
    result = _made(tmp_path, kind)
    note = next(note for note in _notes(result) if "likelihood was right" in note)
    likelihood = next(finding for finding in result if finding.attack == "likelihood")
    right = likelihood.bound.correct
    assert note.startswith("the likelihoods of word-rr at epsilon 2 are not those of what it releases: ")
    rate = f"{right:,} of 3,000 trials ({right / TRIALS:.3f})"
    assert f"was right in {rate} of k2-lambda0, and they promise 0." in note
    assert note.endswith("at most. Do not believe `attainable` there")


def test_more_right_guesses_than_are_attainable_are_told_too(tmp_path):
    result = _made(tmp_path / "half", HalfEpsilon)
    assert any("likelihood was right" in note and "allow no more than" in note for note in _notes(result))
    [note] = _notes(_made(tmp_path / "rest", KeepsTheRest))
    assert "shared-words was right in 2,987 of 3,000 trials (0.996)" in note
    assert "allow no more than 0." in note


class Silent(Right):
    """Fails on half of the draws, and releases no tokens on a quarter."""

    def rewrite(self, draws):
        coins = uniforms([draw.key for draw in draws], 1, start=900)[:, 0]
        pairs = zip(coins, super().rewrite(draws), strict=True)
        return [
            Rewrite("", error="unlucky") if coin < 0.5 else replace(r, tokens=None) if coin < 0.75 else r
            for coin, r in pairs
        ]


def test_trials_without_an_answer_are_no_contradiction(tmp_path):
    result = _made(tmp_path, Silent)
    likelihood = next(finding for finding in result if finding.attack == "likelihood")
    assert likelihood.counts.failed > 1000
    assert likelihood.counts.unusable > 500
    assert _notes(result) == []


def test_trials_without_an_answer_hide_no_contradiction(tmp_path):
    class WrongAndSilent(Silent, Flipped):
        pass

    assert any("likelihood was right" in note for note in _notes(_made(tmp_path, WrongAndSilent)))


def test_a_run_that_is_not_finished_is_not_judged(tmp_path):
    spec = make_spec(
        tmp_path, **SETTINGS | {"mechanisms": [Flipped(slots=4, vocabulary=WORDS)], "block": 750}
    )
    store = stopped(spec, parts=6)
    assert not any("not those of what it releases" in note for note in load_run(store.root).notes)
    assert _notes(run(spec))


class Follower:
    """Answers as the likelihood does, by a score that promises nothing."""

    card = Card(name="follower", summary="Longest.", sees=("text",))

    def guess(self, seen):
        return [Guess(np.array([float(len(text)) for text in o.candidates])) for o in seen]


def test_an_attack_that_is_just_weak_is_no_contradiction(tmp_path):
    assert _notes(_made(tmp_path, Right, attacks=["likelihood", Follower()], epsilons=[6])) == []


def test_a_baseline_is_not_judged_since_its_guesses_depend_on_each_other(tmp_path):
    plans = [{"k": 2, "lambda": 0, "estimator": "baseline"}]
    assert _notes(_made(tmp_path, Flipped, plans=plans)) == []


def _right_and_off(folder):
    """Return the finding of a right likelihood, and one of an attack that is right more often than can be."""
    findings = _made(folder, Right).findings
    likelihood, other = sorted(findings, key=lambda finding: finding.attack != "likelihood")
    return likelihood, replace(other, bound=replace(other.bound, correct=TRIALS))


def test_only_findings_with_all_their_trials_are_compared(tmp_path):
    likelihood, other = _right_and_off(tmp_path)
    assert list(note_contradictions([likelihood, other]))
    for findings in (
        [replace(likelihood, planned=TRIALS + 1), other],
        [likelihood, replace(other, planned=TRIALS + 1)],
        [likelihood, replace(other, planned=TRIALS - 1)],  # judged on fresh trials alone
        [replace(likelihood, plan="another"), other],
        [other],
        [replace(f, measures=replace(f.measures, attainable=math.nan)) for f in (likelihood, other)],
    ):
        assert not list(note_contradictions(findings))


def test_nothing_is_said_if_two_likelihoods_may_have_seen_different_things(tmp_path):
    likelihood, other = _right_and_off(tmp_path)
    assert not list(note_contradictions([likelihood, replace(likelihood, attack="second"), other]))


def test_the_error_is_shared_by_all_that_is_looked_at(tmp_path):
    findings = _made(tmp_path, Right).findings
    likelihood = next(finding for finding in findings if finding.attack == "likelihood")
    attainable = likelihood.measures.attainable

    def off(sigmas):
        shift = sigmas * (TRIALS * attainable * (1 - attainable)) ** 0.5
        bound = replace(likelihood.bound, correct=round(TRIALS * attainable - shift))
        return replace(likelihood, bound=bound)

    assert ERROR == 0.001
    assert list(note_contradictions([off(3.6)]))
    others = [replace(likelihood, plan=f"plan {number}") for number in range(200)]
    assert not list(note_contradictions([off(3.6), *others]))
    assert list(note_contradictions([off(6), *others]))
