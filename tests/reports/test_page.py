"""The page: one file that needs nothing, holds texts as data only, and none where it is redacted."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import tedaudit
from tedaudit.corpora._given import Given
from tedaudit.reports.cards import cards_of
from tedaudit.reports.files import write_reports
from tedaudit.reports.page import SCRIPTS, _asset, plan_words
from tedaudit.reports.safe import LEFT_OUT, redacted, redacted_spec, safe_json
from tedaudit.reports.sample import BYTES, PER_TABLE, choose
from tedaudit.reports.table import HEADINGS, cells
from tedaudit.results import read_result
from tedaudit.runner import run
from tedaudit.spec import parse_spec
from tedaudit.store import RunDirectory
from tedaudit.types import Card, Guess

NASTY = "</script><script>alert(1)</script> \"quoted\" 'too' & <!-- \u2028"
TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
LABEL = "my sister called about the rent"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with claims kept and broken, two plans, an odd text and labels that tell too much."""
    return run(
        parse_spec({
            "corpus": {"name": "given", "live": Given([*TEXTS, NASTY])},
            "mechanisms": [
                {"name": "function", "function": str.upper, "label": LABEL},
                {"name": "word-rr", "slots": 3},
                {"name": "constant", "output": "a secret sentence"},
                "identity",
            ],
            "epsilons": [0.5, 8], "trials": 300, "out": str(tmp_path_factory.mktemp("runs") / "made"),
            "plans": [{"k": 2, "lambda": 0}, {"k": 2, "lambda": 0, "estimator": "baseline"}],
        })
    )  # fmt: skip


@pytest.fixture(scope="module")
def clean(made, tmp_path_factory):
    """The same run, its reports redacted."""
    copy = tmp_path_factory.mktemp("runs") / "clean"
    shutil.copytree(made.folder, copy)
    write_reports(read_result(RunDirectory(copy)), redact=True)
    return copy


class Elements(HTMLParser):
    """Takes a page apart as a browser does."""

    def __init__(self, page):
        super().__init__()
        self.found, self.contents = [("", {})], {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.contents.setdefault(self.found[-1][1].get("id"), "")
        self.contents[self.found[-1][1].get("id")] += data


def page(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def embedded(folder):
    return json.loads(Elements(page(folder)).contents["data"])


def test_a_run_ends_with_a_page_that_holds_every_finding(made):
    data = embedded(made.folder)
    assert [tuple(one["cells"]) for one in data["findings"]] == [cells(finding) for finding in made]
    assert tuple(data["headings"]) == HEADINGS
    assert data["violated"] is True
    assert data["headline"] == "At least one privacy claim is violated."


def test_the_page_asks_for_nothing_outside_itself(made):
    elements = Elements(page(made.folder)).found
    for tag, attributes in elements:
        assert tag not in ("link", "iframe", "img", "object", "embed")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for t, a in elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    assert "http" not in policy


def test_a_text_cannot_end_the_element_that_holds_it(made):
    scripts = [attributes for tag, attributes in Elements(page(made.folder)).found if tag == "script"]
    assert len(scripts) == 6
    assert NASTY in embedded(made.folder)["sample"]["texts"]
    assert "alert(1)</script>" not in page(made.folder)


@pytest.mark.parametrize("text", [NASTY, "<!--", "]]>", "&lt;", "\u2029", "\ud800", "\\u003c", ""])
def test_json_in_a_page_has_no_mark_that_a_parser_looks_for(text):
    told = safe_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(told)
    assert json.loads(told)["text"] == text.encode("utf-8", "replace").decode()


def test_the_scripts_never_turn_a_string_into_markup():
    for name in SCRIPTS:
        script = _asset(name)
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert way not in script, name


def test_the_summary_says_what_was_audited_and_what_the_largest_bound_means(made):
    told = " ".join(embedded(made.folder)["paragraphs"])
    assert told.startswith("Four mechanisms (")
    assert "rewrote texts of the corpus given (31 texts). One attack (lexical) saw each rewrite" in told
    assert f"The largest bound is eps_emp = {made.epsilon:.2f}" in told
    assert "times likelier from one text than from the other" in told
    assert "claims tested are violated. The worst by mechanism: " in told
    assert "No leak was found for constant at any epsilon; another attack may find one." in told


def test_a_trial_of_the_page_is_the_trial_of_the_tables(made):
    data = embedded(made.folder)
    run_directory = RunDirectory(made.folder)
    texts, plans = run_directory.corpus().texts, run_directory.manifest()["plans"]
    assert data["sample"]["of"] == sum(finding.bound.guesses for finding in made)
    for trial in data["sample"]["trials"][::17]:
        finding = made.findings[trial["finding"]]
        plan = run_directory.plan(finding.plan, plans[finding.plan]["key"])
        at = [candidate["at"] for candidate in trial["candidates"]]
        assert at == plan.candidates[trial["row"]].tolist()
        assert [c["source"] for c in trial["candidates"]].index(True) == plan.secret[trial["row"]]
        assert [data["sample"]["texts"][c["text"]] for c in trial["candidates"]] == [texts[i] for i in at]
        assert trial["right"] == any(c["source"] and c["guess"] for c in trial["candidates"])
        if finding.label == "identity":
            source = texts[plan.source[trial["row"]]]
            assert data["sample"]["texts"][trial["output"]] == source


def test_the_worst_leaks_are_always_in_the_sample(made):
    rng = np.random.default_rng(0)
    right, margin = rng.random(5000) < 0.7, rng.random(5000).astype(np.float32)
    worst, chance = choose(right, margin, 200, 7)
    expected = sorted(np.flatnonzero(right), key=lambda row: -margin[row])[:100]
    assert worst.tolist() == expected
    assert len(set(worst.tolist()) | set(chance.tolist())) == 200
    assert right[chance].any()
    assert (~right)[chance].any()


def test_a_sample_takes_everything_where_there_is_little():
    worst, chance = choose(np.array([True, False, True]), np.array([0.1, 0.5, np.nan]), 200, 1)
    assert worst.tolist() == [0, 2]
    assert chance.tolist() == [1]


def test_plans_are_told_in_words(made):
    manifest = {"plans": {name: {"k": k, "estimator": e} for name, k, e in (
        ("k2-lambda-10000", 2, "reduced"), ("k2-lambda0-baseline", 2, "baseline"), ("k-all", 3600, "reduced"),
        ("k4-nearest10", 4, "reduced"), ("k2-lambda-inf", 2, "reduced"))}}  # fmt: skip
    assert [plan_words(name, manifest) for name in manifest["plans"]] == [
        "k = 2, lambda = -10000, reduced form", "k = 2, lambda = 0, baseline",
        "k = 3,600, every text a candidate, reduced form", "k = 4, nearest 10, reduced form",
        "k = 2, lambda = -inf, reduced form",
    ]  # fmt: skip


def test_cards_come_with_departures_and_settings(made):
    cards = embedded(made.folder)["cards"]
    by_name = {card["name"]: card for card in cards["mechanisms"]}
    assert by_name["word-rr"]["departures"] == [
        "words outside the vocabulary count as empty slots; longer texts are cut"
    ]
    assert by_name["word-rr"]["settings"] == {"slots": "3"}
    assert cards["attacks"][0]["sees"] == ["text"]


@pytest.mark.parametrize("name", ["no-such-plugin", "py:no_such_module:rewrite", "py:", "py:json:no_such"])
def test_a_plugin_that_is_gone_leaves_a_card_that_says_so(name):
    (card,) = cards_of({"mechanisms": [{"name": name, "label": "mine"}]})["mechanisms"]
    assert (card["name"], card["label"]) == (name, "mine")
    assert "its card is not at hand" in card["missing"]


def test_code_that_a_manifest_names_is_not_run_for_its_card(tmp_path, monkeypatch):
    (tmp_path / "trap_for_reports.py").write_text("raise SystemExit('run!')\n")
    monkeypatch.syspath_prepend(tmp_path)
    (card,) = cards_of({"attacks": [{"name": "py:trap_for_reports:Attack"}]})["attacks"]
    assert "missing" in card
    assert "trap_for_reports" not in sys.modules


def test_a_redacted_report_holds_no_text_at_all(made, clean):
    assert all(text in page(made.folder) for text in TEXTS)
    files = [path for path in clean.iterdir() if path.suffix in (".html", ".md", ".json")]
    told = {path.name: path.read_text(encoding="utf-8") for path in files if path.name != "manifest.json"}
    told["estimates"] = str(pl.read_parquet(clean / "estimates.parquet").to_dicts())
    assert {"report.html", "report.md", "summary.json", "estimates"} <= set(told)
    for secret in [
        *TEXTS,
        *(text.upper() for text in TEXTS),
        "alert(1)",
        "a secret sentence",
        LABEL,
        "sister",
    ]:
        for name, content in told.items():
            assert secret not in content, (secret, name)
    assert str(clean) not in told["report.html"]


def test_a_redacted_report_still_has_numbers_trials_and_settings(made, clean):
    data, before = embedded(clean), embedded(made.folder)
    assert data["redacted"] is True
    assert data["sample"]["texts"] == []
    assert len(data["sample"]["trials"]) == len(before["sample"]["trials"])
    assert [one["lower"] for one in data["findings"]] == [one["lower"] for one in before["findings"]]
    labels = {one["mechanism"] for one in data["findings"]}
    assert {"word-rr", "constant", "identity"} < labels
    assert labels - {"word-rr", "constant", "identity"} <= {f"mechanism {n}" for n in range(1, 5)}
    assert "slots: 3" in data["manifest"]["spec"]


def test_strings_of_plugins_are_left_out_of_a_redacted_spec():
    spec = {
        "mechanisms": [{"name": "dp-st", "label": "two words", "prompt": "a text", "slots": 2, "few": ["x"]}],
        "attacks": [{"name": "llm", "label": "", "epsilons": [1.0]}],
        "corpus": {"name": "files", "path": "/home/me/x.csv"}, "out": "runs/x", "seed": 3,
    }  # fmt: skip
    told = redacted_spec(spec)
    assert told["mechanisms"] == [
        {"name": "dp-st", "label": "", "prompt": LEFT_OUT, "slots": 2, "few": LEFT_OUT}
    ]
    assert told["attacks"] == [{"name": "llm", "label": "", "epsilons": [1.0]}]
    assert told["corpus"] == {"name": "files", "path": LEFT_OUT, "label": ""}
    assert (told["out"], told["seed"]) == (LEFT_OUT, 3)


def test_notes_that_quote_a_file_are_left_out_of_a_redacted_report(made):
    manifest = {"corpus": {"notes": ["column 'my sister called' taken as the text", made.notes[0]]}}
    result = replace(made, notes=(manifest["corpus"]["notes"][0], *made.notes))
    told = redacted(result, manifest).notes
    assert not any("sister" in note for note in told)
    assert made.notes[0] in told
    assert told[-1] == "notes on how the corpus was read are left out"


def test_a_table_of_utility_is_shown_where_it_is_given(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)
    rows = [{"mechanism": "word-rr", "epsilon": 8.0, "task": "intent F1", "score": 0.71, "spread": 0.02}]
    assert embedded(copy)["utility"] == []
    write_reports(read_result(RunDirectory(copy)), utility=rows)
    assert embedded(copy)["utility"] == rows


@dataclass(frozen=True)
class Certain:
    """An attack that rules every candidate out but the first."""

    card: ClassVar[Card] = Card(name="certain", summary="Gives infinite scores.")

    def guess(self, seen):
        return [Guess(np.where(np.arange(len(one.candidates)) == 0, 0.0, -np.inf)) for one in seen]


def test_scores_that_are_not_finite_do_not_break_the_page(tmp_path):
    out = tmp_path / "run"
    run(parse_spec({
        "corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["identity"], "attacks": [Certain()],
        "trials": 20, "plans": [{"k": 2, "lambda": 0}], "out": str(out),
    }))  # fmt: skip
    data = embedded(out)
    for trial in data["sample"]["trials"]:
        assert trial["margin"] is None
        assert [candidate["score"] for candidate in trial["candidates"]] == [0.0, None]
    assert "not at hand" in data["cards"]["attacks"][0]["missing"]


def test_a_run_without_an_attack_has_a_page_that_says_so(tmp_path):
    spec = {"corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["identity"], "attacks": []}
    run(parse_spec({**spec, "trials": 10, "out": str(tmp_path / "run")}))
    data = embedded(tmp_path / "run")
    assert data["headline"].startswith("No attack has finished a block yet")
    assert data["findings"] == data["sample"]["trials"] == []


def test_many_candidates_are_cut_to_those_that_matter(tmp_path):
    texts = [f"{text} number {n}" for n in range(5) for text in TEXTS]
    run(parse_spec({
        "corpus": {"name": "given", "live": Given(texts)}, "mechanisms": ["word-rr"], "epsilons": [1],
        "trials": 40, "plans": [{"k": "all"}], "out": str(tmp_path / "run"),
    }))  # fmt: skip
    for trial in embedded(tmp_path / "run")["sample"]["trials"]:
        assert 1 <= len(trial["candidates"]) <= 7
        assert sum(candidate["source"] for candidate in trial["candidates"]) == 1


@dataclass(frozen=True)
class First:
    """An attack that always names the first candidate, at no cost."""

    card: ClassVar[Card] = Card(name="first", summary="Names the first candidate.")

    def guess(self, seen):
        return [Guess(-np.arange(len(one.candidates), dtype=np.float64)) for one in seen]


def test_the_page_of_a_hundred_thousand_trials_of_long_texts_stays_small(tmp_path):
    texts = [f"{n} " + "<" * 700 for n in range(3000)]  # every mark is six bytes long in the page
    run(parse_spec({
        "corpus": {"name": "given", "live": Given(texts)}, "mechanisms": ["constant", "identity"],
        "attacks": [First()], "trials": 50_000, "plans": [{"k": 8, "lambda": 0}],
        "out": str(tmp_path / "run"),
    }))  # fmt: skip
    sample = embedded(tmp_path / "run")["sample"]
    assert sample["of"] == 100_000
    assert sample["cut"] is True
    assert 100 < len(sample["trials"]) < 2 * PER_TABLE
    assert {trial["finding"] for trial in sample["trials"][:4]} == {0, 1}
    assert len(safe_json(sample)) < 1.1 * BYTES
    assert (tmp_path / "run" / "report.html").stat().st_size < 10_000_000


def test_without_plotly_and_matplotlib_everything_else_is_written(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)
    (copy / "report.html").unlink()
    script = (
        "import sys, importlib.util as util\n"
        "found = util.find_spec\n"
        "gone = ('plotly', 'matplotlib')\n"
        "util.find_spec = lambda name, *more: None if name in gone else found(name, *more)\n"
        "sys.modules.update(dict.fromkeys(gone))\n"
        "from tedaudit.cli import main\n"
        f"sys.argv = ['tedaudit', 'report', {str(copy)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pip install 'tedaudit[reports]'") == 2
    assert "Plotly is not installed" in embedded(copy)["missing"]
    assert (copy / "report.html").stat().st_size < 1_000_000


def test_a_page_is_the_same_when_written_again(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)
    pages = set()
    for _ in range(2):
        write_reports(read_result(RunDirectory(copy)))
        pages.add(page(copy))
    assert len(pages) == 1


def test_a_plan_that_is_named_after_a_mechanism_is_redacted_with_it(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("original,rewrite\n" + "".join(f"text {n},other {n}\n" for n in range(30)))
    tedaudit.audit({"name": "recorded", "path": str(table), "label": "my very private label"}, trials=10,
                   out=str(tmp_path / "run"))  # fmt: skip
    result = read_result(RunDirectory(tmp_path / "run"))
    assert any("private label" in finding.plan for finding in result)
    write_reports(result, redact=True)
    for name in ("report.html", "report.md", "summary.json"):
        assert "private label" not in (tmp_path / "run" / name).read_text()
