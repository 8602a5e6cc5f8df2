import lzma

import pytest
from common.text import is_held_out, mix, pairs, sentences, split


@pytest.fixture
def data(tmp_path):
    """Public text in the layout that the recipes read, made up."""
    lines = [f"Number {i} is a sentence." for i in range(400)]
    (tmp_path / "text").mkdir()
    for name in ("gutenberg", "tatoeba", "wikitext2"):
        rows = [*lines[::2], "= A title =", "An <unk> word ."] if name == "wikitext2" else lines
        (tmp_path / "text" / f"{name}.txt.xz").write_bytes(lzma.compress("\n".join(rows).encode()))
    twos = "\n".join(f"{a}\t{b}" for a, b in zip(lines, reversed(lines), strict=True))
    (tmp_path / "text" / "paraphrases.tsv.xz").write_bytes(lzma.compress(twos.encode()))
    (tmp_path / "snli").mkdir()
    (tmp_path / "snli" / "entailment.tsv").write_text(twos)
    (tmp_path / "ud-ewt").mkdir()
    tree = "# sent_id = 1\n# text = Look , a tree!\n1\tLook\t_\n\n# text = .\n"
    (tmp_path / "ud-ewt" / "train.conllu.xz").write_bytes(lzma.compress(tree.encode()))
    (tmp_path / "snips").mkdir()
    (tmp_path / "snips" / "snips_2017_train.csv").write_text('PlayMusic,"play it, Sam"\n')
    return tmp_path


def test_sources_are_read_as_sentences(data):
    assert sentences(data, "ewt") == ["Look , a tree!", "."]
    assert sentences(data, "snips") == ["play it, Sam"]
    assert len(sentences(data, "wikitext2")) == 200  # titles and unknown words are left out


def test_nothing_that_is_held_out_is_trained_on(data):
    train, held_out = mix(data, seed=0)
    assert held_out
    assert all(train)
    assert not any(is_held_out(text) for text in train)
    assert not {text.lower().rstrip(".") for text in held_out} & {text.lower().rstrip(".") for text in train}
    assert mix(data, seed=0) == (train, held_out)


def test_case_and_final_marks_do_not_hide_a_held_out_sentence():
    held_out = next(f"Sentence {i}." for i in range(1000) if is_held_out(f"Sentence {i}."))
    assert is_held_out(held_out.lower().rstrip("."))
    assert is_held_out(held_out.upper())


@pytest.mark.parametrize("source", ["paraphrases", "snli"])
def test_no_sentence_of_a_held_out_pair_is_trained_on(data, source):
    train, held_out = split(pairs(data, source))
    assert train
    assert held_out
    assert not {a for a, _ in held_out} & {text for pair in train for text in pair}
