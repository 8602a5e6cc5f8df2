"""Properties that DP-Prompt, DP-Paraphrase and DP-MLM share, on tiny real models."""

import itertools
import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tedaudit.errors import ModelError, SpecError
from tedaudit.plugins.registry import Reference, build, determinants
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive
from tiny_models import one_thread, save_gpt2, save_mpnet, save_roberta, save_t5

NAMES = ("dp-prompt", "dp-paraphrase", "dp-mlm")
ODD = (
    "",
    "?!...",
    "word " * 400,
    "\N{GRINNING FACE}\N{GRINNING FACE} ok",
    "a\x00b\x1b[31m",
    "half \ud800 a pair",
    "<mask> hi <mask>",
)
FLAWS = {"length", "top_k", "overlong", "keep_stop_words", "keep_punctuation", "copy_case"} | {
    "words", "pairs", "special_tokens", "sentences", "stop words", "clean_up",
}  # fmt: skip
EMBEDDINGS = re.compile(r"shared\.weight|wte\.weight|word_embeddings\.weight")
PLAIN = ("My sister bought a red bicycle.", "she lost her keys in the park", "The doctor called in May!")
SMALL = {"dp-prompt": {"max_tokens": 5}, "dp-paraphrase": {"max_tokens": 5}, "dp-mlm": {"slots": 6}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    with one_thread():
        yield {
            "dp-prompt": save_t5(tmp_path_factory.mktemp("t5")),
            "dp-paraphrase": save_gpt2(tmp_path_factory.mktemp("gpt2")),
            "dp-mlm": save_roberta(tmp_path_factory.mktemp("roberta")),
        }


@pytest.fixture
def make(folders):
    def made(name, **params):
        settings = {
            "model": str(folders[name]),
            "low": -2.0,
            "high": 2.0,
            "context": 60,
            **SMALL[name],
            **params,
        }
        return build(Reference("mechanism", name, settings))

    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_clip_range_that_was_measured_on_another_model_is_told(make, folders, name, tmp_path):
    assert make(name).cautions() == ()  # both ends are given
    [caution] = make(name, low=None).cautions()
    assert f"no clip range was measured on '{folders[name]}'" in caution
    assert ", 2], as measured on" in caution
    assert f"`tedaudit models clip {folders[name]}`" in caution
    folder = tmp_path / "model"
    shutil.copytree(folders[name], folder)
    (folder / "clip.json").write_text('{"low": -1, "high": 1}')
    assert make(name, model=str(folder), low=None, high=None).cautions() == ()


def test_the_model_that_a_range_was_measured_on_is_known_by_its_name(make):
    for name, model in (("dp-mlm", "FacebookAI/roberta-base"), ("dp-prompt", "google/flan-t5-base")):
        assert make(name, model=model, low=None, high=None).cautions() == ()
    assert make("dp-paraphrase", model="gpt2", low=None, high=None).cautions() != ()


def test_a_context_beyond_the_positions_of_a_model_is_the_models_own(make, tmp_path):
    mechanism = make("dp-mlm", model=str(save_mpnet(tmp_path)), length="input", context=600)
    [rewrite] = mechanism.rewrite([Draw("red " * 255, 50.0, 3)])
    assert rewrite.units == 255


def draws_of(texts, epsilons=(2.0, 300.0), replicates=2):
    return [Draw(t, e, derive(1, t, r)) for t in texts for r in range(replicates) for e in epsilons]


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("name", NAMES)
def test_a_draw_is_the_same_alone_and_in_any_batch(make, name, variant):
    mechanism = make(name, variant=variant)
    draws = draws_of((*PLAIN, *ODD[:2]), replicates=1)
    together = mechanism.rewrite(draws)
    assert together == [mechanism.rewrite([draw])[0] for draw in draws]
    order = np.random.default_rng(0).permutation(len(draws))
    assert [together[i] for i in order] == mechanism.rewrite([draws[i] for i in order])


@pytest.mark.parametrize("name", NAMES)
def test_sound_variants_answer_every_string_with_an_ordinary_draw(make, name):
    mechanism = make(name, variant="sound")
    for text, rewrite in zip(ODD, mechanism.rewrite([Draw(t, 50.0, 3) for t in ODD]), strict=True):
        assert rewrite.error == "", text
        assert rewrite.units == len(rewrite.tokens)
        assert 1 <= rewrite.units <= mechanism.claim(50.0).max_units


@pytest.mark.parametrize("name", NAMES)
def test_a_text_on_which_the_model_overflows_is_rewritten_with_all_its_noise(make, folders, name, tmp_path):
    shutil.copytree(folders[name], tmp_path, dirs_exist_ok=True)
    tokenizer = make(name)._load_checkpoint().tokenizer
    read, other = (set(tokenizer(text)["input_ids"]) for text in PLAIN[:2])
    weights = load_file(tmp_path / "model.safetensors")
    embeddings = next(tensor for key, tensor in weights.items() if EMBEDDINGS.search(key))
    embeddings[min(read - other)] = np.nan
    save_file(weights, tmp_path / "model.safetensors", {"format": "np"})
    mechanism, epsilon = make(name, variant="sound", model=str(tmp_path)), 0.1
    drawn = mechanism.rewrite([Draw(PLAIN[0], epsilon, key) for key in range(20)])
    assert len({rewrite.tokens for rewrite in drawn}) == 20
    claim = mechanism.claim(epsilon)
    for rewrite in drawn:
        broken, whole = mechanism.log_likelihood(rewrite.tokens, PLAIN[:2], epsilon)
        assert abs(broken - whole) <= claim.total


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("dp-paraphrase", {"max_tokens": 600}, "has 128 positions, and max_tokens is 600"),
        ("dp-paraphrase", {"max_tokens": 127}, "would see nothing of any text"),
        ("dp-prompt", {"context": 4}, "would see nothing of any text"),
    ],
)
def test_settings_that_leave_no_room_for_a_text_are_refused(make, name, params, message):
    with pytest.raises(ModelError, match=message):
        make(name, **params).rewrite([Draw(PLAIN[0], 50.0, 3)])


@pytest.mark.parametrize("name", NAMES)
def test_published_variants_fail_with_a_code_or_answer(make, name):
    for rewrite in make(name, variant="published").rewrite([Draw(t, 50.0, 3) for t in ODD]):
        assert rewrite.error in ("", "over-long")


TWINS = [
    ("she lost her keys", "she lost her keys in the park last night"),
    ("She Lost Her Keys", "she lost her keys"),
    ("she lost her keys", "she lost, her keys!"),
    ("she lost her keys", ""),
    ("the at in on", "doctor bread park keys"),
]


def twins_without_budget(mechanism):
    """Return pairs of rewrites of twins that get the same noise and next to no epsilon."""
    draws = [Draw(text, 1e-12, key) for twins in TWINS for key in range(6) for text in twins]
    done = mechanism.rewrite(draws)
    return list(zip(done[::2], done[1::2], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_without_budget_sound_variants_do_not_look_at_the_text(make, name):
    assert all(a == b for a, b in twins_without_budget(make(name, variant="sound")))


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("dp-prompt", "length", "input"),
        ("dp-paraphrase", "length", "input"),
        ("dp-mlm", "length", "input"),
        ("dp-mlm", "keep_stop_words", True),
        ("dp-mlm", "keep_punctuation", True),
        ("dp-mlm", "copy_case", True),
    ],
)
def test_without_budget_each_published_flaw_shows_by_its_own_field(make, name, field, value):
    assert any(a != b for a, b in twins_without_budget(make(name, **{field: value})))


def test_without_budget_a_cut_support_shows_too(make):
    assert any(a != b for a, b in twins_without_budget(make("dp-paraphrase", top_k=5)))


@pytest.mark.parametrize("name", ["dp-prompt", "dp-paraphrase"])
def test_a_generator_s_likelihoods_sum_to_one_and_prefer_the_source(make, name):
    mechanism = make(name, max_tokens=1)
    size = mechanism._load_checkpoint().model.config.vocab_size
    scores = mechanism.log_likelihoods([(token,) for token in range(size)], [PLAIN] * size, 8.0)
    assert np.exp(np.stack(scores)).sum(axis=0) == pytest.approx(1.0, abs=1e-6)


def test_dp_mlm_s_likelihoods_sum_to_one_over_two_slots(make):
    mechanism = make("dp-mlm", slots=2)
    size = mechanism._load_checkpoint().model.config.vocab_size + 1
    first = [mechanism.log_likelihood((i, size - 1), PLAIN[:2], 8.0) for i in range(size)]
    second = [mechanism.log_likelihood((3, i), PLAIN[:2], 8.0) for i in range(size)]
    # slots are independent: p(i, j) = p(i) p(j), so the sum over all pairs factorises
    anchor = mechanism.log_likelihood((3, size - 1), PLAIN[:2], 8.0)
    total = np.exp(np.stack(first)).sum(axis=0) * np.exp(np.stack(second)).sum(axis=0) / np.exp(anchor)
    assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("name", NAMES)
def test_what_was_drawn_is_possible_for_its_source(make, name, variant):
    mechanism = make(name, variant=variant)
    for draw, rewrite in zip(d := draws_of(PLAIN), mechanism.rewrite(d), strict=True):
        score = mechanism.log_likelihood(rewrite.tokens, [draw.text], draw.epsilon)[0]
        assert np.isfinite(score)


@pytest.mark.parametrize("name", NAMES)
def test_a_sequence_that_a_published_length_rules_out_is_impossible(make, name):
    mechanism = make(name, length="input")
    rewrite = mechanism.rewrite([Draw(PLAIN[1], 1.0, 5)])[0]
    longer = "one two three four five six seven eight nine ten eleven twelve"
    scores = mechanism.log_likelihood(rewrite.tokens, [PLAIN[1], longer], 1.0)
    assert np.isfinite(scores[0])
    assert np.isneginf(scores[1])


def test_a_prompt_without_a_token_is_rewritten_by_one_that_is_possible(make):
    mechanism = make("dp-paraphrase", separator="", length="input")
    [rewrite] = mechanism.rewrite([Draw("", 50.0, 3)])
    assert len(rewrite.tokens) == 1
    assert np.isfinite(mechanism.log_likelihood(rewrite.tokens, [""], 50.0)).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_end_of_a_clip_range_is_held_against_the_models_other_one(make, folders, name, tmp_path):
    shutil.copytree(folders[name], tmp_path, dirs_exist_ok=True)
    (tmp_path / "clip.json").write_text('{"low": 300.0, "high": 400.0}')
    clip = make(name, model=str(tmp_path), low=350.0, high=None)._choose_clip()
    assert (clip.low, clip.high) == (350.0, 400.0)
    with pytest.raises(SpecError, match=r"\[500.0, 400.0\]"):
        make(name, model=str(tmp_path), low=500.0, high=None).rewrite([Draw(PLAIN[0], 50.0, 3)])
    with pytest.raises(SpecError, match="must be finite"):
        make(name, low=-np.inf)


@pytest.mark.parametrize("name", NAMES)
def test_the_claim_is_per_unit_with_a_public_maximum(make, name):
    mechanism = make(name)
    claim = mechanism.claim(3.0)
    assert claim.total == 3.0 * (SMALL[name].get("max_tokens") or SMALL[name]["slots"])
    assert make(name, variant="published").claim(3.0).max_units == (None if name == "dp-mlm" else 60)


@pytest.mark.parametrize("name", NAMES)
def test_variants_are_sets_of_fields_and_nothing_else(make, name):
    sound, default = determinants(make(name, variant="sound")), determinants(make(name))
    published = determinants(make(name, variant="published"))
    assert sound == default
    changed = {key for key in sound if sound[key] != published[key]}
    assert changed <= FLAWS
    assert changed
    assert "device" not in sound
    assert sound["weights"]


def test_an_unknown_variant_is_refused_with_the_list(make):
    with pytest.raises(SpecError, match=r"no variant 'sond'\. Did you mean 'sound'"):
        make("dp-prompt", variant="sond")


def test_a_prompt_without_a_place_for_the_text_is_refused(make):
    with pytest.raises(SpecError, match=r"must contain \{text\}"):
        make("dp-prompt", prompt="Paraphrase this")


def test_published_dp_mlm_releases_stop_words_and_punctuation_and_copies_case(make):
    mechanism = make("dp-mlm", variant="published", copy_case=False)
    outs = mechanism.rewrite([Draw("the bread of the market .", 1e-9, key) for key in range(5)])
    for out in outs:
        assert out.text.split()[0] == "the"
        assert out.text.endswith(".")
        assert out.units == 2
    cased = make("dp-mlm", variant="published").rewrite([Draw("Bread market", 1e-9, key) for key in range(8)])
    assert all(not out.text[:1].islower() for out in cased)


@pytest.mark.parametrize("text", ["", "lost", "she lost her keys"])
def test_with_much_budget_dp_mlm_draws_words_for_words_and_nothing_beyond_the_end(make, text):
    mechanism = make("dp-mlm", variant="sound")
    empty, length = mechanism._load_checkpoint().model.config.vocab_size, len(text.split())
    for rewrite in mechanism.rewrite([Draw(text, 300.0, key) for key in range(20)]):
        assert all(token < empty for token in rewrite.tokens[:length])
        assert rewrite.tokens[length:] == (empty,) * (mechanism.slots - length)


def test_beyond_the_end_dp_mlm_prefers_the_empty_item_to_every_word_by_half_of_epsilon(make):
    mechanism, epsilon = make("dp-mlm", slots=2), 8.0
    empty = mechanism._load_checkpoint().model.config.vocab_size
    scores = np.array(
        [mechanism.log_likelihood((3, item), ["lost"], epsilon)[0] for item in (*range(empty), empty)]
    )
    assert scores[-1] - scores[:-1] == pytest.approx(epsilon / 2)


def test_dp_mlm_does_not_run_the_model_again_for_more_draws(make):
    mechanism, texts = make("dp-mlm"), ("a text that no other test reads", "and a second one")
    calls = []
    model = mechanism._load_checkpoint().model.base_model
    handle = model.register_forward_pre_hook(lambda *_: calls.append(1))
    mechanism.rewrite(draws_of(texts, epsilons=(1.0,), replicates=1))
    once = len(calls)
    mechanism.rewrite(draws_of(texts, epsilons=(1.0, 10.0, 100.0), replicates=5))
    handle.remove()
    assert len(calls) == once > 0


def test_epsilons_of_a_replicate_share_noise_so_that_high_ones_agree(make):
    mechanism = make("dp-prompt")
    one, two = mechanism.rewrite([Draw(PLAIN[0], 1e6, 9), Draw(PLAIN[0], 2e6, 9)])
    assert one == two


@pytest.mark.parametrize("name", NAMES)
def test_rewrites_resemble_chance_less_as_epsilon_grows(make, name):
    """At a large budget the draw is the model's favourite, whatever the key; at a small one it is not."""
    mechanism = make(name, low=-200.0, high=200.0)  # wide, so that no two favourites are clipped to one value
    favourite = {r.tokens for r in mechanism.rewrite([Draw(PLAIN[0], 1e7, key) for key in range(8)])}
    random = {r.tokens for r in mechanism.rewrite([Draw(PLAIN[0], 1e-3, key) for key in range(8)])}
    assert len(favourite) == 1
    assert len(random) == 8


def test_every_pair_of_twins_is_distinct():
    assert all(left != right for left, right in itertools.chain(TWINS))


@pytest.mark.parametrize("top_k", [0, 7])
@pytest.mark.parametrize("name", ["dp-prompt", "dp-paraphrase"])
def test_the_distribution_of_the_first_token_is_the_one_that_likelihoods_are_of(make, name, top_k):
    mechanism = make(name, max_tokens=1, top_k=top_k)
    table = mechanism.first_token(PLAIN, 30.0)
    assert np.exp(table).sum(axis=1) == pytest.approx(np.ones(len(PLAIN)))
    tokens = [[token] for token in range(table.shape[1])]
    scores = mechanism.log_likelihoods(tokens, [PLAIN] * len(tokens), 30.0)
    rounding = 1e-4 if top_k == 0 else 1e-9  # a whole support is read at once, and rounded otherwise
    np.testing.assert_allclose(table.T, np.array(scores), rtol=0, atol=rounding)


def test_dp_mlm_s_first_item_has_the_distribution_that_likelihoods_are_of(make):
    mechanism, texts = make("dp-mlm", slots=1), (*PLAIN, "")
    table = mechanism.first_token(texts, 30.0)
    tokens = [[item] for item in range(table.shape[1])]
    scores = mechanism.log_likelihoods(tokens, [texts] * len(tokens), 30.0)
    np.testing.assert_allclose(table.T, np.array(scores), rtol=0, atol=1e-9)
    assert np.isneginf(make("dp-mlm", length="input").first_token([""], 30.0)).all()  # nothing is drawn of it


def test_a_refused_text_has_no_first_token(make):
    table = make("dp-paraphrase", overlong="error").first_token((PLAIN[0], ODD[2]), 30.0)
    assert np.isfinite(table[0]).all()
    assert np.isneginf(table[1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_pieces_are_what_the_mechanism_reads_of_a_text(make, name):
    text = "she lost her keys in the park"
    pieces = make(name, **({"slots": 3} if name == "dp-mlm" else {})).pieces(text)
    if name == "dp-mlm":
        assert pieces == ("she", "lost", "her")
    else:
        assert "".join(pieces) == text


def test_the_tokens_of_a_source_are_given_with_and_without_a_space_before_it(make):
    mechanism = make("dp-paraphrase")
    plain, after = mechanism.source_tokens("the park")
    assert "".join(map(mechanism.piece, plain)) == "the park"
    assert "".join(map(mechanism.piece, after)) == " the park"
