"""From flags to settings: what is given wins, what is not given stays, and the base is left alone."""

import copy

import pytest

from tedaudit.errors import SpecError
from tedaudit.plugins.registry import build, find
from tedaudit.runs.spec.flags import SIX, SMALL, assign_fields, embedded_audit, merge_flags, parse_k
from tedaudit.runs.spec.model import parse_spec

BASE = {
    "mechanisms": ["identity", {"name": "word-rr", "label": "short", "slots": 4}],
    "attacks": "lexical",
    "plans": [{"k": 4, "lambda": 0}],
    "trials": 50,
    "seed": 7,
}


def assigned(*assignments, **flags):
    return merge_flags(BASE, flags, assignments)


def refused(assignment):
    with pytest.raises(SpecError) as caught:
        assigned(assignment)
    return str(caught.value)


def test_without_flags_the_settings_stay_as_they_are():
    nothing = {"mechanism": None, "epsilon": [], "attack": (), "trials": None, "k": None, "corpus": None}
    assert merge_flags(BASE, nothing, []) == BASE


def test_flags_replace_what_the_file_says_and_leave_the_rest():
    found = merge_flags(BASE, {"mechanism": ["constant"], "epsilon": ["1", "2"], "trials": 5}, [])
    assert found == {**BASE, "mechanisms": ["constant"], "epsilons": ["1", "2"], "trials": 5}


def test_zero_is_a_value_and_not_the_absence_of_one():
    found = merge_flags(BASE, {"seed": 0, "delta": 0.0, "trials": 0, "lambda_": 0.0}, [])
    assert (found["seed"], found["delta"], found["trials"]) == (0, 0.0, 0)
    assert found["plans"] == [{"k": 4, "lambda": 0.0}]


def test_flags_of_the_plan_change_the_plan_of_the_file():
    assert merge_flags(BASE, {"k": 2, "estimator": "baseline"}, [])["plans"] == [
        {"k": 2, "lambda": 0, "estimator": "baseline"}
    ]
    assert merge_flags({"plans": {"k": 3}}, {"top": 2}, [])["plans"] == [{"k": 3, "top": 2}]
    assert merge_flags({}, {"lambda_": -1.0, "strategy": "nearest"}, [])["plans"] == [
        {"lambda": -1.0, "strategy": "nearest"}
    ]


def test_flags_do_not_drop_a_plan_in_silence():
    several = {"plans": [{"k": 2}, {"k": "all"}]}
    assert merge_flags(several, {"trials": 3}, [])["plans"] == several["plans"]
    with pytest.raises(SpecError, match="Flags cannot set k, lambda: the file has 2 plans"):
        merge_flags(several, {"k": 3, "lambda_": 0.0}, [])


def test_a_plan_that_is_no_mapping_is_left_for_the_spec_to_refuse():
    with pytest.raises(SpecError, match=r"'plans\.0' is 3: it should be a mapping"):
        parse_spec(merge_flags({"mechanisms": "identity", "plans": 3}, {"k": 2}, []))


@pytest.mark.parametrize(
    ("given", "k"), [("2", 2), ("all", "all"), ("-5", -5), ("abc", "abc"), ("2.5", "2.5")]
)
def test_k_is_a_number_where_it_looks_like_one(given, k):
    assert parse_k(given) == k


def test_a_corpus_is_a_file_where_it_is_one_or_is_called_like_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "demo", "files"):
        (tmp_path / folder).mkdir()
    for value, corpus in {
        "demo": {"name": "demo"},
        "demoo": {"name": "demoo"},
        "missing.csv": {"name": "files", "path": "missing.csv"},
        "texts.jsonl.gz": {"name": "files", "path": "texts.jsonl.gz"},
        "folder": {"name": "files", "path": "folder"},
        "./demo": {"name": "files", "path": "./demo"},
        "files": {"name": "files", "path": "files"},
        "py:my.module:Corpus": {"name": "py:my.module:Corpus"},
    }.items():
        assert merge_flags(BASE, {"corpus": value}, [])["corpus"] == corpus


def test_a_field_is_set_by_label_or_by_name():
    found = assigned("short.slots=8", "identity.thing=[1, 2]", "lexical.x=yes", "corpus.size=20")
    assert found["mechanisms"] == [
        {"name": "identity", "thing": [1, 2]},
        {"name": "word-rr", "label": "short", "slots": 8},
    ]
    assert found["attacks"] == [{"name": "lexical", "x": True}]
    assert found["corpus"] == {"name": "demo", "size": 20}


def test_a_field_of_a_corpus_given_as_a_flag_is_set_too():
    found = assigned("corpus.column=body", corpus="texts.csv")
    assert found["corpus"] == {"name": "files", "path": "texts.csv", "column": "body"}


def test_the_column_of_a_corpus_has_a_flag():
    found = merge_flags({}, {"corpus": "texts.csv", "column": "body"}, [])
    assert found == {"corpus": {"name": "files", "path": "texts.csv", "column": "body"}}
    found = merge_flags({"corpus": "texts"}, {"column": "body"}, [])
    assert found["corpus"] == {"name": "texts", "column": "body"}


def test_a_dot_in_a_name_belongs_to_the_name():
    found = merge_flags({"mechanisms": ["py:my.module:f"]}, {}, ["py:my.module:f.unit=word"])
    assert found["mechanisms"] == [{"name": "py:my.module:f", "unit": "word"}]


@pytest.mark.parametrize(("raw", "value"), [("", None), ("a=b", "a=b"), ("'8'", "8"), ("1.0e-5", 1e-5)])
def test_a_value_is_read_as_yaml(raw, value):
    assert assigned(f"short.slots={raw}")["mechanisms"][1]["slots"] == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("{text}", "{text}"),
        ("Document: {text} # 1", "Document: {text} # 1"),
        ("[x", "[x"),
        ("2024", "2024"),
        ("", ""),
        (" >>> ", " >>> "),
        ("'{text}'", "{text}"),
        (r'"a\n{text}"', "a\n{text}"),
    ],
)
def test_a_field_that_takes_nothing_but_text_takes_what_is_written(raw, value):
    found = merge_flags({"mechanisms": ["dp-prompt"]}, {}, [f"dp-prompt.prompt={raw}"])
    assert found["mechanisms"] == [{"name": "dp-prompt", "prompt": value}]


def test_texts_of_corpora_and_attacks_are_taken_as_they_are_written_too():
    base = {"corpus": {"name": "files"}, "attacks": ["embedding"]}
    found = merge_flags(base, {}, ["corpus.column=2024", "embedding.encoder=7"])
    assert found["corpus"]["column"] == "2024"
    assert found["attacks"][0]["encoder"] == "7"


@pytest.mark.parametrize("wrong", ["foo", "identity.=3", "=3", ".", ".slots=3"])
def test_an_assignment_of_another_form_is_shown_the_right_one(wrong):
    expected = "--set takes LABEL.KEY=VALUE, as in word-rr.slots=8, or KEY=VALUE if one mechanism is named"
    assert refused(wrong) == f"{expected}, not '{wrong}'."


def test_a_label_may_be_left_out_if_there_is_one_mechanism():
    found = merge_flags({"mechanisms": ["word-rr"], "attacks": ["lexical", "llm"]}, {}, ["slots=8"])
    assert found["mechanisms"] == [{"name": "word-rr", "slots": 8}]
    said = "--set slots=3: say whose field it is, as LABEL.KEY=VALUE. There are: identity, short."
    assert refused("slots=3") == said


def test_plugins_of_one_kind_take_fields_by_the_same_grammar():
    assert assign_fields("mechanism", ["word-rr"], ["slots=8", "word-rr.unit=x"]) == [
        {"name": "word-rr", "slots": 8, "unit": "x"}
    ]
    both = assign_fields("attack", ["lexical", "embedding"], ["embedding.encoder=lexical"])
    assert both == [{"name": "lexical"}, {"name": "embedding", "encoder": "lexical"}]
    with pytest.raises(SpecError, match=r"There are: embedding, lexical\."):
        assign_fields("attack", ["lexical", "embedding"], ["encoder=lexical"])
    with pytest.raises(SpecError, match="Did you mean 'lexical'"):
        assign_fields("attack", ["lexical"], ["lexica.encoder=lexical"])


@pytest.mark.parametrize("written", ["1,5", "1 5", "1; 5"])
def test_several_epsilons_in_one_flag_are_shown_how_to_be_given(written):
    with pytest.raises(SpecError, match="give each a flag of its own, as in -e 1 -e 5"):
        merge_flags({}, {"epsilon": [written]}, [])


def test_an_unknown_label_is_told_the_close_one_and_all_there_are():
    message = refused("shor.slots=3")
    assert "nothing here is called 'shor'" in message
    assert "Did you mean 'short'?" in message
    assert message.endswith("There are: corpus, identity, lexical, short.")


def test_a_value_that_is_no_yaml_is_said_in_one_line():
    message = refused("short.slots=[3")
    assert message.startswith(
        "--set short.slots=[3: the value cannot be read as YAML (line 1, column 3: expected"
    )
    assert message.endswith("Put quotes around a text.")
    assert "\n" not in message


def test_the_settings_that_are_changed_are_a_copy():
    for base in (BASE, SMALL):
        before = copy.deepcopy(base)
        label = "short" if base is BASE else "word-rr"
        flags = {"k": 3, "trials": 1, "mechanism": None}
        merge_flags(base, flags, [f"{label}.slots=1", "corpus.size=9", "lexical.x=1"])
        assert base == before


def test_the_embedded_audit_needs_no_model():
    spec = parse_spec(SMALL)
    assert spec.encoder == "lexical"
    for mechanism in spec.mechanisms:
        build(mechanism.reference("mechanism"))
    assert [a.name for a in spec.attacks] == ["lexical", "text-likelihood"]
    assert spec.corpus.name == "demo"


def test_what_runs_where_nothing_is_said_depends_on_the_zoo(monkeypatch):
    assert embedded_audit() is SMALL
    monkeypatch.delenv("TEDAUDIT_ZOO")
    monkeypatch.setattr("tedaudit.models.zoo.is_installed", lambda: True)
    assert {**embedded_audit(), "mechanisms": SIX["mechanisms"]} == SIX
    for named in parse_spec(embedded_audit()).mechanisms:
        assert list(named.epsilons) == list(find("mechanism", named.name).card.slope) != []
    assert len(embedded_audit()["mechanisms"]) == 6


def test_epsilons_of_a_flag_go_over_those_of_each_mechanism(monkeypatch):
    monkeypatch.delenv("TEDAUDIT_ZOO")
    monkeypatch.setattr("tedaudit.models.zoo.is_installed", lambda: True)
    six = embedded_audit()
    before = copy.deepcopy(six)
    spec = parse_spec(merge_flags(six, {"epsilon": [3.0, 7.0]}, []))
    assert [list(mechanism.epsilons) for mechanism in spec.mechanisms] == [[]] * 6
    assert list(spec.epsilons) == [3.0, 7.0]
    assert before == six
    assert all(mechanism.epsilons for mechanism in parse_spec(merge_flags(six, {"trials": 9}, [])).mechanisms)
