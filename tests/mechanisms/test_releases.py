"""Published variants beside the rules of their releases (release_rules), on texts of 1 to 600 words.

Tokenizers and models are the zoo's, and for DP-MLM RoBERTa's own tokenizer too, which takes the space before
a mask and adds none in front of a text. Distances are of distributions; logits and latents are float32 on
either side, and their last digits differ from batch to batch.
"""

import functools
import math
import random
from dataclasses import replace

import nltk
import numpy as np
import pytest
import torch
from nltk.tokenize.treebank import TreebankWordDetokenizer

from release_rules import (
    classical_scale,
    decode_port,
    draw_triple,
    encode_adept,
    encode_bart,
    encode_port,
    exponential,
    next_logits,
    read_prompt,
    read_words,
    variation,
    write_word,
)
from tedaudit.api import load_corpus
from tedaudit.mechanisms._released_slots import to_slots
from tedaudit.models.sampling.exponential import log_probabilities
from tedaudit.plugins.registry import Reference, build, determinants
from tedaudit.plugins.values import Draw
from tedaudit.runs.files import key_of
from tiny_models import one_thread, roberta_tokenizer, save_bart, save_roberta
from tiny_nltk_data import STOP_WORDS, save_nltk_data

pytest.importorskip("tedaudit_zoo")
DEMO = load_corpus("demo").texts
GRID = (10.0, 100.0, 1000.0)
ROOM = 512  # tokens that the release reads at most
LENGTHS = (1, 2, 3, 8, 40, 119, 120, 121, 200, 261, 395, 600)
MARKS = ("!!! ??? ... -- ,,, ((( ))) `` '' " * 12, '"Hi," she said. "Don\'t -- ever -- go!" \'No\'.\n' * 6)
ODD = (
    "",
    "\n",
    "the of",
    'it is "old" bread',  # split again, its closing quotes open: they are not found
    "MASK <mask> [MASK] </s><s>x <pad>",
    "Mr. Smith isn't here.\nHe left (etc. etc.) at 8:15 p.m.!",
    "\u00e9t\u00e9 na\u00efve \u0130stanbul \ufb01ne a\u00a0b \u200bzero \u4e2d\u6587 \U0001f600 e\u0301",
    "\u4e2d\u6587\U0001f600 caf\u00e9 \u2014 \u201cok\u201d "
    * 60,  # windows that begin and end within a letter
    "x" * 900 + " bread " + "y" * 900,
)


def take_words(count):
    """Return a text of so many words, as nltk counts them."""
    draw, words = random.Random(count), []
    while len(words) < count:
        words += draw.choice(DEMO).split()
    return " ".join(word_tokenize(" ".join(words))[:count])


@functools.cache
def word_tokenize(text):
    """Return nltk's own words; it is slow and asked again and again."""
    return nltk.word_tokenize(text)


def _forget_nltk():
    """Let nltk look for its data again, which it remembers."""
    word_tokenize.cache_clear()
    nltk.tokenize._get_punkt_tokenizer.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory):
    folder = save_nltk_data(tmp_path_factory.mktemp("nltk"))
    before = list(nltk.data.path)
    nltk.data.path[:] = [str(folder)]
    _forget_nltk()
    with one_thread():
        yield str(folder)
    nltk.data.path[:] = before
    _forget_nltk()


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    tokenizer = roberta_tokenizer(DEMO)
    return str(save_roberta(tmp_path_factory.mktemp("roberta"), positions=ROOM, tokenizer=tokenizer))


@pytest.fixture(params=["zoo's tokenizer", "RoBERTa's tokenizer"])
def mlm(request, data, roberta):
    if request.param == "zoo's tokenizer":
        return make("dp-mlm", "published", nltk_data=data, model="zoo:mlm")
    return make("dp-mlm", "published", nltk_data=data, model=roberta, low=-9, high=9)


def make(name, variant, **params):
    return build(Reference("mechanism", name, {"variant": variant, "device": "cpu", **params}))


@functools.cache
def write_down(mechanism, text):
    return read_words(text, mechanism._load_checkpoint().tokenizer, ROOM, word_tokenize, STOP_WORDS)


def lay_out(mechanism, texts):
    return mechanism._lay_out(mechanism._split_all(texts), mechanism._number_slots())


# DP-MLM


@pytest.mark.parametrize("count", LENGTHS)
def test_every_word_is_kept_copied_or_masked_as_in_the_release(mlm, count, is_thorough):
    if count in (200, 395) and not is_thorough:
        pytest.skip("`make test-all` tries it: 121, 261 and 600 words lie on either side")
    check_words(mlm, take_words(count), count)


@pytest.mark.parametrize("text", [*MARKS, *ODD])
def test_marks_and_letters_of_all_kinds_are_read_as_in_the_release(mlm, text):
    check_words(mlm, text)


def check_words(mechanism, text, count=None):
    expected, places = write_down(mechanism, text), lay_out(mechanism, [text])
    assert count is None or len(expected) == count
    assert list(mechanism.pieces(text)) == [word.word for word in expected]
    kept = mechanism._number_slots()
    rows = {slot: row for (_, slot), row in zip(places.drawn, places.rows, strict=True)}
    for slot, word in enumerate(expected):
        found = "kept" if kept.find_kept(word.word) is not None else "drawn" if slot in rows else "copied"
        assert (slot, found) == (slot, word.fate)
        assert (slot in places.lost[text]) == (word.fate == "copied")
        if word.fate == "drawn":
            assert (tuple(rows[slot].ids), rows[slot].position) == (word.ids, word.place)


def test_long_texts_have_words_of_every_kind(mlm):
    """Or else the comparison says little: windows begin to move at 120 words, and words fall out later."""
    fates = [word.fate for word in write_down(mlm, take_words(600))]
    assert min(fates.count(fate) for fate in ("kept", "copied", "drawn")) > 100
    assert "copied" not in [word.fate for word in write_down(mlm, take_words(200))]


def read_logits(mechanism, word):
    with torch.no_grad():
        return mechanism._load_checkpoint().model(torch.tensor([word.ids])).logits[0, word.place].numpy()


@pytest.mark.parametrize("long", [False, True])
def test_words_are_drawn_from_the_distribution_of_the_release(mlm, long, is_thorough):
    if long and mlm.model == "zoo:mlm" and not is_thorough:
        pytest.skip("`make test-all` tries it: long texts are drawn from by the smaller model here")
    text, clip = take_words((261 if mlm.model != "zoo:mlm" else 130) if long else 8), mlm._choose_clip()
    words, places = write_down(mlm, text), lay_out(mlm, [text])
    found = {
        place: logits[row]
        for slots, rows, logits in mlm._compute_logits(places)
        for (_, place), row in zip(slots, rows, strict=True)
    }
    drawn = [slot for slot, word in enumerate(words) if word.fate == "drawn"]
    for slot in drawn[:: max(1, len(drawn) // 12)]:
        logits = read_logits(mlm, words[slot])
        for epsilon in GRID:
            table = log_probabilities(clip, found[slot][None], epsilon)[0].exp().numpy()
            assert variation(table, exponential(logits, clip.low, clip.high, epsilon)) < 1e-5


def test_a_long_release_has_the_likelihood_of_its_words(data, roberta):
    mechanism = make("dp-mlm", "published", nltk_data=data, model=roberta, low=-9, high=9)
    text = take_words(261)
    [rewrite] = mechanism.rewrite([Draw(text, 20.0, 7)])
    size = mechanism._number_slots().size
    total = sum(
        math.log(exponential(read_logits(mechanism, word), -9, 9, 20.0)[slot % size])
        for word, slot in zip(write_down(mechanism, text), to_slots(rewrite.tokens), strict=True)
        if word.fate == "drawn"
    )
    assert mechanism.log_likelihood(rewrite.tokens, [text], 20.0)[0] == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("long", [False, True])
def test_if_a_budget_leaves_one_choice_the_text_is_that_of_the_release(mlm, long):
    """Case, special tokens, copied words and the spaces between words included."""
    text = take_words(395 if mlm.model != "zoo:mlm" else 40) if long else MARKS[1][:120]
    tokenizer = mlm._load_checkpoint().tokenizer
    written = [
        write_word(w.word, tokenizer.decode(int(read_logits(mlm, w).argmax())).strip() if w.ids else w.word)
        for w in write_down(mlm, text)
    ]
    assert mlm.rewrite([Draw(text, 1e9, 1)])[0].text == TreebankWordDetokenizer().detokenize(written)


# Which tables of earlier runs go on


@pytest.mark.parametrize(
    ("name", "variant", "key"),
    [
        ("dp-mlm", "sound", "a1dea2ba5fb24be0283218edf0f98436fb6904d579c8d323b50b890d03531413"),
        ("dp-bart", "sound", "58a5cf0415dfebaa53dd5f6377444d1550ad4ba01a2e53d555f074ad59252cfb"),
        ("dp-bart", "published", "d1b8b4dae1ae695250096509d0453125035de1d43ec7608bb96d265486773fc8"),
    ],
)
def test_variants_that_draw_as_before_have_the_keys_of_before(name, variant, key):
    zoo = {"dp-mlm": "zoo:mlm", "dp-bart": "zoo:bart-pruned"}
    assert key_of(determinants(make(name, variant, model=zoo[name], dtype="float32"))) == key


def test_released_pairs_and_the_search_of_a_model_are_in_the_key(data, roberta, tmp_path):
    published = make("dp-mlm", "published", nltk_data=data, model=roberta)
    added = set(published.fingerprint()) - set(replace(published, pairs="plain").fingerprint())
    assert added == {"released pairs"}
    search = {"num_beams": 4, "early_stopping": True}
    folders = [save_bart(tmp_path / "greedy"), save_bart(tmp_path / "beams", **search)]
    greedy, beams = (make("dp-bart", "port", model=str(folder)).fingerprint() for folder in folders)
    assert (greedy.pop("search"), beams.pop("search")) == ("greedy", "4 beams, early stopping True")
    assert greedy == beams
    assert "search" not in make("dp-bart", "port", model=str(folders[0]), beams=4).fingerprint()


# DP-Prompt and DP-Paraphrase


@pytest.mark.parametrize(("name", "model"), [("dp-prompt", "seq2seq"), ("dp-paraphrase", "paraphraser")])
def test_prompts_and_first_tokens_are_those_of_the_release(name, model):
    mechanism = make(name, "published", model=f"zoo:{model}", dtype="float32")
    checkpoint, clip = mechanism._load_checkpoint(), mechanism._choose_clip()
    room = checkpoint.positions or math.inf
    for text in [*map(take_words, (1, 3, 8, 40, 200, 600)), *ODD[3:7]]:
        prompt = read_prompt(name, text, checkpoint.tokenizer)
        found = mechanism._encode_prompts([text])[text]
        if 2 * len(prompt) > room:
            assert found is None  # the release goes on until a draw is beyond the model's positions
            continue
        assert found == tuple(prompt)
        assert mechanism._compute_limit(found) == len(prompt)
        logits = next_logits(checkpoint.model, prompt)
        for epsilon in GRID:
            table = np.exp(mechanism.first_token([text], epsilon)[0])
            assert variation(table, exponential(logits, clip.low, clip.high, epsilon, clip.top_k)) < 1e-5
    assert clip.top_k == (50 if name == "dp-paraphrase" else 0)


# DP-BART, its port, and ADePT


def check_latents(mechanism, texts, encode, sensitivity):
    checkpoint = mechanism._load_checkpoint()
    for text, latent in zip(texts, mechanism.encode(texts), strict=True):
        expected = encode(checkpoint, text).ravel()
        assert latent == pytest.approx(expected, abs=1e-6)
        gap = float(np.linalg.norm(expected - latent))
        for epsilon in GRID:  # what noise leaves of the difference: of two Gaussians of one scale
            assert math.erf(gap / classical_scale(sensitivity, epsilon) / math.sqrt(8)) < 1e-3
    for epsilon in GRID:
        assert mechanism.noise_scale(epsilon) == pytest.approx(classical_scale(sensitivity, epsilon))


@pytest.fixture(scope="module")
def texts(data):
    return [take_words(count) for count in (1, 3, 8, 20, 40, 600)]


def test_latents_and_noise_of_dp_bart_are_those_of_the_release(texts):
    mechanism = make("dp-bart", "published", model="zoo:bart-pruned")
    kept = mechanism._load_bart().kept

    def encode(checkpoint, text):
        return encode_bart(checkpoint.model, checkpoint.tokenizer, text)[:, kept]

    check_latents(mechanism, texts, encode, 2 * 0.1 * math.sqrt(20 * len(kept)))


def test_latents_and_noise_of_the_port_are_those_of_the_release(texts):
    mechanism = make("dp-bart", "port", model="zoo:bart-pruned")
    kept = mechanism._load_bart().kept

    def encode(checkpoint, text):
        return encode_port(checkpoint.model, checkpoint.tokenizer, text)[:, kept]

    check_latents(mechanism, texts, encode, 2 * 0.1 * math.sqrt(len(kept)))


@pytest.mark.parametrize(
    ("seed", "search"),
    [
        (0, {}),
        (0, {"num_beams": 4, "early_stopping": True}),
        (0, {"num_beams": 4, "early_stopping": True, "no_repeat_ngram_size": 3}),  # as bart-base
        (2, {"num_beams": 3, "length_penalty": 3.0}),  # does not stop early: only the library knows how
        (2, {"num_beams": 4, "length_penalty": 3.0, "early_stopping": "never"}),
    ],
)
def test_the_port_writes_what_its_model_generates_with_the_settings_of_its_own(tmp_path, texts, seed, search):
    model = str(save_bart(tmp_path / "bart", seed=seed, **search))
    mechanism = make("dp-bart", "port", model=model)
    checkpoint = mechanism._load_checkpoint()
    draws = [Draw(text, epsilon, 3) for text in texts[:4] for epsilon in (50.0, 2500.0)]
    for rewrite in mechanism.rewrite(draws):
        noisy = rewrite.latent.reshape(-1, checkpoint.model.config.d_model)
        assert rewrite.text == decode_port(checkpoint.model, checkpoint.tokenizer, noisy)
        assert len(rewrite.tokens) <= len(noisy)


def test_latents_and_noise_of_adept_are_those_of_the_release(texts):
    mechanism = make("adept", "published", model="zoo:adept")

    def encode(checkpoint, text):
        return encode_adept(checkpoint.model.module, checkpoint.tokenizer, text)

    check_latents(mechanism, texts, encode, 10.0)


# DP-ST


def test_a_triple_is_drawn_from_the_nearest_cluster_and_a_text_without_one_is_returned():
    parts = {
        "model": "zoo:seq2seq",
        "encoder": "zoo:encoder",
        "table": "zoo:triples",
        "extractor": "zoo:parser",
    }
    mechanism = make("dp-st", "published", dtype="float32", **parts)
    plain = replace(mechanism, length="fixed", overflow="stable")
    table, encoder = mechanism._load_public()
    texts = DEMO[:: len(DEMO) // 20][:20]
    single = [text for text in texts if len(mechanism.pieces(text)) == 1][:2]
    bare = [text for text in texts if not mechanism.pieces(text)]
    assert single
    assert bare
    for text in single:
        raw = np.asarray(encoder.encode(mechanism.pieces(text)), dtype=np.float64)[0, : mechanism.dimensions]
        query = raw / np.linalg.norm(raw)
        for epsilon in GRID:
            expected = draw_triple(query, table._centroids, table.cluster, table._vectors, epsilon)
            members = np.flatnonzero(expected)
            found = [plain.log_likelihood((int(number),), [text], epsilon)[0] for number in members]
            assert variation(np.exp(found), expected[members]) < 1e-4
    assert [one.text for one in mechanism.rewrite([Draw(text, 10.0, 1) for text in bare])] == bare
