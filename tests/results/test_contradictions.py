"""Successes that likelihoods cannot explain are said aloud in every report."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from helpers import SharedWords, make_spec, sentences, stopped
from tedaudit.api import load_run, run
from tedaudit.corpora.files import Given
from tedaudit.estimators.likelihood_check import success_tails
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Guess, Rewrite
from tedaudit.results.run_notes import ERROR, note_contradictions
from tedaudit.runs.directory import RunDirectory
from tedaudit.seeding import uniforms

WORDS = tuple(sorted({word for text in sentences(40) for word in text.split()}))[:12]
TRIALS = 3000
SETTINGS = {"trials": TRIALS, "block": 0, "attacks": ["likelihood", SharedWords()], "epsilons": [2]}


class Right(WordRR):
    pass


class TwiceEpsilon(WordRR):
    def log_likelihood(self, tokens, candidates, epsilon):
        return super().log_likelihood(tokens, candidates, 2 * epsilon)


class Scaled(WordRR):
    """Losses 1.3 times as large as they are: too little for the number of right guesses alone to tell."""

    def log_likelihood(self, tokens, candidates, epsilon):
        return 1.3 * super().log_likelihood(tokens, candidates, epsilon)


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


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """A run with right likelihoods, which nobody changes."""
    return _made(tmp_path_factory.mktemp("right"), Right)


@pytest.fixture(scope="module")
def scaled_once(tmp_path_factory):
    """A run with losses that are too large."""
    return _made(tmp_path_factory.mktemp("scaled") / "run", Scaled, trials=1000)


@pytest.fixture
def scaled(scaled_once, tmp_path):
    """The folder of a copy of it."""
    return shutil.copytree(scaled_once.folder, tmp_path / "run")


def _find(notes):
    return [note for note in notes if "not those of what it releases" in note]


def _notes(result):
    assert load_run(result.folder).notes == result.notes
    found = _find(result.notes)
    report = (result.folder / "report.md").read_text(encoding="utf-8")
    page = (result.folder / "report.html").read_text(encoding="utf-8")
    assert all("not those of what it releases" in text for text in (report, page)) == bool(found)
    return found


def test_right_likelihoods_are_not_spoken_of(right):
    assert [finding.measures.attainable is not None for finding in right] == [True, True]
    assert [finding.refuted for finding in right] == ["", ""]
    assert "likelihoods" not in right.run.manifest()  # there was nothing to repeat
    assert _notes(right) == []


@pytest.mark.parametrize(
    ("kind", "trials", "direction"),
    [
        (TwiceEpsilon, 3000, "overstated"),
        (Flipped, 3000, "overstated"),
        (Scaled, 1000, "overstated"),
        (HalfEpsilon, 3000, "understated: it leaks more"),
    ],
)
def test_wrong_likelihoods_are_refuted_and_nothing_that_follows_from_them_is_told(
    kind, trials, direction, tmp_path
):
    result = _made(tmp_path, kind, trials=trials)
    [note] = _notes(result)
    assert note.startswith(
        "the likelihoods of word-rr at epsilon 2 are not those of what it releases: refuted"
    )
    likelihood, other = sorted(result, key=lambda finding: finding.attack != "likelihood")
    first, again = likelihood.likelihood.first, likelihood.likelihood.again
    assert first.p <= ERROR >= again.p
    told = (
        f"p = {first.p:.2g}, again {again.p:.2g}; promised {first.promised:,.0f} of {first.guesses:,}, were "
    )
    assert likelihood.refuted == f"refuted (calibration, {told}{first.right:,}): {direction}"
    assert likelihood.refuted in note
    assert [finding.measures.attainable for finding in result] == [None, None]
    assert other.bound.lower > 0  # what attacks found stands
    report = (result.folder / "report.md").read_text(encoding="utf-8")
    cells = [line for line in report.splitlines() if line.startswith("| word-rr |")]
    assert len([line for line in cells if likelihood.refuted in line]) == 2  # of attacks, and of losses
    assert len([line for line in cells if "| refuted |" in line]) == 2  # of the other attack, and of losses
    assert other.refuted == likelihood.refuted


def test_the_old_test_by_the_number_of_right_guesses_does_not_see_a_factor(scaled_once):
    """Which is why guesses are weighed by the loss that they are believed to have."""
    finding = next(f for f in scaled_once if f.attack == "likelihood")
    found = finding.likelihood.first
    ties = finding.counts.guesses - found.guesses
    promised = (found.promised + ties / 2) / finding.counts.guesses
    assert min(success_tails(promised, finding.counts.guesses, finding.bound.correct)) > ERROR
    assert found.p == pytest.approx(0.0002)


def test_more_right_guesses_than_are_attainable_are_told(tmp_path):
    [note] = _notes(_made(tmp_path / "rest", KeepsTheRest))
    assert "shared-words was right in 2,987 of 3,000 trials (0.996)" in note
    assert "allow no more than 0." in note
    assert note.endswith("at most. Do not believe `attainable` there")


class Denies(Right):
    """Says of one output in fifty that its source cannot have had it."""

    def log_likelihood(self, tokens, candidates, epsilon):
        scores = np.asarray(super().log_likelihood(tokens, candidates, epsilon))
        if tokens[0] % 12 == 3 and not np.ptp(scores):
            return scores
        return np.where(scores == scores.max(), -np.inf, scores) if tokens[0] % 12 == 3 else scores


def test_an_output_that_its_own_source_cannot_have_had_needs_no_repeat(tmp_path):
    result = _made(tmp_path, Denies, trials=300)
    finding = next(finding for finding in result if finding.attack == "likelihood")
    assert finding.likelihood.first.impossible > 0
    assert finding.likelihood.again is None
    assert "outputs impossible for their own source, p = 0" in finding.refuted
    assert _notes(result)


def test_a_run_whose_check_was_never_repeated_says_so_and_keeps_its_figures(scaled):
    """The same run again repeats it."""
    store = RunDirectory(scaled)
    manifest = store.manifest()
    told = manifest.pop("likelihoods")
    assert [row["attack"] for row in told] == ["likelihood"]
    store.write_manifest(manifest)
    result = load_run(scaled)
    finding = next(finding for finding in result if finding.attack == "likelihood")
    assert finding.refuted == ""
    assert finding.measures.attainable is not None
    assert str(finding.likelihood).startswith("failed once, not repeated (calibration, p = 0.0002; promised ")
    assert any("do not fit the trials of k2-lambda0: failed once, not repeated" in n for n in result.notes)
    again = _made(scaled, Scaled, trials=1000)
    assert RunDirectory(scaled).manifest()["likelihoods"] == told
    assert all(finding.refuted for finding in again)


def test_a_check_that_passes_on_fresh_trials_is_believed(scaled):
    store = RunDirectory(scaled)
    manifest = store.manifest()
    manifest["likelihoods"][0]["calibration"]["p"] = 0.5
    store.write_manifest(manifest)
    result = load_run(scaled)
    assert all(str(finding.likelihood) == "" for finding in result)
    assert _find(result.notes) == []


@pytest.mark.parametrize("k", [3, "all"])
def test_likelihoods_of_more_candidates_are_checked_too(k, tmp_path):
    plans = [{"k": k, "lambda": 0} if k != "all" else {"k": "all"}]
    texts = {"name": "given", "live": Given(sentences(12))}
    assert _notes(_made(tmp_path / "right", Right, plans=plans, corpus=texts)) == []
    result = _made(tmp_path / "wrong", Flipped, plans=plans, corpus=texts)
    assert all(finding.refuted for finding in result)


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

    [note] = _notes(_made(tmp_path, WrongAndSilent))
    assert ": refuted (calibration, p = " in note


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


def _right_and_off(right):
    """Return the finding of a right likelihood, and one of an attack that is right more often than can be."""
    findings = right.findings
    likelihood, other = sorted(findings, key=lambda finding: finding.attack != "likelihood")
    return likelihood, replace(other, bound=replace(other.bound, correct=TRIALS))


def test_only_findings_with_all_their_trials_are_compared(right):
    likelihood, other = _right_and_off(right)
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


def test_nothing_is_said_if_two_likelihoods_may_have_seen_different_things(right):
    likelihood, other = _right_and_off(right)
    assert not list(note_contradictions([likelihood, replace(likelihood, attack="second"), other]))


def test_the_error_is_shared_by_all_that_is_looked_at(right):
    findings = right.findings
    likelihood, other = sorted(findings, key=lambda finding: finding.attack != "likelihood")
    attainable = likelihood.measures.attainable

    def off(sigmas):
        shift = sigmas * (TRIALS * attainable * (1 - attainable)) ** 0.5
        return replace(other, bound=replace(other.bound, correct=round(TRIALS * attainable + shift)))

    assert ERROR == 0.001
    assert list(note_contradictions([likelihood, off(3.6)]))
    assert not list(note_contradictions([likelihood, off(2.6)]))
    many = [replace(f, plan=f"plan {number}") for number in range(200) for f in (likelihood, other)]
    assert not list(note_contradictions([likelihood, off(3.6), *many]))
    assert list(note_contradictions([likelihood, off(6), *many]))
