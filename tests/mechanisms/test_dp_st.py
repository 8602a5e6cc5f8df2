"""DP-ST with a proof: its likelihoods are those of the exponential mechanism, whatever the text."""

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tedaudit.errors import ModelError, SpecError
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.models.triples.table import load_table
from tedaudit.models.triples.writing import fit_prompt, load_writer
from tedaudit.plugins.registry import determinants
from tedaudit.plugins.values import Draw
from tedaudit.testing import check_mechanism
from tedaudit.testing.likelihood_check import PAIRS
from tiny_dp_st import BICYCLE, BREAD, HELLO, KEYS, MOTHER, ODD, RENT, make_dp_st, save_parts
from tiny_triples import PUBLIC, minilm, openie_server, row

TEXTS = (BICYCLE, KEYS, BREAD, MOTHER, RENT, HELLO, "")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return save_parts(tmp_path_factory.mktemp("dp-st"))


@pytest.fixture(scope="module")
def sound(folders: dict[str, str]) -> DPST:
    return make_dp_st(folders, "sound")


@pytest.fixture(scope="module")
def both(sound: DPST) -> dict[str, DPST]:
    """Return the sound ways to choose a cluster; they remember texts, so each is made once."""
    return {"private": sound, "whole": replace(sound, cluster_choice="whole")}


def outputs(mechanism: DPST) -> list[tuple[int, ...]]:
    return list(product(range(len(PUBLIC)), repeat=mechanism.triples))


def log_probabilities(mechanism: DPST, epsilon: float, texts: tuple[str, ...] = TEXTS) -> np.ndarray:
    """Return the log-probability of every output (rows) from every text (columns)."""
    return np.stack([mechanism.log_likelihood(drawn, texts, epsilon) for drawn in outputs(mechanism)])


def definition(mechanism: DPST, text: str, epsilon: float) -> dict[tuple[int, ...], float]:
    """Return the probability of every output by the exponential mechanism's formula, from the start."""
    table = load_table(mechanism.table)
    queries = mechanism._build_queries([text])
    each = epsilon / mechanism.triples
    marginals = []
    for query in queries.vectors[list(queries.slots[text])]:
        inside = np.maximum(0, table.similarity(query[None], -1)[0])
        if mechanism.cluster_choice == "whole":
            weights = np.exp(each * inside / 2)
            marginals.append(weights / weights.sum())
            continue
        outer = np.exp(each / 2 * np.maximum(0, table.cluster_similarity(query[None])[0]) / 2)
        weights = np.exp(each / 2 * inside / 2)
        sums = np.bincount(table.cluster, weights)
        marginals.append((outer / outer.sum())[table.cluster] * weights / sums[table.cluster])
    pairs = product(range(len(PUBLIC)), repeat=mechanism.triples)
    return {drawn: float(np.prod([m[v] for m, v in zip(marginals, drawn, strict=True)])) for drawn in pairs}


@pytest.mark.parametrize("choice", ["private", "whole"])
@pytest.mark.parametrize("epsilon", [0.5, 8.0, 60.0])
def test_likelihoods_are_the_exponential_mechanism_and_sum_to_one(
    both: dict[str, DPST], choice: str, epsilon: float
) -> None:
    mechanism = both[choice]
    found = np.exp(log_probabilities(mechanism, epsilon))
    assert np.abs(found.sum(axis=0) - 1).max() < 1e-12
    for column, text in enumerate(TEXTS):
        wanted = definition(mechanism, text, epsilon)
        assert np.abs(found[:, column] - [wanted[drawn] for drawn in outputs(mechanism)]).max() < 1e-9


@pytest.mark.parametrize("choice", ["private", "whole"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 5.0, 50.0, 2500.0])
def test_the_loss_between_any_two_texts_is_at_most_epsilon(
    both: dict[str, DPST], choice: str, epsilon: float
) -> None:
    found = log_probabilities(both[choice], epsilon)
    assert np.isfinite(found).all()
    worst = (found.max(axis=1) - found.min(axis=1)).max()
    assert worst <= epsilon + 1e-9
    assert worst >= epsilon / 20, "the texts are told apart at all"


@pytest.mark.parametrize("choice", ["private", "whole"])
def test_what_rewrite_draws_has_these_probabilities(both: dict[str, DPST], choice: str) -> None:
    mechanism, n = both[choice], 4000
    drawn = Counter(one.tokens for one in mechanism.rewrite([Draw(KEYS, 12.0, key) for key in range(n)]))
    for output, mass in definition(mechanism, KEYS, 12.0).items():
        assert abs(drawn[output] - n * mass) <= 5 * np.sqrt(n * mass) + 5  # the keys are fixed: no flakes


def test_at_no_budget_the_sound_variant_tells_nothing(both: dict[str, DPST]) -> None:
    for mechanism in both.values():
        found = log_probabilities(mechanism, 1e-9)
        assert np.ptp(found, axis=1).max() < 1e-8
        draws = [Draw(text, 1e-9, 77) for text in TEXTS]
        assert len(set(mechanism.rewrite(draws))) == 1


@pytest.mark.parametrize(
    ("change", "first", "second"),
    [
        ({"cluster_choice": "nearest"}, BICYCLE, MOTHER),
        ({"triple_count": "input"}, BICYCLE, KEYS),
        ({"no_triples": "copy"}, BICYCLE, HELLO),
        ({"length": "input"}, BREAD, "my sister bought a red bicycle . " * 4),
    ],
)
def test_at_no_budget_each_flaw_tells_by_itself(
    sound: DPST, change: dict[str, str], first: str, second: str
) -> None:
    draws = [Draw(text, 1e-9, key) for key in range(12) for text in (first, second)]
    for mechanism, alike in ((sound, True), (replace(sound, **change), False)):
        done = mechanism.rewrite(draws)
        assert (done[::2] == done[1::2]) == alike


def test_single_triples_dropped_alone_tell_nothing(sound: DPST) -> None:
    found = log_probabilities(replace(sound, single_triples="drop"), 1e-9)
    assert np.ptp(found, axis=1).max() < 1e-8


def test_the_contract_is_kept_as_published_too(folders: dict[str, str], is_thorough: bool) -> None:
    pairs = PAIRS if is_thorough else 400  # likelihoods are held against the formula above
    check_mechanism(make_dp_st(folders, "published"), likelihood_pairs=pairs)


@pytest.mark.parametrize("text", ODD)
def test_every_string_is_an_ordinary_draw_for_sound(both: dict[str, DPST], text: str) -> None:
    for mechanism in both.values():
        (done,) = mechanism.rewrite([Draw(text, 40.0, 9)])
        assert (done.error, done.units, len(done.tokens or ())) == ("", 1, 2)
        assert np.isfinite(mechanism.log_likelihood(done.tokens or (), [text], 40.0)).all()


def test_longer_texts_are_cut_to_the_public_number_of_triples(sound: DPST) -> None:
    both = f"{KEYS} . {MOTHER}"
    assert len(sound._find_triples([both])[both]) > sound.triples
    assert sound._build_queries([both]).slots[both] == sound._build_queries([KEYS]).slots[KEYS]


def test_shorter_texts_are_padded_with_a_null_triple(sound: DPST) -> None:
    queries = sound._build_queries([BREAD, HELLO])
    assert queries.slots == {BREAD: (1, 0), HELLO: (0, 0)}
    assert (queries.vectors[0] == 0).all()


@pytest.mark.parametrize("writer", ["model", "seq2seq"])
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_a_draw_gives_the_same_output_alone_and_in_any_batch(
    folders: dict[str, str], writer: str, variant: str
) -> None:
    mechanism = replace(make_dp_st(folders, variant), model=folders[writer])
    texts = (BICYCLE, KEYS, RENT, HELLO, "", "?!", f"{BICYCLE} . {MOTHER}")
    draws = [Draw(text, epsilon, key) for text in texts for epsilon in (0.1, 30.0) for key in (1, 2)]
    together = mechanism.rewrite(draws)
    assert len({one.text for one in together}) > 6, "the outputs differ, so equality says something"
    afresh = [replace(mechanism) for _ in range(6)]  # each knows nothing of the others' texts
    assert afresh[0].rewrite(draws[::-1])[::-1] == together
    assert [one.rewrite([draw])[0] for one, draw in zip(afresh[1:], draws[::6], strict=True)] == together[::6]


def test_the_text_is_a_function_of_the_drawn_triples(sound: DPST) -> None:
    draws = [Draw(text, epsilon, key) for text in TEXTS for epsilon in (0.1, 9.0) for key in range(20)]
    found: dict[object, set[str]] = {}
    for one in sound.rewrite(draws):
        found.setdefault(one.tokens, set()).add(one.text)
    assert len(found) > 20
    assert all(len(texts) == 1 for texts in found.values())


def test_length_follows_the_input_only_if_the_field_says_so(sound: DPST) -> None:
    writer = load_writer(sound.model, "", "cpu", "auto")
    long, short = BICYCLE + " today" * 30, "we went"
    asked = replace(sound, length="input")
    allowed = [len(writer.tokenizer(text)["input_ids"]) for text in (long, short)]
    assert list(asked._load_writing()._compute_limits([long, short]).values()) == allowed
    done = [one.text for one in asked.rewrite([Draw(text, 1e-9, 1) for text in (long, short)])]
    assert done[0].startswith(done[1].rstrip("\ufffd"))
    assert len(done[1]) < len(done[0])
    assert set(sound._load_writing()._compute_limits([long, short]).values()) == {6}


def test_triples_that_do_not_fit_the_models_context_are_left_out(sound: DPST) -> None:
    writer = load_writer(sound.model, "", "cpu", "auto")
    triples = [triple.text for triple in PUBLIC]
    whole = fit_prompt(writer, "Say:{triples}", triples, 10_000)
    shorter = fit_prompt(writer, "Say:{triples}", triples, len(whole) - 1)
    assert shorter == fit_prompt(writer, "Say:{triples}", triples[:5], 10_000)
    assert len(fit_prompt(writer, "Say:{triples}", triples, 3)) == 3
    assert "<answer>" in writer.tokenizer.decode(shorter), "the chat template frames the prompt"
    crowded = replace(sound, context=5, max_tokens=3)
    assert not crowded.rewrite([Draw(KEYS, 1.0, 1)])[0].error


def test_noise_free_work_is_done_once_per_distinct_text(sound: DPST) -> None:
    with openie_server(lambda text: [row(text.split()[0], "saw", "a ship")]) as (url, sent):
        mechanism = replace(sound, extractor=f"openie:{url}")
        done = mechanism.rewrite([Draw(text, 4.0, key) for key in range(30) for text in ("Ann x", "Bo y")])
        assert sorted(text for text, _ in sent) == ["Ann x", "Bo y"]
    assert {(one.units, len(one.tokens or ())) for one in done} == {(1, 2)}


def test_a_remote_server_needs_permission(sound: DPST) -> None:
    remote = replace(sound, extractor="openie:http://example.org:9000")
    with pytest.raises(SpecError, match="allow_remote"):
        remote.rewrite([Draw(KEYS, 1.0, 1)])


def test_claim_fingerprint_and_device(sound: DPST) -> None:
    assert str(sound.claim(2.5)) == "2.5 per document"
    found = sound.fingerprint()
    assert set(found) == {"weights", "number format", "table", "encoder weights", "extractor"}
    assert determinants(sound) == determinants(replace(sound, device="auto"))


def test_no_draws_give_no_rewrites(sound: DPST) -> None:
    assert sound.rewrite([]) == []
    assert len(sound.log_likelihood((1, 2), [], 1.0)) == 0
    assert sound.log_likelihood((1, 2, 3), [KEYS], 1.0)[0] == -np.inf


def test_sound_is_the_default(sound: DPST) -> None:
    assert all(getattr(DPST(), name) == value for name, value in DPST.variants["sound"].items())
    assert DPST.variants["sound"].keys() == DPST.variants["published"].keys()


def test_a_table_of_another_encoder_or_size_is_refused(sound: DPST, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    other = SentenceTransformer(minilm(), device="cpu")
    next(iter(other.parameters())).data *= 2
    other.save(str(tmp_path / "other"))
    with pytest.raises(ModelError, match="made with another encoder"):
        replace(sound, encoder=str(tmp_path / "other")).rewrite([Draw(KEYS, 1.0, 1)])
    with pytest.raises(ModelError, match="32 dimensions; `dimensions` is 16"):
        replace(sound, dimensions=16).rewrite([Draw(KEYS, 1.0, 1)])
    with pytest.raises(ModelError, match="'lexical' gives sparse vectors"):
        replace(sound, encoder="lexical").rewrite([Draw(KEYS, 1.0, 1)])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"triples": 0}, "triples is 0"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"duplicate_similarity": 0.0}, "duplicate_similarity is 0.0"),
        ({"template": "no place"}, "must contain {triples}"),
    ],
)
def test_wrong_fields_are_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        DPST(**change)  # type: ignore[arg-type]
