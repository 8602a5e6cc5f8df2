"""How probable a published text is: against all draws of tiny models, and against rewrites."""

import itertools
from collections import Counter, defaultdict
from dataclasses import fields

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.protocols import HasTextLikelihood
from tedaudit.plugins.registry import Reference, build, find
from tedaudit.plugins.settings import list_settings
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive
from tiny_models import one_thread

PIECES = {
    "byte-level": ["<unk>", "</s>", "a", "b", "ab", "Ġ", "Ġa", "Ã", "©"],
    "marks": ["<unk>", "</s>", "a", "b", "ab", "▁", "▁a", "\ufffd", "ba"],
}
SIZE = 10  # of the models: a number more than there are tokens
END = 1
CANDIDATES = ("ab a", "b", "a b ab b a")


def save_tokenizer(folder, kind):
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    vocab = {piece: number for number, piece in enumerate(PIECES[kind])}
    core = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>"))
    core.decoder = decoders.ByteLevel() if kind == "byte-level" else decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<unk>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)


def save_model(folder, kind, tokens):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    save_tokenizer(folder, tokens)
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=SIZE, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=END,
            eos_token_id=END, initializer_range=0.6,
        )  # fmt: skip
        GPT2LMHeadModel(config).save_pretrained(folder)
    else:
        config = T5Config(
            vocab_size=SIZE, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0,
            pad_token_id=0, eos_token_id=END, initializer_factor=3.0,
        )  # fmt: skip
        T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    with one_thread():
        yield {
            (kind, tokens): save_model(tmp_path_factory.mktemp(kind), kind, tokens)
            for kind in ("t5", "gpt2")
            for tokens in PIECES
        }


SETTINGS = {
    "dp-prompt": ("t5", {"prompt": "{text}", "max_tokens": 3}),
    "dp-prompt by input": (
        "t5",
        {"prompt": "{text}", "length": "input", "context": 3, "overlong": "truncate"},
    ),
    "dp-paraphrase": ("gpt2", {"separator": " ", "max_tokens": 3}),
    "dp-paraphrase of few": ("gpt2", {"separator": " ", "max_tokens": 3, "top_k": 6}),
    "sampler": ("t5", {"prompt": "{text}", "max_new_tokens": 3}),
    "sampler that looks back": (
        "gpt2",
        {
            "prompt": "{text}",
            "max_new_tokens": 3,
            "top_p": 0.9,
            "repetition_penalty": 1.5,
            "min_new_tokens": 2,
        },
    ),
}


@pytest.fixture
def make(folders):
    def made(setting="dp-prompt", tokens="byte-level", readings=10_000, **more):
        kind, own = SETTINGS[setting]
        name = setting.split()[0]
        clip = {} if name == "sampler" else {"low": -2.0, "high": 2.0}
        settings = {"model": str(folders[kind, tokens]), "dtype": "float64", "text_readings": readings}
        return build(Reference("mechanism", name, {**settings, **clip, **own, **more}))

    return made


def budget_of(mechanism):
    return NO_EPSILON if mechanism.card.name == "sampler" else 9.0


def add_up(mechanism, text):
    """Return the probability of every text that a candidate may publish, from all draws there are."""
    from tedaudit.models.decoding import decode_all

    [prompt] = mechanism._encode_prompts([text]).values()
    limit = mechanism._compute_limit(prompt)
    draws = [
        tokens
        for length in range(1, limit + 1)
        for tokens in itertools.product(range(SIZE), repeat=length)
        if END not in tokens[:-1] and (length == limit or tokens[-1] == END)
    ]
    [scores] = zip(
        *mechanism.log_likelihoods(draws, [[text]] * len(draws), budget_of(mechanism)), strict=True
    )
    total = defaultdict(float)
    written = decode_all(mechanism._load_checkpoint().tokenizer, draws)
    for words, score in zip(written, scores, strict=True):
        total[mechanism._write(text, words)] += np.exp(score)
    return dict(total)


def ask(mechanism, texts, candidates):
    return mechanism.text_log_likelihood(texts, [candidates] * len(texts), budget_of(mechanism))


@pytest.mark.parametrize(
    ("setting", "tokens"), [("dp-prompt", "marks"), *((setting, "byte-level") for setting in SETTINGS)]
)
def test_if_nothing_is_near_enough_ends_meet_and_all_texts_together_are_certain(
    make, setting, tokens, monkeypatch
):
    from tedaudit.models.sampling import text_search

    monkeypatch.setattr(text_search, "_NEAR", -np.inf)
    mechanism = make(setting, tokens)
    assert isinstance(mechanism, HasTextLikelihood)
    known = add_up(mechanism, CANDIDATES[0])
    assert len(known) > 50
    assert any("\ufffd" in text for text in known)
    found = ask(mechanism, list(known), CANDIDATES[:1])
    lower, upper = np.concatenate(found.lower), np.concatenate(found.upper)
    assert lower == pytest.approx(upper, abs=1e-12)
    possible = np.array(list(known.values())) > 0
    assert (lower[~possible] == -np.inf).all()
    assert lower[possible] == pytest.approx(np.log(np.array(list(known.values()))[possible]), abs=1e-9)
    assert np.exp(lower).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("readings", [1, 2, 7, 1000])
@pytest.mark.parametrize("setting", SETTINGS)
def test_with_few_readings_the_probability_is_between_the_ends(make, setting, readings):
    mechanism = make(setting, readings=readings)
    known = add_up(mechanism, CANDIDATES[0])
    found = ask(mechanism, list(known), CANDIDATES[:1])
    with np.errstate(divide="ignore"):
        truth = np.log(np.array(list(known.values())))
    lower, upper = np.concatenate(found.lower), np.concatenate(found.upper)
    assert (lower <= truth + 1e-9).all()
    assert (upper >= truth - 1e-9).all()
    points = np.concatenate(found.points)
    assert (points >= lower).all()
    if readings == 1:
        assert (upper > lower + 0.1).any()
    if readings == 1000:
        assert (upper <= lower + 0.0101)[truth > -np.inf].all()


def test_rewrites_have_the_probabilities_that_are_told(make, is_thorough):
    from scipy.stats import chi2

    mechanism, draws = make(), 100_000 if is_thorough else 10_000
    made = mechanism.rewrite([Draw(CANDIDATES[0], 9.0, derive(3, i)) for i in range(draws)])
    counts = Counter(rewrite.text for rewrite in made)
    found = ask(mechanism, list(counts), CANDIDATES[:1])
    expected = draws * np.exp(np.concatenate(found.points))
    seen = np.array(list(counts.values()))
    often = expected >= 5
    rest = np.array([seen[~often].sum(), draws - expected[often].sum()])
    statistic = ((seen - expected) ** 2 / expected)[often].sum() + (rest[0] - rest[1]) ** 2 / rest[1]
    assert often.sum() > 30
    assert statistic < chi2.ppf(1 - 1e-6, often.sum())  # fixed keys: passes or fails for good


@pytest.mark.parametrize("setting", ["dp-prompt", "dp-prompt by input"])
def test_each_candidate_has_a_value_wherever_texts_and_candidates_recur(make, setting):
    """Each with its own limit, if that depends on the candidate."""
    mechanism = make(setting, readings=3)
    texts, rows = ["a", "ab", "a"], [CANDIDATES[:2], CANDIDATES[::-1], ()]
    found = mechanism.text_log_likelihood(texts, rows, 9.0)
    assert [len(row) for row in found.points] == [2, 3, 0]
    for text, row, lower, upper in zip(texts, rows, found.lower, found.upper, strict=True):
        for candidate, low, high in zip(row, lower, upper, strict=True):
            alone = mechanism.text_log_likelihood([text], [[candidate]], 9.0)
            assert (low, high) == pytest.approx((alone.lower[0][0], alone.upper[0][0]), abs=1e-9)
    assert mechanism.text_log_likelihood([], [], 9.0).points == []


def test_what_cannot_be_published_has_no_probability(make):
    mechanism = make(overlong="error", context=4)
    found = mechanism.text_log_likelihood(["a", " a", "xyz", "a" * 9], [["b", "a b ab b a"]] * 4, 9.0)
    assert np.isfinite(found.lower[0][0])
    assert found.upper[0][1] == -np.inf  # the second prompt is too long, and is refused
    assert np.concatenate(found.upper[1:]).tolist() == [-np.inf] * 6


def test_a_candidate_is_read_no_more_often_than_allowed(make, monkeypatch):
    from tedaudit.mechanisms import _generator

    calls, read = Counter(), _generator.log_probabilities_along

    def count(checkpoint, rule, pairs, asked, epsilon):
        calls.update(prompt for prompt, _ in pairs)
        return read(checkpoint, rule, pairs, asked, epsilon)

    monkeypatch.setattr(_generator, "log_probabilities_along", count)
    for readings in (1, 4):
        calls.clear()
        ask(make(readings=readings), ["\ufffd"], CANDIDATES)
        assert max(calls.values()) == readings
        assert len(calls) == 3


@pytest.mark.parametrize("setting", ["dp-prompt", "dp-paraphrase", "sampler"])
def test_more_readings_bring_the_ends_nearer(make, setting):
    texts = list(add_up(make(setting), CANDIDATES[0]))
    few, usual = (ask(make(setting, readings=most), texts, CANDIDATES[:1]) for most in (1, 16))
    lower, upper = (
        [np.concatenate(found) for found in ends]
        for ends in ((few.lower, usual.lower), (few.upper, usual.upper))
    )
    assert (lower[0] <= lower[1] + 1e-9).all()
    assert (upper[0] >= upper[1] - 1e-9).all()
    known = lower[1] > -np.inf
    assert np.median((upper[0] - lower[0])[known]) > np.median((upper[1] - lower[1])[known]) + 0.05


@pytest.mark.parametrize("name", ["dp-prompt", "dp-paraphrase", "sampler"])
def test_how_often_a_model_reads_is_a_setting_of_1_or_more(name):
    assert build(Reference("mechanism", name)).text_readings == 16
    assert build(Reference("mechanism", name, {"text_readings": 1})).text_readings == 1
    for readings in (0, -3):
        with pytest.raises(SpecError, match=f"text_readings is {readings}; it must be 1 or more"):
            build(Reference("mechanism", name, {"text_readings": readings}))
    [setting] = [s for s in list_settings(find("mechanism", name)) if s.name == "text_readings"]
    assert (setting.type, setting.default) == ("int", "16")
    assert setting.meaning


def test_a_model_with_few_digits_gives_scores(make):
    exact, rough = (ask(make(dtype=dtype), ["ab", "b"], CANDIDATES) for dtype in ("float64", "bfloat16"))
    assert not exact.is_score
    assert rough.is_score
    assert np.concatenate(rough.points) == pytest.approx(np.concatenate(exact.points), abs=0.2)


def test_what_else_is_taken_out_of_a_text_leaves_a_score(make):
    """A repeat of the prompt may stand behind any text then, and > anywhere."""
    plain, cleaned = (
        ask(make("dp-paraphrase", clean_up=way), ["ab"], ["b"]) for way in ("strip", "released")
    )
    assert not plain.is_score
    assert cleaned.is_score
    assert cleaned.points[0][0] <= plain.upper[0][0] + 1e-9


def test_a_class_that_writes_in_its_own_way_has_scores(make):
    class Shouting(type(make())):
        def _write(self, text, continuation):
            return continuation.strip().upper()

    shouting = Shouting(**{entry.name: getattr(make(), entry.name) for entry in fields(make())})
    assert ask(shouting, ["A"], ["b"]).is_score


def test_a_draw_that_is_not_written_as_the_text_is_not_in_the_lower_end(make, monkeypatch):
    from tedaudit.mechanisms import _generator

    mechanism = make()
    before = ask(mechanism, ["ab"], ["b"])
    monkeypatch.setattr(
        _generator, "decode_all", lambda _, rows: ["other" if 4 in row else "ab" for row in rows]
    )
    after = ask(mechanism, ["ab"], ["b"])
    assert after.lower[0][0] < before.lower[0][0] - 0.01
    assert after.upper[0][0] >= before.lower[0][0] - 1e-9


def test_a_tokenizer_that_is_not_understood_gives_scores_by_the_tokens_that_it_would_choose(
    make, tmp_path, folders
):
    import shutil

    from tokenizers import Tokenizer, decoders

    shutil.copytree(folders["t5", "byte-level"], tmp_path, dirs_exist_ok=True)
    core = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    core.decoder = decoders.WordPiece()
    core.save(str(tmp_path / "tokenizer.json"))
    mechanism = make(model=str(tmp_path))
    found = ask(mechanism, ["ab"], CANDIDATES[:2])
    assert found.is_score
    sequences = [(2, 3, END), (0, 2, 3)]  # a b and the end, or a space that is unknown
    for candidate, score in zip(CANDIDATES, found.points[0], strict=False):
        known = mechanism.log_likelihoods(sequences, [[candidate]] * 2, 9.0)
        assert score == pytest.approx(np.logaddexp(known[0][0], known[1][0]), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "epsilon", "settings"),
    [
        ("dp-prompt", 10.0, {}),
        ("dp-prompt", 25.0, {"length": "input", "overlong": "truncate"}),
        ("dp-paraphrase", 25.0, {}),
        ("sampler", NO_EPSILON, {}),
    ],
)
def test_on_the_zoo_a_text_is_as_probable_as_its_draw_at_least(name, epsilon, settings, monkeypatch):
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO")
    mechanism = build(Reference("mechanism", name, {**settings, "text_readings": 4}))
    texts = ("The train to Leeds was late again.", "My sister is a nurse in Porto.")
    with one_thread():
        made = mechanism.rewrite([Draw(texts[i % 2], epsilon, derive(1, i)) for i in range(12)])
        known = mechanism.log_likelihoods([one.tokens for one in made], [texts] * 12, epsilon)
        found = mechanism.text_log_likelihood([one.text for one in made], [texts] * 12, epsilon)
    assert (np.array(found.upper) >= np.array(known) - 1e-3).all()
    assert (np.array(found.points) >= np.array(found.lower)).all()
