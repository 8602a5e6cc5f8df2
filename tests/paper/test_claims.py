"""The paper's claims: checks find their numbers on the stored pages, and rules tell right from wrong."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from tedaudit.paper.claims import Check, Claim, describe_rule, judge, list_claims, tell_claims
from tedaudit.paper.definition import Workspace, load, names
from tedaudit.paper.reproduction import reproduce

PROJECT = Path(__file__).parents[2]
RESULTS = PROJECT / "docs" / "results"
PAGES = {scale: {file.stem: json.loads(file.read_text("utf-8")) for file in (RESULTS / scale).glob("*.json")}
         for scale in ("zoo", "real")}  # fmt: skip
SETTINGS = {
    "mechanisms": [
        {"name": "adept", "variant": "published"},
        {"name": "adept", "variant": "sound", "label": "adept-sound"},
        {"name": "dp-mlm", "variant": "published", "label": "mine"},
    ],
    "attacks": [{"name": "llm", "label": "judge"}, "embedding"],
}  # fmt: skip


def make_page(bounds, *, title="atis: TeDA bound (ceiling 4.00)"):
    """Return a page with a bound for every mechanism, attack and epsilon."""
    rows = [[attack, label, *values] for (attack, label), values in bounds.items()]
    table = {"title": title, "headings": ["attack", "mechanism", "10", "50", "250"], "rows": rows}
    return {"experiment": "page", "settings": SETTINGS, "tables": [table]}


def judge_alone(monkeypatch, page, **check):
    """Return what a page shows of one check."""
    claim = Claim(says="so it is", checks=[Check(page="page", **check)])
    monkeypatch.setattr("tedaudit.paper.claims.list_claims", lambda: (claim,))
    [judged] = judge(page)
    return judged


def test_every_claim_has_a_page_or_says_why_not():
    claims = list_claims()
    assert all(claim.checks or claim.untried for claim in claims)
    assert {check.page for claim in claims for check in claim.checks} == set(names())
    assert len({claim.says for claim in claims}) == len(claims)
    for word in (
        "between", "conversion", "DP-Prompt", "ranks", "on latents", "utility drops", "other misses",
    ):  # fmt: skip
        assert any(word in claim.says for claim in claims), word


def test_every_check_finds_its_numbers_on_the_stored_page():
    for page in PAGES["zoo"].values():
        for judged in judge(page):
            assert judged.verdict != "not tried", judged.check
            assert judged.here


def test_the_list_of_claims_is_what_the_stored_pages_show():
    path = PROJECT / "benchmarks" / "paper_claims.py"
    spec = importlib.util.spec_from_file_location("paper_claims", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "\n".join(module.tabulate()) in (RESULTS / "README.md").read_text("utf-8")


@pytest.mark.parametrize("scale", sorted(PAGES))
def test_stored_pages_tell_what_their_tables_show(scale):
    for page in PAGES[scale].values():
        told = json.loads(json.dumps(tell_claims(judge(page)).table.rows))
        assert page["tables"][0]["rows"] == told, page["experiment"]


LOW, HIGH = [0.0, 0.1, 0.4], [1.0, 2.0, 3.9]


@pytest.mark.parametrize(
    ("rule", "seen", "not_seen"),
    [
        ({"at most": 0.5}, LOW, [0.0, 0.1, 0.6]),
        ({"at least": 0.9}, HIGH, [0.8, 2.0, 3.9]),
        ({"near the ceiling": 0.9}, [3.6, 3.7, 4.0], [3.5, 3.7, 4.0]),
        ({"rises": 0}, [1.0, 0.5, 1.1], [1.0, 2.0, 1.0]),
        ({"falls": 0}, [1.0, 2.0, 0.9], [1.0, 0.5, 1.0]),
        ({"never falls": 0}, [1.0, 1.0, 2.0], [1.0, 0.9, 2.0]),
        ({"flat": 0.5}, [1.0, 3.0, 1.5], [1.0, 1.0, 1.6]),
        ({"in proportion": 0.02}, [0.1, 0.5, 2.5], [0.1, 0.5, 2.7]),
        ({"above": ["dp-mlm"]}, [0.6, 0.6, 0.6], [0.6, 0.5, 0.6]),
    ],
)
def test_a_rule_is_passed_by_what_it_describes_and_by_nothing_else(monkeypatch, rule, seen, not_seen):
    for values, verdict in ((seen, "seen"), (not_seen, "not seen")):
        page = make_page({("judge", "adept"): values, ("judge", "mine"): [0.5] * 3})
        judged = judge_alone(monkeypatch, page, of=["adept"], attack="llm", seen_if=rule)
        assert judged.verdict == verdict, judged.here
        assert "under llm" in describe_rule(judged.check)


def test_what_is_seen_in_part_says_where(monkeypatch):
    page = make_page({("judge", "adept"): [0.0, 0.0, 0.9]})
    judged = judge_alone(monkeypatch, page, of=["adept"], seen_if={"at most": 0.5})
    assert (judged.verdict, judged.here) == ("not seen", "0 at 10, 50; 0.90 at 250; holds at 10, 50")


@pytest.mark.parametrize("names", [["adept"], []])
def test_repaired_variants_and_other_attacks_do_not_count(monkeypatch, names):
    bounds = {("judge", "adept"): LOW, ("judge", "adept-sound"): HIGH, ("embedding", "adept"): HIGH}
    judged = judge_alone(monkeypatch, make_page(bounds), of=names, attack="llm", seen_if={"at most": 0.5})
    assert judged.verdict == "seen"


def test_a_claim_without_its_numbers_is_not_tried(monkeypatch):
    page = make_page({("judge", "adept"): LOW})
    for check in ({"of": ["dp-st"]}, {"of": ["adept"], "at": [2500]}, {"corpora": ["snips"]}):
        judged = judge_alone(monkeypatch, page, **check, seen_if={"at most": 0.5})
        assert (judged.verdict, judged.here) == ("not tried", "")


@pytest.mark.parametrize(("other", "verdict"), [(1, "seen"), (2, "not seen")])
def test_orders_are_added_up_over_all_settings(monkeypatch, other, verdict):
    headings = ["settings", "epsilon", "tau", "pairs in the same order", "in the other", "not told apart"]
    rows = [["a and b", 10, 1, 30, 0, 5], ["a and c", 10, 1, 30, other, 5]]
    table = {"title": "atis: Kendall's tau", "headings": headings, "rows": rows}
    page = {**make_page({}), "tables": [table]}
    judged = judge_alone(monkeypatch, page, table="Kendall*", seen_if={"same order": 0.02})
    assert judged.verdict == verdict
    assert judged.here == f"of {70 + other} pairs 60 in the same order, {other} in the other"


def test_a_page_has_the_paper_s_value_beside_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", "on")
    pytest.importorskip("tedaudit_zoo")
    pytest.importorskip("transformers")
    options = {**load("fig-snr", "zoo").options, "count": 4, "draws": 2}
    changes = {"options": options, "corpora": ["demo"]}
    reproduce(load("fig-snr", "zoo", changes), Workspace(tmp_path), redact=True)
    page = (tmp_path / "results" / "fig-snr.md").read_text("utf-8")
    assert "0.41 at 250, 1.60 at 1000, 4.07 at 2500" in page
    assert re.search(r"\| 0\.7\d at 250; 2\.\d\d at 1000; 7\.\d\d at 2500 \| seen", page)
    assert page.index("What the paper claims") < page.index("L2 norm of the noise")
