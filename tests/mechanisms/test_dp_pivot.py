"""DP-Pivot: a first leg without noise, the same in every draw, and a second one that reads nothing else."""

import itertools
import os
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tedaudit.errors import ModelError, SpecError
from tedaudit.leaks.lint.linter import lint
from tedaudit.mechanisms import dp_pivot
from tedaudit.mechanisms.dp_pivot import DPPivot
from tedaudit.mechanisms.dp_prompt import DPPrompt
from tedaudit.mechanisms.sampler import Sampler
from tedaudit.plugins.values import Draw
from tedaudit.results.confirmed_losses import _make_exact
from tedaudit.seeding import derive
from tedaudit.testing import check_mechanism
from tedaudit.testing.likelihood_check import PAIRS
from tiny_models import CHAT_TEMPLATE, one_thread, save_bart, save_llama, save_marian, save_t5

TEXTS = ("My sister bought a red bicycle.", "she lost her keys in the park", "the doctor called", "")
EPSILON = 40.0


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("sentencepiece")
    top = tmp_path_factory.mktemp("models")
    with one_thread():
        yield {
            "t5": save_t5(top / "t5"),
            "other t5": save_t5(top / "other", seed=1),
            "bart": save_bart(top / "bart"),
            "chat": save_llama(top / "chat", CHAT_TEMPLATE),
            "marian": save_marian(top / "marian"),
            "few pieces": save_marian(top / "few", sentences=("ab a b", "ba ab a"), pieces=8),
        }


@pytest.fixture
def make(folders):
    dp_pivot._remember.cache_clear()

    def made(model="marian", first="t5", **params):
        settings = {"low": -2.0, "high": 2.0, "context": 40, "max_tokens": 5, "first_tokens": 8, **params}
        return DPPivot(model=str(folders[model]), first=str(folders[first]), **settings)

    return made


def draws_of(texts, replicates=4, epsilons=(EPSILON,)):
    return [Draw(t, e, derive(1, t, r)) for t in texts for e in epsilons for r in range(replicates)]


def read_alone(mechanism):
    """Return DP-Prompt with the second model, which then reads what it is given."""
    return DPPrompt(
        model=mechanism.model, prompt=mechanism.prompt, low=mechanism.low, high=mechanism.high,
        context=mechanism.context, max_tokens=mechanism.max_tokens, length=mechanism.length,
    )  # fmt: skip


def test_the_contract_holds_with_translation_models(make, is_thorough):
    pairs = PAIRS if is_thorough else 300
    checked = check_mechanism(make("marian", "marian", max_tokens=4), likelihood_pairs=pairs)
    assert checked.random
    assert checked.likelihood_p > 0.001


@pytest.mark.parametrize("first", ["t5", "bart", "chat", "marian"])
def test_the_first_leg_is_what_the_library_writes_without_sampling(make, first):
    import torch

    mechanism = make(first=first)
    checkpoint = mechanism._first_leg._load_checkpoint()
    for text, leg in mechanism.write_first_legs(TEXTS[:3]).items():
        ids = torch.tensor(mechanism._first_leg._tokenize([mechanism._first_leg.fill_prompt(text)]))
        made = checkpoint.model.generate(ids, do_sample=False, num_beams=1, max_new_tokens=8)[0]
        new = made[1:] if checkpoint.model.config.is_encoder_decoder else made[ids.shape[1] :]
        assert leg == checkpoint.tokenizer.decode(new, skip_special_tokens=True).strip()


@pytest.mark.parametrize("length", ["fixed", "input"])
@pytest.mark.parametrize("model", ["marian", "t5"])
def test_the_second_leg_is_dp_prompt_of_the_first_and_of_nothing_else(make, model, length):
    mechanism = make(model, length=length)
    legs = mechanism.write_first_legs(TEXTS)
    assert len(set(legs.values())) > 2
    plain, draws = read_alone(mechanism), draws_of(TEXTS, epsilons=(2.0, EPSILON))
    made = mechanism.rewrite(draws)
    assert made == plain.rewrite([replace(draw, text=legs[draw.text]) for draw in draws])
    tokens, read = [rewrite.tokens for rewrite in made], [legs[text] for text in TEXTS]
    several = [TEXTS] * len(made), [read] * len(made)
    for own, other in zip(
        *map(lambda m, c: m.log_likelihoods(tokens, c, EPSILON), (mechanism, plain), several), strict=True
    ):
        assert own.tolist() == other.tolist()
    pairs = [(TEXTS[0], TEXTS[1])] * len(made), [(read[0], read[1])] * len(made)
    own, other = (
        m.compare(tokens, some, EPSILON)[0] for m, some in zip((mechanism, plain), pairs, strict=True)
    )
    assert own.tolist() == other.tolist()
    texts = [rewrite.text for rewrite in made][:6]
    own, other = (
        m.text_log_likelihood(texts, [c] * 6, EPSILON) for m, c in ((mechanism, TEXTS), (plain, read))
    )
    assert not own.is_score
    assert np.array(own.lower).tolist() == np.array(other.lower).tolist()
    assert np.array(own.upper).tolist() == np.array(other.upper).tolist()
    assert mechanism.first_token(TEXTS, EPSILON).tolist() == plain.first_token(read, EPSILON).tolist()


def test_no_key_matters_to_the_first_leg_even_if_tokens_are_equally_likely(make, folders, tmp_path):
    """The first model has no preference at all, and the second one next to no noise."""
    from transformers import T5ForConditionalGeneration

    save_t5(tmp_path)
    model = T5ForConditionalGeneration.from_pretrained(tmp_path)
    for weight in model.parameters():
        weight.data.zero_()
    model.save_pretrained(tmp_path)
    mechanism = replace(make("t5", low=-100.0, high=100.0), first=str(tmp_path))
    draws = draws_of(["a text"], replicates=40, epsilons=(1e6,))
    made = mechanism.rewrite(draws)
    assert len({rewrite.text for rewrite in made}) == 1
    [score] = mechanism.log_likelihoods([made[0].tokens], [["a text", "another text"]], 1e6)
    assert score[0] == score[1] == pytest.approx(0.0, abs=1e-6)
    again = mechanism.write_first_legs(["a text"])
    dp_pivot._remember.cache_clear()
    assert mechanism.write_first_legs(["another text", "a text"])["a text"] == again["a text"]


def test_a_first_leg_is_written_once_for_all_draws_epsilons_and_likelihoods(make, monkeypatch):
    asked, rewrite = Counter(), Sampler.rewrite

    def count(self, draws):
        asked.update(draw.text for draw in draws)
        return rewrite(self, draws)

    monkeypatch.setattr(Sampler, "rewrite", count)
    mechanism = make()
    made = mechanism.rewrite(draws_of(TEXTS, epsilons=(2.0, 9.0, EPSILON)))
    mechanism.log_likelihoods([one.tokens for one in made], [TEXTS] * len(made), 9.0)
    mechanism.text_log_likelihood([made[0].text], [TEXTS], 9.0)
    assert asked == dict.fromkeys(TEXTS, 1)


def test_first_legs_are_forgotten_if_there_are_many_and_are_the_same_again(make, monkeypatch):
    monkeypatch.setattr(dp_pivot, "_REMEMBERED", 3)
    mechanism = make()
    texts = [f"{n} red bicycles" for n in range(12)]
    once = [mechanism.write_first_legs([text])[text] for text in texts]
    assert len(dp_pivot._remember(mechanism._first_leg)) <= 4
    assert list(mechanism.write_first_legs(texts).values()) == once


def test_settings_of_the_first_leg_have_a_memory_of_their_own(make):
    mechanism = make()
    legs = [
        list(one.write_first_legs(TEXTS).values())
        for one in (mechanism, make(first="other t5"), make(first_prompt="{text} :"), make(first_tokens=3))
    ]
    assert all(a != b for a, b in itertools.combinations(legs, 2))
    assert list(mechanism.write_first_legs(TEXTS).values()) == legs[0]


def test_the_first_model_is_in_the_fingerprint_and_named(make, folders):
    mechanism, other, same = make(), make(first="other t5"), make()
    assert mechanism.fingerprint() == same.fingerprint() != other.fingerprint()
    assert [use.name for use in mechanism.models()] == [str(folders["marian"]), str(folders["t5"])]
    assert len({use.part for use in mechanism.models()}) == 2


def test_what_the_first_model_forbids_or_forces_is_in_the_fingerprint(make, folders, tmp_path):
    import shutil

    shutil.copytree(folders["t5"], tmp_path / "t5")
    file = tmp_path / "t5" / "generation_config.json"
    file.write_text(file.read_text().replace("{", '{"suppress_tokens": [5],', 1))
    mechanism = replace(make(), first=str(tmp_path / "t5"))
    assert mechanism.fingerprint() != make().fingerprint()


def test_long_texts_are_cut_for_the_first_model_and_long_first_legs_for_the_second(make):
    mechanism = make("t5", first_tokens=60, context=30, first_prompt="{text} !")
    words = "word " * 90
    legs = mechanism.write_first_legs((words, words[:150]))
    assert legs[words] == legs[words[:150]]  # what is cut off does not matter
    [prompt] = mechanism._encode_prompts([words]).values()
    assert 20 < len(prompt) <= 30
    assert legs[words].startswith(mechanism._load_checkpoint().tokenizer.decode(prompt).rstrip("\ufffd"))


def test_whatever_a_text_is_it_has_an_ordinary_draw(make):
    odd = (
        "",
        "?!...",
        "half \ud800 a pair",
        "word " * 400,
        "\N{GRINNING FACE} ok",
        "a\x00b\x1b[31m",
        ">>fr<< hi",
        "<pad></s> hi",
    )
    mechanism = make(first="marian")
    for text, rewrite in zip(odd, mechanism.rewrite([Draw(text, EPSILON, 3) for text in odd]), strict=True):
        assert rewrite.error == "", text
        assert 1 <= rewrite.units <= mechanism.claim(EPSILON).max_units == 5


@pytest.mark.parametrize("params", [{"max_tokens": 100}, {"first_tokens": 100}])
def test_more_tokens_than_a_model_has_positions_are_refused_before_anything_is_drawn(make, params):
    with pytest.raises(ModelError, match="leaves no room for a prompt"):
        make(first="marian", **params).rewrite(draws_of(TEXTS))


def test_over_long_texts_and_over_long_first_legs_fail_if_that_is_asked_for(make):
    texts = "word " * 90, "red"
    for tokens, errors in ((8, ["over-long", ""]), (60, ["over-long", "over-long"])):
        mechanism = make("t5", overlong="error", context=30, first_tokens=tokens)
        made = mechanism.rewrite([Draw(text, EPSILON, 3) for text in texts])
        assert [one.error for one in made] == errors
        scores = mechanism.log_likelihood((3, 3, 3, 3, 3), texts, EPSILON)
        assert np.isneginf(scores).tolist() == [error != "" for error in errors]


def test_draws_have_the_frequencies_of_the_exact_distribution(make):
    from scipy.stats import chi2

    count, mechanism = 8000, make(max_tokens=1)
    drawn = mechanism.rewrite([Draw(TEXTS[0], 6.0, derive(3, i)) for i in range(count)])
    seen = np.bincount([one.tokens[0] for one in drawn], minlength=68)
    expected = count * np.exp(mechanism.first_token([TEXTS[0]], 6.0)[0])
    assert expected.sum() == pytest.approx(count)
    assert (expected > 5).all()
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert statistic < chi2.ppf(1 - 1e-6, len(seen) - 1)  # fixed keys: passes or fails for good


def test_all_texts_of_a_translation_model_together_are_certain(make, monkeypatch):
    """Its tokenizer is none of the library's: what it writes is known nevertheless."""
    from tedaudit.models.decoding import decode_all
    from tedaudit.models.sampling import text_search

    monkeypatch.setattr(text_search, "_NEAR", -np.inf)
    mechanism = make("few pieces", max_tokens=3, dtype="float64", text_readings=10_000)
    tokenizer, end = mechanism._load_checkpoint().tokenizer, 0
    draws = [
        tokens
        for length in (1, 2, 3)
        for tokens in itertools.product(range(len(tokenizer)), repeat=length)
        if end not in tokens[:-1] and (length == 3 or tokens[-1] == end)
    ]
    scores = np.concatenate(mechanism.log_likelihoods(draws, [["ab"]] * len(draws), 9.0))
    known = defaultdict(float)
    for words, score in zip(decode_all(tokenizer, draws), scores, strict=True):
        known[words.strip()] += np.exp(score)
    found = mechanism.text_log_likelihood(list(known), [["ab"]] * len(known), 9.0)
    assert not found.is_score
    lower, upper = np.concatenate(found.lower), np.concatenate(found.upper)
    assert lower == pytest.approx(upper, abs=1e-12)
    assert lower == pytest.approx(np.log(list(known.values())), abs=1e-9)
    assert np.exp(lower).sum() == pytest.approx(1.0, abs=1e-9)


def test_a_text_is_spelled_with_the_pieces_of_the_language_that_is_written(make):
    """And the library is asked to tokenize the private text as before."""
    mechanism = make("marian", "marian")
    tokenizer = mechanism._load_checkpoint().tokenizer
    backwards = "eht srotcod"
    assert mechanism.source_tokens(backwards)[0] == tuple(
        tokenizer(text_target=backwards, add_special_tokens=False)["input_ids"]
    )
    assert tokenizer("the doctors")["input_ids"] != tokenizer(text_target="the doctors")["input_ids"]
    assert mechanism.pieces("the doctors")[-1] == "</s>"


def test_a_tokenizer_that_cleans_up_afterwards_gives_scores(make, folders, tmp_path):
    import json
    import shutil

    shutil.copytree(folders["few pieces"], tmp_path / "few")
    file = tmp_path / "few" / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "clean_up_tokenization_spaces": True}))
    mechanism = replace(make("few pieces"), model=str(tmp_path / "few"))
    assert mechanism.text_log_likelihood(["ab"], [TEXTS], 9.0).is_score


@pytest.mark.parametrize("format_of", ["dtype", "first_dtype"])
def test_with_few_digits_in_either_leg_a_likelihood_is_a_score(make, format_of):
    rounded = make("few pieces", "few pieces", **{format_of: "bfloat16"})
    assert rounded.text_log_likelihood(["ab"], [TEXTS], 9.0).is_score
    assert not make("few pieces", "few pieces").text_log_likelihood(["ab"], [TEXTS], 9.0).is_score


def test_the_claim_is_per_token_with_a_public_maximum(make):
    claim = make().claim(3.0)
    assert (claim.unit, claim.max_units, claim.total) == ("token", 5, 15.0)
    assert make(length="input").claim(3.0).max_units == 40


def test_lint_finds_nothing_in_the_defaults_and_the_length_if_that_is_the_text_s(make):
    assert not [note for note in lint(make(), texts=[]).notes if note.level == "error"]
    rules = lint(make(length="input"), texts=[]).rules
    assert "length rule" in rules
    assert "float32 softmax" not in rules  # there is no release that computes in float32


def test_a_clip_range_that_was_measured_on_another_model_is_told(make, tmp_path):
    assert make().cautions() == ()
    [caution] = make(low=None).cautions()
    assert "as measured on opus-mt-fr-en" in caution
    for reference in ("Helsinki-NLP/opus-mt-fr-en", str(save_t5(tmp_path / "opus-mt-fr-en"))):
        assert replace(make(low=None, high=None), model=reference).cautions() == ()


def test_a_loss_is_confirmed_in_other_digits_with_the_same_first_leg(make):
    """As `execution.confirmation` does it; another first leg would be another loss."""
    mechanism = make()
    exact = _make_exact(mechanism)
    assert exact.dtype == "float64"
    assert exact._first_leg.dtype == mechanism._first_leg.dtype == "float32"
    assert exact.write_first_legs(TEXTS) == mechanism.write_first_legs(TEXTS)
    [draw] = mechanism.rewrite([Draw(TEXTS[0], EPSILON, 3)])
    exactly, roughly = (m.log_likelihood(draw.tokens, TEXTS, EPSILON) for m in (exact, mechanism))
    assert exactly == pytest.approx(roughly, abs=1e-3)


def test_texts_that_are_cut_are_counted_with_the_tokenizer_of_the_first_model(make):
    assert make().input_limit() is None
    pytest.importorskip("tedaudit_zoo")
    limit = replace(make(context=50), first="zoo:paraphraser", first_prompt="{text} >>>>>").input_limit()
    assert limit.limit == 50
    assert limit.count("one red bicycle") == 3 + limit.count("")


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"prompt": "x"}, "'dp-pivot': prompt is 'x'; it must contain {text}"),
        ({"first_prompt": "x"}, "'dp-pivot': first_prompt is 'x'; it must contain {text}"),
        ({"first_tokens": 0}, "first_tokens is 0; it must be 1 or more"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting, told):
    with pytest.raises(SpecError, match=told):
        DPPivot(**setting)


MODELS = Path(os.environ.get("TEDAUDIT_MODELS", ""), "opus-mt")


@pytest.mark.skipif(not (MODELS / "fr-en").is_dir(), reason="TEDAUDIT_MODELS has no opus-mt")
def test_on_the_real_models_a_text_is_as_probable_as_its_draw_at_least():
    mechanism = DPPivot(max_tokens=8, text_readings=4)
    texts = ("My sister is a nurse.", "The train was late.")
    with one_thread():
        assert mechanism.write_first_legs(texts)[texts[0]] == "Ma sœur est infirmière."
        made = mechanism.rewrite([Draw(texts[i % 2], 60.0, derive(1, i)) for i in range(8)])
        known = np.array(mechanism.log_likelihoods([one.tokens for one in made], [texts] * 8, 60.0))
        found = mechanism.text_log_likelihood([one.text for one in made], [texts] * 8, 60.0)
    assert not found.is_score
    assert (np.array(found.upper) >= known - 1e-3).all()
    assert (known.argmax(axis=1) == np.arange(8) % 2).all()
