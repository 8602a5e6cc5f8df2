"""The contract suite on latents that are made without decoding: those that no rewrite has are caught."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from helpers import vector
from rule_keepers import refusal
from tedaudit.plugins.batches import Ragged
from tedaudit.plugins.protocols import makes_latents
from tedaudit.plugins.values import Card, Rewrite
from tedaudit.seeding import normals
from tedaudit.testing import check_mechanism


class Vector:
    """Keeps every rule: a noisy vector in float64, as long as the text's first words; blank texts fail."""

    card: ClassVar[Card] = Card(name="vector", summary="A noisy vector.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        return [self.one(draw) for draw in draws]

    def one(self, draw):
        latent = self.latent(draw)
        return Rewrite("", error="blank") if latent is None else Rewrite(f"{latent[0]:.1f}", latent=latent)

    def latent(self, draw):
        clean = self.clean(draw)
        return None if clean is None else clean + normals([draw.key], len(clean))[0] / draw.epsilon

    def clean(self, draw):
        words = len(draw.text.split()[:3])
        return np.tile(vector(draw.text), words) if words else None

    def latents(self, draws):
        return Ragged.of([self.latent(draw) for draw in draws], np.float32)


def test_latents_that_are_those_of_the_rewrites_pass():
    assert makes_latents(Vector())
    assert check_mechanism(Vector()).unusable == 2 * 3


class WithoutNoise(Vector):
    def latents(self, draws):
        return Ragged.of([self.clean(draw) for draw in draws], np.float32)


class FewerDigits(Vector):
    def latents(self, draws):
        made = super().latents(draws)
        return Ragged(made.values.round(5), made.offsets, made.missing)


class ZerosForFailures(Vector):
    def latents(self, draws):
        rows = [self.latent(draw) for draw in draws]
        return Ragged.of([np.zeros(4) if row is None else row for row in rows], np.float32)


class EmptyForFailures(Vector):
    def latents(self, draws):
        made = super().latents(draws)
        return Ragged(made.values, made.offsets)


class MissingForShortTexts(Vector):
    def latents(self, draws):
        rows = [self.latent(draw) if len(draw.text) > 30 else None for draw in draws]
        return Ragged.of(rows, np.float32)


class OneEpsilonForAll(Vector):
    """Takes the epsilon of the first draw of a batch for all."""

    def latents(self, draws):
        return super().latents([replace(draw, epsilon=draws[0].epsilon) for draw in draws])


class OneNoiseForAll(Vector):
    """Adds the noise of the first draw of a batch to all."""

    def latents(self, draws):
        return super().latents([replace(draw, key=draws[0].key) for draw in draws])


class InOrderOfText(Vector):
    def latents(self, draws):
        return super().latents(sorted(draws, key=lambda draw: draw.text))


class OddInSevens(Vector):
    """Rounds otherwise in batches of one size, as passes of a model may."""

    def latents(self, draws):
        made = super().latents(draws)
        values = np.nextafter(made.values, np.float32(9)) if len(draws) == 7 else made.values
        return Ragged(values, made.offsets, made.missing)


WRONG = {
    WithoutNoise: "alone",
    FewerDigits: "alone",
    ZerosForFailures: "alone",
    EmptyForFailures: "alone",
    MissingForShortTexts: "alone",
    OneEpsilonForAll: "in a shuffled batch",
    OneNoiseForAll: "in a shuffled batch",
    InOrderOfText: "in a shuffled batch",
    OddInSevens: "in batches of 7",
}


@pytest.mark.parametrize("mechanism", WRONG, ids=lambda mechanism: mechanism.__name__)
def test_latents_that_are_not_those_of_the_rewrites_are_refused(mechanism):
    message = refusal(check_mechanism, mechanism())
    assert "'vector': `latents` gives " in message
    assert (
        f" {WRONG[mechanism]} not the latent that `rewrite` gives it. It must be the same to the bit"
        in message
    )


class AsColumns(Vector):
    """Cannot do without the columns of a batch."""

    def latents(self, draws):
        return super().latents(draws) if hasattr(draws, "pool") else WithoutNoise().latents(draws)


class AsObjects(Vector):
    """Takes a batch that is held as columns for another."""

    def latents(self, draws):
        return WithoutNoise().latents(draws) if hasattr(draws, "pool") else super().latents(draws)


def test_both_forms_of_a_batch_are_tried():
    assert " alone not the latent" in refusal(check_mechanism, AsColumns())
    assert " in a batch held as columns not the latent" in refusal(check_mechanism, AsObjects())


class Doubles(Vector):
    def latents(self, draws):
        made = super().latents(draws)
        return Ragged(made.values.astype(np.float64), made.offsets, made.missing)


class Rows(Vector):
    def latents(self, draws):
        return [self.latent(draw) for draw in draws]


class DropsARow(Vector):
    def latents(self, draws):
        return super().latents(draws[1:])


@pytest.mark.parametrize("mechanism", [Doubles, Rows, DropsARow])
def test_latents_in_another_form_are_refused(mechanism):
    assert "it must return a tedaudit.plugins.batches.Ragged of float32 with a row for each draw" in refusal(
        check_mechanism, mechanism()
    )


def test_latents_that_seed_a_global_generator_are_refused():
    class Seeds(Vector):
        def latents(self, draws):
            np.random.seed(1)  # noqa: NPY002
            return super().latents(draws)

    assert "used or set the global generator of numpy" in refusal(check_mechanism, Seeds())


def test_a_class_that_rewrites_in_its_own_way_and_inherits_latents_does_not_have_the_ability():
    class Otherwise(Vector):
        def one(self, draw):
            return Rewrite("", latent=np.ones(2))

    class Overrides(Vector):
        def rewrite(self, draws):
            return [Rewrite("", latent=np.ones(2)) for _ in draws]

    assert not makes_latents(Overrides())
    check_mechanism(Overrides())
    assert "not the latent that `rewrite` gives it" in refusal(check_mechanism, Otherwise())
