import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tedaudit.models.loading import Checkpoint
from tedaudit.models.sampling import generation
from tedaudit.models.sampling import rows as caches
from tedaudit.models.sampling.exponential import Clip
from tedaudit.models.sampling.generation import Request, generate, log_likelihood_terms
from tedaudit.seeding import derive
from tiny_models import one_thread

SIZE, END, LONGEST = 8, 1, 3


def log_likelihoods(*asked):
    return np.array([terms.sum() for terms in log_likelihood_terms(*asked)])


def likelihoods(checkpoint, prompts, sequences, epsilon):
    """Return a row per sequence, a column per prompt; that none depends on the others is tested below."""
    pairs = [(prompt, tokens) for tokens in sequences for prompt in prompts]
    return np.exp(log_likelihoods(checkpoint, CLIP, pairs, epsilon)).reshape(-1, len(prompts))


CLIP = Clip(-2.0, 2.0)
PROMPTS = [(2, 3, 4), (5,), (6, 7, 2, 3, 4, 5, 6, 7, 2), (2, 3, 5), tuple([4, 5] * 9)]


def tiny(kind, dtype=torch.float32):
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    if kind == "decoder-only":
        config = GPT2Config(
            vocab_size=SIZE, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=1,
            initializer_range=0.6, attn_implementation="eager",
        )  # fmt: skip
        model = GPT2LMHeadModel(config)
    else:
        config = T5Config(
            vocab_size=SIZE, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0,
            pad_token_id=0, eos_token_id=1, initializer_factor=3.0, attn_implementation="eager",
        )  # fmt: skip
        model = T5ForConditionalGeneration(config)
    return Checkpoint(kind, model.to(dtype).eval(), SimpleNamespace(pad_token_id=0))


@pytest.fixture(params=["decoder-only", "encoder-decoder"])
def kind(request):
    with one_thread():
        yield request.param


def tempered(checkpoint, prompt, prefix, epsilon):
    """Compute the distribution of the next token in the plainest way: one text, no cache, no padding."""
    with torch.no_grad():
        if checkpoint.name == "decoder-only":
            logits = checkpoint.model(torch.tensor([[*prompt, *prefix]])).logits[0, -1]
        else:
            ids, start = torch.tensor([prompt]), torch.tensor([[0, *prefix]])
            logits = checkpoint.model(input_ids=ids, decoder_input_ids=start).logits[0, -1]
    weights = np.exp(logits.double().numpy().clip(-2, 2) * epsilon / (2 * 4.0))
    return weights / weights.sum()


def sequences():
    """Yield every sequence that a draw can end with."""
    for length in range(1, LONGEST + 1):
        for tokens in itertools.product(range(SIZE), repeat=length):
            ends = tokens[-1] == END or length == LONGEST
            if ends and END not in tokens[:-1]:
                yield tokens


def test_the_conditional_distribution_after_every_prefix_is_the_tempered_softmax(kind):
    checkpoint = tiny(kind, torch.float64)
    for prefix in [(), *((a,) for a in range(SIZE)), *itertools.product((0, 3, 7), repeat=2)]:
        if END in prefix:
            continue
        plain = np.stack([tempered(checkpoint, prompt, prefix, 9.0) for prompt in PROMPTS])
        before, *ours = likelihoods(
            checkpoint, PROMPTS, [prefix, *((*prefix, token) for token in range(SIZE))], 9.0
        )
        assert np.stack(ours, axis=1) / before[:, None] == pytest.approx(plain, abs=1e-9)


def test_the_likelihoods_of_all_sequences_sum_to_one(kind):
    total = likelihoods(tiny(kind), PROMPTS[:2], list(sequences()), 6.0).sum(axis=0)
    assert total == pytest.approx(1.0, abs=1e-5)


def test_the_sampler_follows_the_same_conditionals(kind):
    checkpoint = tiny(kind, torch.float64)
    draws = 4000
    requests = [Request(PROMPTS[0], 9.0, derive(2, i), LONGEST) for i in range(draws)]
    counts = dict.fromkeys(sequences(), 0)
    for tokens in generate(checkpoint, CLIP, requests, [END]):
        counts[tokens] += 1
    chance = dict(zip(counts, likelihoods(checkpoint, PROMPTS[:1], counts, 9.0)[:, 0], strict=True))
    frequent = [t for t in counts if draws * chance[t] >= 5]
    statistic = sum((counts[t] - draws * chance[t]) ** 2 / (draws * chance[t]) for t in frequent)
    from scipy.stats import chi2

    assert statistic < chi2.ppf(1 - 1e-9, len(frequent))  # fixed keys: passes or fails for good


def test_a_draw_gives_the_same_tokens_alone_and_in_any_batch(kind):
    checkpoint = tiny(kind)
    requests = [
        Request(prompt, epsilon, derive(7, i, r), 1 + (i + r) % 9)
        for i, prompt in enumerate(PROMPTS)
        for r in range(4)
        for epsilon in (1.0, 30.0, 800.0)
    ]
    together = generate(checkpoint, CLIP, requests, [END])
    alone = [generate(checkpoint, CLIP, [request], [END])[0] for request in requests]
    order = np.random.default_rng(0).permutation(len(requests))
    mixed = [()] * len(requests)
    for start in range(0, len(order), 7):
        some = order[start : start + 7]
        found = generate(checkpoint, CLIP, [requests[i] for i in some], [END])
        for i, tokens in zip(some, found, strict=True):
            mixed[i] = tokens
    assert together == alone == mixed
    assert len(set(together)) > 10


def test_draws_that_agree_share_their_rows(kind):
    checkpoint = tiny(kind)
    rows = []
    checkpoint.model.register_forward_pre_hook(
        lambda _, __, given: rows.append(given.get("input_ids", given.get("decoder_input_ids")).shape[0]),
        with_kwargs=True,
    )
    requests = [Request(PROMPTS[0], 1e6, derive(7, i), 6) for i in range(40)]
    agreeing = generate(checkpoint, Clip(-200.0, 200.0), requests, [])  # wide: no ties at its ends
    shared, rows[:] = sum(rows), []
    generate(checkpoint, CLIP, [Request(PROMPTS[0], 1e-6, derive(7, i), 6) for i in range(40)], [])
    assert len(set(agreeing)) == 1
    assert shared == 6 * checkpoint.fixed_rows  # one row of work per token, in batches of a fixed size
    assert sum(rows) >= 5 * 32


def test_a_draw_ends_at_its_own_limit_or_at_the_end_token(kind):
    checkpoint = tiny(kind)
    requests = [Request(PROMPTS[i % 5], 2.0, derive(1, i), i % 6) for i in range(60)]
    for request, tokens in zip(requests, generate(checkpoint, CLIP, requests, [END]), strict=True):
        assert len(tokens) <= request.limit
        assert END not in tokens[:-1]
        assert len(tokens) == request.limit or tokens[-1] == END


def test_an_empty_prompt_is_read_as_padding_alone(kind):
    assert len(generate(tiny(kind), CLIP, [Request((), 5.0, 3, 4)], [])[0]) == 4


def test_more_draws_than_the_row_budget_are_done_in_groups(kind, monkeypatch):
    import tedaudit.models.sampling.rows as module

    checkpoint = tiny(kind)
    requests = [Request(PROMPTS[i % 5], 3.0, derive(1, i), 4) for i in range(50)]
    whole = generate(checkpoint, CLIP, requests, [END])
    monkeypatch.setattr(module, "_CPU_ROWS", 7)
    assert generate(checkpoint, CLIP, requests, [END]) == whole


def test_a_cpu_reads_fewer_rows_at_once_if_their_caches_are_large(kind, monkeypatch):
    decoder = caches.decoder_for(tiny(kind))
    assert decoder.row_budget(24, 32) == 512
    monkeypatch.setattr(caches, "_CPU_BYTES", 1 << 21)
    assert 8 < decoder.row_budget(240, 320) < decoder.row_budget(24, 32) < 512
    monkeypatch.setattr(caches, "_CPU_BYTES", 1)
    assert decoder.row_budget(24, 32) == 8


def test_likelihoods_of_many_sequences_together_are_those_of_each_alone(kind):
    checkpoint = tiny(kind, torch.float64)
    pairs = [(prompt, tokens) for tokens in list(sequences())[::29] for prompt in PROMPTS]
    alone = np.concatenate([log_likelihoods(checkpoint, CLIP, [pair], 6.0) for pair in pairs])
    assert log_likelihoods(checkpoint, CLIP, pairs, 6.0) == pytest.approx(alone, abs=1e-12)
    assert len(log_likelihoods(checkpoint, CLIP, [], 6.0)) == 0


def test_reading_all_steps_at_once_gives_what_single_steps_give(kind, monkeypatch):
    """A whole support is read at once; the same support under a rule that looks at every step is not."""
    checkpoint, pairs = tiny(kind), [(prompt, tokens) for prompt in PROMPTS for tokens in sequences()]
    at_once = generation.log_likelihood_terms(checkpoint, CLIP, pairs, 3.0)
    monkeypatch.setattr(Clip, "reads_logits_alone", False)
    by_step = generation.log_likelihood_terms(checkpoint, CLIP, pairs, 3.0)
    for one, other in zip(at_once, by_step, strict=True):
        assert one == pytest.approx(other, abs=1e-5)  # of a probability: rounding of float32


def test_a_truncated_support_is_read_step_by_step(kind, monkeypatch):
    def refuse(*_):
        raise AssertionError("rounding may decide what is outside")

    monkeypatch.setattr(generation, "_score_at_once", refuse)
    narrow = Clip(-2.0, 2.0, top_k=3)
    assert log_likelihoods(tiny(kind), narrow, [((2, 3, 4), (5, 1))], 3.0).shape == (1,)
    with pytest.raises(AssertionError, match="rounding"):
        log_likelihoods(tiny(kind), CLIP, [((2, 3, 4), (5, 1))], 3.0)


def test_many_tokens_are_read_in_groups_that_fit_in_memory(kind, monkeypatch):
    pairs = [(prompt, tokens) for prompt in PROMPTS for tokens in itertools.islice(sequences(), 40)]
    whole = log_likelihoods(tiny(kind), CLIP, pairs, 3.0)
    monkeypatch.setattr(generation, "_CELLS", {"cpu": 3 * SIZE * LONGEST})
    assert log_likelihoods(tiny(kind), CLIP, pairs, 3.0) == pytest.approx(whole, abs=1e-5)  # float32


@pytest.fixture
def free_rows(monkeypatch):
    """Rows as on a GPU: all of a batch in one pass, whatever their number."""
    monkeypatch.setattr(Checkpoint, "fixed_rows", 0)


def make_requests(count=60):
    return [Request(PROMPTS[i % 5], (2.0, 200.0)[i % 2], derive(3, i), 1 + i % 12) for i in range(count)]


def test_rows_of_any_number_draw_the_same_tokens(kind, monkeypatch):
    checkpoint, requests = tiny(kind, torch.float64), make_requests()
    fixed = generate(checkpoint, CLIP, requests, [END])
    monkeypatch.setattr(Checkpoint, "fixed_rows", 0)
    assert generate(checkpoint, CLIP, requests, [END]) == fixed


def test_rows_that_ended_are_carried_along_until_they_are_many(kind, free_rows, monkeypatch):
    checkpoint, copied = tiny(kind, torch.float64), []
    gather = caches.Decoder._gather

    def count(decoder, some):
        copied.append(len(some))
        return gather(decoder, some)

    monkeypatch.setattr(caches.Decoder, "_gather", count)
    prompts = [(2 + i % 6, 2 + i // 6) for i in range(32)]  # a row each, which none shares
    requests = [Request(prompt, 5.0, derive(4, i), 3 + i // 2) for i, prompt in enumerate(prompts)]
    lazy = generate(checkpoint, CLIP, requests, [])
    assert 0 < len(copied) < 12  # one or two rows end at each of 16 steps
    monkeypatch.setattr(caches, "_LIVE", 2.0)  # copied at every step
    assert generate(checkpoint, CLIP, requests, []) == lazy
    assert [len(tokens) for tokens in lazy] == [request.limit for request in requests]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({8: 3, 16: 2, 40: 1}, {16: 5, 40: 1}),
        ({8: 5000, 16: 2, 24: 1}, {8: 5000, 24: 3}),
        ({8: 1, 24: 4096, 32: 1}, {24: 4097, 32: 1}),
        ({32: 1, 40: 1}, {32: 1, 40: 1}),
    ],
)
def test_small_groups_join_the_next_wider_one(counts, expected):
    numbers = iter(range(10**6))
    groups = {width: [next(numbers) for _ in range(count)] for width, count in counts.items()}
    joined = generation._join_small(groups)
    assert {width: len(members) for width, members in joined.items()} == expected
    assert sorted(i for members in joined.values() for i in members) == sorted(
        i for members in groups.values() for i in members
    )
