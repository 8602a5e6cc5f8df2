"""What experiments cost: rows, counted as they are made."""

from tedaudit.paper.cost import AUDITS, count_guesses, count_rewrites
from tedaudit.paper.definition import Experiment, load, names

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
