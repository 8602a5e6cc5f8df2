"""Our beam search against the library's, on small random models with every setting that it knows."""

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from tedaudit.models.autoencoders import bart_decoder, beams
from tedaudit.models.autoencoders.beams import find_best, read_rules, search_beams

_LATENTS = 61  # more than are under way at a time


def make_model(seed=0, vocabulary=40, deviation=0.5, positions=32, **settings):
    torch.manual_seed(seed)
    config = BartConfig(
        vocab_size=vocabulary, max_position_embeddings=positions, d_model=16, encoder_layers=1,
        decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
        init_std=deviation, scale_embedding=bool(seed % 2),
    )  # fmt: skip
    model = BartForConditionalGeneration(config).eval()
    for name, value in settings.items():
        setattr(model.generation_config, name, value)
    return model


def make_latents(count=_LATENTS):
    hidden, mask = torch.randn(count, 7, 16), (torch.rand(count, 7) > 0.3).long()
    mask[:, 0] = 1
    return hidden, mask


def ask_library(model, hidden, mask, count, length):
    with torch.inference_mode():
        rows = model.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden.clone()), attention_mask=mask,
            num_beams=count, max_length=length, early_stopping=count > 1, do_sample=False,
        ).tolist()  # fmt: skip
    given = model.generation_config.eos_token_id
    ends = given if isinstance(given, list) else [given]
    stops = [next((i + 1 for i, t in enumerate(row) if i and t in ends), len(row)) for row in rows]
    return [tuple(row[1:stop]) for row, stop in zip(rows, stops, strict=True)]


SETTINGS = [
    {},
    {"forced_eos_token_id": 2},
    {"forced_bos_token_id": 0},
    {"forced_bos_token_id": 0, "forced_eos_token_id": 2, "no_repeat_ngram_size": 3},
    {"no_repeat_ngram_size": 1},
    {"no_repeat_ngram_size": 2, "length_penalty": 2.0},
    {"length_penalty": 0.0},
    {"length_penalty": -1.0, "forced_eos_token_id": 2},
    {"eos_token_id": [2, 5, 7]},
]


@pytest.fixture
def free_shapes(monkeypatch):
    """Search as on a GPU: passes of any shape, groups of tokens, few looks at what is done."""
    monkeypatch.setattr(bart_decoder, "_FIXED", ())


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "+".join(settings) or "plain")
def test_answers_are_the_librarys(settings, count, is_thorough):
    """On two of four models, which take turns; on all of them with `--all`."""
    different, models = 0, list(enumerate([(0.2, 20), (0.5, 8), (1.0, 20), (0.5, 4)]))
    first, step = (0, 1) if is_thorough else ((SETTINGS.index(settings) + count) % 2, 2)
    for seed, (deviation, length) in models[first::step]:
        model = make_model(seed, deviation=deviation, **settings)
        hidden, mask = make_latents()
        found = search_beams(model, read_rules(model, count, length), hidden.numpy(), mask)
        assert found == ask_library(model, hidden, mask, count, length)
        different = max(different, len(set(found)))
    assert different > 3  # latents matter


def test_texts_of_different_lengths_make_room_for_each_other():
    model = make_model(0, deviation=1.0)
    hidden, mask = make_latents(200)
    found = search_beams(model, read_rules(model, 3, 20), hidden.numpy(), mask)
    assert len({len(tokens) for tokens in found}) > 3
    assert found == ask_library(model, hidden, mask, 3, 20)


@pytest.mark.usefixtures("free_shapes")
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "+".join(settings) or "plain")
def test_answers_are_the_librarys_if_shapes_are_free(settings):
    for seed, (deviation, length, count) in enumerate([(0.2, 20, 3), (1.0, 20, 2), (0.5, 4, 5)]):
        model = make_model(seed, vocabulary=1100, deviation=deviation, **settings)
        hidden, mask = make_latents()
        found = search_beams(model, read_rules(model, count, length), hidden, mask)
        assert found == ask_library(model, hidden, mask, count, length)


@pytest.mark.usefixtures("free_shapes")
@pytest.mark.parametrize("latents", [1, 48, 49, 200])
def test_texts_make_room_for_each_other_if_shapes_are_free(latents):
    model = make_model(0, deviation=1.0)
    hidden, mask = make_latents(latents)
    assert search_beams(model, read_rules(model, 3, 20), hidden, mask) == ask_library(
        model, hidden, mask, 3, 20
    )


@pytest.mark.usefixtures("free_shapes")
def test_the_host_looks_at_what_is_done_now_and_then(monkeypatch):
    looks = []
    take = beams._Search._take_ended
    monkeypatch.setattr(beams._Search, "_take_ended", lambda self: (looks.append(1), take(self))[1])
    model = make_model(1, deviation=0.2)  # no text ends early
    hidden, mask = make_latents(40)
    found = search_beams(model, read_rules(model, 3, 20), hidden, mask)
    assert {len(tokens) for tokens in found} == {19}
    assert len(looks) == 5  # after 3, 7, 11 and 15 of 18 steps, and at the end


def test_what_is_best_is_found_by_groups():
    values = torch.randn(5, 3, 10 * bart_decoder.GROUP)
    values[0, 0, 1000:] = -torch.inf
    wanted, places = values.topk(6)
    found, where = find_best(values, 6, by_groups=True)
    assert torch.equal(found, wanted)
    assert torch.equal(where, places)


@pytest.mark.usefixtures("free_shapes")
def test_a_latent_that_is_no_number_stops_nobody():
    model = make_model(1)
    hidden, mask = make_latents(6)
    wanted = search_beams(model, read_rules(model, 3, 20), hidden, mask)
    hidden[2] = torch.nan
    found = search_beams(model, read_rules(model, 3, 20), hidden, mask)
    assert found[:2] + found[3:] == wanted[:2] + wanted[3:]
    assert max(found[2]) < model.config.vocab_size


def test_an_answer_depends_on_no_other_latent():
    model = make_model(3)
    hidden, mask = make_latents(100)
    rules = read_rules(model, 3, 20)
    together = search_beams(model, rules, hidden.numpy(), mask)
    for i in (0, 47, 48, 99):
        assert search_beams(model, rules, hidden[i : i + 1].numpy(), mask[i : i + 1]) == [together[i]]
    assert search_beams(model, rules, hidden.flip(0).numpy(), mask.flip(0)) == together[::-1]
    assert search_beams(model, rules, hidden[:0].numpy(), mask[:0]) == []


def test_a_cache_that_is_too_large_makes_fewer_rows(monkeypatch):
    model = make_model(1)
    hidden, mask = make_latents(30)
    whole = search_beams(model, read_rules(model, 3, 20), hidden.numpy(), mask)
    assert search_beams(model, read_rules(model, 3, 20), hidden.numpy(), mask, few=True) == whole
    monkeypatch.setattr(beams, "_BYTES", {"cpu": 1})
    assert search_beams(model, read_rules(model, 3, 20), hidden.numpy(), mask) == whole


@pytest.mark.parametrize(
    "settings",
    [
        {"repetition_penalty": 1.2}, {"min_length": 5}, {"bad_words_ids": [[3]]}, {"eos_token_id": None},
        {"decoder_start_token_id": None}, {"forced_eos_token_id": [2, 5]}, {"suppress_tokens": [4]},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_are_not_known_are_left_to_the_library(settings):
    assert read_rules(make_model(), 3, 20) is not None
    assert read_rules(make_model(**settings), 3, 20) is None


def test_lengths_and_beams_that_do_not_fit_are_left_to_the_library():
    assert read_rules(make_model(), 3, 33) is None  # more than there are positions
    assert read_rules(make_model(vocabulary=8), 5, 20) is None  # fewer tokens than continuations
    assert read_rules(make_model(), 3, 2) is None
    assert read_rules(make_model(positions=128), 3, 64) is not None
    assert read_rules(make_model(positions=128), 3, 65) is None  # long texts
