"""Lint: settings, claims, arithmetic and source that cannot keep a promise are named without a sample."""

import json
import math
import random
import textwrap
import zlib

import pytest

from tedaudit.errors import ModelError, SpecError
from tedaudit.leaks.lint.linter import lint, lint_model, lint_units
from tedaudit.mechanisms._clipped_logits import zeros_from
from tedaudit.plugins.registry import find
from tedaudit.plugins.values import Card, Claim, Leak, Rewrite
from tiny_models import save_roberta

FIELDS_ONLY = {"texts": ()}


def by_rule(report, level="error"):
    return {note.rule: note for note in report.at(level)}


def of_zoo(name, monkeypatch, **fields):
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO", raising=False)
    models = {"model": f"zoo:{_MODELS[name]}"} if name in _MODELS else {}
    return {"name": name, **models, **fields}


_MODELS = {
    "dp-mlm": "mlm", "dp-prompt": "seq2seq", "dp-paraphrase": "paraphraser", "dp-bart": "bart-pruned",
    "adept": "adept",
}  # fmt: skip


@pytest.mark.parametrize("name", ["word-rr", "constant", "identity"])
def test_mechanisms_without_a_model_have_no_error(name):
    assert lint(name).at("error") == ()


@pytest.mark.parametrize("name", ["dp-mlm", "dp-prompt", "dp-paraphrase", "dp-bart", "adept"])
def test_sound_variants_have_no_error(name, monkeypatch):
    report = lint(of_zoo(name, monkeypatch, variant="sound"), **FIELDS_ONLY)
    assert report.at("error") == ()


@pytest.mark.parametrize(
    ("name", "fixes"),
    [
        ("dp-mlm", {"stop words": "keep_stop_words=false", "case": "copy_case=false",
                    "punctuation": "keep_punctuation=false", "length rule": "length=fixed",
                    "copied words": "pairs=plain", "max_units": "length=fixed"}),
        ("dp-prompt", {"length rule": "length=fixed"}),
        ("dp-paraphrase", {"top_k": "top_k=0", "length rule": "length=fixed", "failures": "overlong=cut",
                           "clean-up": "clean_up=strip"}),
        ("dp-bart", {"Gaussian formula": "noise=analytic_gaussian"}),
        ("adept", {"Gaussian formula": "noise=analytic_gaussian"}),
    ],
)  # fmt: skip
def test_published_variants_have_their_flaws_named_with_the_field_that_fixes_them(name, fixes, monkeypatch):
    report = lint(of_zoo(name, monkeypatch, variant="published"), **FIELDS_ONLY)
    assert {rule: note.fix for rule, note in by_rule(report).items()} == fixes
    assert report.reaches("error")


def test_the_fixes_are_values_of_the_sound_variant():
    for name in ("dp-mlm", "dp-prompt", "dp-paraphrase", "dp-st", "dp-bart"):
        plugin = find("mechanism", name)
        published = plugin(**plugin.variants["published"], model="x")
        from tedaudit.leaks.lint.linter import lint_fields

        for note in lint_fields(published):
            field, _, value = note.fix.partition("=")
            assert str(plugin.variants["sound"][field]).lower() == value


def test_dp_st_as_released_is_named_by_its_fields():
    from tedaudit.leaks.lint.linter import lint_fields

    plugin = find("mechanism", "dp-st")
    published, sound = (plugin(**plugin.variants[name]) for name in ("published", "sound"))
    rules = {note.rule for note in (*lint_fields(published), *published.arithmetic([1.0], ()))}
    assert {"copied text", "cluster", "failures", "number of draws", "budget of the text"} <= rules
    assert [*lint_fields(sound), *sound.arithmetic([1.0], ())] == []


SAMPLED = {"name": "sampler", "model": "zoo:seq2seq"}


def sampled(monkeypatch, **fields):
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO", raising=False)
    return lint({**SAMPLED, **fields}, **FIELDS_ONLY)


def test_a_sampler_that_only_samples_has_no_error_and_no_clip_range(monkeypatch):
    report = sampled(monkeypatch)
    assert not report.reaches("warning")
    assert "logits are not clipped" in by_rule(report, "info")["clip range"].text


@pytest.mark.parametrize(
    ("key", "value", "off"),
    [("top_k", 50, 0), ("top_p", 0.9, 1.0), ("min_p", 0.1, 0.0), ("typical_p", 0.9, 1.0),
     ("encoder_no_repeat_ngram_size", 3, 0)],
)  # fmt: skip
def test_a_sampler_s_settings_that_make_outputs_impossible_are_errors(monkeypatch, key, value, off):
    report = sampled(monkeypatch, **{key: value})
    assert {rule: note.fix for rule, note in by_rule(report).items()} == {key: f"{key}={off}"}
    assert "impossible" in by_rule(report)[key].text


def test_a_penalty_on_what_was_drawn_is_public_with_an_encoder_and_reads_the_prompt_without_one(monkeypatch):
    penalties = {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3}
    with_encoder = sampled(monkeypatch, **penalties)
    assert not with_encoder.reaches("warning")
    assert set(penalties) <= set(by_rule(with_encoder, "info"))
    without = sampled(monkeypatch, model="zoo:paraphraser", **penalties)
    assert set(by_rule(without)) == {"no_repeat_ngram_size"}
    assert set(by_rule(without, "warning")) == {"repetition_penalty"}
    assert set(by_rule(sampled(monkeypatch, encoder_repetition_penalty=1.5), "warning")) == {
        "encoder_repetition_penalty"
    }


def test_settings_of_the_checkpoint_that_a_sampler_does_not_use_are_named(monkeypatch, tmp_path):
    from tiny_models import save_gpt2

    folder = save_gpt2(tmp_path / "model")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 1, "top_p": 0.8, "top_k": 20}))
    report = sampled(monkeypatch, model=str(folder), top_k=20)
    [note] = [note for note in report.at("info") if note.rule == "checkpoint"]
    assert note.fix.startswith("top_p=0.8")


def test_the_real_epsilon_of_the_classical_formula_is_recomputed(monkeypatch):
    chosen = of_zoo("dp-bart", monkeypatch, variant="published")
    text = by_rule(lint(chosen, epsilons=[0.5, 50, 250], **FIELDS_ONLY))["Gaussian formula"].text
    assert "50 is really 96.43" in text
    assert "250 is really 1550" in text
    assert "0.5 is" not in text


def test_noise_for_a_narrower_range_than_the_clip_is_named(monkeypatch):
    port = lint(of_zoo("dp-bart", monkeypatch, variant="port"), epsilons=[250], **FIELDS_ONLY)
    assert "250 is really 3325" in by_rule(port)["sensitivity"].text
    assert "shared noise" in by_rule(port)
    norm = of_zoo("dp-bart", monkeypatch, clipping="norm", clip=1.0, noised_for_clip=0.001)
    found = by_rule(lint(norm, epsilons=[1], **FIELDS_ONLY))
    assert found["sensitivity"].fix == "noised_for_clip=0"
    assert "clipped by norm" in found["sensitivity"].text


def test_the_error_of_2021_is_named(monkeypatch):
    wrong = of_zoo("adept", monkeypatch, noise="laplace", laplace_sensitivity="l2")
    report = lint(wrong, epsilons=[1], **FIELDS_ONLY)
    assert by_rule(report)["sensitivity"].fix == "laplace_sensitivity=l1"
    right = of_zoo("adept", monkeypatch, noise="laplace")
    assert lint(right, epsilons=[1], **FIELDS_ONLY).at("error") == ()


@pytest.mark.parametrize("name", ["dp-prompt", "dp-mlm"])
def test_observed_logits_use_part_of_the_clip_range(monkeypatch, name):
    wide = of_zoo(name, monkeypatch, low=-1e6, high=1e6)
    note = by_rule(lint(wide, epsilons=[1], texts=["a cup of tea"]), "info")["observed logits"]
    assert "0% to 0%" in note.text
    outside = of_zoo(name, monkeypatch, low=900.0, high=901.0)
    assert "observed logits" in by_rule(lint(outside, epsilons=[1], texts=["a cup"]), "warning")


def test_a_softmax_has_zeros_from_where_its_format_ends():
    import numpy as np

    limit = zeros_from("float32") / 2
    assert np.exp(np.float32(-limit * 1.001)) == 0
    assert np.exp(np.float32(-limit * 0.999)) > 0
    assert zeros_from("float16") < zeros_from("bfloat16") < zeros_from("float32") < 210


class _Greedy:
    card = Card("greedy", "Draws more than it counts.")

    def claim(self, epsilon):
        return Claim(epsilon, "token", max_units=4)

    def rewrite(self, draws):
        return [Rewrite("x", units=len(draw.text.split())) for draw in draws]


def test_more_units_than_the_claim_counts_are_an_error():
    [note] = lint_units(_Greedy(), ["one two"], 1.0)
    assert (note.level, note.rule) == ("error", "max_units")
    assert "40" in note.text


class _Boasting:
    """A leak on its card, which has nothing to do with the epsilon that it says it really gives."""

    keep_case = True
    card = Card("boasting", "Keeps the case.", leaks=(Leak("keep_case", True, False, "case is kept"),))

    def claim(self, epsilon):
        return Claim(epsilon, "document", actual=math.inf)

    def rewrite(self, draws):
        return [Rewrite(draw.text) for draw in draws]


def test_a_leak_does_not_hide_that_a_mechanism_says_itself_that_its_epsilon_is_another():
    found = by_rule(lint(_Boasting(), epsilons=[1], **FIELDS_ONLY))
    assert {"keep_case", "claim"} <= set(found)


def _seeded(text):
    random.seed(7)
    return random.choice(["a", "b"])


def _seeded_by_text(text):
    key = sum(map(ord, text))
    return random.Random(key).choice(["a", "b"])


def _take_seed(text, seed):
    own = random.Random(seed)
    return own.choice(["a", "b"])


def _help(text):
    return _seeded(text)


def _divide(text, epsilon):
    share = epsilon / len(text.split())
    return str(share)


def _generate(text, model=None):
    return model.generate(text, do_sample=True, top_p=0.9, max_new_tokens=len(text))


def _give_up(text):
    if not text.split():
        return text
    return "x"


def _keep(text, stop_words=()):
    return " ".join(word for word in text.split() if word in stop_words)


@pytest.mark.parametrize(
    ("function", "level", "rules"),
    [
        (_seeded, "error", {"fixed seed"}),
        (_help, "error", {"fixed seed"}),
        (_seeded_by_text, "error", {"seeded by the text"}),
        (_take_seed, "error", set()),
        (_generate, "error", {"top_p"}),
        (_generate, "warning", {"top_k", "length rule"}),
        (_give_up, "warning", {"copied text"}),
        (_keep, "warning", {"stop words"}),
        (str.upper, "info", {"source"}),
    ],
)
def test_the_source_of_a_function_is_read(function, level, rules):
    assert set(by_rule(lint(function), level)) == rules


@pytest.mark.parametrize("function", [_seeded, _help])
def test_a_line_is_counted_from_the_start_of_the_file(function):
    import inspect

    line = inspect.getsourcelines(_seeded)[1] + 1
    assert by_rule(lint(function))["fixed seed"].text.startswith(f"line {line}: seed")


def _divide_by_slots(text, epsilon):
    slots = (text.split() + [""] * 12)[:12]
    return str(epsilon / len(slots))


def _respond(text):
    if random.random() < 0.6:
        return text
    return random.choice(["yes", "no"])


@pytest.mark.parametrize(
    ("function", "rule"),
    [(_divide, "budget of the text"), (_divide_by_slots, "budget of the text"), (_respond, "copied text")],
)
def test_what_is_wrong_under_a_condition_alone_is_a_warning_that_names_it(function, rule):
    report = lint(function, epsilons=[1])
    assert report.at("error") == ()
    assert "unless" in by_rule(report, "warning")[rule].text


def of_module(folder, monkeypatch, code):
    """Lint the function `rewrite` of a module with this code."""
    name = f"rewriter_{zlib.crc32(code.encode())}"
    (folder / f"{name}.py").write_text(textwrap.dedent(code))
    monkeypatch.syspath_prepend(folder)
    return lint(f"py:{name}:rewrite", epsilons=[1])


def write_module(*statements, draw, before="", takes="text"):
    """Return the code of a module with these statements and a function that returns what `draw` says."""
    body = [before, f"return {draw}"] if before else [f"return {draw}"]
    lines = ["import os, random, secrets, time", *statements, f"def rewrite({takes}):"]
    return "\n".join([*lines, *(f"    {line}" for line in body), ""])


SEEDED = {
    "used": write_module("NOISE = random.Random('demo')", draw="NOISE.choice('ab')"),
    "used by a helper": write_module(
        "NOISE = random.Random(5)", "def pick():", "    return NOISE.choice('ab')", draw="pick()"
    ),
    "a name for a number": write_module("SEED = 5", draw="random.Random(SEED).choice('ab')"),
    "a list": write_module("from numpy.random import default_rng", draw="str(default_rng([1, 2]).normal())"),
    "a whole library": write_module("random.seed(5)", draw="random.choice('ab')"),
    "a library under another name": write_module(
        "import numpy as np", "np.random.seed(5)", draw="str(np.random.normal())"
    ),
    "the clock": write_module(draw="random.Random(int(time.time())).choice('ab')"),
    "the clock by way of a name": write_module(
        "from time import time_ns", before="now = time_ns() // 1000", draw="random.Random(now).choice('ab')"
    ),
    "the date": write_module(
        "from datetime import datetime", draw="random.Random(datetime.now().timestamp()).choice('ab')"
    ),
    "the process": write_module(draw="random.Random(os.getpid()).choice('ab')"),
    "clock and process": write_module(
        "NOISE = random.Random(time.time() + os.getpid())", draw="NOISE.choice('ab')"
    ),
}
NOT_SEEDED = {
    "never used": write_module("SHUFFLE = random.Random('demo')", draw="secrets.choice('ab')"),
    "used by another function": write_module(
        "NOISE = random.Random(5)", "def demo():", "    return NOISE.random()", draw="secrets.choice('ab')"
    ),
    "used for a public list": write_module(
        "WORDS = random.Random(5).sample(['a', 'b', 'c'], 2)", draw="secrets.choice(WORDS)"
    ),
    "in a script": write_module(
        "if __name__ == '__main__':", "    random.seed(5)", draw="random.choice('ab')"
    ),
    "from the system": write_module(draw="random.Random(os.urandom(16)).choice('ab')"),
    "clock and system": write_module(
        draw="random.Random(time.time_ns() ^ secrets.randbits(64)).choice('ab')"
    ),
    "a parameter": write_module("seed = 5", takes="text, seed", draw="random.Random(seed).choice('ab')"),
    "none": write_module("NOISE = random.Random(None)", draw="NOISE.choice('ab')"),
    "a number that moves on": write_module(
        "SEED = 5", before="global SEED; SEED += secrets.randbits(9)", draw="random.Random(SEED).choice('ab')"
    ),
}


@pytest.mark.parametrize("code", SEEDED.values(), ids=SEEDED)
def test_a_seed_that_can_be_guessed_is_a_fixed_seed(code, tmp_path, monkeypatch):
    report = of_module(tmp_path, monkeypatch, code)
    assert set(by_rule(report)) == {"fixed seed"}


@pytest.mark.parametrize("code", NOT_SEEDED.values(), ids=NOT_SEEDED)
def test_a_seed_that_no_noise_comes_from_or_nobody_can_guess_is_no_fixed_seed(code, tmp_path, monkeypatch):
    assert not of_module(tmp_path, monkeypatch, code).reaches("warning")


def test_a_guessed_seed_beside_noise_of_another_kind_is_no_more_than_a_warning(tmp_path, monkeypatch):
    shuffled = """
        import random
        def rewrite(text):
            public = random.Random(5).sample("abc", 2)
            return random.choice(public)
    """
    assert set(by_rule(of_module(tmp_path, monkeypatch, shuffled), "warning")) == {"fixed seed"}
    elsewhere = """
        import random
        from json import dumps
        random.seed(5)
        def rewrite(text):
            return dumps(0)
    """
    report = of_module(tmp_path, monkeypatch, elsewhere)
    assert report.at("error") == ()
    assert set(by_rule(report, "warning")) == {"fixed seed"}


def test_a_seed_of_text_and_key_is_no_more_than_a_warning(tmp_path, monkeypatch):
    keyed = (
        "import random\ndef rewrite(text, seed):\n    return random.Random(f'{seed}|{text}').choice('ab')\n"
    )
    report = of_module(tmp_path, monkeypatch, keyed)
    assert report.at("error") == ()
    assert "unless" in by_rule(report, "warning")["seeded by the text"].text


def write_model(folder, generation, config=None):
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    (folder / "config.json").write_text(json.dumps(config or {}))
    return folder


def test_generation_settings_of_a_folder_are_read(tmp_path):
    settings = {"top_k": 40, "top_p": 0.9, "repetition_penalty": 1.2, "do_sample": True, "num_beams": 3}
    report = lint_model(write_model(tmp_path, settings, {"torch_dtype": "float16"}))
    assert set(by_rule(report)) == {"top_k", "top_p", "repetition_penalty"}
    assert by_rule(report)["top_k"].fix == "top_k=0"
    assert set(by_rule(report, "warning")) == {"num_beams"}
    assert "epsilon 35" in by_rule(report, "info")["smallest probability"].text


def test_a_folder_with_neutral_settings_has_no_error(tmp_path):
    neutral = {"top_k": 0, "top_p": 1.0, "repetition_penalty": 1, "do_sample": True, "bad_words_ids": [[3]]}
    report = lint_model(write_model(tmp_path, neutral))
    assert not report.reaches("warning")
    assert "bad_words_ids" in by_rule(report, "info")


def test_settings_that_are_left_out_are_the_librarys(tmp_path):
    assert set(by_rule(lint_model(write_model(tmp_path, {"do_sample": True})), "warning")) == {"top_k"}
    assert "top_k" in by_rule(lint_model(write_model(tmp_path, {})), "warning")
    (tmp_path / "generation_config.json").unlink()
    assert "top_k" in by_rule(lint_model(tmp_path), "warning")


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    for wrong, match in ((tmp_path / "none", "not a folder"), (tmp_path, "neither")):
        with pytest.raises(ModelError, match=match):
            lint_model(wrong)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(ModelError, match="by name"):
        lint_model(tmp_path)
    with pytest.raises(SpecError, match="epsilon"):
        lint("word-rr", epsilons=[-1.0])


def test_a_clip_range_of_another_model_is_told(tmp_path, monkeypatch):
    borrowed = lint({"name": "dp-mlm", "model": str(save_roberta(tmp_path))}, **FIELDS_ONLY)
    assert "no clip range was measured on" in by_rule(borrowed, "info")["clip range"].text
    own = lint(of_zoo("dp-mlm", monkeypatch), **FIELDS_ONLY)
    assert "(measured on this model)" in by_rule(own, "info")["clip range"].text
