"""Records at risk, measured on fresh trials."""

import csv
import json
import math

import pytest

from command_line import call
from helpers import make_spec, sentences
from tedaudit.api import run
from tedaudit.estimators import clopper_pearson
from tedaudit.studies.fresh import Study
from tedaudit.studies.records import find_records, measure_risk, pick_records, rank_evidence

TEXTS = sentences(40)


def leak_one(text, seed):
    """Give the first text away, and nothing else."""
    return text if text == TEXTS[0] else f"nothing {seed % 7}"


def test_the_record_that_leaks_is_ranked_first_with_its_risk(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[leak_one], epsilons=[], attacks=["lexical"], trials=600)
    result = run(spec)
    assert pick_records(result, result.findings[0], 1) == [0]
    found = find_records(result, Study(spec, "records"), 3, 300)
    worst = found.records[0]
    assert (worst.position, worst.text) == (0, TEXTS[0])
    assert worst.named_right == worst.as_source
    assert worst.as_source + worst.as_other == 300
    share = result.alpha / 2 / 6 / 3  # the second look, three records
    low, _ = clopper_pearson(worst.named_right, worst.as_source, share)
    _, high = clopper_pearson(worst.named_wrong, worst.as_other, share)
    assert worst.risk == pytest.approx(math.log(low / high))
    assert worst.risk > 0.2 > max(record.risk for record in found.records[1:])


@pytest.mark.parametrize(("records", "least"), [(500, 18), (5000, 21)])
def test_too_few_trials_are_those_that_could_not_have_shown_anything(records, least):
    error = 0.005 / records
    assert measure_risk((least, least, 0, least), 0.0, error)[2] > 0
    assert measure_risk((least - 1, least - 1, 0, least - 1), 0.0, error)[2] == 0
    assert measure_risk((0, 0, 0, 9), 0.0, error) == (0.0, 1.0, 0.0)
    assert measure_risk((20, 20, 0, 20), 0.9, error)[2] == 0


def test_ids_of_the_corpus_are_kept_and_texts_can_be_left_out(tmp_path, capsys):
    table = tmp_path / "texts.csv"
    table.write_text("id,text\n" + "\n".join(f"case-{i},{text}" for i, text in enumerate(TEXTS)))
    made, out = tmp_path / "run", tmp_path / "records.csv"
    assert call("run", "-m", "identity", "-c", table, "-t", 60, "-o", made, "--encoder", "lexical", "-q") == 0
    capsys.readouterr()
    few = ("records", made, "--count", 2, "-t", 40, "-q")
    assert call(*few, "--csv", out, "--redact", "--json") == 0
    shown = capsys.readouterr().out
    listed = json.loads(shown)["records"]
    assert all(record["id"] == f"case-{record['position']}" for record in listed)
    assert [row["id"] for row in csv.DictReader(out.open())] == [record["id"] for record in listed]
    texts = [TEXTS[record["position"]] for record in listed]
    assert not any(text in out.read_text() + shown for text in texts)
    page = (made / "report.html").read_text()
    assert "Records at risk" in page
    assert not any(text in page for text in texts)
    assert call(*few) == 0  # and it stays so
    assert texts[0].split()[0] not in capsys.readouterr().out
    assert call("report", made, "--full", "--no-figures") == 0
    capsys.readouterr()
    assert call(*few) == 0
    assert texts[0].split()[0] in capsys.readouterr().out


def test_records_are_named_by_the_column_that_is_asked_for_and_another_is_refused(tmp_path, capsys):
    table, made = tmp_path / "texts.csv", tmp_path / "run"
    table.write_text("case_no,text\n" + "\n".join(f"C{i},{text}" for i, text in enumerate(TEXTS)))
    assert call("run", "-m", "identity", "-c", table, "-t", 60, "-o", made, "--encoder", "lexical", "-q") == 0
    capsys.readouterr()
    few = ("records", made, "--count", 2, "-t", 40, "-q", "--json")
    assert call(*few, "--id", "case_no") == 0
    listed = json.loads(capsys.readouterr().out)["records"]
    assert all(record["id"] == f"C{record['position']}" for record in listed)
    assert call(*few, "--id", "caseno") == 2
    assert "no column 'caseno'. Did you mean 'case_no'? They have: case_no." in capsys.readouterr().err
    assert call(*few) == 0
    listed = json.loads(capsys.readouterr().out)["records"]
    assert all(record["id"] == str(record["position"]) for record in listed)


def test_a_table_of_rewrites_names_records_by_its_id_column(tmp_path):
    table = tmp_path / "pairs.csv"
    lines = [f"case-{i},{text},{text}" for i, text in enumerate([*TEXTS, *TEXTS[:4]])]
    table.write_text("id,original,rewrite\n" + "\n".join(lines))
    spec = make_spec(
        tmp_path / "run", mechanisms=[{"name": "recorded", "path": str(table)}], corpus=None, epsilons=[],
        attacks=["lexical"], trials=20,
    )  # fmt: skip
    ranked = rank_evidence(run(spec), 3)
    assert [record.name for record in ranked] == [f"case-{TEXTS.index(record.text)}" for record in ranked]


def test_a_table_of_rewrites_ranks_evidence_and_names_no_risk(tmp_path, capsys):
    table = tmp_path / "pairs.csv"
    lines = [f"{text},{text if i % 4 == 0 else 'nothing'}" for i, text in enumerate(TEXTS)]
    table.write_text("original,rewrite\n" + "\n".join(lines))
    spec = make_spec(
        tmp_path / "run", mechanisms=[{"name": "recorded", "path": str(table)}], corpus=None, epsilons=[],
        attacks=["lexical"], trials=20,
    )  # fmt: skip
    ranked = rank_evidence(run(spec), 3)
    assert [record.margin for record in ranked] == sorted((r.margin for r in ranked), reverse=True)
    assert all(TEXTS.index(record.text) % 4 == 0 for record in ranked)
    assert call("records", tmp_path / "run") == 0
    assert "no risk" in capsys.readouterr().out
