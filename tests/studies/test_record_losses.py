"""Records by exact loss: against enumeration, and against what a run holds."""

import csv
import json
import math
from itertools import product

import numpy as np
import pytest

import tedaudit
from command_line import call
from helpers import sentences
from tedaudit.errors import SpecError
from tedaudit.estimators.loss import DELTAS, LossSample, can_show
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Rewrite
from tedaudit.results.losses import read_losses
from tedaudit.studies.record_losses import _find_needed, find_record_losses
from tedaudit.studies.records import Record
from tedaudit.studies.telling import describe_record_losses

COLOURS = ("red", "blue", "red again")  # the last one is the first to whoever reads one word
RR = {"name": "word-rr", "slots": 1, "vocabulary": ["red", "blue"]}


def respond(texts=COLOURS, epsilon=2.0, trials=400, **settings):
    return tedaudit.audit(
        RR, texts, epsilon=epsilon, trials=trials, attack=["likelihood", "lexical"], lambda_=0, **settings
    )


def law(epsilon, record):
    """Return every loss that a record may have, with its probability; the other text is drawn at random."""
    rr = WordRR(slots=1, vocabulary=("red", "blue"))
    outcomes = {}
    for other in set(COLOURS) - {record}:
        for item in range(3):
            own, others = rr.log_likelihood([item], [record, other], epsilon)
            loss = round(own - others, 9) + 0.0
            outcomes[loss] = outcomes.get(loss, 0.0) + math.exp(own) / 2
    return outcomes


def exact_epsilon(outcomes, delta):
    """Return the least epsilon from 0 on at which the expected excess is at most delta."""
    low, high = 0.0, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        excess = sum(p * max(0.0, 1 - math.exp(middle - loss)) for loss, p in outcomes.items())
        low, high = (middle, high) if excess > delta else (low, middle)
    return high


def test_the_law_of_a_record_is_that_of_randomised_response():
    outcomes = law(2.0, "blue")
    likely = math.exp(2) / (math.exp(2) + 2)
    assert outcomes == pytest.approx({2.0: likely, 0.0: (1 - likely) / 2, -2.0: (1 - likely) / 2})
    assert law(2.0, "red")[0.0] == pytest.approx(0.5 + (1 - likely) / 4)  # its double tells nothing
    assert exact_epsilon(outcomes, 0.05) == pytest.approx(2 + math.log(1 - 0.05 / likely))


@pytest.mark.parametrize("record", COLOURS)
@pytest.mark.parametrize("trials", [9, 18])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_ends_of_a_record_are_wrong_as_rarely_as_is_said(record, trials, epsilon):
    """All outcomes of so many trials are summed: the coverage is exact."""
    outcomes = law(epsilon, record)
    values, chances = np.array(list(outcomes)), list(outcomes.values())
    error = 0.03 / 3  # three records
    wrong = {(delta, end): 0.0 for delta in DELTAS for end in ("lower", "upper")}
    total = 0.0
    for first, second in product(range(trials + 1), repeat=2):
        counts = (first, second, trials - first - second)
        if counts[2] < 0:
            continue
        logs = [math.lgamma(n + 1) for n in (trials, *counts)]
        chance = math.exp(
            logs[0] - sum(logs[1:]) + sum(n * math.log(p) for n, p in zip(counts, chances, strict=True))
        )
        total += chance
        sample = LossSample(np.repeat(values, counts), error)
        for delta in DELTAS:
            truth, at = exact_epsilon(outcomes, delta), sample.epsilon_at(delta)
            wrong[delta, "lower"] += chance * (at.lower > truth + 1e-9)
            wrong[delta, "upper"] += chance * (at.upper < truth - 1e-9)
    assert total == pytest.approx(1.0)
    assert max(wrong.values()) <= error


def test_a_record_s_losses_are_those_of_its_own_trials():
    result = respond()
    losses = find_record_losses(result, 3)
    [row] = read_losses(result)
    plan = result.run.read_plan(row.finding.plan)
    table, rr = result.rewrites(row.finding), WordRR(slots=1, vocabulary=("red", "blue"))
    tokens = list(table.fetch(plan.source, plan.replicate))
    assert {record.position for record in losses} == {0, 1, 2}
    assert sum(record.trials for record in losses) == 400
    for record in losses:
        computed = []
        for number in np.flatnonzero(plan.source == record.position).tolist():
            pair = [COLOURS[i] for i in plan.candidates[number].tolist()]
            scores = rr.log_likelihood(tokens[number].tokens, pair, 2.0)
            secret = plan.secret[number]
            computed.append(scores[secret] - scores[1 - secret])
        assert record.trials == len(computed)
        assert record.sample.mean == pytest.approx(np.mean(computed), abs=1e-4)
        assert (
            record.sample.quantile(1.0)
            == pytest.approx(max(computed), abs=1e-4)
            == pytest.approx(2.0, abs=1e-4)
        )
        assert record.sample.error == pytest.approx(0.005 / 3)
        ends = record.epsilons[0]
        assert ends.lower <= exact_epsilon(law(2.0, record.text), 0.05) <= ends.upper
    assert losses.records[0].text == "blue"  # the one that has no double
    assert losses.records[0].lower > losses.records[1].lower > 0


def test_records_are_sorted_by_lower_ends_and_not_by_what_few_outputs_showed():
    """A record with three large losses has too few trials, however large they are."""
    losses = find_record_losses(respond(sentences(60), epsilon=3.0, trials=600), 60)
    lowers = [record.lower for record in losses]
    assert lowers == sorted(lowers, reverse=True)
    few = [record for record in losses if not record.enough]
    assert not few  # only those with enough are ranked
    assert 0 < losses.too_few < losses.number == 60
    assert len(losses.records) == 60 - losses.too_few
    assert all(record.trials >= 5 for record in losses)


def test_few_trials_are_those_that_infinite_losses_would_not_help():
    error = 0.005 / 500
    enough = [n for n in range(1, 40) if can_show(n, 0.05, error)]
    for n in range(1, 40):
        ends = LossSample(np.full(n, math.inf), error).epsilon_at(0.05)
        assert (ends.lower > 0) == (n in enough)
    assert not can_show(0, 0.05, error)
    assert (_find_needed(error), _find_needed(0.005 / 5000)) == (9, 17)


def test_a_record_that_was_tried_again_is_shown_beside_its_sampled_risk():
    result = respond(sentences(40), epsilon=3.0, trials=80)
    [finding] = [f for f in result if f.attack == "lexical"]
    texts = sentences(40)

    def tried(position, ceiling):
        return Record(
            finding.label, finding.epsilon, "lexical", position, str(position), texts[position], 9, 10, 1, 10,
            0.5, 0.4, 0.2, ceiling,
        )  # fmt: skip

    losses = find_record_losses(result, 1, [tried(3, 1.0), tried(5, 0.0)])
    by_position = {record.position: record for record in losses}
    assert by_position[3].risk == 0.2
    assert by_position[5].risk is None  # its fresh trials were too few
    section = describe_record_losses(losses)
    cells = {row[0]: row for row in section.table.cells}
    assert cells["3"][3] == "too few trials"
    assert cells["3"][7] == "0.20"
    assert f"{losses.needed:,} trials with the record as the source are enough" in section.remarks[1]
    assert section.table.columns[-1].is_text


class FailsOnRed:
    """Releases nothing, and fails on some texts."""

    card = Card(name="failing", summary="Fails on some texts.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        return [
            Rewrite("", error="no") if "red" in draw.text else Rewrite("nothing", tokens=(1,))
            for draw in draws
        ]

    def log_likelihood(self, tokens, candidates, epsilon):
        return np.zeros(len(candidates))


def test_rewrites_that_failed_are_unknown_losses_of_their_record():
    result = tedaudit.audit(FailsOnRed(), COLOURS, epsilon=1.0, trials=120, attack="likelihood", lambda_=0)
    losses = {record.text: record for record in find_record_losses(result, 3)}
    assert losses["blue"].sample.unknown == 0
    assert find_record_losses(result, 3).too_few == 2  # nothing is known of the other two
    assert set(losses) == {"blue"}


def test_a_run_without_likelihoods_of_pairs_has_none(tmp_path, capsys):
    made = tmp_path / "run"
    result = tedaudit.audit("identity", sentences(20), trials=40, attack="lexical", out=str(made))
    assert find_record_losses(result, 5) is None
    with pytest.raises(SpecError, match="0 records"):
        find_record_losses(result, 0)
    assert call("records", made, "--loss") == 2
    assert "no loss to read" in capsys.readouterr().err


def test_the_command_shows_losses_beside_fresh_trials_or_alone(tmp_path, capsys):
    made, out = tmp_path / "run", tmp_path / "loss.csv"
    respond(sentences(20), epsilon=3.0, trials=600, out=str(made))
    assert call("records", made, "--loss", "--count", 4, "--json", "--csv", out) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["losses"]["records"]) == 4
    assert told["records"] == []
    assert [row["id"] for row in csv.DictReader(out.open())] == [r["id"] for r in told["losses"]["records"]]
    assert not (made / "studies").exists()  # nothing was tried again
    assert "Records by exact loss" in (made / "report.md").read_text()
    assert call("records", made, "--count", 2, "-t", 60, "-q", "--redact", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["records"]) == 2
    assert {r["position"] for r in told["records"]} <= {r["position"] for r in told["losses"]["records"]}
    assert all(record["text"] is None for record in told["losses"]["records"])
    page = (made / "report.html").read_text()
    assert page.index("Records at risk") < page.index("Records by exact loss")
    assert not any(text in page for text in sentences(20))
