"""The battery: planted leaks are found under their names, and nothing is found where nothing is."""

import random

import leaky_rewriters as planted
import pytest

from helpers import sentences
from tedaudit.errors import CorpusError, SpecError
from tedaudit.leaks.battery import ERROR, BatterySettings
from tedaudit.leaks.finder import find_leaks, find_zero, takes_epsilon
from tedaudit.plugins.registry import Reference, build

TEXTS = [
    f"{text[0].upper()}{text[1:]} {tail}" for text, tail in zip(
        sentences(120), ["with Anna.", "at 7.", "for 12 of them!", "from Bristol?"] * 30, strict=True
    )
]  # fmt: skip
HAN = ["".join(chr(0x4E00 + (7 * i * j) % 211) for j in range(1, 4 + i % 17)) for i in range(1, 60)]
HEBREW = [" ".join(chr(0x5D0 + (i * j) % 22) * 3 for j in range(1, 3 + i % 9)) for i in range(1, 60)]


@pytest.fixture(autouse=True)
def seeded():
    random.seed(12)


def leak_names(rewriter, texts=TEXTS, **settings):
    return find_leaks(rewriter, texts, **{"trials": 100, **settings}).names


@pytest.mark.parametrize(
    ("rewriter", "own", "others"),
    [
        (planted.copy_case, {"case"}, {"name", "number", "length", "stop word", "failure", "whole text"}),
        (planted.keep_stop_words, {"stop word", "stop words"}, set()),
        (planted.keep_length, {"length"}, {"case", "name", "number", "stop word", "failure", "whole text"}),
        (planted.keep_names, {"name", "capitalised words"}, set()),
        (planted.keep_numbers, {"number"}, set()),
        (planted.pass_unknown_words, {"rare word"}, set()),
        (planted.keep_zero_width, {"zero-width character"},
         {"case", "name", "number", "stop word", "trailing space", "line break"}),
        (planted.keep_trailing_space, {"trailing space"}, set()),
        (planted.seed_by_text, {"same output"}, set()),
        (planted.fail_on_some, {"failure"}, {"length", "case", "stop words", "whole text"}),
        (planted.Remember(), {"text one call before"}, {"text two calls before", "two texts"}),
        (planted.keep_order, {"word order", "homoglyph"}, set()),
        (lambda text: f"{len(text) * 7919 % 97} lamps", {"two texts"}, set()),
    ],
)  # fmt: skip
def test_a_planted_leak_is_found_under_its_name_and_not_under_that_of_another(rewriter, own, others):
    names = leak_names(rewriter)
    assert own <= names
    assert not others & names


def test_a_total_leak_of_one_text_in_ten_is_found():
    report = find_leaks(planted.copy_one_in_ten, TEXTS, trials=200)
    [finding] = [found for found in report.findings if found.name == "whole text"]
    assert finding.signs.followed < finding.signs.pairs / 2
    assert finding.signs.against == 0
    assert finding.figures["other"] == 0.0


def test_a_failure_that_depends_on_the_length_is_a_failure_and_no_length():
    middle = sorted(map(len, TEXTS))[len(TEXTS) // 2]

    def refuse_long(text):
        if len(text) > middle:
            raise ValueError("too long")
        return " ".join(planted.draw(6))

    found = {o.name for o in find_leaks(refuse_long, TEXTS, trials=100).findings if o.part == "channel"}
    assert found == {"failure"}


@pytest.mark.parametrize("texts", [TEXTS, HAN, HEBREW], ids=["english", "han", "hebrew"])
@pytest.mark.parametrize(
    "rewriter",
    [
        planted.constant, planted.random_words, planted.heavy_tailed, planted.fail_at_random, planted.Count(),
        planted.say_one_thing, planted.GrowInCalls, planted.Alternate(),
    ],
)  # fmt: skip
def test_nothing_is_found_if_outputs_do_not_depend_on_the_text(rewriter, texts, is_thorough):
    if (
        texts is not TEXTS
        and rewriter not in (planted.random_words, planted.fail_at_random)
        and not is_thorough
    ):
        pytest.skip("`make test-all` tries every rewriter in every script")
    rewriter = rewriter() if isinstance(rewriter, type) else rewriter  # one that grows begins anew
    report = find_leaks(rewriter, texts, trials=60)
    assert report.findings == ()
    assert len(report.outcomes) > 40


def test_the_identity_leaks_in_every_script():
    for texts in (HAN, HEBREW):
        assert {"whole text", "same output", "length", "number"} <= leak_names(lambda text: text, texts)


def test_a_private_mechanism_is_silent_and_one_without_noise_is_not():
    assert leak_names("word-rr", epsilon=None) == frozenset()
    assert leak_names("constant") == frozenset()
    assert "whole text" in leak_names("identity")


def test_a_mechanism_is_tested_at_zero_budget_and_at_its_epsilon():
    report = find_leaks("word-rr", TEXTS, epsilon=12.0, trials=60)
    assert [epsilon.json for epsilon in report.epsilons] == [1e-6, 12.0]
    assert report.findings == ()  # the claim of 192 allows whatever is seen
    assert not any(o.is_in_reach for o in report.outcomes if o.epsilon == 12.0)
    strong = {o.name: o.signs.share for o in report.outcomes if o.epsilon == 12.0}
    assert strong["common words"] > 0.9


def test_several_epsilons_are_rounds_and_those_in_which_nothing_could_be_found_may_be_left_out():
    report = find_leaks("word-rr", TEXTS, epsilon=[0.5, 12.0], trials=60)
    assert [epsilon.json for epsilon in report.epsilons] == [1e-6, 0.5, 12.0]
    assert {o.epsilon for o in report.outcomes} == set(report.epsilons)
    short = find_leaks({"name": "word-rr", "slots": 1}, TEXTS, epsilon=[0.01, 12.0], trials=60,
                       reachable_only=True)  # fmt: skip
    assert [epsilon.json for epsilon in short.epsilons] == [1e-6, 0.01]
    [far] = [part for part in short.not_run if part.part == "epsilon 12"]
    assert "allows every pair" in far.reason
    zero = [o.signs for o in report.outcomes if o.epsilon == 1e-6]
    assert zero == [o.signs for o in find_leaks("word-rr", TEXTS, trials=60).outcomes]


def test_what_a_claim_allows_is_no_finding():
    assert "same output" in leak_names(planted.seed_by_text)
    assert leak_names(planted.seed_by_text, claim=20.0) == frozenset()
    assert "same output" in leak_names(planted.seed_by_text, claim=0.01)


def test_an_epsilon_that_a_function_does_not_take_is_no_zero_budget():
    function = build(Reference("mechanism", "function", {"function": planted.constant}))
    assert not takes_epsilon(function)
    assert not find_zero(function, TEXTS, None).is_given
    assert takes_epsilon(build(Reference("mechanism", "word-rr")))


def test_zero_budget_is_the_least_epsilon_that_works():
    def choosy(text, epsilon):
        if epsilon < 0.05:
            raise ValueError(epsilon)
        return text

    assert find_zero(build(Reference("mechanism", "function", {"function": choosy})), TEXTS, None) == 0.1


def test_a_function_that_ignores_its_epsilon_is_found_at_zero_budget():
    def careless(text, epsilon):
        return text if random.random() < 0.5 else " ".join(planted.draw(5))

    assert "whole text" in leak_names(careless)


def test_a_seed_that_is_fixed_at_import_shows_in_fresh_processes():
    fixed = find_leaks("py:fixed_seed_module:fixed", TEXTS, trials=60)
    assert "fresh process" in fixed.names
    fresh = find_leaks("py:fixed_seed_module:fresh", TEXTS, trials=60)
    assert "fresh process" not in fresh.names
    assert "fresh process" in {outcome.name for outcome in fresh.outcomes}
    import fixed_seed_module

    stated = {"name": "function", "function": fixed_seed_module.fixed, "unit": "word", "max_units": 3}
    assert "fresh process" in find_leaks(stated, TEXTS, trials=60).names
    left = find_leaks("py:fixed_seed_module:fixed", TEXTS, trials=60, processes=False)
    assert [part.reason for part in left.not_run] == ["fresh processes were left out: processes=False"]


def test_a_row_that_sees_its_neighbours_is_found():
    def mix(texts):
        return [" ".join([*planted.draw(4), texts[i - 1].split()[-1]]) for i in range(len(texts))]

    names = leak_names(mix)
    assert "text beside it in the same call" in names
    assert "text one call before" not in names


def test_equal_texts_of_one_call_are_found_even_if_the_claim_allows_much():
    def merge(texts):
        made = {text: " ".join(planted.draw(9)) for text in texts}
        return [made[text] for text in texts]

    report = find_leaks(merge, TEXTS, claim=1.0, trials=200)
    assert report.names <= {
        "equal texts in the same call",
        "two texts",
    }  # in a large call equal texts share noise
    [finding] = [found for found in report.findings if found.name == "equal texts in the same call"]
    assert all(" | " in output for output in finding.example.outputs)
    assert len(report.causes) == 1

    def separate(texts):
        return [" ".join(planted.draw(9)) for _ in texts]

    assert leak_names(separate) == frozenset()
    assert "equal texts in the same call" not in {
        outcome.name for outcome in find_leaks(planted.constant, TEXTS, trials=60).outcomes
    }


def test_equal_texts_of_one_call_are_not_blamed_on_state_if_outputs_are_the_same_in_any_call():
    def copy(texts):
        return [planted.seed_by_text(text) for text in texts]

    report = find_leaks(copy, TEXTS, trials=100)
    assert "equal texts in the same call" in report.names
    assert [cause.finding.name for cause in report.causes] == ["same output"]


def test_a_table_of_rewrites_is_tested_as_far_as_it_goes(tmp_path):
    table = tmp_path / "t.csv"
    rows = [f'"{text}","{text.split()[-1]} {" ".join(planted.draw(3))}"' for text in TEXTS]
    table.write_text("original,rewrite\n" + "\n".join(rows) + "\n")
    report = find_leaks({"name": "recorded", "path": str(table)})
    assert "last word" in report.names
    assert {part.part for part in report.not_run} == {"recognition", "twins", "state", "determinism"}


def test_what_cannot_be_run_is_said():
    report = find_leaks(lambda text: "x", ["a b", "c d"], trials=50)
    assert {part.part for part in report.not_run} == {"determinism"}


def test_every_finding_has_an_example_a_strength_and_a_fix():
    for finding in find_leaks(planted.keep_order, TEXTS, trials=60).findings:
        low, high = finding.signs.interval
        assert 0 < low <= finding.signs.share <= high <= 1
        assert finding.adjusted <= ERROR
        assert finding.fix
        assert finding.example is not None


def test_all_tests_share_one_error():
    report = find_leaks(planted.keep_length, TEXTS, trials=60)
    least = min(report.outcomes, key=lambda outcome: outcome.signs.p_value)
    in_reach = sum(outcome.is_in_reach for outcome in report.outcomes)
    assert least.adjusted == pytest.approx(least.signs.p_value * in_reach)
    random.seed(12)  # the same noise again
    kept = find_leaks(planted.keep_length, TEXTS, trials=60, error=least.signs.p_value / 2)
    assert kept.findings == ()


def test_a_rewriter_that_drifts_from_call_to_call_is_no_leak():
    assert find_leaks(planted.Grow(), TEXTS[:30], trials=50).findings == ()


def test_two_texts_are_blamed_on_every_field_that_is_set_to_leak():
    from tedaudit.leaks.battery import find_fix
    from tedaudit.mechanisms.dp_paraphrase import DPParaphrase

    published = DPParaphrase(model="x", **DPParaphrase.variants["published"])
    assert find_fix(published, "twins", "case").startswith("dp-paraphrase: set top_k=0 (")
    assert "top_k" not in find_fix(published, "channel", "failure")
    fix = find_fix(published, "recognition", "two texts")
    assert all(part in fix for part in ("top_k=0", "length=fixed", "overlong=cut"))
    sound = DPParaphrase(model="x", **DPParaphrase.variants["sound"])
    assert "dp-paraphrase" not in find_fix(sound, "recognition", "two texts")


def test_settings_that_make_no_sense_are_refused():
    for wrong in ({"trials": 10}, {"error": 0.0}, {"trails": 100}):
        with pytest.raises(SpecError, match=next(iter(wrong))):
            find_leaks(planted.constant, TEXTS, **wrong)
    with pytest.raises(CorpusError, match="at least 2"):
        find_leaks(planted.constant, ["only one"])


def test_more_trials_make_more_pairs():
    assert BatterySettings(trials=400).pairs == 200
    assert BatterySettings(trials=400).twins == 80
