from dataclasses import dataclass
from typing import ClassVar

import pytest

import tedaudit
from tedaudit.api import run
from tedaudit.attacks._practice import make_exercises, make_rewrites
from tedaudit.attacks.ensemble import Ensemble
from tedaudit.attacks.trained import Trained
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Rewrite
from tedaudit.runs.preparation import prepare
from tedaudit.runs.spec.model import parse_spec
from tedaudit.testing import check_attack

KEYS: set[int] = set()


@dataclass(frozen=True)
class Watched:
    """Tells nothing of a text but its length, and remembers every key that it is given."""

    card: ClassVar[Card] = Card(name="watched", summary="Nothing but the length.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        KEYS.update(draw.key for draw in draws)
        return [Rewrite("x" * (len(draw.text) // 2)) for draw in draws]


def spec(folder, attacks, mechanism="py:test_trained:Watched", **more):
    return parse_spec(
        {
            "mechanisms": [mechanism], "epsilons": [5], "attacks": attacks, "trials": 300,
            "encoder": "lexical", "plans": [{"lambda": 0}], "out": str(folder), **more,
        }
    )  # fmt: skip


def test_what_a_mechanism_does_to_lengths_is_learnt(tmp_path):
    found = {row.attack: row for row in run(spec(tmp_path / "a", [
        {"name": "trained", "encoder": "lexical", "rewrites": 200}, "lexical"]))}  # fmt: skip
    assert found["trained"].counts.correct > 260  # half the length tells nearly everything
    assert found["lexical"].counts.correct < 200


def test_own_rewrites_have_keys_of_their_own(tmp_path):
    setting = prepare(spec(tmp_path / "a", [{"name": "trained", "encoder": "lexical", "rewrites": 50}]))
    KEYS.clear()
    make_rewrites(Watched(), 5.0, setting.corpus.texts, 300)
    own = set(KEYS)
    KEYS.clear()
    run(spec(tmp_path / "a", ["lexical"]))
    assert len(own) == 300
    assert not own & KEYS


def test_exercises_hide_the_source_evenly_among_other_texts():
    made = make_exercises(WordRR(), 5.0, [f"sentence {number}" for number in range(40)], 400)
    assert all(one.seen.candidates[one.secret] for one in made)
    assert all(len(set(one.seen.candidates)) == 4 for one in made)
    counts = [sum(one.secret == place for one in made) for place in range(4)]
    assert min(counts) > 60  # 100 each expected


def test_the_number_of_own_rewrites_is_reported(tmp_path):
    found = run(spec(tmp_path / "a", [{"name": "trained", "encoder": "lexical", "rewrites": 60}, "lexical"]))
    told = {row.attack: row.measures.own_rewrites for row in found}
    assert told == {"trained": 60, "lexical": 0}


def test_a_table_of_rewrites_cannot_be_practised_on(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("original,rewrite\n" + "".join(f"text {n},other {n}\n" for n in range(30)))
    recorded = {"name": "recorded", "path": str(table)}
    with pytest.raises(SpecError, match="can make new rewrites"):
        run(spec(tmp_path / "a", [{"name": "trained", "rewrites": 50}], recorded, trials=10))


@pytest.mark.parametrize(
    "attack", [Trained(encoder="lexical", rewrites=40), Ensemble(("lexical", "likelihood"), 40)]
)
def test_the_contract_is_kept(attack):
    assert check_attack(attack, mechanism=WordRR()).unusable == 0


def test_an_ensemble_is_as_good_as_its_best_member():
    attacks = [
        {"name": "ensemble", "members": ["lexical", "likelihood"], "rewrites": 200},
        "lexical",
        "likelihood",
    ]
    rows = tedaudit.audit(
        WordRR(slots=6), "demo", epsilon=6.0, attack=attacks, trials=1000, encoder="lexical"
    )
    right = {row.attack: row.counts.correct for row in rows}
    assert right["ensemble"] >= max(right["lexical"], right["likelihood"]) - 30
    assert right["likelihood"] > right["lexical"] + 30  # so that the weights mattered


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ensemble(("lexical",)), "two members"),
        (lambda: Ensemble(("lexical", "ensemble")), "cannot be a member"),
        (lambda: Ensemble(("lexical", "likelihood"), rewrites=3), "20 or more"),
        (lambda: Trained(rewrites=3), "20 or more"),
    ],
)
def test_wrong_settings_are_explained(make, message):
    with pytest.raises(SpecError, match=message):
        make()
