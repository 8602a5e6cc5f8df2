"""How probable a text is that DP-MLM publishes, against all of its draws, on a model with few words."""

import math
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from tedaudit.api import load_corpus
from tedaudit.mechanisms.dp_mlm import DPMLM
from tedaudit.plugins.protocols import HasTextLikelihood
from tedaudit.plugins.values import Draw
from tiny_models import one_thread
from tiny_nltk_data import save_nltk_data

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
MARKS = ("can", "not", "n't", "'s", "``", "''", "(", "$", ",", "gon", "na")
WORDS = ("home", " home", "Bread", "a b", " ")  # two are spelled alike, one is empty
BEYOND = 2  # items of the model that the tokenizer does not know
STOP_WORDS = "the\nof\nn't\n"


def save_marks(folder, words=(*MARKS, *WORDS)):
    """Save a masked model whose vocabulary is a list of words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    core = Tokenizer(models.WordLevel({w: i for i, w in enumerate((*SPECIAL, *words))}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = dict(
        zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), SPECIAL, strict=True)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, **names)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = RobertaConfig(
        vocab_size=len(tokenizer) + BEYOND, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=202, pad_token_id=1, initializer_range=0.5,
    )  # fmt: skip
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    top = tmp_path_factory.mktemp("marks")
    (top / "stop.txt").write_text(STOP_WORDS, encoding="utf-8")
    fixed = {"low": -2.0, "high": 2.0, "stop_words": str(top / "stop.txt"), "device": "cpu"}
    fixed |= {"model": str(save_marks(top / "model")), "nltk_data": str(save_nltk_data(top / "nltk"))}
    with one_thread():
        yield lambda **settings: DPMLM(**{**fixed, **settings})


def list_draws(mechanism, text):
    """Return what a text can publish: texts and tokens, for every item in every slot that is drawn."""
    numbers, words = mechanism._number_slots(), mechanism._split(text)
    lost = mechanism._lay_out({text: words}, numbers).lost.get(text, ())
    unchanged = [numbers.find_kept(word) is not None or slot in lost for slot, word in enumerate(words)]
    drawn = product(*([-1] if kept else range(numbers.size) for kept in unchanged))
    return [mechanism._join(words, items, numbers) for items in drawn]


def add_up(mechanism, source, candidates, epsilon):
    """Return the probability for each candidate of every text that a source can publish."""
    rewrites = list_draws(mechanism, source)
    tokens = [rewrite.tokens for rewrite in rewrites]
    assert len(set(tokens)) == len(tokens)
    scores = np.exp(mechanism.log_likelihoods(tokens, [candidates] * len(tokens), epsilon))
    found = defaultdict(list)
    for rewrite, row in zip(rewrites, scores, strict=True):
        found[rewrite.text].append(row)
    return {text: [math.fsum(column) for column in zip(*rows, strict=True)] for text, rows in found.items()}


SOUND = {"length": "fixed", "slots": 3}
SHORT = {"length": "fixed", "slots": 2}
INPUT = {"length": "input"}
KEEPS = {"keep_stop_words": True, "keep_punctuation": True, "copy_case": True, "special_tokens": "write"}
RELEASED = {**INPUT, **KEEPS, "words": "nltk", "pairs": "released"}
CASES = {
    "sound": (SOUND, "can home", ("can home", "", "the Bread of home", "not not not not")),
    "special tokens written": ({**SHORT, "special_tokens": "write"}, "home", ("home", "Bread")),
    "case and kept words": ({**SHORT, **KEEPS}, "Bread home", ("Bread home", "the home", "of")),
    "case alone": ({**INPUT, "copy_case": True}, "Bread home", ("Bread home", "bread home", "a Bread")),
    "length alone": (INPUT, "can home", ("can home", "a b", "can")),
    "published": (RELEASED, "Bread of home ,", ("Bread of home ,", "bread of home ,", "Bread the home ,")),
    "published, copied": (RELEASED, 'the "Bread"', ('the "Bread"', "the ``Bread ``", "the Bread")),
    "published, nothing drawn": (RELEASED, "the of", ("the of", "of the", "the")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_text_has_the_probability_of_all_draws_that_are_published_as_it(make, name):
    settings, source, candidates = CASES[name]
    mechanism = make(**settings)
    known = add_up(mechanism, source, candidates, 9.0)
    found = mechanism.text_log_likelihood(list(known), [candidates] * len(known), 9.0)
    assert isinstance(mechanism, HasTextLikelihood)
    assert not found.is_score
    points = np.exp(found.points)
    own = candidates.index(source)
    # other candidates may publish these texts by draws that the source cannot have: they have no less
    assert points[:, own] == pytest.approx(np.array(list(known.values()))[:, own], rel=1e-9)
    assert math.fsum(points[:, own]) == pytest.approx(1, abs=1e-9)
    for place, candidate in enumerate(candidates):
        least = np.array([row[place] for row in known.values()])
        assert (points[:, place] >= least * (1 - 1e-9)).all(), candidate
        if settings["length"] == "fixed" and not settings.get("copy_case"):
            assert points[:, place] == pytest.approx(least, rel=1e-9), candidate


@pytest.mark.parametrize("ends", [(-1.7, 0.3), (-0.1, 1.9), (-1.3, 1.1)])
def test_the_probabilities_of_all_texts_are_one_whatever_the_range(make, ends):
    """A logit at an end of the range is rounded to it in a number of fewer digits."""
    mechanism = make(**SHORT, low=ends[0], high=ends[1])
    texts = list(add_up(mechanism, "can", ["can"], 9.0))
    scores = mechanism.text_log_likelihood(texts, [["can", ""]] * len(texts), 9.0).points
    assert np.exp(scores).sum(axis=0) == pytest.approx(np.ones(2), abs=1e-12)


def test_copied_words_are_among_what_was_tried(make):
    settings, source, _ = CASES["published, copied"]
    mechanism = make(**settings)
    words = mechanism._split(source)
    assert mechanism._lay_out({source: words}, mechanism._number_slots()).lost[source]


@pytest.mark.parametrize(
    ("settings", "sources"),
    [
        (RELEASED, ("Bread of home", "bread of home", "Bread the home", "home", "of")),
        ({**INPUT, "copy_case": True}, ("Bread home", "bread home", "Bread Home", "home")),
    ],
    ids=["published", "case"],
)
def test_candidates_with_other_draws_have_all_of_them(make, settings, sources):
    """Texts of every candidate, for every candidate: what none of its own draws gives is impossible."""
    mechanism = make(**settings)
    known = {source: add_up(mechanism, source, [source], 9.0) for source in sources}
    texts = list({text for found in known.values() for text in found})
    scores = np.exp(mechanism.text_log_likelihood(texts, [sources] * len(texts), 9.0).points)
    for place, source in enumerate(sources):
        expected = [known[source].get(text, [0.0])[0] for text in texts]
        assert scores[:, place] == pytest.approx(expected, rel=1e-9)
    assert (scores == 0).any()


@pytest.mark.parametrize("settings", [SHORT, RELEASED], ids=["sound", "published"])
def test_texts_come_as_often_as_they_are_said_to(make, settings):
    mechanism, source = make(**settings), "Bread of can" if settings is RELEASED else "can"
    draws = 100_000
    counts = Counter(
        rewrite.text for rewrite in mechanism.rewrite([Draw(source, 9.0, i) for i in range(draws)])
    )
    texts = list(add_up(mechanism, source, [source], 9.0))
    assert set(counts) <= set(texts)
    expected = draws * np.exp(
        np.concatenate(mechanism.text_log_likelihood(texts, [[source]] * len(texts), 9.0).points)
    )
    seen, often = np.array([counts[text] for text in texts]), expected >= 10
    assert often.sum() > 50
    parts = [np.append(table[often], table[~often].sum()) for table in (seen, expected)]
    assert chisquare(*parts).pvalue > 0.001


def test_nothing_is_asked_of_the_model_again_after_the_likelihood_of_the_draw(make):
    for settings in (SOUND, RELEASED):
        mechanism = make(**settings)
        pairs = [("can home", "home can"), ("Bread home", "Bread can"), ("the home", "of home")]
        done = mechanism.rewrite([Draw(first, 9.0, i) for i, (first, _) in enumerate(pairs)])
        mechanism.compare([rewrite.tokens for rewrite in done], pairs, 9.0)
        checkpoint, calls = mechanism._load_checkpoint(), []
        checkpoint.row_memory.__init__()
        handle = checkpoint.model.base_model.register_forward_pre_hook(
            lambda *_, calls=calls: calls.append(1)
        )
        texts = [rewrite.text for rewrite in done]
        mechanism.text_log_likelihood(texts, pairs, 9.0)
        assert not calls
        mechanism.text_log_likelihood(texts, [("of home of", "the can the")] * 3, 9.0)
        handle.remove()
        assert bool(calls) == (settings is SOUND)  # no text has so many kept words


def test_any_number_of_candidates_is_scored_as_each_alone(make):
    mechanism = make(**SOUND)
    sets = [["can home"], [], ["home", "can", "home", "na gon"]]
    together = mechanism.text_log_likelihood(["can", "home", "(home"], sets, 9.0).points
    assert [len(row) for row in together] == [1, 0, 4]
    for text, row, scores in zip(["can", "home", "(home"], sets, together, strict=True):
        for candidate, score in zip(row, scores, strict=True):
            [[alone]] = mechanism.text_log_likelihood([text], [[candidate]], 9.0).points
            assert score == pytest.approx(alone, rel=1e-12)
    assert not len(mechanism.text_log_likelihood([], [], 9.0))


@pytest.mark.parametrize(("dtype", "is_score"), [("bfloat16", True), ("float16", True), ("float64", False)])
def test_a_model_with_few_digits_gives_a_score(make, dtype, is_score):
    found = make(**SOUND, dtype=dtype).text_log_likelihood(["home"], [["home", "can"]], 9.0)
    assert found.is_score is is_score
    assert np.isfinite(found.points).all()


@pytest.mark.parametrize("epsilon", [1e-6, 2500.0])
def test_no_text_is_impossible_because_of_rounding(make, epsilon):
    mechanism = make(**SOUND)
    texts = list(add_up(mechanism, "home", ["home"], 1.0))[:400]
    scores = np.array(
        mechanism.text_log_likelihood(texts, [["home", "can not"]] * len(texts), epsilon).points
    )
    assert np.isfinite(scores).all()
    assert (scores >= -3 * (epsilon + 5)).all()


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_a_text_is_no_less_probable_than_its_draw_on_the_zoo(variant):
    pytest.importorskip("tedaudit_zoo")
    mechanism = DPMLM(model="zoo:mlm", device="cpu", **DPMLM.variants[variant])
    short = [text for text in load_corpus("demo").texts if len(text.split()) <= 14][:8]
    pairs = list(zip(short, short[1:] + short[:1], strict=True))
    for epsilon in (10.0, 100.0):
        done = mechanism.rewrite([Draw(first, epsilon, i) for i, (first, _) in enumerate(pairs)])
        draws, _ = mechanism.compare([rewrite.tokens for rewrite in done], pairs, epsilon)
        alone = np.array(mechanism.log_likelihoods([rewrite.tokens for rewrite in done], pairs, epsilon))
        possible = np.isfinite(draws)
        gap = np.abs(draws[possible] - alone[possible]).max()
        texts = np.array(mechanism.text_log_likelihood([r.text for r in done], pairs, epsilon).points)
        assert np.isfinite(texts[:, 0]).all()
        assert (texts[possible] >= draws[possible] - 10 * gap - 1e-9).all()
