"""Losses above a claim are computed twice before a violation is called certain."""

import json
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import tedaudit
from tedaudit.errors import RunDirectoryError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.batches import Draws, Ragged, Rewrites
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import forbids_by_rule
from tedaudit.plugins.values import Card, Claim, Rewrite
from tedaudit.results.certain_losses import CertainLoss, write_certain
from tedaudit.results.confirmed_losses import find_suspects
from tedaudit.results.losses import read_losses
from tedaudit.seeding import uniforms

WORDS = ("red", "green", "blue", "black", "white", "brown")
TEXTS = [" ".join(WORDS[(start + i * step) % 6] for i in range(3)) for start in range(6) for step in (1, 2)]
SETTINGS = {"corpus": TEXTS, "epsilon": 30.0, "attack": "likelihood", "trials": 60}


class Honest(WordRR):
    pass


class ClaimsLess(WordRR):
    """Claims half of what it spends: 45 for three slots of 30, and no sample of 60 trials reaches that."""

    def claim(self, epsilon):
        return Claim(epsilon / 2, "word", max_units=self.slots)


class Unsteady(ClaimsLess):
    """Gives other likelihoods after those of the trials."""

    calls: ClassVar[list[int]] = []

    def log_likelihood(self, tokens, candidates, epsilon):
        self.calls.append(1)
        later = len(self.calls) > SETTINGS["trials"]
        return super().log_likelihood(tokens, candidates, epsilon) * (1.3 if later else 1.0)


class WrongLikelihood(WordRR):
    """Keeps its claim, and says that its losses are twenty times as large as they are."""

    def log_likelihood(self, tokens, candidates, epsilon):
        return 20 * super().log_likelihood(tokens, candidates, epsilon)


@dataclass(frozen=True)
class ShowsLength:
    """Draws nothing and shows the number of letters: impossible for a text of another length."""

    rule: bool = True
    card = Card(name="shows-length", summary="Shows a length.", claim="a thousand for a text")

    @property
    def forbids_by_rule(self):
        return self.rule

    def claim(self, epsilon):
        return Claim(1000.0, "document")

    def rewrite(self, draws):
        texts = Draws.of(draws).texts
        return Rewrites.from_texts([str(len(text)) for text in texts], tokens=[[len(text)] for text in texts])

    def log_likelihood(self, tokens, candidates, epsilon):
        return np.array([0.0 if len(text) == tokens[0] else -math.inf for text in candidates])


@dataclass(frozen=True)
class LaplaceLatent:
    """Adds Laplace noise to a vector of a text, and claims a third of what it spends."""

    card = Card(name="laplace-latent", summary="Laplace noise on a vector.", claim="a third of the truth")

    def claim(self, epsilon):
        return Claim(epsilon / 3, "document")

    def encode(self, texts):
        return np.array(
            [[word == known for word in text.split() for known in WORDS] for text in texts], float
        )

    def log_density(self, latent, latents, epsilon):
        return -np.abs(np.asarray(latents) - latent).sum(axis=1) * epsilon / 6

    def rewrite(self, draws):
        coins = uniforms([draw.key for draw in draws], 18) - 0.5
        noise = -np.sign(coins) * np.log1p(-2 * np.abs(coins))
        vectors = self.encode([draw.text for draw in draws])
        latents = [vector + n * 6 / d.epsilon for d, n, vector in zip(draws, noise, vectors, strict=True)]
        return [Rewrite(f"about {round(latent[0], 6)}", latent=latent) for latent in latents]


class Remaking(LaplaceLatent):
    """Makes its latents again, so that no table has them."""

    def latents(self, draws):
        return Ragged.of([rewrite.latent for rewrite in self.rewrite(draws)], np.float32)


class Forgetful(Remaking):
    """Makes other latents after those of the trials."""

    calls: ClassVar[list[int]] = []

    def latents(self, draws):
        self.calls.append(len(draws))
        again = sum(self.calls) > SETTINGS["trials"]
        return Ragged.of([one.latent + again for one in self.rewrite(draws)], np.float32)


def audit(mechanism, **changes):
    return tedaudit.audit(mechanism, **SETTINGS | changes)


def test_one_output_above_a_claim_that_no_sample_could_reach_is_a_violation():
    result = audit(ClaimsLess(slots=3, vocabulary=WORDS))
    [finding] = result
    assert finding.verdict.name == "out of reach"  # by counting
    [claim] = result.claims
    assert claim.verdict.name == "violated"
    assert "certain" in claim.verdict.reason
    assert claim.certain.loss > claim.witness.claim.total == 45.0
    assert result.violated
    told = result.to_dict()["claims"][0]["witness"]["certain_loss"]
    assert told["row"] == claim.certain.row
    json.dumps(told, allow_nan=False)


def test_it_is_told_that_losses_are_computed_again():
    steps = []
    for mechanism in (ClaimsLess, Honest):
        rr = mechanism(slots=3, vocabulary=WORDS)
        tedaudit.audit(rr, **SETTINGS, progress=lambda *step: steps.append(step))
    assert [step for step in steps if "again" in step[0]] == [("largest losses again, in float64", 0, 1)]


def test_an_output_whose_latent_is_in_no_table_is_computed_from_the_same_draw():
    [certain] = audit(LaplaceLatent()).certain
    assert certain.loss > certain.claim == 10.0
    assert [replace(one, label=certain.label) for one in audit(Remaking()).certain] == [certain]
    assert audit(Forgetful()).certain == ()  # another output proves nothing of the one that was attacked


class WithoutSuprema(WordRR):
    """Keeps its claim, and knows no more of a pair than its likelihoods, as a user's mechanism may."""

    compare = None


def test_the_largest_loss_is_computed_twice_where_nothing_else_says_how_loose_a_claim_is():
    result = audit(WithoutSuprema(slots=3, vocabulary=WORDS), epsilon=3.0)
    [row] = read_losses(result)
    assert row.supremum is None
    [loss] = result.certain
    assert not loss.refutes_claim
    assert row.slack.source == "confirmed loss"
    assert row.slack.lost == loss.lost == pytest.approx(9.0, abs=1e-3)
    assert str(row.slack) == "at most 1.0x"  # some output differs in all slots, as the claim allows
    assert not result.violated
    assert result.claims[0].certain is None
    assert result.claims[0].to_dict()["witness"]["certain_loss"] is None


def test_a_loss_that_the_second_computation_does_not_confirm_tells_nothing_of_the_claim():
    class Unsure(WithoutSuprema):
        calls: ClassVar[list[int]] = []

        def log_likelihood(self, tokens, candidates, epsilon):
            self.calls.append(1)
            return super().log_likelihood(tokens, candidates, epsilon) * (1 + len(self.calls) // 61)

    result = audit(Unsure(slots=3, vocabulary=WORDS), epsilon=3.0)
    [row] = read_losses(result)
    assert result.certain == ()
    assert (row.slack.source, row.slack.delta) == ("average", 0.001)
    assert str(row.slack).endswith("(delta 0.001)")
    assert row.slack.at_most >= 1


def test_a_claim_that_holds_is_never_refuted_so():
    result = audit(Honest(slots=3, vocabulary=WORDS))
    assert find_suspects(read_losses(result)) == []
    assert result.certain == ()
    assert not result.violated


def test_nothing_is_certain_if_the_second_computation_differs():
    result = audit(Unsteady(slots=3, vocabulary=WORDS))
    assert find_suspects(read_losses(result))
    assert result.certain == ()


def test_a_likelihood_that_the_trials_refute_accuses_nobody():
    result = audit(WrongLikelihood(slots=3, vocabulary=WORDS), epsilon=2.0)
    [row] = read_losses(result)
    assert row.sample.quantile(1.0) > row.finding.claim.total
    assert row.refuted
    assert find_suspects([row]) == []
    assert result.certain == ()
    assert not result.violated


def test_a_loss_above_a_claim_counts_only_if_its_likelihood_is_believed():
    """Though it was stored: by another version, or before trials were added."""
    result = audit(WrongLikelihood(slots=3, vocabulary=WORDS), epsilon=2.0)
    [row] = read_losses(result)
    plan, loss = result.run.read_plan(row.finding.plan), row.sample.quantile(1.0)
    pair = int(plan.source[row.worst]), int(plan.candidates[row.worst].sum() - plan.source[row.worst])
    stored = CertainLoss(*row.finding.setting, "likelihood", row.worst, pair, 6.0, loss, loss)
    write_certain(result.run, [stored])
    manifest = result.run.manifest()
    [refuted] = manifest["likelihoods"]
    passed = {**refuted, "calibration": {**refuted["calibration"], "p": 0.5}}
    for told, believed in (([refuted], False), ([], False), ([passed], True)):
        result.run.write_manifest({**manifest, "likelihoods": told})
        read = tedaudit.load_run(result.folder)
        assert read.certain == ((stored,) if believed else ())
        assert read.violated == believed


def test_a_class_that_changes_the_likelihood_does_not_inherit_that_rules_forbid():
    assert forbids_by_rule(Honest())
    assert not forbids_by_rule(WrongLikelihood())
    assert not forbids_by_rule(ShowsLength(rule=False))


def test_an_output_that_a_rule_forbids_is_an_infinite_loss_and_a_rounded_probability_is_none():
    texts = ["a" * (1 + i % 4) for i in range(4)] + ["bb", "ccc"]
    [claim] = audit(ShowsLength(), corpus=texts, epsilon=1.0).claims
    assert claim.certain.loss == math.inf
    assert "by a rule" in claim.verdict.reason
    [claim] = audit(ShowsLength(rule=False), corpus=texts, epsilon=1.0).claims
    assert claim.certain is None
    assert not claim.verdict.is_violation


def test_a_note_that_does_not_fit_the_tables_is_not_believed():
    result = audit(ClaimsLess(slots=3, vocabulary=WORDS))
    path = result.run.certain_losses
    stored = json.loads(path.read_text())

    def write(content):
        result.run.files.write({path: content.encode()}, redacted=False)

    write(json.dumps({"losses": [{**stored["losses"][0], "loss": 80.0, "again": 80.0}]}))
    assert tedaudit.load_run(result.folder).certain == ()
    write(json.dumps(stored).replace('"row": ', '"row": 1'))
    with pytest.raises(RunDirectoryError, match="damaged"):
        tedaudit.load_run(result.folder)


def is_certain(claim, loss, again, *, forbidden):
    made = CertainLoss("plan", "one", Nominal(1.0), "likelihood", 0, (0, 1), claim, loss, again, forbidden)
    return made.refutes_claim


def test_both_computations_must_exceed_the_claim_by_ten_times_their_gap():
    assert is_certain(10.0, 12.0, 12.1, forbidden=False)
    assert not is_certain(10.0, 12.0, 12.3, forbidden=False)  # ten times 0.3 is more than 2
    assert not is_certain(10.0, 10.0 + 1e-9, 10.0 + 1e-9, forbidden=False)
    assert not is_certain(10.0, 9.0, 12.0, forbidden=False)
    assert is_certain(10.0, math.inf, math.inf, forbidden=True)
    assert not is_certain(10.0, math.inf, 1e5, forbidden=True)
    assert not is_certain(math.inf, math.inf, math.inf, forbidden=True)


def test_a_claim_with_a_delta_is_not_refuted_by_one_output():
    class WithDelta(ClaimsLess):
        def claim(self, epsilon):
            return replace(super().claim(epsilon), delta=1e-5)

    assert audit(WithDelta(slots=3, vocabulary=WORDS)).certain == ()
