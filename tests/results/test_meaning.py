"""What a number means: the most that any attack could reach, and never the success of a run."""

import math

import pytest

from tedaudit.results.words import LOSSES, format_most, tell_meaning


def test_every_row_is_the_most_that_any_attack_on_two_candidates_could_reach():
    rows = tell_meaning().table.cells
    assert [float(loss) for loss, *_ in rows] == list(LOSSES)
    for (_, most, factor), loss in zip(rows, LOSSES, strict=True):
        assert float(most) == pytest.approx(100 * math.exp(loss) / (math.exp(loss) + 1), abs=0.05)
        assert float(factor.replace(",", "")) == pytest.approx(math.exp(loss), rel=0.05)
    assert [most for _, most, _ in rows][:4] == ["50.0", "52.5", "62.2", "73.1"]


@pytest.mark.parametrize("loss", [0.0, 1.0, 7.0, 10.0, 20.0])
def test_no_loss_is_said_to_allow_every_guess(loss):
    assert float(format_most(loss)) < 100


def test_it_is_not_to_be_read_backwards_and_says_how_to_choose_a_limit():
    told = " ".join(tell_meaning().remarks)
    assert "from left to right only" in told
    assert "does not say how often an attack of a run was right" in told
    assert "--fail-above" in told
