"""Published DP-MLM against distributions written down from the release's rules, on a tiny real model."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import tedaudit
from release_rules import exponential, read_words
from tedaudit.errors import SpecError
from tedaudit.mechanisms._released_slots import list_marks, to_slots, to_tokens
from tedaudit.models.triples.treebank import join_words, load_splitter, load_stop_words
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tedaudit.testing import check_mechanism
from tiny_models import one_thread, save_roberta
from tiny_nltk_data import STOP_WORDS, save_nltk_data

LOW, HIGH, EPSILON = -2.0, 2.0, 9.0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with one_thread():
        model = save_roberta(tmp_path_factory.mktemp("roberta"), positions=200)
        yield build_published(model, save_nltk_data(tmp_path_factory.mktemp("nltk")))


def build_published(model, data, **params):
    settings = {"model": str(model), "nltk_data": str(data), "low": LOW, "high": HIGH, "variant": "published"}
    return build(Reference("mechanism", "dp-mlm", {**settings, **params}))


def write_down(mechanism, words, slot, epsilon=EPSILON):
    """Return the distribution of the draw for a word by the release's rule, with the library's model."""
    import torch

    checkpoint, split = mechanism._load_checkpoint(), load_splitter(mechanism.nltk_data).split
    room = mechanism._compute_room()
    word = read_words(" ".join(words), checkpoint.tokenizer, room, split, STOP_WORDS)[slot]
    with torch.no_grad():
        logits = checkpoint.model(torch.tensor([word.ids])).logits[0, word.place].numpy()
    return exponential(logits, LOW, HIGH, epsilon)


def score_all(mechanism, text, before, after=()):
    """Return the probability of every release of a text in which one word is drawn in the given place."""
    numbers = mechanism._number_slots()
    everything = range(2 * numbers.size)
    scores = mechanism.log_likelihoods(
        [(*before, number, *after) for number in everything], [[text]] * len(everything), EPSILON
    )
    return np.exp(np.concatenate(scores)), numbers


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bread", ["bread"]),
        ("Bread", ["Bread"]),
        ("of bread", ["of", "bread"]),
        ("bread.", ["bread", "."]),
        ("the\nbread", ["the", "bread"]),
        ("bread. The", ["bread", ".", "The"]),  # two sentences, and "The" is no stop word: two draws
    ],
)
def test_every_draw_has_the_distribution_of_the_formula(made, text, words):
    assert made.pieces(text) == tuple(words)
    numbers = made._number_slots()
    drawn = [slot for slot, word in enumerate(words) if numbers.find_kept(word) is None]
    for slot in drawn:
        expected = write_down(made, words, slot)
        shown = [numbers.find_kept(w) if numbers.find_kept(w) is not None else 5 for w in words]
        others = np.prod([write_down(made, words, s)[5] for s in drawn if s != slot])
        found, _ = score_all(made, text, shown[:slot], shown[slot + 1 :])
        size = numbers.size
        assert size == len(expected)  # no empty item
        by_item = found[:size] + found[size:]  # written small or with a capital letter, never both
        assert np.abs(by_item / others - expected).sum() / 2 < 1e-6


def test_sampled_frequencies_are_those_of_the_formula(made):
    draws = [Draw("bread", EPSILON, key) for key in range(4000)]
    items = [rewrite.tokens[0] for rewrite in made.rewrite(draws)]
    expected = write_down(made, ["bread"], 0)
    counts = np.bincount(items, minlength=len(expected))[: len(expected)]
    statistic = ((counts - 4000 * expected) ** 2 / (4000 * expected)).sum()
    degrees = len(expected) - 1
    assert abs(statistic - degrees) < 6 * np.sqrt(2 * degrees)


def test_a_space_stands_before_either_text(made):
    plain = replace(made, pairs="plain")
    tokenizer = made._load_checkpoint().tokenizer
    row = made._lay_out(made._split_all(["bread"]), made._number_slots()).rows[0]
    assert list(row.ids) == tokenizer.encode(" bread", " <mask>")
    assert row != plain._lay_out(plain._split_all(["bread"]), plain._number_slots()).rows[0]


@pytest.mark.parametrize("word", [".", "!", "''", "--", "...", "``", "!?", "[\\"])
def test_a_mark_is_kept_if_it_stands_like_that_in_the_list_of_signs(made, word):
    signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    assert (made._number_slots().find_kept(word) is not None) == (word in signs)
    assert (word in list_marks()) == (word in signs)


def test_marks_of_several_signs_are_drawn(made):
    text = 'bread -- bread ... "bread'
    assert made.pieces(text) == ("bread", "--", "bread", "...", "``", "bread")
    assert made.rewrite([Draw(text, 1.0, 1)])[0].units == 6


def test_special_tokens_are_written_out_and_empty_spellings_leave_two_spaces(made):
    numbers = made._number_slots()
    tokenizer = made._load_checkpoint().tokenizer
    special = tokenizer.eos_token_id
    space = next(i for i in range(len(tokenizer)) if tokenizer.decode([i]) == " ")
    rewrite = made._join(["bread", "bread", "Bread"], [special, space, special], numbers)
    assert rewrite.text == f"{tokenizer.eos_token}  {tokenizer.eos_token}"


def test_the_claim_has_no_maximum_because_the_number_of_words_has_none(made):
    claim = made.claim(3.0)
    assert claim.max_units is None
    assert claim.total == np.inf
    assert str(claim) == "3 per word unbounded"


def test_a_word_beyond_its_window_is_released_as_it_is(made):
    """200 positions: a window of 84 tokens around the token with the word's number; bread has two or more."""
    text = " ".join(["Bread", "the"] * 45)
    out = made.rewrite([Draw(text, 1.0, 1)])[0]
    split = load_splitter(made.nltk_data).split
    words = read_words(text, made._load_checkpoint().tokenizer, 200, split, STOP_WORDS)
    slots = to_slots(out.tokens)
    assert [isinstance(slot, str) for slot in slots] == [word.fate == "copied" for word in words]
    assert 10 < sum(word.fate == "copied" for word in words) < 35
    assert {slot for slot in slots if isinstance(slot, str)} == {"Bread"}
    assert out.units == sum(word.fate == "drawn" for word in words)
    assert np.isfinite(made.log_likelihood(out.tokens, [text], 1.0)).all()


@pytest.mark.parametrize("text", ['i"m fast', 'it is "old" bread'])
def test_a_word_that_is_not_found_again_is_released_as_it_is(made, text):
    split = load_splitter(made.nltk_data).split
    words = split(text)
    assert split(" ".join(words)) != words
    out = made.rewrite([Draw(text, 1.0, 1)])[0]
    assert "''" in to_slots(out.tokens)
    other = text.replace('"', "")
    assert np.isfinite(made.log_likelihood(out.tokens, [text, other], 1.0)).tolist() == [True, False]


def test_slots_are_read_back_from_their_numbers():
    slots = [5, "it's", "\u00e9\x00", 700, "''", 0]
    assert to_slots(to_tokens(slots)) == slots


def test_the_fingerprint_says_which_sentences_and_stop_words_were_used(made):
    found = made.fingerprint()
    assert found["sentences"].startswith("Punkt with nltk's punkt_tab ")
    assert found["stop words"].startswith("nltk, ")
    sound = build(Reference("mechanism", "dp-mlm", {"model": made.model, "low": LOW, "high": HIGH}))
    assert not {"sentences", "stop words"} & set(sound.fingerprint())


def test_a_folder_without_the_data_is_refused(made, tmp_path):
    mechanism = build_published(made.model, tmp_path)
    with pytest.raises(SpecError, match="has no corpora/stopwords/english"):
        mechanism.rewrite([Draw("bread", 1.0, 1)])


def test_pairs_that_can_fail_are_refused_for_a_public_number_of_slots(made):
    with pytest.raises(SpecError, match="needs length 'input'"):
        build_published(made.model, made.nltk_data, length="fixed")


def test_the_contract_is_kept(made):
    check_mechanism(made)


# The likelihood of the whole release


def test_what_is_released_follows_from_the_tokens_alone(made):
    texts = ["The bread of the market.", "the bread of The market", "Bread!", 'it is "old" bread', "a b"]
    draws = [Draw(text, 1.0, key) for text in texts for key in range(40)]
    numbers = made._number_slots()
    for rewrite in made.rewrite(draws):
        assert rewrite.text == join_words([numbers.write(slot) for slot in to_slots(rewrite.tokens)])


@pytest.mark.parametrize(
    ("source", "other"),
    [
        ("the bread", "of bread"),  # a stop word
        ("bread .", "bread !"),  # a mark
        ("Bread market", "bread market"),  # a capital letter
        ("bread", "bread market"),  # a word more
        ("the bread", "bread the"),  # the order
        ("the bread", "bread market"),  # kept and drawn
    ],
)
def test_a_release_is_impossible_for_a_text_that_keeps_something_else(made, source, other):
    outputs = made.rewrite([Draw(source, 1e-6, key) for key in range(30)])
    scores = np.stack([made.log_likelihood(output.tokens, [source, other], 1e-6) for output in outputs])
    assert np.isfinite(scores[:, 0]).all()
    told = np.isneginf(scores[:, 1])
    assert told.all() if source != "Bread market" else told.any()  # few items of the tiny model have case


def test_the_releases_of_a_text_have_a_probability_of_one_in_all(made):
    for text, kept in (("Bread", ()), ("the bread", ("the",)), ("bread .", (".",))):
        numbers = made._number_slots()
        shown = [numbers.find_kept(word) for word in kept]
        after = text.startswith("bread")
        found, _ = score_all(made, text, () if after else shown, shown if after else ())
        assert found.sum() == pytest.approx(1.0, abs=1e-6)


def test_if_counting_words_is_always_right_the_whole_release_says_so(made):
    """Texts of many lengths and stop words: with next to no budget, what is kept names the source."""
    texts = [f"the {'bread ' * n}of {'market ' * m}".strip() for n, m in itertools.product((1, 2, 3), (1, 2))]
    found = tedaudit.audit(made, texts, epsilon=1e-6, attack="likelihood", trials=200)
    finding = next(iter(found))
    assert finding.counts.correct == 200
    assert finding.measures.attainable == pytest.approx(1.0)
    by_count = {len(text.split()): text for text in texts}
    assert len(by_count) < len(texts)  # the number of words alone does not tell all of them apart


def test_the_stop_words_of_a_file_are_read_and_named(made, tmp_path):
    file = tmp_path / "stop.txt"
    file.write_text("bread\n", encoding="utf-8")
    mechanism = build_published(made.model, made.nltk_data, stop_words=str(file))
    assert mechanism.rewrite([Draw("bread", 1.0, 1)])[0].text == "bread"
    assert mechanism.fingerprint()["stop words"].startswith("a file, ")
    assert load_stop_words("", str(file)).words == {"bread"}


def test_a_word_is_copied_if_and_only_if_its_draw_fails(made):
    numbers = made._number_slots()
    assert numbers.fits(["bread"], ["bread"], lost={0})
    assert not numbers.fits(["bread"], ["bread"], lost=set())
    assert numbers.fits([5], ["bread"], lost=set())
    assert not numbers.fits([5], ["bread"], lost={0})
    assert not numbers.fits(["keys"], ["bread"], lost={0})
