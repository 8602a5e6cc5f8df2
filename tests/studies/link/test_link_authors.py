"""People who wrote several texts: who takes part, how scores are added, what is proved, what is told."""

import importlib.util
import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import binom

import tedaudit
from helpers import NEVER
from pages import count_sheets, read_words
from tedaudit.attacks.lexical import Lexical
from tedaudit.errors import CorpusError, SpecError
from tedaudit.estimators import reduced_form
from tedaudit.plugins.batches import Guesses, Observations
from tedaudit.plugins.values import Card
from tedaudit.reports.writers.html import write_document
from tedaudit.studies.link.authors import (
    EVERYONE,
    PAIRED,
    expose,
    follow,
    gather_authors,
    gather_releases,
    reduce_scores,
)
from tedaudit.studies.link.inference import Share
from tedaudit.studies.link.ranks import show_nothing
from tedaudit.studies.link.study_folder import write_report
from tedaudit.studies.link.table import ColumnNames, read_release
from tedaudit.studies.link.telling import (
    redact_names,
    tell_committee,
    tell_exposure,
    tell_findings,
    tell_headline,
)

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "persons_null.py"


def make_table(numbers, rewrite=lambda text: text):
    """Return a table in which author i wrote so many texts, each with words of the author's own."""
    rows = [(f"a{i}", f"a{i}-{t}", f"own{i} say{i} day{t} road{i * 31 + t}")
            for i, number in enumerate(numbers) for t in range(number)]  # fmt: skip
    authors, ids, texts = zip(*rows, strict=True)
    return {
        "id": list(ids), "author": list(authors), "original": list(texts),
        "rewrite": [rewrite(text) for text in texts],
    }  # fmt: skip


def read(table):
    return read_release(table, ColumnNames(author="author" if "author" in table else ""))


def link(table, **settings):
    return tedaudit.link(table, **{"author": "author", "attacks": "lexical", **settings})


@dataclass(frozen=True)
class Letters:
    """Compares the first letters of two texts: few values, many ties, and what it was given is noted."""

    given: list
    card: ClassVar[Card] = Card("letters", "Compares first letters.")

    def guess(self, seen):
        batch = Observations.of(seen)
        self.given.append((len(batch), len(batch.pool)))
        mine, theirs = (
            np.array([ord(text[0]) for text in texts]) for texts in (batch.outputs.texts, batch.pool)
        )
        return Guesses(-np.abs(mine[:, None] - theirs[None]).astype(float), np.ones(len(batch), dtype=bool))


# --- Who takes part.


@pytest.mark.parametrize("knows", ["same", "other"])
def test_everyone_is_seen_in_as_many_rewrites_and_whoever_has_fewer_leaves_every_number(knows):
    release = read(make_table([1, 3, 8, 9, 20]))
    people = gather_authors(release, knows, 4, 0)
    assert people.names == ("a2", "a3", "a4")
    assert people.left_out == 2
    assert people.grid == (1, 2, 4)
    assert np.diff(people.starts).min() >= 4
    for name, (start, end) in zip(people.names, pairwise(people.starts.tolist()), strict=True):
        assert {release.authors[row] for row in people.rows[start:end].tolist()} == {name}


def test_other_texts_are_known_and_none_that_is_released():
    release = read(make_table([7, 8]))
    people = gather_authors(release, "other", 0, 3)
    released = {release.originals[row] for row in people.rows.tolist()}
    assert not released & set(people.known)
    assert released | set(people.known) == set(release.pool)
    assert np.diff(people.starts).tolist() == [4, 4]  # of seven texts, the odd one is released


def test_the_numbers_go_up_to_the_largest_that_at_least_half_reach():
    release = read(make_table([1, 1, 4, 16, 40, 5]))
    assert gather_authors(release, "same", 0, 0).grid == (1, 2, 4)
    assert gather_authors(release, "other", 0, 0).grid == (1, 2)
    assert gather_authors(release, "same", 10, 0).grid == (1, 2, 4, 8, 10)


def test_texts_are_chosen_by_coin_and_larger_numbers_contain_smaller_ones():
    release = read(make_table([30, 30]))
    rows = [gather_authors(release, "same", largest, 1).rows[:30].tolist() for largest in (2, 8)]
    assert rows[0] == rows[1]
    assert rows[0] != sorted(rows[0])
    assert rows[0] != gather_authors(release, "same", 2, 2).rows[:30].tolist()


def test_records_without_an_author_are_left_out_and_counted():
    table = make_table([6, 6, 6])
    table["author"][0], table["author"][7] = " ", None
    result = link(table)
    assert any("2 records without an author" in note for note in result.notes)
    assert len(result.exposures[0].people.rows) == 3 + 3 + 3  # of five, five and six texts


def test_a_text_of_two_authors_is_told_and_one_that_an_author_has_twice_is_seen_once():
    table = make_table([6, 6])
    table["original"][6] = table["original"][0]
    table["original"][8] = table["original"][7]
    result = link(table, knows="same", texts=5)
    assert any("1 text of two authors or more" in note for note in result.notes)
    assert any("1 record with a text that the same author has" in note for note in result.notes)
    assert np.diff(result.exposures[0].people.starts).tolist() == [6, 5]


@pytest.mark.parametrize(
    ("numbers", "settings", "told"),
    [
        ([1, 1, 1], {}, "0 of 3 authors can be seen in 1 rewrites"),
        ([9, 1, 1], {"knows": "same", "texts": 4}, "1 of 3 authors can be seen in 4 rewrites"),
    ],
)
def test_too_few_authors_are_refused_with_the_way_out(numbers, settings, told):
    with pytest.raises(CorpusError) as refused:
        link(make_table(numbers), **settings)
    assert told in str(refused.value)
    assert "--author-texts" in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"knows": "all"}, "it must be one of: other, same"),
        ({"knows": "same", "author": ""}, "name their column with author"),
        ({"texts": -1}, "at least 1"),
        ({"texts": 3, "author": ""}, "ids with several rewrites"),
    ],
)
def test_settings_about_people_that_cannot_hold_are_refused(settings, told):
    with pytest.raises(SpecError, match=told):
        link(make_table([4, 4]), **settings)


def test_an_author_of_ten_thousand_texts_needs_no_more_memory():
    release, attack = read(make_table([10_000, 40, 40, 40])), Letters([])
    people = gather_authors(release, "same", 0, 0)
    found = expose("letters", attack, people, release, 0.01, show_nothing)
    assert found.named[16].asked == 4
    assert max(rows * pool for rows, pool in attack.given) <= 1 << 21
    assert people.spread == (40, 10_000)


# --- How scores are added.


def test_likelihoods_are_averaged_over_known_texts_and_other_scores_are_the_largest():
    release = read(make_table([2, 5, 3]))
    people = gather_authors(release, "same", 2, 0)
    scores = np.random.default_rng(0).normal(size=(4, len(people.known)))
    ends = [*people.known_starts.tolist(), len(people.known_of)]
    own = [scores[:, people.known_of[start:end]] for start, end in pairwise(ends)]
    largest = np.stack([part.max(axis=1) for part in own], axis=1)
    mean = np.stack([np.log(np.exp(part).mean(axis=1)) for part in own], axis=1)
    assert reduce_scores(scores, people, is_likelihood=False) == pytest.approx(largest)
    assert reduce_scores(scores, people, is_likelihood=True) == pytest.approx(mean)
    impossible = np.full_like(scores, -np.inf)
    assert np.isfinite(reduce_scores(impossible, people, is_likelihood=True)).all()


def test_scores_of_the_first_n_rewrites_are_added_less_what_is_usual():
    release, attack = read(make_table([9, 12, 8, 10])), Lexical()
    people = gather_authors(release, "same", 4, 0)
    attack.prepare(people.known)
    texts = [release.rewrites[row] for row in people.rows.tolist()]
    spare = [release.rewrites[row] for row in people.spare.tolist()]
    seen = follow("lexical", attack, people, texts, spare, lambda *_: None)

    def score(text):
        [row] = attack.guess(Observations.of([_see(text, people.known)])).scores
        return reduce_scores(np.round(row, 5)[None], people, is_likelihood=False)[0]

    others = np.array([score(text) for text in spare])
    own = people.spare_of[:, None] == np.arange(4)
    usual = np.ma.masked_array(others, own).mean(axis=0)
    partner = {a: b for pair in people.pairs.candidates.tolist() for a, b in (pair, pair[::-1])}
    for person, start in enumerate(people.starts[:-1].tolist()):
        total = sum(score(text) for text in texts[start : start + 4]) - 4 * usual
        assert seen.duels[2, person] == pytest.approx([total[person], total[partner[person]]], abs=1e-4)
        assert seen.ranks[2].better[person] == (np.round(total, 5) > np.round(total[person], 5)).sum()


def _see(text, pool):
    from tedaudit.plugins.values import Observation, Rewrite

    return Observation(Rewrite(text), pool, 0)


def test_no_record_by_which_somebody_is_seen_teaches_what_is_usual():
    for knows in ("same", "other"):
        people = gather_authors(read(make_table([5, 9, 12, 2])), knows, 4, 0)
        seen = {
            row for start in people.starts[:-1].tolist() for row in people.rows[start : start + 4].tolist()
        }
        assert not seen & set(people.spare.tolist())


# --- What is found, and proved.


def test_copies_name_everyone_and_a_constant_nobody():
    table = make_table([8] * 40)
    copied = link(table).exposures[0].strongest
    assert [share.right for share in copied.named.values()] == [40] * 3
    assert copied.originals == {1: 40, 2: 40, 4: 40}
    same = link(table, knows="same").exposures[0].strongest
    assert same.named[8].right == 40
    assert same.originals == {}
    constant = link({**table, "rewrite": ["nothing"] * len(table["rewrite"])})
    assert max(share.right for share in constant.exposures[0].strongest.named.values()) < 8
    assert all(bound.lower == 0 for bound, _ in constant.exposed_bounds(constant.exposures[0]).values())


def test_all_bounds_of_texts_and_people_share_one_error():
    result = link(make_table([8] * 40))
    [exposure] = result.exposures
    assert result.number_of_bounds == 2 + 2 * 3
    bounds = result.exposed_bounds(exposure)
    assert bounds["lexical", EVERYONE, 4][0].lower == pytest.approx(
        reduced_form(40, 40, 40, 2 * 0.005 / 8).lower
    )
    assert result.bounds["lexical", "all originals"][0].error == pytest.approx(0.005 / 8)
    [named] = result.to_dict()["several_rewrites"]
    told = named["attacks"][0]["named"][2]["bounds"][0]
    assert told["lower_for_one"] == pytest.approx(told["lower"] / 4)


def test_from_how_many_rewrites_people_are_known_needs_three_hundred_trials():
    few, enough = link(make_table([4] * 299)), link(make_table([4] * 300))
    assert few.exposures[0].strongest.known_from(EVERYONE, 0.01) is None
    assert any("too few people to say (299; it needs 300)" in one for one in tell_findings(few))
    assert enough.exposures[0].strongest.known_from(EVERYONE, 0.01) == 1
    assert enough.exposures[0].strongest.known_from(PAIRED, 0.01) is None  # 150 pairs
    told = " ".join(tell_findings(enough))
    assert "From 1 rewrite on, more than 95% of these people are named among all 300" in told
    assert "told from one other of them: too few trials to say (150; it needs 300)" in told


@cache
def load_null():
    spec = importlib.util.spec_from_file_location("persons_null", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["constant", "noise alone", "randomised response, authors apart"])
def test_false_alarms_are_as_rare_as_the_error_says(name):
    runs, error = 60, 0.2
    alarms = sum(load_null().run_once(seed, name, error) for seed in range(runs))
    assert binom.sf(alarms - 1, runs, error) > NEVER


def test_people_who_are_seen_in_uneven_numbers_of_texts_would_raise_false_alarms():
    runs, error = 30, 0.2
    even, uneven = (
        sum(load_null().run_uneven(seed, error, broken=broken) for seed in range(runs))
        for broken in (False, True)
    )
    assert binom.sf(even - 1, runs, error) > NEVER
    assert binom.sf(uneven - 1, runs, error) < NEVER


def test_randomised_response_is_read_as_its_exact_epsilon_and_no_more():
    rng, words, epsilon = np.random.default_rng(5), 300, 4.0
    kept = (math.exp(epsilon) - 1) / (math.exp(epsilon) + words - 1)
    table = {"author": [], "original": [], "rewrite": []}
    for author in range(words):
        for text in range(4):
            word = author if rng.random() < kept else int(rng.integers(words))
            table["author"].append(str(author))
            table["original"].append(f"w{author} {text}")
            table["rewrite"].append(f"w{word}")
    release = read(table)
    people = gather_authors(release, "same", 4, 0)
    found = expose("exact", load_null().Likelihood(words, epsilon), people, release, 0.01, show_nothing)
    right = math.exp(epsilon) / (math.exp(epsilon) + words - 1)
    rates = {n: found.rows[EVERYONE, n].counts.correct / words for n in (1, 2, 4)}
    low, high = binom.interval(1 - 1e-6, words, right)
    assert low <= words * rates[1] <= high
    assert rates[1] < rates[2] < rates[4]
    for (_, number), row in found.rows.items():
        assert row.bound(0.005 / 6).lower <= number * epsilon


# --- Several rewrites of one record.


def repeat(table, copies, rewrite):
    return {
        "id": [name for name in table["id"] for _ in range(copies)],
        "original": [text for text in table["original"] for _ in range(copies)],
        "rewrite": [rewrite(text, copy) for text in table["original"] for copy in range(copies)],
    }


def test_several_rewrites_of_an_id_are_added_up():
    table = repeat(make_table([1] * 60), 4, lambda text, copy: text.split()[copy])
    result = tedaudit.link(table, attacks="lexical")
    [exposure] = result.exposures
    assert exposure.people.kind == "release"
    assert exposure.people.grid == (1, 2, 4)
    assert len(exposure.people) == 60
    assert exposure.strongest.named[4].right == 60
    assert exposure.people.copies == 0
    assert any(
        "Holding the originals of 60 records, the attack named" in one for one in tell_findings(result)
    )


def test_equal_rewrites_of_an_id_are_told():
    table = repeat(make_table([1] * 20), 3, lambda text, copy: "x" if copy < 2 else text)
    table["rewrite"][:3] = ["x", "y", "z"]
    result = tedaudit.link(table, attacks="lexical", texts=3)
    assert result.exposures[0].people.copies == 19
    assert any("19 of 20 records have two or more equal rewrites" in one for one in tell_findings(result))


def test_an_id_of_different_originals_is_refused_and_one_rewrite_each_is_no_exposure():
    table = make_table([1] * 20)
    assert tedaudit.link(table, attacks="lexical").exposures == ()
    assert gather_releases(read(table), 0, 0) is None
    with pytest.raises(CorpusError, match="with different originals"):
        tedaudit.link({**table, "id": ["x"] * 20}, attacks="lexical")


# --- What is told: for which table would it be false?


@cache
def make_result():
    table = make_table([6, *[12] * 40, 30], lambda text: text.split()[0] if "day3" in text else "")
    table["gender"] = ["fm"[int(name[1:]) % 2] for name in table["author"]]
    return link(table, private="gender")


def test_the_headline_names_people_from_one_text_from_several_and_from_unrewritten_ones():
    result = make_result()
    found = result.exposures[0].strongest
    assert tell_headline(result).startswith(
        f"Knowing other texts of 41 people, the attack named {found.named[1].right} from one rewritten text "
        f"each and {found.named[4].right} from 4; from 4 unrewritten ones 41; blind guessing names 1 on "
        "average."
    )
    assert any("Someone who holds all 516 originals matched" in one for one in tell_findings(result))


def test_the_headline_calls_what_was_not_shown_chance():
    table = make_table([8] * 40)
    constant = link({**table, "rewrite": ["nothing"] * 320})
    [exposure] = constant.exposures
    [found] = exposure.attacks
    for right in (0, 1, 2):
        weak = replace(found, named=dict.fromkeys((1, 2, 4), Share(right, 40, 0.0, 0.1)))
        told = tell_headline(replace(constant, exposures=(replace(exposure, attacks=(weak,)),)))
        assert told.endswith("So this may be chance.") is (right > 1)
    assert not tell_headline(link(table)).endswith("chance.")
    one = tell_headline(link(make_table([8] * 40), texts=1))
    assert "named 40 from one rewritten text each; from one unrewritten one 40; blind" in one
    same = tell_headline(link(make_table([8] * 40), knows="same"))
    assert same.startswith(
        "Knowing the originals of all texts of 40 people, but not which belongs to which rewrite"
    )
    assert "unrewritten" not in same


def test_a_bound_over_several_texts_is_not_confused_with_that_of_one():
    result = link(make_table([8] * 40, lambda text: text if "day3" in text or "day5" in text else ""))
    bounds = result.exposed_bounds(result.exposures[0])
    (_, _, number), (bound, _) = max(bounds.items(), key=lambda item: item[1][0].lower)
    told = tell_exposure(result, result.exposures[0])[0]
    assert f"at least {bound.lower:.2f}" in told
    assert number > 1
    assert f"over {number} texts of one author together; that is at least {bound.lower / number:.2f}" in told


def test_all_texts_are_a_count_and_left_out_people_are_counted():
    told = " ".join(tell_exposure(make_result(), make_result().exposures[0]))
    assert "(6 to 15 each)" in told
    assert "without a bound, because the number itself may give somebody away" in told
    assert "1 people have too few" not in told
    assert "1 person has too few rewritten texts to be seen in 4" in told


def test_report_and_json_tell_people_and_no_text():
    result, texts = make_result(), make_table([6, *[12] * 40, 30])["original"]
    report, told = write_report(result), result.to_dict()
    for heading in (
        "People who wrote several texts",
        "Bounds for several texts together",
        "People by evidence",
    ):
        assert f"## {heading}" in report
    assert not any(text in report for text in texts)
    assert told["several_rewrites"][0]["of"] == "author"
    assert len(told["several_rewrites"][0]["by_evidence"]) == 10


def test_the_document_has_two_pages_about_people_and_no_name_unless_asked_for():
    redacted = redact_names(make_result())
    words = {ids: read_words(write_document(tell_committee(redacted, ids), "x")) for ids in (0, 3)}
    assert " ".join(tell_headline(make_result()).split()) in words[0]
    named = [one.name for one in make_result().exposures[0].rank_evidence(3)]
    assert "Where to look first" not in words[0]
    assert all(name in words[3] for name in named)
    assert "own3" not in words[3]


def test_the_fullest_document_about_people_is_printed_on_two_sheets(browser):
    [found], [exposure], [inference] = (
        make_result().attacks,
        make_result().exposures,
        make_result().inferences,
    )
    names = [f"a-rather-long-name-of-an-attack-{number}" for number in range(6)]
    [named] = exposure.attacks
    grid = (1, 2, 4, 8, 16)
    wide = replace(
        named, named=dict.fromkeys(grid, named.named[4]), originals=dict.fromkeys(grid, 41),
        ranks=dict.fromkeys(grid, named.ranks[4]),
        rows={(made, number): named.rows[made, 4] for made in (EVERYONE, PAIRED) for number in grid},
    )  # fmt: skip
    people = replace(exposure.people, grid=grid, left_out=1234)
    full = replace(
        make_result(),
        attacks=tuple(replace(found, attack=name, compares="") for name in names),
        inferences=tuple(replace(inference, column=f"a_rather_long_name_of_a_column_{n}") for n in range(9)),
        exposures=(
            replace(exposure, people=people, attacks=tuple(replace(wide, attack=name) for name in names)),
            replace(exposure, people=replace(people, kind="release", knows="same"),
                    attacks=tuple(replace(wide, attack=name, originals={}) for name in names)),
        ),
    )  # fmt: skip
    pages = tell_committee(redact_names(full), 50)
    assert count_sheets(browser, write_document(pages, "full")) == 2
