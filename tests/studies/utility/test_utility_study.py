"""A study from end to end, on mechanisms whose answers are known."""

import json

import pytest

from helpers import Failing, Recording, given, sentences, snapshot
from tedaudit import load_corpus
from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.runs.checksums import seal_json
from tedaudit.seeding import derive
from tedaudit.studies.utility.results import compare_scores
from tedaudit.studies.utility.study import run_study
from tedaudit.studies.utility.telling import describe_changes, tabulate_changes
from tiny_study import make_study


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The three reference mechanisms, a task and a private attribute."""
    out = tmp_path_factory.mktemp("studies") / "known"
    mechanisms = ["identity", "constant", "word-rr"]
    return run_study(make_study(out, mechanisms=mechanisms, epsilons=[4, 10], private=["gender"]))


def scores(result, mechanism, task="topic"):
    return [one.scores for one in result if (one.mechanism, one.task) == (mechanism, task)]


@pytest.mark.parametrize("task", ["topic", "gender"])
def test_identity_is_the_upper_line_and_constant_the_lower(known, task):
    lines = known.task(task)
    assert scores(known, "identity", task) == [lines.upper]
    assert [one.mean for one in scores(known, "constant", task)] == [lines.lower]
    assert lines.lower < lines.upper.mean


def test_word_rr_lies_between_the_lines_and_rises_with_epsilon(known):
    lines = known.task("topic")
    low, high = (one.mean for one in scores(known, "word-rr"))
    assert lines.lower < low < high < lines.upper.mean


def test_seeds_have_rewrites_of_their_own(known):
    assert all(len(set(one.values)) == 2 for one in scores(known, "word-rr"))
    assert all(one.spread == 0 for one in scores(known, "identity"))


def test_roles_and_sizes_are_recorded(known):
    assert [(task.name, task.role, task.classes) for task in known.tasks] == [
        ("topic", "utility", 9),
        ("gender", "private", 2),
    ]
    assert known.sizes == (300, 600)
    assert {one.rewrites for one in known} == {600}


def test_the_draws_of_a_text_come_together_with_noise_for_this_purpose_alone(tmp_path):
    mechanism = Recording()
    run_study(make_study(tmp_path / "s", mechanisms=[mechanism], epsilons=[1, 2], limit=20, seed=5))
    assert len(mechanism.draws) == 20 * 2 * 2
    for start in range(0, 80, 4):
        (text,) = {draw.text for draw in mechanism.draws[start : start + 4]}
        keys = [derive(5, "utility", text, replicate) for replicate in (0, 1)]
        found = {(draw.epsilon, draw.key) for draw in mechanism.draws[start : start + 4]}
        assert found == {(epsilon, key) for epsilon in (1, 2) for key in keys}


def test_a_failed_rewrite_is_trained_on_as_the_empty_text_and_counted(tmp_path):
    none = run_study(make_study(tmp_path / "none", mechanisms=[Failing(share=1.0)], limit=100))
    assert [(one.failed, one.rewrites) for one in none] == [(200, 200)]
    assert scores(none, "failing")[0].mean == none.task("topic").lower
    some = run_study(make_study(tmp_path / "some", mechanisms=[Failing(share=0.5)], limit=100))
    assert 0 < some.measured[0].failed < 200


def test_a_table_of_rewrites_is_used_for_every_seed_and_what_it_lacks_has_failed(tmp_path):
    texts = load_corpus("demo", size=300).texts[:-10]
    rows = ["original,rewrite", *(f'"{text}","{text}"' for text in texts if '"' not in text)]
    (tmp_path / "pairs.csv").write_text("\n".join(rows), encoding="utf-8")
    recorded = {"name": "recorded", "path": str(tmp_path / "pairs.csv")}
    (found,) = run_study(make_study(tmp_path / "s", mechanisms=[recorded]))
    assert (found.failed, found.rewrites) == (300 - (len(rows) - 1), 300)
    assert len(set(found.scores.values)) == 1


def test_the_same_command_does_nothing_again(tmp_path):
    first = run_study(make_study(tmp_path / "s", mechanisms=[Recording()], limit=60))
    before = snapshot(tmp_path / "s", "*/**/*")
    again = Recording()
    second = run_study(make_study(tmp_path / "s", mechanisms=[again], limit=60))
    assert second == first
    assert again.draws == []
    assert snapshot(tmp_path / "s", "*/**/*") == before


def test_only_what_is_missing_is_done(tmp_path):
    first = run_study(make_study(tmp_path / "s", mechanisms=[Recording()], limit=60))
    before = snapshot(tmp_path / "s", "*/**/*")
    lost = tmp_path / "s" / "scores" / "topic" / "recording" / "8" / "part-001.json"
    lost.unlink()
    (part,) = (tmp_path / "s" / "rewrites" / "recording" / "8").glob("part-*")
    part.unlink()
    again = Recording()
    assert run_study(make_study(tmp_path / "s", mechanisms=[again], limit=60)) == first
    assert len(again.draws) == 120
    now = snapshot(tmp_path / "s", "*/**/*")
    assert {name: value[0] for name, value in now.items()} == {
        name: value[0] for name, value in before.items()
    }


def test_more_epsilons_and_seeds_extend_a_study(tmp_path):
    run_study(make_study(tmp_path / "s", mechanisms=[Recording()], limit=60))
    again = Recording()
    run_study(make_study(tmp_path / "s", mechanisms=[again], limit=60, epsilons=[8, 9], seeds=3))
    assert len(again.draws) == 60 + 180


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"limit": 70}, "data.limit: 60 -> 70"),
        ({"seed": 1}, "seed: 0 -> 1"),
        ({"mechanisms": [{"name": "word-rr", "slots": 5}]}, "mechanism.slots"),
        ({"corpus": {"name": "demo", "size": 290}}, "data.train: "),
    ],
)
def test_other_settings_are_refused_with_the_difference(tmp_path, change, told):
    run_study(make_study(tmp_path / "s", mechanisms=["word-rr"], limit=60))
    before = snapshot(tmp_path / "s")
    with pytest.raises(RunDirectoryError, match="was made with other settings") as caught:
        run_study(make_study(tmp_path / "s", **{"mechanisms": ["word-rr"], "limit": 60, **change}))
    assert told in str(caught.value)
    assert snapshot(tmp_path / "s") == before


def test_a_folder_that_contains_something_else_is_refused(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(RunDirectoryError, match=r"is not a study.*note\.txt"):
        run_study(make_study(tmp_path))
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(RunDirectoryError, match="contains an audit"):
        run_study(make_study(tmp_path))
    with pytest.raises(RunDirectoryError, match="is a file"):
        run_study(make_study(tmp_path / "note.txt"))


def test_a_damaged_score_is_named(tmp_path):
    run_study(make_study(tmp_path / "s", limit=60))
    path = tmp_path / "s" / "upper" / "topic" / "part-000.json"
    path.write_text("{")
    with pytest.raises(RunDirectoryError, match=r"part-000\.json' is damaged"):
        run_study(make_study(tmp_path / "s", limit=60))
    path.write_text(json.dumps({"key": "another", "macro_f1": 1.0}))
    with pytest.raises(RunDirectoryError, match="does not belong here"):
        run_study(make_study(tmp_path / "s", limit=60))


def test_progress_ends_at_its_total(tmp_path):
    steps = []
    run_study(make_study(tmp_path / "s", limit=60, private=["gender"]), lambda *step: steps.append(step))
    assert steps[-1][1] == steps[-1][2] == 120 + 4 + 4 + 600 + 1


def test_texts_without_labels_cannot_be_studied(tmp_path):
    with pytest.raises(SpecError, match="has no column 'topic'"):
        run_study(make_study(tmp_path / "s", corpus=given(sentences(20))))
    assert not (tmp_path / "s").exists()


def test_scores_have_the_error_of_the_test_texts(known):
    upper = known.task("topic").upper
    assert 0 < upper.test_error < 0.2
    assert upper.error >= upper.test_error
    low, high = scores(known, "word-rr")
    assert compare_scores(low, high).told == "rises"
    assert any(
        note.startswith("topic F1, word-rr: rises from epsilon 4 to 10") for note in describe_changes(known)
    )
    [row] = [row for row in tabulate_changes(known).table.rows if row[:2] == ("topic F1", "word-rr")]
    assert row[3] == row[6] == pytest.approx(high.mean - low.mean)  # of two epsilons
    assert 0 < row[4] < row[3] < row[5]
    assert known.to_dict()["rows"][0]["test_error"] == scores(known, "identity")[0].test_error


def test_a_study_whose_files_have_no_predictions_has_scores_without_that_error(tmp_path):
    spec = make_study(tmp_path / "s")
    before = run_study(spec).task("topic").upper
    for path in (tmp_path / "s" / "upper" / "topic").glob("part-*.json"):
        stored = json.loads(path.read_text())
        del stored["predicted"]
        path.write_text(json.dumps(seal_json(stored)))
    after = run_study(spec).task("topic").upper
    assert after.values == before.values
    assert before.test_error is not None
    assert after.test_error is None
