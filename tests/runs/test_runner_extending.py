"""More of an audit: what is there stays, what is new is added, and what contradicts it is refused."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from helpers import TABLES, Recording, SharedWords, given, make_spec, sentences, snapshot, tables
from tedaudit.api import run
from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.batches import TextLikelihoods
from tedaudit.plugins.values import Draw, Rewrite
from tedaudit.runs.missing import find_missing
from tedaudit.runs.preparation import prepare


def _pairs(plan):
    return set(zip(plan.source.tolist(), plan.replicate.tolist(), strict=True))


def _extended(root, **changes):
    """Run with a fresh recording mechanism; return its draws after checking that old files stay."""
    before = snapshot(root, TABLES)
    plugin = changes.pop("plugin", None) or Recording()
    run(make_spec(root, mechanisms=[plugin, *changes.pop("others", [])], **changes))
    after = snapshot(root, TABLES)
    assert {name: after[name] for name in before} == before
    assert len(plugin.asked) == len(plugin.draws)
    return plugin.draws


def test_every_rewrite_is_made_once(tmp_path):
    draws = _extended(tmp_path, epsilons=[3, 5])
    assert len(draws) == 200
    assert {draw.epsilon for draw in draws} == {3, 5}


def test_another_attack_rewrites_nothing(tmp_path):
    _extended(tmp_path)
    assert _extended(tmp_path, attacks=["lexical", SharedWords()]) == []
    assert len(tables(tmp_path)["guesses/k2-lambda0/recording/3/shared-words"]) == 100


def test_another_epsilon_rewrites_at_that_epsilon_only_and_with_the_same_noise(tmp_path):
    first = _extended(tmp_path)
    more = _extended(tmp_path, epsilons=[3, 7])
    assert {draw.epsilon for draw in more} == {7}
    assert {(draw.text, draw.key) for draw in more} == {(draw.text, draw.key) for draw in first}


def test_another_mechanism_leaves_the_first_alone(tmp_path):
    first = _extended(tmp_path)
    other = Recording(other="elsewhere")
    assert _extended(tmp_path, others=[{"name": "recording", "label": "second", "live": other}]) == []
    assert other.asked == {(draw.text, draw.epsilon, draw.key) for draw in first}


class Overtaken(Recording):
    """Has somebody else use the run directory once, after a run has looked at it and before it is locked."""

    def claim(self, epsilon):
        if self.others:
            self.others.pop()()
        return super().claim(epsilon)


@pytest.mark.parametrize("attacks", [[SharedWords()], ["resample"]], ids=["plain", "own rewrites"])
def test_a_run_that_was_overtaken_by_another_process_looks_again_and_extends_what_is_there(tmp_path, attacks):
    def extend(folder, trials, plugin):
        return run(make_spec(tmp_path / folder, mechanisms=[plugin], attacks=attacks, trials=trials))

    extend("in turn", 60, Recording())
    expected = extend("in turn", 100, Recording())
    overtaken = Overtaken()
    overtaken.others = [lambda: extend("at once", 60, Recording())]
    found = extend("at once", 100, overtaken)
    assert overtaken.others == []
    assert tables(tmp_path / "at once") == tables(tmp_path / "in turn")
    assert found.to_dict() == expected.to_dict()
    assert [found.run.manifest()[part] for part in ("looks", "plans")] == [
        expected.run.manifest()[part] for part in ("looks", "plans")
    ]


def test_more_trials_add_exactly_the_new_ones(tmp_path):
    first = _extended(tmp_path, trials=70)
    more = _extended(tmp_path, trials=150)
    assert len(first) == 70
    assert len(more) == 80
    assert not {draw.key for draw in first} & {draw.key for draw in more}
    whole = Recording()
    run(make_spec(tmp_path / "whole", mechanisms=[whole], trials=150))
    assert whole.asked == {(d.text, d.epsilon, d.key) for d in first + more}
    grown, at_once = tables(tmp_path), tables(tmp_path / "whole")
    assert {name: rows for name, rows in grown.items() if "whole" not in name} == at_once


def test_other_plans_reuse_replicates_and_add_only_what_counting_says(tmp_path):
    plans = [
        {"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}, {"k": 2, "lambda": -1e4}, {"k": "all"},
        {"k": 2, "lambda": 0, "estimator": "baseline"},
    ]  # fmt: skip
    have = set()
    for number in range(1, len(plans) + 1):
        spec = make_spec(tmp_path, mechanisms=[Recording()], plans=plans[:number])
        plan = prepare(spec).jobs[-1].plan
        new = _pairs(plan) - have
        counts = np.bincount(plan.source, minlength=40)
        before = np.array([max((r + 1 for t, r in have if t == text), default=0) for text in range(40)])
        assert len(new) == np.maximum(counts - before, 0).sum()
        draws = _extended(tmp_path, plans=plans[:number])
        assert len(draws) == len(new)
        assert 0 < len(draws) <= len(plan)
        have |= new
    assert len(tables(tmp_path)["rewrites/recording/3"]) == len(have)


def test_everything_at_once_extends_too(tmp_path):
    first = _extended(tmp_path)
    plans = [{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}]
    more = _extended(
        tmp_path,
        epsilons=[3, 4],
        trials=130,
        plans=plans,
        attacks=["lexical", SharedWords()],
        others=["identity"],
    )
    at_once = Recording()
    whole = tmp_path / "whole"
    run(
        make_spec(
            whole,
            mechanisms=[at_once, "identity"],
            epsilons=[3, 4],
            trials=130,
            plans=plans,
            attacks=["lexical", SharedWords()],
        )
    )
    assert at_once.asked == {(d.text, d.epsilon, d.key) for d in first + more}
    grown = {name: rows for name, rows in tables(tmp_path).items() if "whole" not in name}
    assert grown == tables(whole)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"mechanisms": [Recording("quite different")]},
            "mechanism.other: something else -> quite different",
        ),
        ({"mechanisms": [{"name": "word-rr", "label": "recording"}]}, "mechanism.name: recording -> word-rr"),
        ({"seed": 7}, "seed: 0 -> 7"),
        ({"corpus": given(sentences(39))}, "corpus given (40 texts) -> given (39 texts)"),
        ({"attacks": [SharedWords(2.0)]}, "attack.weight: 1.0 -> 2.0"),
    ],
)
def test_a_change_of_what_determines_a_table_is_refused_with_the_difference_and_changes_nothing(
    tmp_path, changes, told
):
    settings = {"mechanisms": [Recording()], "attacks": [SharedWords()]}
    run(make_spec(tmp_path, **settings))
    before = snapshot(tmp_path)
    with pytest.raises(RunDirectoryError) as caught:
        run(make_spec(tmp_path, **settings | changes | {"trials": 300}))
    assert told in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert snapshot(tmp_path) == before


@dataclass
class Telling(Recording):
    """Tells how probable a text is, the more surely the more it reads."""

    readings: int = field(default=16, metadata={"scores_only": True})

    def text_log_likelihood(self, texts, candidates, epsilon):
        return TextLikelihoods.scores(
            [
                np.array([float(self.readings * (text == one)) for one in row])
                for text, row in zip(texts, candidates, strict=True)
            ]
        )


ATTACKS = ["lexical", "text-likelihood", {"name": "trained", "rewrites": 100}]


def test_what_a_mechanism_tells_of_texts_changes_the_scores_of_who_asks_and_nothing_else(tmp_path):
    _extended(tmp_path, plugin=Telling(), attacks=ATTACKS)
    before = snapshot(tmp_path)
    with pytest.raises(RunDirectoryError) as caught:
        run(make_spec(tmp_path, mechanisms=[Telling(readings=4)], attacks=ATTACKS))
    assert "text-likelihood' was made with other settings: scoring" in str(caught.value)
    assert "4" in str(caught.value)
    assert snapshot(tmp_path) == before
    again = {"name": "text-likelihood", "label": "reads less"}
    assert _extended(tmp_path, plugin=Telling(readings=4), attacks=[ATTACKS[0], again, ATTACKS[2]]) == []
    found, folder = tables(tmp_path), "guesses/k2-lambda0/recording/3"
    for name, most in (("text-likelihood", 16.0), ("reads less", 4.0)):
        scores = [part for row in found[f"{folder}/{name}"] for part in row if isinstance(part, list)]
        assert max(map(max, scores)) == most


def test_an_audit_that_was_stored_before_a_mechanism_had_that_setting_goes_on(tmp_path):
    @dataclass
    class Before(Recording):
        text_log_likelihood = Telling.text_log_likelihood
        readings: ClassVar[int] = 16

    run(make_spec(tmp_path, mechanisms=[Before()], attacks=ATTACKS))
    assert _extended(tmp_path, plugin=Telling(), attacks=ATTACKS) == []


def test_changed_code_of_a_function_is_refused(tmp_path):
    def first(text):
        return text

    def second(text):
        return text.upper()

    run(make_spec(tmp_path, mechanisms=[{"name": "function", "function": first, "label": "mine"}]))
    before = snapshot(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"mechanism\.function source: \w+ -> \w+"):
        run(make_spec(tmp_path, mechanisms=[{"name": "function", "function": second, "label": "mine"}]))
    assert snapshot(tmp_path) == before


def test_a_run_of_one_mechanism_leaves_what_several_releases_of_another_tell_together(tmp_path):
    settings = {"plans": [{"k": 3, "lambda": 0, "releases": 4}], "attacks": ["lexical"], "trials": 60}
    words = {"name": "word-rr", "slots": 4}
    run(make_spec(tmp_path, mechanisms=["identity", words], **settings))
    before = snapshot(tmp_path, TABLES)
    assert len({name.split("/")[1] for name in before if name.startswith("guesses")}) == 4
    result = run(make_spec(tmp_path, mechanisms=["identity"], **settings))
    assert snapshot(tmp_path, TABLES) == before
    assert find_missing(result.run) == ()
    run(make_spec(tmp_path, mechanisms=["identity", words], **settings | {"trials": 90}))
    after = snapshot(tmp_path, TABLES)
    assert {name: after[name] for name in before} == before
    run(make_spec(tmp_path / "whole", mechanisms=["identity", words], **settings | {"trials": 90}))
    assert tables(tmp_path / "whole") == {n: r for n, r in tables(tmp_path).items() if "whole" not in n}


class Fading(Recording):
    """Keeps every text the first time, and none of those that it is given again."""

    def rewrite(self, draws):
        before = self.asked
        self.draws += draws
        return [
            Rewrite("again" if (d.text, d.epsilon, d.key) in before else d.text) for d in map(_plain, draws)
        ]


def _plain(draw):
    return Draw(draw.text, draw.epsilon, draw.key)


def test_what_releases_tell_together_is_made_again_if_what_one_of_them_tells_is(tmp_path):
    plugin = Fading()
    settings = {
        "mechanisms": [plugin], "plans": [{"k": 3, "lambda": 0, "releases": 4}], "attacks": ["lexical"],
        "trials": 60,
    }  # fmt: skip
    [*_, first] = [finding.counts.correct for finding in run(make_spec(tmp_path, **settings))]
    for path in tmp_path.glob("rewrites/**/part-*"):
        path.unlink()
    [*_, second] = [finding.counts.correct for finding in run(make_spec(tmp_path, **settings))]
    assert first == 60
    assert second < 60
