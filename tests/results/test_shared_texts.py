"""Authors who share texts: nothing tells them apart by these, whatever the attack and whoever had them first.

Two authors of n texts with s in common are told apart by unrewritten texts as often as their laws differ: by
one text in 1/2 + (1 - s/n)/2 of the trials, by several unless all that were chosen are shared.
"""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import tedaudit
from encoder_examples import find_minilm, go_offline
from exact_composition import slot_law
from helpers import make_spec, sentences, tables, within
from judging_server import running
from tedaudit.api import load_run, run
from tedaudit.errors import TedauditError
from tedaudit.results.losses import read_losses
from tedaudit.runs.checking import find_damage, list_missing
from tedaudit.runs.preparation import restore_audit
from tedaudit.studies.fresh import Study
from tedaudit.studies.replay import replay
from tedaudit.studies.worst_pairs import find_worst_pairs

SHARED = sentences(30)
FOUR = [(text, name) for text in SHARED for name in "PQRS"]  # each writes every text
WORDS = tuple(f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmn")
RESPONSE = {"name": "word-rr", "slots": 1, "vocabulary": WORDS}
TRIALS = 2000


def ask(mechanism, rows, **settings):
    texts, authors = zip(*rows, strict=True)
    return tedaudit.audit(mechanism, list(texts), author=list(authors), **settings)


def write_rows(path: Path, names, rows) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    return str(path)


def overlapping(first: int, second: int, common: int) -> list[tuple[str, str]]:
    """Return the rows of two authors of so many one-word texts, the common ones by turns first."""
    own = {"P": WORDS[:first], "Q": WORDS[first - common : first - common + second]}
    rows = [(word, name) for name, words in own.items() for word in words]
    return sorted(rows, key=lambda row: (row[0], row[1] == "PQ"[ord(row[0][0]) % 2]))


def list_scores(found, finding) -> np.ndarray:
    return np.asarray(found.guesses(finding).read(["scores"])["scores"])


def succeeds(finding, rate: float) -> bool:
    return within(finding.bound.correct, finding.bound.trials, rate)


@pytest.mark.parametrize("knows", ["same", "other"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("mechanism", ["identity", {"name": "word-rr", "slots": 4}])
def test_authors_of_the_same_texts_are_named_by_tossing_a_coin(tmp_path, mechanism, k, knows):
    attacks = ["lexical", "trained", "resample", {"name": "ensemble", "members": ["lexical", "trained"]}]
    attacks += [] if mechanism == "identity" else ["likelihood", "text-likelihood"]
    found = ask(
        mechanism, FOUR, epsilon=() if mechanism == "identity" else 4.0, attack=attacks, trials=120,
        texts=4, k=k, knows=knows, out=str(tmp_path / "run"),
    )  # fmt: skip
    assert len(found.findings) == 3 * len(attacks)
    for finding in (*found, *found.originals):
        scores = list_scores(found, finding)
        assert (scores == scores[:, :1]).all(), finding.attack
        assert succeeds(finding, 1 / k)
    assert found.eps_emp == 0
    assert "4 of 4 authors" in (tmp_path / "run" / "report.md").read_text()


def test_partners_are_found_wherever_they_stand_among_the_candidates():
    """Two of three have the same texts: only the third is told apart for sure."""
    rows = [
        *((text, name) for text in SHARED for name in "PQ"),
        *((text, "T") for text in sentences(60)[30:]),
    ]
    found = ask("identity", rows, texts=4, k=3, trials=TRIALS, attack="lexical")
    assert [succeeds(finding, 1 / 3 + 2 / 3 / 2) for finding in found] == [True] * 3


def test_meaning_does_not_tell_them_apart_either(tmp_path, monkeypatch):
    go_offline(monkeypatch)
    embedding = {"name": "embedding", "encoder": str(find_minilm())}
    found = ask("identity", FOUR, texts=4, trials=200, attack=embedding, out=str(tmp_path / "run"))
    assert all((list_scores(found, f) == list_scores(found, f)[:, :1]).all() for f in found)


@pytest.mark.parametrize("reading", ["choice", "generate"])
def test_a_judge_that_prefers_a_place_is_shown_a_shared_text_once(tmp_path, reading):
    with running() as server:
        llm = {"name": "llm", "judge": server.backend, "reading": reading}
        found = ask("identity", FOUR, texts=2, trials=200, attack=llm, out=str(tmp_path / "run"))
        assert not server.bodies
        assert all((list_scores(found, f) == 0).all() for f in found)
        rows = [*FOUR, *((text, "T") for text in sentences(80)[50:])]
        mixed = ask("identity", rows, texts=2, k=3, trials=200, attack=llm, out=str(tmp_path / "other"))
        assert server.bodies
    one = mixed.findings[0]
    plan, scores = mixed.run.read_plan(one.plan), list_scores(mixed, one)
    for texts, row in zip(plan.candidates.tolist(), scores.tolist(), strict=True):
        assert len(set(zip(texts, row, strict=True))) == len(set(texts))


def exact_success(
    first: int, second: int, common: int, n: int, tell=lambda different: different > 0
) -> float:
    """Return how often two authors are told apart if `tell` says how likely that is beyond a coin.

    The texts of both are drawn without replacement, each pair the same as often as can be.
    """

    def follow(first, second, common, left, different):
        if not left:
            return 0.5 + tell(different) / 2
        same = common / max(first, second)
        only, other = first - common, second - common  # of one author alone
        total = same * follow(first - 1, second - 1, common - 1, left - 1, different) if common else 0.0
        # what is left of each law: its own texts, and the shared ones of who has fewer texts
        surplus = [
            common * max(0.0, 1 / own - 1 / whole) for own, whole in ((first, second), (second, first))
        ]
        for left_out, chance in ((0, only / first), (1, surplus[0])):
            for right_out, reach in ((0, other / second), (1, surplus[1])):
                part = chance * reach / (1 - same) if same < 1 else 0.0
                if part:
                    rest = common - left_out - right_out
                    # a shared text that one of them has used is the other's alone from then on
                    total += part * follow(first - 1, second - 1, rest, left - 1, different + 1)
        return total

    return follow(first, second, common, n, 0)


def test_the_closed_form_is_that_of_subsets_if_both_have_as_many_texts():
    for n in (1, 2, 4):
        assert exact_success(8, 8, 4, n) == pytest.approx(1 - math.comb(4, n) / math.comb(8, n) / 2)


@pytest.mark.parametrize("sizes", [(8, 8, 4), (8, 8, 0), (6, 12, 6), (12, 6, 3), (9, 7, 7)])
def test_partly_shared_texts_are_told_apart_as_often_as_they_differ(sizes):
    found = ask("identity", overlapping(*sizes), texts=4, trials=TRIALS, attack="lexical")
    assert [finding.rewrites for finding in found] == [1, 2, 4]
    assert all(succeeds(f, exact_success(*sizes, f.rewrites)) for f in found)
    first, second, common = sizes
    difference = 1 - common / max(first, second)  # of the laws of one text each
    assert exact_success(*sizes, 1) == pytest.approx(0.5 + difference / 2)


@pytest.mark.parametrize("sizes", [(8, 8, 4), (12, 6, 3)])
def test_losses_of_partly_shared_texts_are_exact_and_fit_the_guesses(sizes, tmp_path):
    """Randomised response loses nothing where both have the same text: +epsilon, -epsilon or 0 where not."""
    epsilon, items = 2.0, len(WORDS) + 1  # and the empty one

    def advantage(different):
        return slot_law(epsilon, items).repeat(different).delta(0.0)

    found = ask(
        RESPONSE, overlapping(*sizes), epsilon=epsilon, texts=4, trials=TRIALS,
        attack=["likelihood", "text-likelihood"], out=str(tmp_path / "run"),
    )  # fmt: skip
    for finding in found:
        exact = exact_success(*sizes, finding.rewrites, advantage)
        assert succeeds(finding, exact)
        assert finding.measures.attainable == pytest.approx(exact, abs=0.03)
        assert not finding.refuted
    assert not found.violated
    assert [row.refuted for row in read_losses(found)] == [""] * 3
    assert read_losses(found)[0].supremum.largest == pytest.approx(epsilon)


@pytest.mark.parametrize("knows", ["same", "other"])
def test_texts_of_every_author_are_used_alike_and_no_draw_twice(knows, tmp_path):
    rows, out = overlapping(16, 24, 12), str(tmp_path / "run")
    found = ask("identity", rows, texts=2, knows=knows, trials=TRIALS, attack="lexical", out=out)
    plan, texts = found.run.read_plan(found.findings[0].series), found.run.corpus().texts
    draws = set(zip(plan.source.tolist(), plan.replicate.tolist(), strict=True))
    assert (len(draws), len(texts)) == (2 * TRIALS, 28)
    has = [{texts.index(text) for text, author in rows if author == name} for name in "PQ"]
    shown = plan.candidates.reshape(TRIALS, 2, -1)
    if knows == "other":
        assert not (plan.candidates == plan.source[:, None]).any()
        return
    assert all(len(set(trial[:, place].tolist())) == 2 for trial in shown for place in (0, 1))
    used = np.bincount(shown.ravel(), minlength=28)
    both = sorted(has[0] & has[1])
    assert within(int(used[both].sum()), 8 * TRIALS // 2, (12 / 16 + 12 / 24) / 2)
    for position in range(28):  # of each author as many texts are shown, and each of theirs as often
        expected = sum(2 * TRIALS / len(own) for own in has if position in own)
        assert abs(used[position] - expected) < 7 * math.sqrt(expected)


def test_a_plan_without_authors_in_the_same_run_is_as_it_is_alone(tmp_path):
    corpus = {"name": "files", "path": write_rows(tmp_path / "texts.csv", ("text", "author"), FOUR)}
    settings = {"corpus": corpus, "trials": 100, "attacks": ["lexical", "resample"]}
    both = [{"k": 2, "lambda": 0}, {"k": 2, "author": "author", "texts": 2}]
    run(make_spec(tmp_path / "alone", **settings), page=False)
    run(make_spec(tmp_path / "joined", **settings, plans=both), page=False)
    joined = tables(tmp_path / "joined")
    for name, rows in tables(tmp_path / "alone").items():
        assert set(map(str, rows)) <= set(map(str, joined[name]))
        assert len(rows) == len(joined[name]) or "rewrites" in name
    stored = [{path.name: path.read_bytes() for path in (tmp_path / name / "corpus").iterdir()}
              for name in ("alone", "joined")]  # fmt: skip
    assert stored[0].items() <= stored[1].items()
    assert list(stored[0]) == ["train.parquet"]


def test_a_run_knows_whose_texts_are_shared_without_the_file_that_it_was_made_from(tmp_path):
    """A plan with authors may join a run without them, and a trial of it is repeated from the run alone."""
    file = write_rows(tmp_path / "texts.csv", ("text", "author"), FOUR)
    settings = {"corpus": {"name": "files", "path": file}, "trials": 40, "attacks": ["lexical"]}
    both = [{"k": 2, "lambda": 0}, {"k": 2, "author": "author", "texts": 2}]
    run(make_spec(tmp_path / "run", **settings), page=False)
    run(make_spec(tmp_path / "run", **settings, plans=both), page=False)
    Path(file).unlink()
    store = load_run(tmp_path / "run").run
    again = replay(store, 3, {"plan": "k2-author2"})
    assert [row.same for row in again] == [True, True]
    assert find_damage(store)[1] == []
    next((tmp_path / "run" / "corpus").glob("*repeats*")).unlink()
    assert "which authors share texts" in list_missing(store)[0]


def test_worst_pairs_are_pairs_of_different_texts(tmp_path):
    rows = [*FOUR, *((text, "T") for text in sentences(90)[60:])]
    found = ask("identity", rows, texts=1, trials=100, attack="lexical", out=str(tmp_path / "run"))
    pairs = find_worst_pairs(found, Study(restore_audit(found.run), "pairs-of-texts"), 200, 5).pairs
    assert len(pairs) > 10
    assert all(pair.texts[0] != pair.texts[1] for pair in pairs)


TABLE = [(f"{WORDS[i]} and {WORDS[i + 8]}", name) for i in range(8) for name in "PQRSTUVW"]


def write_table(path: Path, rows) -> dict[str, str]:
    told = [(text, f"{text} {name}", name) for text, name in rows]
    return {"name": "recorded", "path": write_rows(path, ("original", "rewrite", "who"), told)}


def test_a_table_has_a_rewrite_of_a_shared_text_for_every_author_and_each_is_used_once(tmp_path):
    table = write_table(tmp_path / "pairs.csv", TABLE)
    found = tedaudit.audit(
        table, author="who", trials=4, texts=4, attack="lexical", out=str(tmp_path / "run")
    )
    for finding in found:
        assert (list_scores(found, finding) == list_scores(found, finding)[:, :1]).all()
    plan = found.run.read_plan(found.findings[0].series)
    released = found.rewrites(found.findings[0]).fetch(plan.source, plan.replicate, ()).texts
    assert len(set(released)) == 16
    assert len(found.run.corpus().texts) == 8


def test_a_text_with_fewer_rewrites_than_authors_is_left_out(tmp_path):
    """Two trials would get the same rewrite of it, and their noise would not be independent."""
    table = write_table(tmp_path / "pairs.csv", TABLE[1:])
    texts, authors = zip(*TABLE, strict=True)
    settings = {"author": authors, "trials": 4, "attack": "lexical"}
    found = tedaudit.audit(table, texts, texts=7, out=str(tmp_path / "run"), **settings)
    assert 0 not in found.run.read_plan(found.findings[0].series).source
    with pytest.raises(TedauditError, match="only 0 authors"):
        tedaudit.audit(table, texts, texts=8, **settings)


def test_failed_rewrites_of_shared_texts_name_nobody(tmp_path):
    def fail(text):
        if "sister" in text:
            raise ValueError("no")
        return text

    found = ask(fail, FOUR, texts=2, trials=300, attack=["lexical", "resample"], out=str(tmp_path / "run"))
    for finding in found:
        scores = list_scores(found, finding)
        assert (scores == scores[:, :1]).all()
        assert finding.bound.correct < 200


def test_a_row_without_an_author_leaves_its_text_to_those_whom_others_name():
    rows = [(text, name) for text in SHARED for name in (None, "P", "Q", "P")]
    found = ask("identity", rows, texts=8, trials=50, attack="lexical")
    assert [f.rewrites for f in found] == [1, 2, 4, 8]
    assert found.eps_emp == 0


@pytest.mark.parametrize("knows", ["same", "other"])
def test_linking_a_release_of_the_same_four_authors_shows_nothing(tmp_path, knows):
    rows = [(text, text, name) for text, name in FOUR]
    table = write_rows(tmp_path / "pairs.csv", ("original", "rewrite", "author"), rows)
    [people] = tedaudit.link(table, author="author", knows=knows).exposures
    assert len(people.people) == 4
    assert all(row.bound(0.005).lower == 0 for found in people.attacks for row in found.rows.values())
    assert max(found.named[people.people.largest].right for found in people.attacks) < 4
