"""Ranks among all originals: against a plain loop, with ties, in bounded memory, for any attack that fits."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from helpers import sentences
from tedaudit.attacks.lexical import Lexical
from tedaudit.errors import ContractError, SpecError
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Card, Guess
from tedaudit.studies.link import ranks as module
from tedaudit.studies.link.ranks import rank_records, refuse_unfit
from tedaudit.studies.link.table import ColumnNames, read_release


@dataclass
class Table:
    """An attack with given scores, a row for every rewrite."""

    scores: np.ndarray
    usable: bool = True
    card: ClassVar[Card] = Card("table", "Scores that were written down.")

    def guess(self, seen):
        return [Guess(self.scores[int(one.output.text)].copy(), self.usable) for one in seen]


def make_release(n, rewrites=None):
    texts = sentences(n)
    rewrites = [str(i) for i in range(n)] if rewrites is None else rewrites
    return read_release({"original": texts, "rewrite": rewrites}, ColumnNames())


def test_rank_margin_and_lead_are_those_of_a_plain_loop():
    scores = np.random.default_rng(1).integers(0, 7, (30, 30)) / 10
    found = rank_records("table", Table(scores), make_release(30), 0)
    for row in range(30):
        own, others = scores[row, row], np.delete(scores[row], row)
        tied = int((others == own).sum()) + 1
        better = int((others > own).sum())
        ordered = np.sort(scores[row])
        assert (found.better[row], found.tied[row]) == (better, tied)
        assert found.rank[row] == better + (tied + 1) / 2
        assert found.margin[row] == pytest.approx(own - others.max())
        assert found.lead[row] == pytest.approx(ordered[-1] - ordered[-2])
        assert better < found.place[row] <= better + tied


def test_what_is_tied_is_named_no_more_often_than_by_chance():
    size = 300
    found = rank_records("table", Table(np.zeros((size, size))), make_release(size), 0)
    assert (found.tied == size).all()
    assert found.found.sum() <= 8  # about 1 is expected; 9 or more have a probability below 1e-5
    assert len(set(found.place.tolist())) > size / 2


def test_scores_that_differ_after_the_fifth_decimal_are_tied():
    scores = np.zeros((3, 3)) + np.eye(3) * 1e-7
    assert rank_records("table", Table(scores), make_release(3), 0).tied.tolist() == [3, 3, 3]


def test_two_originals_can_be_ranked():
    found = rank_records("table", Table(np.array([[0.9, 0.1], [0.8, 0.3]])), make_release(2), 0)
    assert found.place.tolist() == [1, 2]
    assert found.margin.tolist() == pytest.approx([0.8, -0.5])


def test_an_unusable_answer_finds_nobody():
    found = rank_records("table", Table(np.eye(5), usable=False), make_release(5), 0)
    assert found.place.tolist() == [5] * 5
    assert not found.found.any()


def test_the_size_of_parts_changes_nothing_and_bounds_what_is_in_memory(monkeypatch):
    texts = sentences(40)
    release = make_release(40, [" ".join(text.split()[2:]) for text in texts])
    whole = rank_records("lexical", Lexical(), release, 3)
    seen = []
    monkeypatch.setattr(module, "_CELLS", 120)

    class Watching(Lexical):
        def guess(self, batch):
            seen.append(len(batch) * 40)
            return super().guess(batch)

    parts = rank_records("lexical", Watching(), release, 3)
    assert max(seen) <= 120
    for column in ("better", "tied", "place"):
        assert getattr(whole, column).tolist() == getattr(parts, column).tolist()


def test_a_copy_is_found_and_a_constant_is_not():
    texts = sentences(60)
    assert rank_records("lexical", Lexical(), make_release(60, texts), 0).found.all()
    assert rank_records("lexical", Lexical(), make_release(60, ["nothing"] * 60), 0).found.sum() < 8


@pytest.mark.parametrize("name", ["resample", "trained", "likelihood", "internal", "llm"])
def test_attacks_that_need_the_mechanism_or_few_candidates_are_refused(name):
    with pytest.raises(SpecError, match="cannot be used for linking"):
        refuse_unfit(name, build(Reference("attack", name, {"judge": "hf:x"} if name == "llm" else {})))


def test_scores_of_a_wrong_shape_or_value_are_refused():
    with pytest.raises(ContractError, match="one number for each original"):
        rank_records("table", Table(np.zeros((4, 3))), make_release(4), 0)
    with pytest.raises(ContractError, match="one number for each original"):
        rank_records("table", Table(np.full((4, 4), np.nan)), make_release(4), 0)
