"""The whole study from Python: real rewriters on real texts, known answers, settings that are refused."""

import numpy as np
import pytest

import tedaudit
from helpers import sentences
from tedaudit.errors import SpecError
from tedaudit.studies.link.result import ALL, PAIRS


def rewrite_demo(size, epsilon):
    corpus = tedaudit.load_corpus("demo", size=size)
    rewrites = [one.text for one in tedaudit.rewrite("word-rr", corpus.texts, epsilon, seed=1)]
    return {
        "id": [f"p{number}" for number in range(size)], "original": list(corpus.texts), "rewrite": rewrites,
        "topic": list(corpus.splits["train"].columns["topic"]),
    }  # fmt: skip


def test_little_noise_is_linked_and_much_noise_is_not():
    weak = tedaudit.link(rewrite_demo(900, 60), private="topic")
    [found] = weak
    assert found.linkability.rate > 0.5
    assert found.linkability.low < found.linkability.rate < found.linkability.high
    assert weak.eps_emp > 4
    assert weak.inferences[0].is_shown
    strong = tedaudit.link(rewrite_demo(400, 0.1), private="topic")
    assert strong.attacks[0].linkability.rate < 0.05
    assert strong.eps_emp == 0
    assert not strong.inferences[0].is_shown


def test_the_bound_is_below_what_the_mechanism_truly_promises():
    result = tedaudit.link(rewrite_demo(400, 1.0))
    assert result.eps_emp <= tedaudit.estimate(1, 2).lower + 16  # 16 slots of epsilon 1


def test_an_original_of_many_records_counts_once_and_by_its_first_record():
    texts = sentences(30)
    rewrites = ["nothing", *[texts[0]] * 40, *texts[1:-1], "nothing"]
    result = tedaudit.link({"original": [*[texts[0]] * 41, *texts[1:]], "rewrite": rewrites})
    [found] = result
    counts = result.rows["lexical", ALL].counts
    assert (counts.right, counts.trials) == ((28,), 30)
    assert (found.sure[0].right, found.sure[0].size) == (28, 30)
    assert found.linkability.rate == pytest.approx(28 / 30)


def test_results_are_the_same_again_and_other_seeds_pair_other_records():
    table = rewrite_demo(200, 6)
    one, again, other = (tedaudit.link(table, seed=seed) for seed in (3, 3, 4))
    assert one.to_dict() == again.to_dict()
    assert one.rows["lexical", PAIRS].counts != other.rows["lexical", PAIRS].counts
    assert np.array_equal(one.attacks[0].ranks.better, other.attacks[0].ranks.better)


def test_the_largest_bound_shares_the_error_of_all_rows():
    texts = sentences(200)
    result = tedaudit.link(
        {"original": texts, "rewrite": texts},
        attacks=["lexical", {"name": "embedding", "encoder": "lexical"}],
    )
    assert len(result.rows) == 4
    assert result.eps_emp == result.rows["lexical", ALL].bound(0.005 / 4).lower
    assert result.eps_emp < result.rows["lexical", ALL].bound(0.005).lower


def test_records_are_ordered_by_rank_then_by_margin_and_each_comes_once():
    result = tedaudit.link(
        rewrite_demo(200, 12), attacks=["lexical", {"name": "embedding", "encoder": "lexical"}]
    )
    records = result.rank_evidence()
    assert sorted(record.row for record in records) == list(range(200))
    assert [record.rank for record in records] == sorted(record.rank for record in records)
    best = np.minimum(*(found.ranks.rank for found in result))
    assert all(record.rank == best[record.row] for record in records)
    first = [record.margin for record in records if record.rank == 1 and record.attack == "lexical"]
    assert first == sorted(first, reverse=True)
    assert result.rank_evidence(3) == records[:3]


def test_every_stage_shows_its_progress(tmp_path):
    table, steps = rewrite_demo(100, 6), []
    tedaudit.link(
        table, private="topic", attacks="lexical", out=tmp_path / "study",
        progress=lambda step, done, total: steps.append((step, done, total)),
    )  # fmt: skip
    assert [step for step, _, _ in steps] == [
        "reading the table", "lexical: scoring all originals", "lexical: scoring all originals",
        "lexical: guessing pairs", "guessing 'topic' from rewrites", "writing the report",
    ]  # fmt: skip
    assert all(0 <= done <= total for _, done, total in steps)


def test_a_limit_is_judged_at_the_error_of_all_rows():
    texts = sentences(200)
    result = tedaudit.link({"original": texts, "rewrite": texts})
    verdicts = result.judge_limit(3.0)
    assert list(verdicts) == ["lexical, all originals", "lexical, disjoint pairs"]
    assert verdicts["lexical, all originals"].is_violation
    assert [str(v) for v in result.judge_limit(30.0).values()] == ["out of reach"] * 2


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"id_colum": "id"}, "Did you mean 'id_column'"),
        ({"attacks": ["lexical", "lexical"]}, "named twice"),
        ({"attacks": "trained"}, "cannot be used for linking"),
        ({"alpha": 2}, "alpha"),
    ],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(SpecError, match=told):
        tedaudit.link({"original": ["a", "b"], "rewrite": ["c", "d"]}, **settings)


def test_snips_without_its_names_and_numbers_is_still_linked(corpora):
    split = tedaudit.load_corpus("snips", path=str(corpora / "snips")).splits["train"]
    originals, labels = split.texts[:1500:3], split.columns["intent"][:1500:3]
    rewrites = [" ".join(w for w in text.split() if w.islower()) for text in originals]
    result = tedaudit.link(
        {"original": originals, "rewrite": rewrites, "intent": labels}, id_column="", attacks="lexical"
    )
    assert result.strongest.linkability.low > 0.3
    assert result.eps_emp > 3
