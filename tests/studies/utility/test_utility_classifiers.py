"""Classifiers: scores by hand, and a real encoder with a handful of weights."""

import json

import pytest

from tedaudit.errors import ModelError
from tedaudit.models.loading import WEIGHTS, load_checkpoint, save_quantised
from tedaudit.models.tuning import Tuning, _load_body, _Model, body_checksum
from tedaudit.studies.utility.classifiers import (
    Lesson,
    TextEncoder,
    Tfidf,
    choose_classifier,
    macro_f1,
    majority,
)
from tedaudit.studies.utility.study import run_study
from tiny_models import one_thread, save_bart, save_roberta
from tiny_study import make_study

TEXTS = ["red red bicycle", "the doctor called"] * 16
LESSON = Lesson(TEXTS, ["bike", "doctor"] * 16, ["red red bicycle", "the doctor called", ""], 3)
FAST = Tuning(learning_rate=0.001, epochs=4, batch=8, device="cpu")


def test_macro_f1_is_the_mean_over_the_classes_of_the_test_texts():
    # a: precision 2/2, recall 2/3, F1 4/5; b: 1/2, 1/1, 2/3; c is predicted but never true
    assert macro_f1(["a", "a", "a", "b"], ["a", "a", "b", "b"]) == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert macro_f1(["a", "b"], ["a", "c"]) == 0.5


def test_the_majority_is_the_first_by_name_if_several_tie():
    assert majority(["b", "a", "c", "b"]) == "b"
    assert majority(["b", "a"]) == "a"


def test_tfidf_learns_words():
    assert Tfidf().predict(LESSON)[:2] == ["bike", "doctor"]


def test_tfidf_predicts_the_majority_if_there_are_no_words():
    assert Tfidf().predict(Lesson(["", "!", ""], ["b", "b", "a"], ["red", ""], 0)) == ["b", "b"]


def test_one_string_names_a_classifier():
    assert choose_classifier("tfidf", FAST) == Tfidf()
    assert choose_classifier("zoo:mlm", FAST) == TextEncoder("zoo:mlm", FAST)


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return save_roberta(tmp_path_factory.mktemp("models") / "roberta")


def test_texts_are_padded_by_the_models_own_token_if_it_has_one(roberta):
    checkpoint = _load_body(str(roberta), "cpu")
    token = checkpoint.tokenizer.pad_token
    assert _Model(checkpoint, FAST, 2)._padding == checkpoint.tokenizer.pad_token_id != 0
    try:
        checkpoint.tokenizer.pad_token = None
        assert _Model(checkpoint, FAST, 2)._padding == 0
    finally:
        checkpoint.tokenizer.pad_token = token


def test_an_encoder_learns_and_repeats_itself_and_leaves_torch_alone(roberta):
    import torch

    encoder = TextEncoder(str(roberta), FAST)
    load_checkpoint.cache_clear()
    before = torch.random.get_rng_state()
    weights = body_checksum(str(roberta), "cpu")
    with one_thread():
        first, second = encoder.predict(LESSON), encoder.predict(LESSON)
    assert first[:2] == ["bike", "doctor"]
    assert first == second
    assert torch.equal(torch.random.get_rng_state(), before)
    assert body_checksum(str(roberta), "cpu") == weights


def test_the_encoder_of_an_encoder_decoder_can_be_used(tmp_path):
    with one_thread():
        found = TextEncoder(str(save_bart(tmp_path / "bart")), FAST).predict(LESSON)
    assert found[:2] == ["bike", "doctor"]


def test_weights_stored_as_integers_load(roberta, tmp_path):
    import torch
    from transformers import RobertaForMaskedLM

    folder = tmp_path / "integers"
    folder.mkdir()
    for file in roberta.iterdir():
        if file.suffix == ".json":
            (folder / file.name).write_bytes(file.read_bytes())
    save_quantised(folder / WEIGHTS, RobertaForMaskedLM.from_pretrained(roberta).state_dict())
    assert json.loads((folder / "config.json").read_text())["model_type"] == "roberta"
    torch.manual_seed(1)
    first = body_checksum(str(folder), "cpu")
    load_checkpoint.cache_clear()
    assert body_checksum(str(folder), "cpu") == first, "no weight of it is drawn anew"


def test_a_missing_model_is_reported():
    with pytest.raises(ModelError, match="could not be loaded"):
        TextEncoder("nobody/has-this", FAST).determinants()


def test_a_study_with_an_encoder_is_exact_on_identity(roberta, tmp_path):
    settings = {"classifier": str(roberta), "learning_rate": 0.003, "limit": 48, "device": "cpu"}
    spec = make_study(tmp_path / "s", **settings, tasks=["gender"])
    with one_thread():
        result = run_study(spec)
    assert [one.scores for one in result] == [result.tasks[0].upper]
    info = json.loads((tmp_path / "s" / "upper" / "gender" / "table.json").read_text())
    assert info["determinants"]["classifier"]["weights"] == body_checksum(str(roberta), "cpu")
