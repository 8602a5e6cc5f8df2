"""The contract suite on likelihoods that are wrong on purpose, and on right ones."""

from dataclasses import dataclass

import numpy as np
import pytest

import tiny_models
from rule_keepers import Noisy, refusal
from tedaudit.mechanisms.adept import Adept
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card
from tedaudit.testing import ORDINARY, check_mechanism, likelihood_check


def test_a_mechanism_without_likelihoods_has_nothing_to_check():
    assert check_mechanism(Noisy()).likelihood_p is None


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 300.0])
def test_right_likelihoods_pass_at_any_epsilon_to_begin_with(epsilon):
    p = check_mechanism(WordRR(), epsilon=epsilon).likelihood_p
    assert p > likelihood_check.ERROR
    assert p == check_mechanism(WordRR(), epsilon=epsilon).likelihood_p  # fixed keys: it cannot flake


class Flipped(WordRR):
    def log_likelihood(self, tokens, candidates, epsilon):
        return -super().log_likelihood(tokens, candidates, epsilon)


class TwiceEpsilon(WordRR):
    def log_likelihood(self, tokens, candidates, epsilon):
        return super().log_likelihood(tokens, candidates, 2 * epsilon)


class HalfEpsilon(WordRR):
    def log_likelihood(self, tokens, candidates, epsilon):
        return super().log_likelihood(tokens, candidates, epsilon / 2)


class PrefersLongTexts(WordRR):
    """Has a factor too many, which depends on the candidate."""

    def log_likelihood(self, tokens, candidates, epsilon):
        return super().log_likelihood(tokens, candidates, epsilon) + np.array(
            [len(t) / 20 for t in candidates]
        )


class OtherText(WordRR):
    """Gives each candidate the likelihood of the one beside it."""

    def log_likelihood(self, tokens, candidates, epsilon):
        return super().log_likelihood(tokens, candidates[::-1], epsilon)


class WrongInBatches(WordRR):
    def log_likelihoods(self, released, candidates, epsilon):
        pairs = zip(released, candidates, strict=True)
        return [-self.log_likelihood(tokens, texts, epsilon) for tokens, texts in pairs]


class SaysImpossible(WordRR):
    """Says of the true source, if it has more words, that it cannot be."""

    def log_likelihood(self, tokens, candidates, epsilon):
        scores = super().log_likelihood(tokens, candidates, epsilon)
        return np.where([len(text) > 60 for text in candidates], -np.inf, scores)


WRONG = [Flipped, TwiceEpsilon, HalfEpsilon, PrefersLongTexts, OtherText, WrongInBatches, SaysImpossible]


@pytest.mark.parametrize("mechanism", WRONG, ids=lambda mechanism: mechanism.__name__)
def test_a_wrong_likelihood_is_refused(mechanism):
    message = refusal(check_mechanism, mechanism())
    assert "'word-rr': `log_likelihood` is not that of what it draws. At epsilon " in message
    assert "Look for a wrong sign, for another epsilon than that of the draws" in message


def test_it_is_said_how_far_off_it_is():
    message = refusal(check_mechanism, Flipped())
    promised, right = (
        int(message.split(after)[1].split()[0].replace(",", "")) for after in ("promises ", "and ")
    )
    assert right < 0.1 * promised


def test_a_constant_factor_of_all_candidates_is_no_fault():
    class Unnormalised(WordRR):
        def log_likelihood(self, tokens, candidates, epsilon):
            return super().log_likelihood(tokens, candidates, epsilon) + 7.0

    right, shifted = (check_mechanism(mechanism).likelihood_p for mechanism in (WordRR(), Unnormalised()))
    assert shifted == pytest.approx(right)


def test_the_likelihood_of_a_part_of_the_release_is_right_as_far_as_it_goes():
    class FirstSlots(WordRR):
        def log_likelihood(self, tokens, candidates, epsilon):
            return WordRR(slots=4).log_likelihood(tokens[:4], candidates, epsilon)

    assert check_mechanism(FirstSlots()).likelihood_p > 0.001


def test_the_epsilon_is_one_at_which_guesses_are_neither_blind_nor_always_right(monkeypatch):
    played = []
    plain = likelihood_check._Game.play

    def watch(self, epsilon, pairs, purpose):
        played.append((plain(self, epsilon, pairs, purpose), pairs))
        return played[-1][0]

    monkeypatch.setattr(likelihood_check._Game, "play", watch)
    for epsilon in (0.05, 1.0, 300.0):
        played.clear()
        check_mechanism(WordRR(), epsilon=epsilon)
        last, pairs = played[-1]
        assert (pairs, len(last.losses)) == (2000, 2000)
        assert 0.6 <= last.mean <= 0.95
        assert len(played) < 15


def test_a_likelihood_that_tells_nothing_apart_ends_the_search_soon(monkeypatch):
    class Blind(WordRR):
        calls = 0

        def log_likelihood(self, tokens, candidates, epsilon):
            type(self).calls += 1
            return np.zeros(len(candidates))

    assert check_mechanism(Blind()).likelihood_p == 1.0  # it claims to know nothing
    assert Blind.calls == 200 + 200 + 2000


def test_the_check_can_be_made_smaller_or_left_out():
    assert check_mechanism(WordRR(), likelihood_pairs=300).likelihood_p > 0.001
    assert check_mechanism(Flipped(), likelihood_pairs=0).likelihood_p is None


def test_texts_of_the_author_are_used_if_there_are_two():
    seen = set()

    @dataclass(frozen=True)
    class Watched(WordRR):
        card = Card(name="watched", summary="Notes its candidates.")

        def log_likelihood(self, tokens, candidates, epsilon):
            seen.update(candidates)
            return super().log_likelihood(tokens, candidates, epsilon)

    own = ["a first of two texts", "and the other"]
    check_mechanism(Watched(), texts=own, likelihood_pairs=100)
    assert seen == set(own)
    seen.clear()
    check_mechanism(Watched(), texts=own[:1] * 2, likelihood_pairs=100)
    assert seen == set(ORDINARY)


def test_a_wrong_density_of_a_latent_is_refused(tmp_path):
    pytest.importorskip("transformers")
    model = str(tiny_models.save_lstm(tmp_path / "model"))

    class TwiceTheNoise(Adept):
        def log_density(self, latent, latents, epsilon):
            return super().log_density(latent, latents, epsilon) / 4

    few = {"likelihood_pairs": 500}
    assert check_mechanism(Adept(model=model, max_tokens=2), **few).likelihood_p > 0.001
    message = refusal(check_mechanism, TwiceTheNoise(model=model, max_tokens=2), **few)
    assert "`log_density` is not that of what it draws" in message
