import math

import numpy as np
import pytest
import torch

from tedaudit.errors import SpecError
from tedaudit.models.sampling.exponential import Clip, _search, log_probabilities, noise_for, sample
from tedaudit.seeding import derive

NEVER, ALWAYS = 1 - 2.0**-53, 0.0  # coins of the uniform item: never true, true wherever it can be


def items(clip, logits, epsilon, noise):
    """Sample every row of the noise from one row of logits."""
    noise = torch.as_tensor(noise, dtype=torch.float64)
    rows = torch.zeros(len(noise), dtype=torch.long)
    epsilons = torch.full((len(noise),), epsilon, dtype=torch.float64)
    return sample(clip, logits[None], rows, epsilons, noise).numpy()


def first_where(holds, steps=60):
    """Return the point of [0, 1] where a condition on a uniform begins to fail, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def implied(clip, logits, epsilon):
    """Measure the distribution that the sampler really has, from where its answer changes."""
    size = len(logits)

    def cell_ends(column, coin):
        def item(uniform):
            noise = np.array([[coin, 0.0, 0.0, 0.0]])
            noise[0, column] = uniform
            return items(clip, logits, epsilon, noise)[0]

        return [first_where(lambda u, v=v: item(u) <= v) for v in range(size)]

    # where the coin of the uniform item stops being true: an item that only the uniform share can tell
    rest = np.diff([0.0, *cell_ends(3, NEVER)])
    best = int(np.argmax(rest))
    other = (best + 1) % size
    u3 = np.cumsum(rest)[best] - rest[best] / 2
    share = first_where(
        lambda u: items(clip, logits, epsilon, [[u, 0.0, (other + 0.5) / size, u3]])[0] == other
    )
    return share / size + (1 - share) * rest


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.0, 20.0, 60.0])
def test_the_sampler_has_the_distribution_of_the_exponential_mechanism(epsilon):
    logits = torch.tensor([-9.0, -1.0, 0.3, 0.31, 2.0, 1.7, 9.0, -0.2], dtype=torch.float64)
    clip = Clip(-2.0, 2.0)
    weights = np.exp(epsilon * np.clip(logits.numpy(), -2, 2) / (2 * 4.0))
    assert implied(clip, logits, epsilon) == pytest.approx(weights / weights.sum(), abs=1e-9)


def test_log_probabilities_are_those_of_the_sampler():
    logits = torch.tensor([0.5, -0.5, 1.5, -3.0], dtype=torch.float64)
    expected = implied(Clip(-1.0, 1.0), logits, 7.0)
    assert np.exp(log_probabilities(Clip(-1.0, 1.0), logits[None], 7.0)[0].numpy()) == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize("epsilon", [80.0, 500.0, 2500.0])
def test_no_item_is_ever_impossible(epsilon):
    logits = torch.full((8,), -5.0, dtype=torch.float64)
    logits[3] = 5.0
    noise = [[ALWAYS, 0.0, (v + 0.5) / 8, 0.9] for v in range(8)]
    assert items(Clip(-1.0, 1.0), logits, epsilon, noise).tolist() == list(range(8))


def test_the_share_of_the_uniform_item_is_right_far_below_what_53_bits_reach():
    logits = torch.full((8,), -5.0, dtype=torch.float64)
    logits[3] = 5.0
    share = 8 / (7 + math.exp(90.0 / 2))  # V / Z: 2.3e-19, below 2**-53
    at = first_where(lambda fine: items(Clip(-1.0, 1.0), logits, 90.0, [[0.0, fine, 0.01, 0.9]])[0] == 0)
    assert at * 2.0**-53 == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 5.0, 100.0])
def test_any_two_rows_of_logits_differ_by_no_more_than_epsilon(epsilon):
    generator = np.random.default_rng(0)
    rows = torch.tensor(generator.normal(0, 4, (50, 8)))
    rows[0], rows[1] = -9.0, 9.0
    rows[0, 0], rows[1, 0] = 9.0, -9.0  # the worst pair: one item up, all others down, and the reverse
    table = log_probabilities(Clip(-1.0, 1.0), rows, epsilon).numpy()
    gap = (table[:, None] - table[None]).max()
    assert gap <= epsilon * (1 + 1e-12)
    assert gap > 0.5 * epsilon


def test_draws_that_share_row_and_epsilon_are_what_they_are_alone():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn((5, 40), generator=generator)
    rows = torch.randint(0, 5, (300,), generator=generator)
    epsilons = torch.tensor([1.0, 30.0, 900.0], dtype=torch.float64)[
        torch.randint(0, 3, (300,), generator=generator)
    ]
    noise = torch.from_numpy(noise_for([derive(3, i) for i in range(300)], 1)[:, 0])
    together = sample(Clip(-2.0, 2.0), logits, rows, epsilons, noise)
    alone = [
        sample(Clip(-2.0, 2.0), logits, rows[i : i + 1], epsilons[i : i + 1], noise[i : i + 1])
        for i in range(300)
    ]
    assert together.tolist() == torch.cat(alone).tolist()


def test_top_k_cuts_the_support_and_zero_does_not():
    logits = torch.arange(6.0)
    noise = noise_for([derive(1, i) for i in range(2000)], 1)[:, 0]
    assert set(items(Clip(-1.0, 6.0, top_k=2), logits, 0.1, noise)) == {4, 5}
    assert set(items(Clip(-1.0, 6.0), logits, 0.1, noise)) == set(range(6))
    cut = log_probabilities(Clip(-1.0, 6.0, top_k=2), logits[None], 3.0)[0]
    assert torch.isinf(cut[:4]).all()
    assert float(cut.exp().sum()) == pytest.approx(1.0, abs=1e-12)


def test_items_as_likely_as_the_last_one_kept_are_kept_too():
    logits = torch.tensor([5.0, 1.0, 3.0, 3.0, 0.0, 3.0])
    noise = noise_for([derive(1, i) for i in range(4000)], 1)[:, 0]
    clip = Clip(-1.0, 6.0, top_k=2)
    found = np.bincount(items(clip, logits, 20.0, noise), minlength=6) / 4000
    numbers = logits.double().numpy()
    weights = np.where(numbers >= 3, np.exp(20.0 * (numbers + 1) / (2 * 7)), 0.0)
    expected = weights / weights.sum()
    assert log_probabilities(clip, logits[None], 20.0)[0].exp().numpy() == pytest.approx(expected, abs=1e-12)
    assert found == pytest.approx(expected, abs=0.03)
    assert set(np.flatnonzero(found)) == {0, 2, 3, 5}


def test_ties_at_an_end_of_the_clip_range_are_kept_too():
    clip = Clip(0.0, 1.0, top_k=1)
    cut = log_probabilities(clip, torch.tensor([[2.0, 0.5, 7.0, -3.0]]), 4.0)[0].exp()
    assert cut.tolist() == [0.5, 0.0, 0.5, 0.0]


def test_a_draw_from_a_cut_support_is_the_same_alone_and_in_any_batch():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn((6, 40), generator=generator).round(decimals=1)  # with many ties
    rows = torch.randint(0, 6, (200,), generator=generator)
    epsilons = torch.full((200,), 5.0, dtype=torch.float64)
    noise = torch.from_numpy(noise_for([derive(4, i) for i in range(200)], 1)[:, 0])
    clip = Clip(-1.0, 1.0, top_k=7)
    together = sample(clip, logits, rows, epsilons, noise)
    alone = [
        sample(clip, logits[rows[i : i + 1]], rows[:1] * 0, epsilons[:1], noise[i : i + 1])
        for i in range(200)
    ]
    assert together.tolist() == torch.cat(alone).tolist()


def test_steps_have_noise_of_their_own_and_epsilons_share_it():
    whole = noise_for([derive(5, "a")], 6)
    assert np.array_equal(whole[:, 2:4], noise_for([derive(5, "a")], 2, start=2))
    assert len(np.unique(whole)) == whole.size


def test_a_clip_range_must_be_a_range():
    with pytest.raises(SpecError, match=r"\[3.0, 1.0\]"):
        Clip(3.0, 1.0)
    with pytest.raises(SpecError, match="top_k is -1"):
        Clip(0.0, 1.0, top_k=-1)
    for low, high in ((-math.inf, 1.0), (0.0, math.inf), (0.0, math.nan)):
        with pytest.raises(SpecError, match="must be finite"):
            Clip(low, high)


def test_a_target_falls_where_a_search_of_sorted_sums_puts_it():
    generator = torch.Generator().manual_seed(3)
    for size in (1, 2, 3, 8, 33):
        weights = torch.randint(0, 3, (20, size), generator=generator).double()  # with ties and no mass
        weights[:, 0] += 1
        sums = weights.cumsum(dim=1)
        pair_of = torch.randint(0, 20, (500,), generator=generator)
        targets = (torch.rand(500, generator=generator).double() * sums[pair_of, -1]).floor()
        targets[:20] = sums[pair_of[:20], -1]  # as if rounded up to the whole
        wanted = torch.searchsorted(sums[pair_of], targets[:, None], right=True)[:, 0]
        last = torch.searchsorted(sums, sums[:, -1:].contiguous())[:, 0]
        assert torch.equal(_search(sums, pair_of, targets), torch.minimum(wanted, last[pair_of]))


def test_no_coin_whatever_it_shows_leaves_a_cut_support():
    logits = torch.tensor([[0.0, 1.0, 5.0, 4.0]])
    lowest = torch.zeros((1, 4), dtype=torch.float64)  # the rarest coin is true, and its uniform item is 0
    epsilon = torch.tensor([5.0], dtype=torch.float64)
    rows = torch.zeros(1, dtype=torch.long)
    assert sample(Clip(-1.0, 6.0), logits, rows, epsilon, lowest).item() == 0
    assert sample(Clip(-1.0, 6.0, top_k=3), logits, rows, epsilon, lowest).item() == 1
