"""Who finds most is one finding, named alike by whatever tells a run: its number, its attack, its setting."""

import json
import re
from dataclasses import replace

import pytest

import tedaudit
from helpers import Failing, SharedWords, sentences
from pages import embedded
from tedaudit.cli.console import show_result
from tedaudit.corpora.files import Given
from tedaudit.mechanisms.identity import Identity
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Rewrite
from tedaudit.reports.export.writing import Export, make_export
from tedaudit.reports.plugin_cards import calibration_cards

BOTH = ["lexical", "text-likelihood", "likelihood"]
DRAW = "hoever sees what was drawn"


class HidesText(WordRR):
    """Draws words and shows none of them."""

    def rewrite(self, draws):
        return [replace(made, text="") for made in super().rewrite(draws)]


KINDS = {
    "text and draw": {"mechanism": WordRR(), "epsilon": [1.0, 8.0], "attack": BOTH, "lambda_": -1e4},
    "draw alone": {
        "mechanism": HidesText(slots=8), "epsilon": 8.0, "attack": ["lexical", "likelihood"],
    },
    "knowing attacks alone": {"mechanism": WordRR(slots=8), "epsilon": 8.0, "attack": BOTH[1:]},
    "equal bounds": {"mechanism": "identity", "attack": [SharedWords(), "lexical"], "lambda_": -1e4},
    "several mechanisms": {
        "mechanisms": ["constant", "identity", {"name": "word-rr", "slots": 8}], "epsilon": 8.0,
        "attack": ["lexical", "text-likelihood"],
    },
    "several rewrites": {
        "mechanism": WordRR(slots=8), "epsilon": 2.0, "attack": ["lexical", "likelihood"],
        "plans": [{"k": 2, "lambda": 0, "releases": 4}],
    },
    "several plans": {
        "mechanism": "identity", "attack": "lexical",
        "plans": [{"k": 2, "lambda": 0}, {"k": 8, "lambda": 50}],
    },
    "nothing": {"mechanism": "constant", "attack": BOTH[:1]},
    "failures": {"mechanism": Failing(1.0), "epsilon": 1.0, "attack": BOTH[:1]},
}  # fmt: skip


def audit(kind, folder):
    settings = {"trials": 250, "encoder": "lexical", "out": str(folder), "corpus": "demo", **KINDS[kind]}
    if "mechanisms" in settings:
        spec = {"name": "demo"}
        attacks = [{"name": name} for name in settings.pop("attack")]
        settings |= {"corpus": spec, "attacks": attacks, "epsilons": settings.pop("epsilon")}
        return tedaudit.run(settings)
    if "plans" not in settings:
        settings.setdefault("lambda_", 0)
    return tedaudit.audit(settings.pop("mechanism"), settings.pop("corpus"), **settings)


@pytest.fixture(scope="module", params=KINDS)
def told(request, tmp_path_factory):
    """A run of each kind."""
    return request.param, audit(request.param, tmp_path_factory.mktemp("winner") / "run")


def find_most(findings):
    """Return the finding that proves most, found here by hand."""
    return max(
        (finding for finding in findings if finding.leaks), key=lambda finding: finding.eps_emp, default=None
    )


def list_writers(result, capsys):
    """Return what each writer says of the whole run."""
    folder, texts = result.folder, {}
    lead = embedded(folder)["lead"]
    texts["page"] = f"{lead['headline']} {lead['detail']}"
    texts["report.md"] = (folder / "report.md").read_text().partition("\n## ")[0]
    texts["print(result)"] = str(result)
    show_result(result, "pivot")
    texts["terminal"] = capsys.readouterr().out
    show_result(result, "none")
    texts["terminal without tables"] = capsys.readouterr().out
    show_result(result, "full")
    texts["terminal, every row"] = capsys.readouterr().out
    texts["notebook"] = re.sub(r"<table>.*</table>", "", result._repr_html_(), flags=re.DOTALL)
    texts["job summary"] = make_export(result, Export("markdown")).decode()
    if len({finding.label for finding in result}) == 1:
        texts["card"] = calibration_cards(result)[0]["headline"]
    return {name: " ".join(text.replace("\\", "").split()) for name, text in texts.items()}


def names(text, finding):
    """Return whether a text names this finding as what proves most: number, attack and rewrites."""
    number = rf"{finding.eps_emp:.2f}".replace(".", r"\.")
    at = f"{re.escape(finding.label)}( at epsilon {finding.epsilon.label})?"
    counted = rf"Shown .* by {at}.* Attack: {re.escape(finding.attack)};.* is at least {number} "
    said = rf"finds most for {at}[^.:]*: eps_emp {number} \({re.escape(finding.attack)}: "
    return re.search(counted, text) is not None or re.search(said, text) is not None


def test_every_writer_names_one_winner(told, capsys):
    kind, result = told
    of_text = find_most(f for f in result if not f.sees_draw)
    of_draw = find_most(f for f in result if f.sees_draw)
    expected = of_text or of_draw
    writers = list_writers(result, capsys)
    if kind == "nothing":
        assert expected is None
        assert [n for n, text in writers.items() if "provably better than guessing" not in text] == []
    elif kind == "failures":
        assert expected is None
        assert [n for n, text in writers.items() if "finds most" in text or "at least" in text] == []
    else:
        assert [name for name, text in writers.items() if not names(text, expected)] == []


def test_who_sees_the_draw_is_told_apart_by_every_writer(told, capsys):
    _, result = told
    of_text = find_most(f for f in result if not f.sees_draw)
    of_draw = find_most(f for f in result if f.sees_draw)
    writers = list_writers(result, capsys)
    if of_draw is None:
        return
    if of_text is None:  # it was tried, and found nothing
        assert [n for n, text in writers.items() if "No attack on the text alone did" not in text] == []
        return
    seen = rf"{DRAW} [^.]* finds eps_emp {of_draw.eps_emp:.2f} for [^.]*\({of_draw.attack}: "
    for name, text in writers.items():
        assert re.search(seen, text), name
        assert re.search(r"the text alone", text.partition(DRAW)[0]), name


def test_kinds_have_what_they_are_for(tmp_path):
    """Or the tests above compare nothing."""
    result = audit("text and draw", tmp_path / "run")
    found = {finding.attack: finding.eps_emp for finding in result if finding.epsilon == 8.0}
    assert found["likelihood"] > found["text-likelihood"] > found["lexical"] > 0
    assert json.loads((result.folder / "summary.json").read_text())["eps_emp"] == found["likelihood"]


class EveryOther(Identity):
    """Keeps every other word, and takes no epsilon."""

    def rewrite(self, draws):
        return [Rewrite(" ".join(draw.text.split()[1::2])) for draw in draws]


def test_the_example_of_a_page_is_of_the_winner_if_it_makes_a_point(tmp_path):
    """Of one that takes no epsilon too, if it gives most away."""
    mechanisms = [{"name": "word-rr", "slots": 8}, {"name": "every-other", "live": EveryOther()}]
    result = tedaudit.run({
        "mechanisms": mechanisms, "epsilons": [4], "corpus": {"name": "given", "live": Given(sentences(40))},
        "attacks": ["lexical"], "trials": 250, "encoder": "lexical", "out": str(tmp_path / "run"),
    })  # fmt: skip
    assert {finding.label for finding in result if finding.leaks} == {"word-rr", "every-other"}
    assert find_most(result).label == "every-other"
    data = embedded(tmp_path / "run")
    assert "by every-other" in data["lead"]["headline"]
    assert data["example"]["story"].startswith("every-other")
