"""Calibrations with real trials: what they find, how they go on, and what they refuse."""

import math
import re
import shutil
from itertools import combinations

import numpy as np
import pytest

import tedaudit
from engine_examples import Counting
from helpers import sentences, snapshot, within
from known_curves import load_script
from pages import embedded
from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.calibrate.result import Answer
from tedaudit.studies.calibrate.telling import tell

TEXTS = sentences(40)
SMALL = WordRR(slots=4)


def calibrate(out, **changes):
    """Calibrate a small word-rr, whose curve is known."""
    settings = {
        "target": 1.5, "attack": "likelihood", "trials": 1200, "lambda_": 0, "searched": (0.1, 100),
        "out": str(out), "page": False,
    }  # fmt: skip
    return tedaudit.calibrate({"name": "word-rr", "slots": 4}, TEXTS, **(settings | changes))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A calibration that nobody stopped: its answer, its folder and the work that it took."""
    folder, engine = tmp_path_factory.mktemp("whole") / "run", Counting()
    return calibrate(folder, engine=engine), folder, engine


def test_the_known_crossing_of_word_rr_lies_between_the_ends(whole):
    found = whole[0].of("word-rr")
    curve = load_script().ExactCurve.of(TEXTS, SMALL, 0.0, "lexical")
    assert found.answer is Answer.INTERVAL
    assert found.low < curve.find_crossing(found.target.level) < found.high
    for point in found.points:  # what the script calls exact is what the attack does
        reading = point.reading.readings["likelihood"]
        assert within(reading.correct, reading.trials, curve.at(point.epsilon))


def test_eps_emp_beside_the_ends_is_what_an_audit_of_the_same_fresh_trials_tells(whole):
    """Of all their rows and looks, by all guesses or the surest ones; the search has none."""
    found, folder, _ = whole
    answer = found.of("word-rr")
    [fresh] = (folder / "studies").iterdir()
    audited = {finding.epsilon: finding for finding in tedaudit.load_run(fresh)}
    assert len(audited) == sum(point.is_fresh for point in answer.points) >= 2
    assert answer.eps_emp_low == audited[answer.low].eps_emp
    assert answer.eps_emp_high == audited[answer.high].eps_emp > answer.eps_emp_low
    assert answer.eps_emp_high < audited[answer.high].alone  # which is for a row named beforehand
    told = answer.to_dict()
    assert (told["eps_emp_low"], told["eps_emp_high"]) == (answer.eps_emp_low, answer.eps_emp_high)
    assert [point["eps_emp"] is not None for point in told["points"]] == [p.is_fresh for p in answer.points]
    [row] = [dict(zip(t.headings, t.rows[0], strict=True)) for t in [tell(found)[0].table]]
    assert (row["eps_emp at low end"], row["eps_emp at high end"]) == (
        answer.eps_emp_low,
        answer.eps_emp_high,
    )
    shown = " ".join(answer.sentences)
    for end in (answer.low, answer.high):
        assert f"{audited[end].eps_emp:.2f} at {end.label} (likelihood: {audited[end].evidence})" in shown


def test_every_round_of_fresh_trials_is_a_look_at_them_so_that_ends_that_moved_are_paid_for(tmp_path):
    found = calibrate(tmp_path / "run", trials=300, seed=1).of("word-rr")
    assert [attempt.number for attempt in found.attempts] == [1, 1, 2]
    [fresh] = (tmp_path / "run" / "studies").iterdir()
    result = tedaudit.load_run(fresh)
    assert (result.family.look.number, result.family.look.noted, len(result)) == (2, True, 3)
    errors = {point.proven.bound.error for point in found.points if point.is_fresh}
    assert errors == {0.005 / (2 * 3) / 3}


def test_bounds_of_several_rewrites_are_not_those_of_the_trials_that_confirm(tmp_path):
    """A target is reached by what is seen of one rewrite, and `releases` adds rows that see more."""
    found = calibrate(tmp_path / "run", trials=200, releases=2).of("word-rr")
    assert found.attempts
    assert (found.eps_emp_low, found.eps_emp_high) == (None, None)
    assert not any("eps_emp" in sentence for sentence in found.sentences)


def test_a_target_given_as_an_epsilon_is_the_success_that_it_stands_for(whole):
    answer = whole[0].of("word-rr")
    assert (answer.target.by, answer.target.epsilon) == ("success", 1.5)
    assert answer.target.level == pytest.approx(math.exp(1.5) / (math.exp(1.5) + 1))
    assert "the target of success 0.8176 (epsilon 1.5)" in answer.sentences[0]


def test_fresh_trials_are_the_same_whatever_a_target_is_called(whole):
    """Word counts of one processor as of another: no model is behind them."""
    made = whole[0].of("word-rr").attempts
    told = [(attempt.side, attempt.epsilon, round(attempt.value * 1200)) for attempt in made]
    assert told == [("low", 6.81, 866), ("high", 8.25, 1056)]


def test_epsilons_are_counted_as_visited_if_the_search_was_there(whole):
    found = whole[0]
    points = found.of("word-rr").points
    [row] = tell(found)[0].table.rows
    fresh = sum(point.is_fresh for point in points)
    assert row[-1] == len(points) - fresh > fresh > 0


def test_the_exact_curve_is_the_sum_over_all_pairs():
    curve = load_script().ExactCurve.of(TEXTS[:6], SMALL, 0.0, "lexical")
    slots = SMALL._look_up_slots(TEXTS[:6])
    differing = [int((a != b).sum()) for a, b in combinations(slots, 2)]
    shares = np.bincount(differing, minlength=5) / len(differing)
    assert curve.shares == pytest.approx(shares)
    one = type(curve)(np.array([0.0, 1.0]), 3)  # a slot, three words: right, or by a coin
    kept = math.e / (math.e + 2)
    assert one.at(1.0) == pytest.approx(kept + (1 - kept) / 4)


def test_the_same_command_reads_and_makes_nothing(whole):
    found, folder, _ = whole
    before, again = snapshot(folder, "[grs]*es/**/*.parquet"), Counting()
    assert calibrate(folder, engine=again).to_dict() == found.to_dict()
    assert again.results == 0
    assert snapshot(folder, "[grs]*es/**/*.parquet") == before


def test_what_a_killed_process_left_in_finished_runs_is_cleared(whole, tmp_path):
    shutil.copytree(whole[1], tmp_path / "run")
    [fresh] = (tmp_path / "run" / "studies").iterdir()
    left = [folder / ".writing-1-manifest.json" for folder in (tmp_path / "run", fresh)]
    for path in left:
        path.write_text("{")
    engine = Counting()
    calibrate(tmp_path / "run", engine=engine)
    assert [path.exists() for path in left] == [False, False]
    assert engine.results == 0


@pytest.mark.parametrize("last", [1, 9, 20, 33])
def test_one_that_was_stopped_goes_on_and_ends_alike_with_nothing_made_twice(whole, tmp_path, last):
    found, _, engine = whole
    assert last < engine.results
    first, second = Counting(last), Counting()
    with pytest.raises(KeyboardInterrupt):
        calibrate(tmp_path / "run", engine=first)
    shown = calibrate(tmp_path / "run", engine=second).to_dict()
    assert shown | {"folder": ""} == found.to_dict() | {"folder": ""}
    assert first.made + second.made == engine.made


def test_fresh_trials_have_secrets_of_their_own_and_another_question_has_others(whole, tmp_path):
    _, folder, _ = whole
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    calibrate(copy, target=1.0)
    stores = [RunDirectory(copy), *(RunDirectory(path) for path in sorted((copy / "studies").iterdir()))]
    secrets = [tuple(store.read_plan("k2-lambda0").secret[:300].tolist()) for store in stores]
    assert len(stores) == 3
    assert len(set(secrets)) == 3


def test_a_second_target_uses_the_points_of_the_first(whole, tmp_path):
    _, folder, engine = whole
    shutil.copytree(folder, tmp_path / "run")
    more = Counting()
    calibrate(tmp_path / "run", target=1.6, engine=more)
    assert 0 < more.made < 0.8 * engine.made


def test_points_that_other_settings_made_are_not_taken_for_ours(whole, tmp_path):
    shutil.copytree(whole[1], tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="slots"):
        tedaudit.calibrate(
            {"name": "word-rr", "slots": 5}, TEXTS, target=1.5, attack="likelihood", trials=1200, lambda_=0,
            searched=(0.1, 100), out=str(tmp_path / "run"),
        )  # fmt: skip


def test_the_run_of_an_audit_is_left_alone(tmp_path):
    """Points added to it would be looks, and spend the error of its verdicts."""
    audit = {"epsilon": 2, "trials": 50, "encoder": "lexical", "attack": "lexical"}
    tedaudit.audit("word-rr", TEXTS, **audit, out=str(tmp_path / "run"))
    before = snapshot(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="run directory of its own"):
        calibrate(tmp_path / "run")
    assert snapshot(tmp_path / "run") == before


def test_losses_can_be_the_target(tmp_path):
    """One slot and two words: the loss is epsilon or its negative, so epsilon at a delta is known."""
    texts = ["yes", "no"]
    found = tedaudit.calibrate(
        {"name": "word-rr", "slots": 1, "vocabulary": ["yes", "no"]}, texts, target=2.0, by="loss@0.05",
        trials=4000, lambda_=0, searched=(0.1, 30), page=False, out=str(tmp_path / "run"),
    ).of("word-rr")  # fmt: skip
    # delta(eps) = p (1 - e^(eps - e)), p the probability that the true word is kept, at a nominal epsilon e
    low, high = 1.0, 4.0
    for _ in range(60):
        nominal = (low + high) / 2
        kept = math.exp(nominal) / (math.exp(nominal) + 2)
        reaches = kept * (1 - math.exp(2.0 - nominal)) > 0.05
        low, high = (low, nominal) if reaches else (nominal, high)
    assert found.low < low < found.high
    assert found.attacks == ("likelihood",)
    assert all("another attack" not in sentence for sentence in found.sentences)


def flat(text, epsilon, seed):
    """Keep a third of the texts, whatever the epsilon."""
    return text if (seed * 2654435761) % 3 == 0 else "nothing"


def test_functions_are_calibrated_too_and_a_plateau_is_told(tmp_path):
    found = tedaudit.calibrate(
        flat, TEXTS, target=3.0, attack="lexical", trials=600, lambda_=0, searched=(0.1, 10),
        encoder="lexical", announce=lambda _: None,
    ).of("flat")  # fmt: skip
    assert found.answer is Answer.BELOW
    assert "still below" in found.sentences[0]


def test_the_report_of_the_search_has_the_answer_and_the_points(tmp_path):
    found = calibrate(tmp_path / "run", page=True)
    report = (tmp_path / "run" / "report.md").read_text()
    assert report.index("**word-rr: between nominal epsilon") < report.index("## Epsilon for a target")
    assert report.index("## Epsilon for a target") < report.index("## Strongest attack and verdict")
    assert report.count("## Epsilon for a target") == 1
    assert "## Epsilons visited for a target" in report
    assert "holds for these attacks on these texts" in report
    assert "safe" not in " ".join(found.of("word-rr").sentences)
    assert (tmp_path / "run" / "figures" / "calibrate.png").exists()
    assert_leads(tmp_path / "run" / "report.html", found.of("word-rr").sentences[0])


def assert_leads(page, headline):
    """Check that a page begins with an answer: a headline, then the table and what it says."""
    data = embedded(page.parent)
    [answer] = data["answers"]
    assert (data["lead"]["headline"], answer["title"]) == (headline, "Epsilon for a target")
    assert headline not in answer["remarks"]
    assert answer["title"] not in [section["title"] for section in data["sections"]]


def test_the_page_of_several_answers_leads_with_all_of_them_and_a_redacted_one_with_its_table(tmp_path):
    mechanisms = [
        {"name": "word-rr", "slots": 4},
        {"name": "word-rr", "slots": 2, "label": "what my sister told"},
    ]
    tedaudit.calibrate(
        mechanisms, TEXTS, target=[1, 9], attack="likelihood", trials=300, lambda_=0, searched=(0.1, 100),
        out=str(tmp_path / "run"),
    )  # fmt: skip
    data = embedded(tmp_path / "run")
    headline = data["lead"]["headline"]
    assert re.search(
        r"success 0\.7311 \(epsilon 1\): word-rr [\d.]+ to [\d.]+, what my sister told still below at 100;",
        headline,
    )
    assert (
        "(epsilon 9): word-rr out of reach, what my sister told out of reach (error 0.01 for each" in headline
    )
    tedaudit.report(tmp_path / "run", redact=True)
    data = embedded(tmp_path / "run")
    [answer] = data["answers"]
    assert data["lead"]["headline"] == answer["title"] == "Epsilon for a target"
    assert [row[0] for row in answer["rows"]] == ["word-rr", "(left out)"] * 2
    assert not any("sister" in (tmp_path / "run" / name).read_text() for name in ("report.html", "report.md"))


def test_a_target_above_the_ceiling_makes_no_folder(tmp_path):
    found = calibrate(tmp_path / "run", target=9.0)
    assert found.of("word-rr").answer is Answer.TOO_HIGH
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mechanism": "identity"}, "takes no epsilon"),
        ({"mechanism": {"name": "word-rr", "epsilons": [1]}}, "leave `epsilons` out"),
        ({"epsilons": [1]}, "leave `epsilons` out"),
        ({"estimator": "baseline"}, "one rewrite per trial"),
        ({"mechanism": flat}, "fits 'flat'.* Name another with --attack"),
        ({"mechanism": flat, "by": "loss@0.01"}, "fits 'flat'.* Measure the target by success"),
        ({"by": "loss@0.01", "attack": "lexical"}, "leave out lexical"),
        ({"target": []}, "Name a target"),
        ({"searched": (5, 1)}, "the second above the first"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_before_anything_is_made(tmp_path, changes, reason):
    settings = {"target": 1.5, "attack": "likelihood", "out": str(tmp_path / "run"), **changes}
    with pytest.raises(SpecError, match=reason):
        tedaudit.calibrate(settings.pop("mechanism", "word-rr"), TEXTS, **settings)
    assert not (tmp_path / "run").exists()


def test_answers_are_found_by_name(whole):
    found = whole[0]
    assert found.of("word-rr", 1.5) is found.answers[0]
    assert len(found) == 1
    with pytest.raises(SpecError, match=r"word-rr at 1\.5"):
        found.of("dp-mlm")
