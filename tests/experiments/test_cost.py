"""What experiments cost: rows that are counted as they are made, and minutes that were timed here."""

import pytest

from tedaudit.experiments import cost
from tedaudit.experiments.cost import AUDITS, count_guesses, count_rewrites, time_experiments
from tedaudit.experiments.definition import Experiment, load, names

SMALL = {
    "id": "small", "title": "small", "paper": "none", "kind": "ablation", "corpora": ["demo", "atis"],
    "mechanisms": ["identity", {"name": "word-rr", "epsilons": [1, 2, 3]}, "word-rr"], "epsilons": [5, 6],
    "attacks": ["lexical", "lexical"], "plans": [{"k": 2}], "trials": 10,
}  # fmt: skip


def test_rewrites_are_counted_by_the_rows_that_an_estimator_needs():
    both = [{"k": 2, "estimator": "reduced"}, {"k": 2, "estimator": "baseline"}]
    counts = [
        count_rewrites(load("abl-lambda", "zoo", {"plans": plans}))
        for plans in ([{"k": 2}], both[:1], both[1:], both)
    ]
    assert counts == [counts[0] * rows for rows in (1, 1, 2, 3)]
    assert counts[0] > 0


def test_own_epsilons_more_trials_and_further_audits_are_counted():
    plain = Experiment(**SMALL)
    assert count_rewrites(plain) == 2 * 10 * (2 + 3 + 2)
    assert count_guesses(plain) == 2 * count_rewrites(plain)
    longer = Experiment(**{**SMALL, "options": {"trials": [10, 100]}})
    assert count_rewrites(longer) == 2 * 110 * 7
    more = {"also": {"corpora": ["demo"], "mechanisms": ["identity"], "plans": [{"k": 2}, {"k": 4}]}}
    assert count_rewrites(Experiment(**{**SMALL, "options": more})) == 2 * 10 * 7 + 2 * 10 * 2


def test_what_is_no_audit_has_no_made_up_count():
    for name in names():
        experiment = load(name, "smoke")
        assert (count_rewrites(experiment) is None) == (experiment.kind not in AUDITS)
    assert count_rewrites(load("tab-examples", "full")) is None


def test_minutes_are_rows_times_what_was_timed(monkeypatch):
    seen = []
    timed = cost.plan_audit
    monkeypatch.setattr(cost, "plan_audit", lambda spec: seen.append(timed(spec)) or seen[-1])
    mechanisms = [{"name": "word-rr", "slots": 3}, {"name": "word-rr", "slots": 5, "label": "other"}]
    one = Experiment(**{**SMALL, "mechanisms": mechanisms, "attacks": ["lexical"]})
    ten = Experiment(
        **{**SMALL, "mechanisms": mechanisms, "attacks": ["lexical"], "id": "ten", "trials": 100}
    )
    found = time_experiments([one, ten, load("tab-examples", "smoke")])
    [forecast] = seen  # each mechanism once, whoever asks for it
    assert set(forecast.timing.rewriting) == {"m0", "m1"}
    assert set(found) == {"small", "ten"}
    starts = sum(pace.start for pace in forecast.timing.rewriting.values()) / 60
    assert found["ten"].value - starts == pytest.approx(10 * (found["small"].value - starts))
    rows = 2 * 10 * 2
    guesses = [pace.guesses.per_row for pace in forecast.timing.guessing.values()]
    seconds = sum(pace.per_row for pace in forecast.timing.rewriting.values()) + sum(guesses)
    assert found["small"].value - starts == pytest.approx(rows * seconds / 60)
    assert found["small"].untimed == ()
