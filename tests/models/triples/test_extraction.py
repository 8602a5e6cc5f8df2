import subprocess
import sys
from pathlib import Path

import pytest

from tedaudit.errors import ModelError, SpecError
from tedaudit.models.triples.extraction import (
    OpenIEExtractor,
    SpacyExtractor,
    Triple,
    as_triple,
    clean_text,
    load_extractor,
)
from tedaudit.models.triples.table import choose_representatives
from tiny_triples import PARSES, openie_server, row, save_parser


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_parser(tmp_path_factory.mktemp("parser") / "pipeline")


def texts_of(triples: list[Triple]) -> list[str]:
    return [triple.text for triple in triples]


def parsed(words: str, heads: list[int], labels: str) -> list[str]:
    """Return the triples of a hand-made dependency tree."""
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc

    from tedaudit.models.triples.extraction import extract_triples

    doc = Doc(spacy.blank("en").vocab, words=words.split(), heads=heads, deps=labels.split())
    return texts_of(extract_triples(doc))


def test_a_trained_parser_gives_the_triples_of_its_sentences(parser: Path) -> None:
    found = SpacyExtractor(str(parser)).extract([text for text, _, _ in PARSES])
    assert texts_of(found[0]) == ["my sister | bought | a red bicycle", "my sister | bought | bicycle"]
    assert texts_of(found[1]) == [
        "she | lost | the keys", "she | lost | keys", "she | lost in | the park", "she | lost in | park",
    ]  # fmt: skip
    assert texts_of(found[2]) == ["the old baker | sold | bread"]
    assert "he | bought | a car" in texts_of(found[4]), "the second verb shares the first one's subject"
    assert texts_of(found[5]) == ["we | went to | the market", "we | went to | market"]
    assert found[6] == found[7] == []


def test_the_triples_of_a_text_do_not_depend_on_the_batch(parser: Path) -> None:
    extractor = SpacyExtractor(str(parser))
    texts = [text for text, _, _ in PARSES]
    assert extractor.extract(texts) == [extractor.extract([text])[0] for text in texts]


@pytest.mark.parametrize(
    ("words", "heads", "labels", "wanted"),
    [
        ("she is a doctor", [3, 3, 3, 3], "nsubj cop det ROOT", "she | is | a doctor"),
        ("she is a doctor", [1, 1, 3, 1], "nsubj ROOT det attr", "she | is | a doctor"),
        ("we slept in the car", [1, 1, 4, 4, 1], "nsubj ROOT case det obl", "we | slept in | the car"),
        ("he gave it to him", [1, 1, 1, 1, 3], "nsubj ROOT dobj dative pobj", "he | gave to | him"),
        ("they did not find out much", [3, 3, 3, 3, 3, 3], "nsubj aux neg ROOT prt obj",
         "they | did not find out | much"),
        ("it was bought by us", [2, 2, 2, 2, 3], "nsubjpass auxpass ROOT agent pobj",
         "it | was bought by | us"),
        ("I want to buy shoes", [1, 1, 3, 1, 3], "nsubj ROOT aux xcomp dobj", "I | to buy | shoes"),
    ],
)  # fmt: skip
def test_both_label_sets_give_triples(words: str, heads: list[int], labels: str, wanted: str) -> None:
    assert wanted in parsed(words, heads, labels)


def test_a_relative_clause_stays_out_of_the_phrase() -> None:
    words = "we met a man who sells boats"
    found = parsed(words, [1, 1, 3, 1, 5, 3, 5], "nsubj ROOT det dobj nsubj relcl dobj")
    assert "we | met | a man" in found
    assert "who | sells | boats" in found
    assert not any("man who" in text for text in found)


@pytest.mark.parametrize("text", ["", "   ", "?!...", "\ud800 lost", "\x00\x07\n\t", "😀👩‍👩‍👧", "a | b | c"])
def test_odd_texts_are_read_like_any_other(parser: Path, text: str) -> None:
    (found,) = SpacyExtractor(str(parser)).extract([text])
    assert all(len(triple.text.split(" | ")) == 3 for triple in found)


def test_an_overlong_text_is_cut_and_not_refused(parser: Path) -> None:
    (found,) = SpacyExtractor(str(parser), max_characters=60).extract(["she lost the keys . " * 300_000])
    assert found == SpacyExtractor(str(parser)).extract([("she lost the keys . " * 3)[:60]])[0]


def test_an_endless_word_is_given_in_pieces_because_it_would_take_a_minute(parser: Path) -> None:
    extractor, given = SpacyExtractor(str(parser)), []
    cut = extractor._nlp.tokenizer
    extractor._nlp.tokenizer = lambda text: (given.append(text), cut(text))[1]
    extractor.extract(["!" * 20_000])
    assert given == [" ".join(["!" * 100] * 200)]
    assert clean_text("a" * 250) == f"{'a' * 100} {'a' * 100} {'a' * 50}"
    assert clean_text("a" * 100) == "a" * 100


def test_a_triple_has_three_parts_without_bars_or_line_breaks() -> None:
    assert as_triple(" my\nsister ", "bought|sold", "a  car") == Triple("my sister", "bought/sold", "a car")
    assert as_triple("she", " ", "keys") is None
    assert clean_text("a\ud800b", 2) == "a?"


def test_a_pipeline_without_a_parser_is_refused(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "blank")
    with pytest.raises(ModelError, match=r"no dependency parser.*sentencizer"):
        load_extractor(f"spacy:{tmp_path / 'blank'}")


def test_a_missing_pipeline_says_what_to_install() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(ModelError, match="python -m spacy download no_such_pipeline"):
        load_extractor("spacy:no_such_pipeline")


@pytest.mark.parametrize("reference", ["spacy", "spacy:", "http://localhost", "stanza:en"])
def test_an_unknown_reference_lists_what_is_allowed(reference: str) -> None:
    with pytest.raises(SpecError, match="spacy:NAME_OR_FOLDER, openie:URL or zoo:NAME"):
        load_extractor(reference)


def test_the_fingerprint_follows_the_weights(parser: Path, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.load(parser)
    first = SpacyExtractor(str(parser))
    before = first.fingerprint()
    first.extract(["quite new words widen the vocabulary"])
    assert first.fingerprint() == before
    for node in nlp.get_pipe("parser").model.walk():
        for name in node.param_names:
            if node.has_param(name):
                node.set_param(name, node.get_param(name) * 0.5)
    nlp.to_disk(tmp_path / "changed")
    assert SpacyExtractor(str(tmp_path / "changed")).fingerprint() != before


def test_openie_triples_come_from_the_server_in_order() -> None:
    rows = [row("Ann", "paid", "the bill"), row("", "paid", "it"), row("Ann", "went\nto", "a | b")]
    with openie_server(lambda _: rows) as (url, sent):
        found = load_extractor(f"openie:{url}").extract(["Ann paid. Ünïcode 😀", " ", "again"])
    assert texts_of(found[0]) == ["Ann | paid | the bill", "Ann | went to | a / b"]
    assert found[1] == [], "a text without a letter is not sent"
    assert [text for text, _ in sent] == ["Ann paid. Ünïcode 😀", "again"]
    assert sent[0][1]["annotators"] == "openie"
    assert sent[0][1]["outputFormat"] == "json"


@pytest.mark.parametrize("url", ["http://me:s3cret@127.0.0.1:9000", "http://127.0.0.1:9000/?key=s3cret"])
def test_an_address_with_a_key_is_refused_and_the_key_is_not_shown(url: str) -> None:
    with pytest.raises(SpecError, match="store their settings") as caught:
        load_extractor(f"openie:{url}", allow_remote=True)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "host", ["http://example.org:9000", "https://10.0.0.7", "http://localhost.example.org"]
)
def test_texts_are_not_sent_to_other_machines_unless_allowed(host: str) -> None:
    with pytest.raises(SpecError, match=r"private.*allow_remote"):
        OpenIEExtractor(host)
    OpenIEExtractor(host, allow_remote=True)


@pytest.mark.parametrize("host", ["http://localhost:9000", "http://127.0.0.2:1", "http://[::1]:9000"])
def test_this_machine_is_allowed(host: str) -> None:
    OpenIEExtractor(host)


def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with openie_server(lambda _: [row("a", "b", "c")]) as (url, _):
        assert OpenIEExtractor(url).extract(["text"]) == [[Triple("a", "b", "c")]]


@pytest.mark.parametrize("answer", [500, b"not json", b"[]", b'{"sentences": [{}]}'])
def test_a_wrong_answer_is_a_clear_error_without_the_text(answer: object) -> None:
    with (
        openie_server(lambda _: answer) as (url, _),
        pytest.raises(ModelError, match="OpenIE server") as caught,
    ):
        OpenIEExtractor(url).extract(["my secret"])
    assert "secret" not in str(caught.value)


def test_an_absent_server_is_a_clear_error() -> None:
    with openie_server(lambda _: []) as (url, _):
        pass
    with pytest.raises(ModelError, match="cannot be reached"):
        OpenIEExtractor(url, seconds=2).extract(["text"])


def test_a_url_without_a_scheme_is_refused() -> None:
    with pytest.raises(SpecError, match="must be a URL"):
        OpenIEExtractor("localhost:9000")


def test_near_duplicates_are_grouped_and_the_longest_or_first_is_kept() -> None:
    short, long, other = (
        Triple("I", "bought", "boots"),
        Triple("I", "bought", "red boots"),
        Triple("we", "ate", ""),
    )
    triples = [short, other, long, short]
    assert choose_representatives(triples, 0.4, "longest", keep_single=True) == [other, long]
    assert choose_representatives(triples, 0.4, "first", keep_single=True) == [short, other]
    assert choose_representatives(triples, 0.4, "longest", keep_single=False) == [long]
    assert choose_representatives(triples, 1.0, "longest", keep_single=True) == [short, other, long]
    assert choose_representatives([other], 0.4, "longest", keep_single=False) == []
    assert choose_representatives([], 0.4, "longest", keep_single=True) == []


def test_grouping_uses_the_jaccard_index_of_three_grams() -> None:
    one, two = Triple("abc", "d", "e"), Triple("abc", "d", "f")
    grams = [{t.text[i : i + 3] for i in range(len(t.text) - 2)} for t in (one, two)]
    jaccard = len(grams[0] & grams[1]) / len(grams[0] | grams[1])
    assert len(choose_representatives([one, two], jaccard, "first", keep_single=True)) == 1
    assert len(choose_representatives([one, two], jaccard + 1e-9, "first", keep_single=True)) == 2


def test_grouping_thousands_of_triples_agrees_with_grouping_a_few() -> None:
    many = [Triple(f"{i:04d}" * 6, "likes", f"{9999 - i:04d}" * 6) for i in range(600)]
    assert choose_representatives(many, 0.9, "first", keep_single=True) == many


def test_importing_costs_nothing() -> None:
    heavy = "{'spacy', 'torch', 'transformers', 'polars', 'pydantic', 'typer', 'rich', 'yaml', 'sklearn'}"
    code = (
        "import sys, tedaudit.mechanisms.dp_st, tedaudit.models.triples.build;"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
