"""The headline says where sources can be named and where not, and never that anything is safe."""

import re
from dataclasses import replace

import pytest

import tedaudit
from helpers import Failing, Promising, SharedWords, make_spec, sentences
from tedaudit.api import run
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.reports.first_screen import make_pivots
from tedaudit.results.lead import tell_lead
from tedaudit.results.summary import headlines

TEXTS = sentences(40)


def test_a_release_that_names_its_source_is_not_green_because_nothing_was_claimed():
    found = tedaudit.audit("identity", TEXTS, trials=250, attack="lexical")
    most, line = headlines(found)
    assert most == (
        f"Whoever reads the text finds most for identity: eps_emp {found.eps_emp:.2f} (lexical: 250 of 250 "
        "guesses right; blind guessing: 1 in 2)."
    )
    assert line == "identity: whoever reads the text can name sources."


def test_a_claim_out_of_reach_does_not_soften_the_sentence(tmp_path):
    most, line = headlines(
        run(make_spec(tmp_path, mechanisms=[Promising()], epsilons=[3200], attacks=[SharedWords()]))
    )
    assert "at epsilon 3200: eps_emp 2." in most
    assert "(shared-words: 100 of 100 guesses right" in most
    assert line.endswith("whoever reads the text can name sources at epsilon 3200.")


def test_nothing_found_is_said_to_show_nothing_about_other_attacks():
    line, caution = headlines(tedaudit.audit("constant", TEXTS, trials=250, attack="lexical"))
    assert line == "constant: no attack did provably better than guessing."
    assert caution == "That no attack here did better than guessing does not show that none can."


def test_epsilons_are_told_apart_by_what_was_found_there():
    result = tedaudit.audit(
        {"name": "word-rr", "slots": 6}, TEXTS, epsilon=[0.01, 12.0, 14.0], trials=300, attack="lexical"
    )
    _, line, caution = headlines(result)
    assert caution.endswith("does not show that none can.")
    assert line.startswith("word-rr: whoever reads the text can name sources at epsilon 12 and 14; ")
    assert line.endswith("; none did provably better than guessing at epsilon 0.01.")


def test_a_mechanism_that_mostly_fails_is_not_said_to_have_withstood_anything():
    [line] = headlines(tedaudit.audit(Failing(1.0), TEXTS, epsilon=1.0, trials=100, attack="lexical"))
    assert line == "failing: nothing can be said at epsilon 1, since most rewrites failed."


def one_in_ten(text):
    """Give few texts away whole: over all guesses that is nearly nothing."""
    return text if text in TEXTS[::10] else "nothing"


def test_a_rare_leak_is_told_by_the_guesses_that_show_it():
    result = tedaudit.audit(one_in_ten, TEXTS, trials=1000, lambda_=0, attack="lexical")
    [finding], [line, _] = result.findings, headlines(result)
    assert finding.surest.right == finding.surest.size
    told = f"{finding.surest.right} of the {finding.surest.size} most certain of 1,000 guesses right"
    assert told in line


def test_a_violated_claim_comes_first(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising(), "constant"], epsilons=[1], attacks=["lexical"])
    first, *others = headlines(run(spec))
    assert first == "1 of 2 privacy claims is violated."
    assert "finds most for promising at epsilon 1" in others[0]
    assert len(others) == 4  # who finds most, both mechanisms, and the caution about the constant one


@pytest.mark.parametrize("mechanism", ["constant", "identity", {"name": "word-rr", "slots": 3}])
def test_no_sentence_calls_anything_safe(mechanism):
    epsilon = () if isinstance(mechanism, str) else (0.1,)
    for line in headlines(tedaudit.audit(mechanism, TEXTS, epsilon=epsilon, trials=60, attack="lexical")):
        assert not re.search(r"\b(safe|secure|protected)\b", line)


class HidesText(WordRR):
    """Draws words and shows none of them below an epsilon of 20."""

    def rewrite(self, draws):
        pairs = zip(draws, super().rewrite(draws), strict=True)
        return [replace(made, text=made.text if draw.epsilon > 20 else "") for draw, made in pairs]


def test_what_only_the_drawn_tokens_tell_is_not_said_of_the_text():
    attacks = ["likelihood", "lexical"]
    found = tedaudit.audit(HidesText(slots=8), "demo", epsilon=[0.01, 8.0], attack=attacks, trials=300)
    most, line, _ = headlines(found)
    assert "Whoever sees what was drawn (tokens, latent) finds most for word-rr at epsilon 8: eps" in most
    assert "whoever sees what was drawn (tokens, latent) can name sources at epsilon 8;" in line
    assert "none did provably better than guessing at epsilon 0.01" in line


def test_attacks_on_the_text_come_first_and_the_draw_adds_what_they_miss():
    attacks = ["likelihood", "lexical"]
    found = tedaudit.audit(HidesText(slots=8), "demo", epsilon=[8.0, 50.0], attack=attacks, trials=300)
    most, line = headlines(found)
    assert "finds most for word-rr at epsilon 50: " in most
    assert "whoever reads the text can name sources at epsilon 50;" in line
    assert "can also name them at epsilon 8 (likelihood" in line


def ensemble(*members):
    """Audit what draws words and shows none of them, by an ensemble of these attacks."""
    attack = {"name": "ensemble", "members": list(members), "rewrites": 100}
    return tedaudit.audit(HidesText(slots=8), "demo", epsilon=8.0, attack=attack, trials=300, lambda_=0)


def test_an_ensemble_sees_the_draw_if_a_member_does():
    found = ensemble("lexical", "likelihood")
    assert (
        ": whoever sees what was drawn (tokens, latent) can name sources at epsilon 8." in headlines(found)[1]
    )
    told = tell_lead(found, found.run.manifest()).headline
    assert "the ensemble attack, which knows the mechanism and sees what it drew, " in told
    assert [pivot.title for pivot in make_pivots(found)] == [
        "eps_emp by nominal epsilon; adversary sees what was drawn, tokens or latent (ensemble)"
    ]


def test_an_ensemble_of_attacks_on_the_text_is_one_too():
    found = ensemble("lexical", {"name": "trained", "encoder": "lexical", "rewrites": 40})
    assert headlines(found)[0] == "word-rr: no attack did provably better than guessing at epsilon 8."
    assert [pivot.title for pivot in make_pivots(found)] == [
        "eps_emp by nominal epsilon; adversary can call the mechanism (ensemble)"
    ]
