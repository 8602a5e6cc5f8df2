"""Inputs put together from the tokens of words: equal to the tokenizer's own, whichever word is masked."""

import pytest
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from tedaudit.api import load_corpus
from tedaudit.mechanisms._masked_rows import PairBuilder, build_rows
from tedaudit.models.triples.treebank import split_words

SENTENCES = load_corpus("demo").texts[:60]
SPECIAL = ["<s>", "</s>", "<pad>", "<unk>"]
NASTY = [
    ["x"], ["x", "x", "x"], ["'", "''", "'s"], ["\u00e9", "\u0301", "a"], ["\u4e2d", "\u6587"],
    ["\u0130", "K"], ["!", "!", "...", "."], ["<", "s", ">"], ["a\u00a0b", "c"], ["ANN", "Ann", "ann"],
    ["12", "1,000", "$", "5"], ["\U0001f600", "a"],
]  # fmt: skip


def trained(core, trainer, mask):
    core.train_from_iterator(SENTENCES, trainer)
    core.add_special_tokens([AddedToken(mask, special=True, lstrip=mask == "<left>"), *SPECIAL])
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, core.token_to_id(token)) for token in ("<s>", "</s>")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, mask_token=mask, pad_token="<pad>", unk_token="<unk>", bos_token="<s>",
        eos_token="</s>",
    )  # fmt: skip


def byte_level(mask, *, prefix=True):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet)
    return trained(core, trainer, mask)


def word_piece():
    core = Tokenizer(models.WordPiece(unk_token="<unk>"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return trained(core, trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIAL), "<mask>")


def sentence_piece():
    core = Tokenizer(models.Unigram())
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=SPECIAL, unk_token="<unk>")
    return trained(core, trainer, "<mask>")


def across_words():
    """Return a tokenizer whose tokens reach over spaces."""
    core = Tokenizer(models.BPE(unk_token="<unk>"))
    return trained(core, trainers.BpeTrainer(vocab_size=500, special_tokens=SPECIAL), "<mask>")


MADE = {
    "mask takes the space": lambda: byte_level("<left>"),
    "mask leaves the space": lambda: byte_level("<mask>"),
    "no space at the beginning": lambda: byte_level("<left>", prefix=False),
    "word pieces": word_piece,
    "sentence pieces": sentence_piece,
    "across words": across_words,
}


def tokenized(tokenizer, words, slot):
    masked = [*words[:slot], tokenizer.mask_token, *words[slot + 1 :]]
    return tokenizer(" ".join(words), " ".join(masked))["input_ids"]


@pytest.mark.parametrize("name", MADE)
def test_every_row_is_the_tokenizers_own(name):
    tokenizer = MADE[name]()
    texts = [split_words(text) for text in SENTENCES[:25]] + NASTY
    built = PairBuilder(tokenizer).build([(words, range(len(words))) for words in texts])
    for words, rows in zip(texts, built, strict=True):
        for slot, row in enumerate(rows or ()):
            assert row.ids == tokenized(tokenizer, words, slot), (words, slot)
            places = [i for i, token in enumerate(row.ids) if token == tokenizer.mask_token_id]
            assert row.position == places[-1]
    share = sum(rows is not None for rows in built) / len(built)
    assert share < 0.2 if name == "across words" else share > 0.8


@pytest.mark.parametrize("word", ["<mask>", "<s>", "a<pad>b"])
def test_a_text_with_a_special_token_is_left_to_the_tokenizer(word):
    tokenizer = byte_level("<mask>")
    words = ["one", word, "two"]
    assert PairBuilder(tokenizer).build([(words, [0, 1, 2])]) == [None]
    rows = build_rows(tokenizer, 512, [(words, range(3))])
    assert [row.ids for row in rows] == [tokenized(tokenizer, words, slot) for slot in range(3)]


def test_a_mistake_in_the_tokens_of_a_word_is_noticed():
    """The builder does not trust what it remembers: a text whose tokens differ is left to the tokenizer."""
    tokenizer = byte_level("<left>")
    builder = PairBuilder(tokenizer)
    words = ["the", "cat", "and", "the", "dog"]
    assert builder.build([(words, range(5))])[0] is not None
    builder._words["dog"] = builder._words["cat"]
    assert builder.build([(words, range(5))]) == [None]


def test_longer_texts_are_cut_around_the_mask_as_before():
    tokenizer = byte_level("<left>")
    words = split_words(SENTENCES[0])
    [row] = build_rows(tokenizer, 12, [(words, [3])])
    assert len(row.ids) <= 12
    assert row.ids[row.position] == tokenizer.mask_token_id


def test_a_text_of_few_words_with_many_tokens_is_cut_too():
    tokenizer = byte_level("<left>")
    words = ["x" * 30, "the", "y" * 30, "cat"]
    rows = build_rows(tokenizer, 40, [(words, range(4))])
    assert len(tokenized(tokenizer, words, 1)) > 40
    assert all(len(row.ids) <= 40 and row.ids[row.position] == tokenizer.mask_token_id for row in rows)
