"""Which draws are written as a text: held against all draws of small vocabularies."""

import itertools
from collections import Counter

import numpy as np
import pytest

from tedaudit.models.sampling.text_draws import Spellings, TextDraws, learn_spellings

END = 0
BYTES = (
    b"", b"A", b" ", b"AA", b"A\xc2", b"\xc2", b"\xa0", b"\xe2", b"\x80", b"\x80\x81", b"\xef", b"\xbf",
    b"\xbd",
)  # fmt: skip
MORE = (b"", b"A", b"\xf0", b"\xf4", b"\x9f", b"\x8f", b"\xed", b"\xe0", b"\xee", b"\xa0", b"\xf1\x80")
LONG = 4


def write(written, tokens):
    return b"".join(written[token] for token in tokens).decode("utf-8", "replace").strip()


def count_all(written, ends):
    """Return how many draws every text has: they end with an end token, or are as long as they may be."""
    counts = Counter()
    for length in range(1, LONG + 1):
        for tokens in itertools.product(range(len(written)), repeat=length):
            if not any(token in ends for token in tokens[:-1]) and (length == LONG or tokens[-1] in ends):
                counts[write(written, tokens)] += 1
    return counts


@pytest.mark.parametrize("written", [BYTES, MORE], ids=["white space", "broken"])
@pytest.mark.parametrize("ends", [(), (END,), (END, 1)], ids=["no end", "silent end", "end that is written"])
def test_every_draw_of_a_text_is_in_its_graph_and_no_other(written, ends):
    counts = count_all(written, ends)
    spellings = Spellings.of(written)
    texts = sorted(counts)[:: max(1, len(counts) // 120)]
    assert {"", "A"} < {*texts, "", "A"} <= set(counts)
    for text in {*texts, "", "A", "\ufffd", "A\ufffdA", "\ufffd\ufffd"} & set(counts):
        ways, _ = TextDraws.find(text, spellings, ends).count(LONG)
        assert ways[0, LONG] == counts[text], repr(text)


def test_a_text_that_cannot_be_written_has_no_draw():
    spellings = Spellings.of(BYTES)
    for text in (" A", "A ", "B", "A" * 9, "\ud800"):
        assert TextDraws.find(text, spellings, (END,)).count(LONG)[0][0, LONG] == 0


def test_the_fewest_tokens_are_told():
    draws = TextDraws.find("AAA", Spellings.of(BYTES), (END,))
    assert draws.count(2)[1][0, 2] == 2  # AA A, and none is left
    assert draws.count(5)[1][0, 5] == 3  # and an end


@pytest.mark.filterwarnings("error")
def test_more_draws_than_a_float_holds_are_without_end():
    draws = TextDraws.find("A" * 1600, Spellings.of(BYTES), (END,))
    ways, fewest = draws.count(1601)
    assert ways[0, 1601] == np.inf  # about 1.6 to the power of 1600
    assert fewest[0, 1601] == 801
    hopes = draws.expect(np.full(fewest.shape, np.nan), 2.0)
    assert hopes[0, 1601] == -2 * 801


def test_sequences_that_share_their_beginning_are_one_graph():
    draws = TextDraws.of_sequences([(5, 6), (5, 7, 8), (5, 6)], (1, 2))
    assert draws.count(9)[0][0, 9] == 4  # two sequences, two ends
    assert draws.count(2)[0][0, 2] == 1  # the shorter one, without an end
    assert TextDraws.of_sequences([()], (1,)).count(3)[0][0, 3] == 1


def byte_level(**options):
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    vocab = {piece: i for i, piece in enumerate(["<pad>", "</s>", "a", "b", "Ġ", "Ã", "©", "ab"])}
    core = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    core.decoder = options.pop("decoder", None) or decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="</s>", **options)


def test_what_tokens_write_is_learnt_from_byte_level_tokenizers():
    spellings = learn_spellings(byte_level(), 10)  # the model has two numbers more
    assert spellings.ordered == [b" ", b"a", b"ab", b"b", b"\xa9", b"\xc3"]
    assert spellings.silent == [0, 1, 8, 9]


def test_a_token_that_was_added_stands_for_itself():
    tokenizer = byte_level()
    tokenizer.add_tokens(["<x y>"])
    assert b"<x y>" in learn_spellings(tokenizer, 9).ordered


def test_what_tokens_write_is_learnt_where_a_mark_stands_for_a_space():
    from tokenizers import decoders

    tokenizer = byte_level(decoder=decoders.Metaspace(replacement="Ġ"))
    assert learn_spellings(tokenizer, 8).ordered == [b" ", b"a", b"ab", b"b", "©".encode(), "Ã".encode()]


@pytest.mark.parametrize("change", ["kind", "clean-up", "mark inside"])
def test_a_tokenizer_that_writes_otherwise_is_not_understood(change):
    """A mark inside a piece is a space, but is lost in the first token."""
    from tokenizers import decoders

    tokenizer = {
        "kind": lambda: byte_level(decoder=decoders.WordPiece()),
        "clean-up": lambda: byte_level(clean_up_tokenization_spaces=True),
        "mark inside": lambda: byte_level(decoder=decoders.Metaspace(replacement="b")),
    }[change]()
    assert learn_spellings(tokenizer, 8) is None


def test_what_a_tokenizer_is_believed_to_write_is_held_against_what_it_writes(monkeypatch):
    from tedaudit.models.sampling import text_draws

    believed = [b"", b"", b"a", b"b", b" ", b"\xc3", b"\xa9", b"ab"]
    tokenizer = byte_level()
    assert text_draws._holds(tokenizer, believed)
    for token in range(len(believed)):
        wrong = [*believed]
        wrong[token] = b"x" if token else b"y"
        assert not text_draws._holds(tokenizer, wrong), token
    assert not text_draws._holds(tokenizer, [*believed[:5], b"\xef\xbf\xbd", *believed[6:]])  # alone the same


def test_any_bytes_are_read_as_the_tokenizers_read_them():
    """Broken ones, too: how many U+FFFD stand for them is a convention, which Python shares with Rust."""
    from tokenizers import decoders

    from tedaudit.models.sampling.text_draws import _byte_alphabet

    letters = {byte: letter for letter, byte in _byte_alphabet().items()}
    assert sorted(letters) == list(range(256))
    random, decoder = np.random.default_rng(1), decoders.ByteLevel()
    for _ in range(3000):
        heavy = random.choice([0x41, 0x80, 0xA0, 0xBF, 0xC2, 0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5], 6)
        given = bytes(np.where(random.random(6) < 0.7, heavy, random.integers(0, 256, 6)).tolist())
        assert decoder.decode([letters[byte] for byte in given]) == given.decode("utf-8", "replace")
