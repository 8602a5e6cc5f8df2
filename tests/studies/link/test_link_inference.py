"""Inference of a private column: known answers, who is held out, and what is refused."""

import pytest

from tedaudit.errors import CorpusError
from tedaudit.studies.link.inference import _hold_out, infer_column
from tedaudit.studies.link.table import ColumnNames, read_release

SIZE = 600


def make_release(rewrite, originals=None, labels=None):
    labels = labels or ["f" if number % 2 else "m" for number in range(SIZE)]
    originals = originals or [
        f"note {number} by {'her' if label == 'f' else 'him'}" for number, label in enumerate(labels)
    ]
    rewrites = [rewrite(text, label) for text, label in zip(originals, labels, strict=True)]
    return read_release(
        {"original": originals, "rewrite": rewrites, "gender": labels}, ColumnNames(private=("gender",))
    )


def infer(release):
    return infer_column(release, "gender", "tfidf", 0, 0.01)


def test_a_column_that_the_rewrites_tell_is_inferred():
    found = infer(make_release(lambda text, label: text.split()[-1]))
    assert found.rewrites.rate == found.originals.rate == 1
    assert found.is_shown
    assert found.gain[0] > 0.3
    assert found.epsilon > 2.5
    assert found.trained + found.rewrites.asked == SIZE


def test_a_column_that_only_the_originals_tell_is_not():
    found = infer(make_release(lambda text, label: "nothing at all"))
    assert found.originals.rate == 1
    assert found.rewrites.right == found.frequent.right
    assert not found.is_shown
    assert found.gain[0] <= 0 <= found.gain[1]
    assert found.epsilon == 0


def test_records_with_the_same_original_are_held_out_together():
    originals = [f"note {number // 3} by nobody" for number in range(SIZE)]
    release = make_release(lambda text, label: text, originals)
    held_out = _hold_out(release, "gender", 0)
    assert 0.2 < held_out.mean() < 0.45
    for position in range(len(release.pool)):
        assert len(set(held_out[release.position == position].tolist())) == 1


def test_records_without_a_value_are_left_out():
    labels = ["f", "m", ""] * (SIZE // 3)
    found = infer(make_release(lambda text, label: text, labels=labels))
    assert found.trained + found.rewrites.asked == 2 * SIZE // 3


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["f"] * SIZE, "only one value"),
        ([f"name {number}" for number in range(SIZE)], "does not look like a class"),
        (["f", "m"] * 10 + [""] * (SIZE - 20), "has a value in 20 records"),
    ],
)
def test_a_column_that_cannot_be_inferred_is_refused(labels, told):
    with pytest.raises(CorpusError, match=told):
        infer(make_release(lambda text, label: text, labels=labels))
