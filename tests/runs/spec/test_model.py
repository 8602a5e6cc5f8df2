"""The spec: what it takes, what it refuses, and its way to YAML and JSON and back."""

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from helpers import strict, told
from tedaudit.errors import PathError, SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.runs.spec.model import AuditSpec, PlanSpec, parse_spec, read_spec


def test_an_audit_needs_no_more_than_a_mechanism():
    spec = parse_spec({"mechanisms": "identity"})
    assert [m.name for m in spec.mechanisms] == ["identity"]
    assert spec.corpus is None
    assert [a.name for a in spec.attacks] == ["lexical"]
    assert [p.name for p in spec.plans] == ["k2-lambda-10000"]
    assert (spec.trials, spec.alpha, spec.delta, spec.seed) == (1000, 0.01, None, 0)
    assert spec.folder == Path("runs/audit")


def test_a_run_directory_is_named_after_the_audit_unless_out_says_otherwise():
    assert parse_spec({"mechanisms": "identity", "name": "mine"}).folder == Path("runs/mine")
    assert parse_spec({"mechanisms": "identity", "name": "mine", "out": "x/y"}).folder == Path("x/y")


@pytest.mark.parametrize(
    ("trials", "block", "size"), [(1, 0, 100), (5000, 0, 500), (10**6, 0, 4096), (10, 7, 7)]
)
def test_blocks_grow_with_the_trials_up_to_a_limit(trials, block, size):
    assert parse_spec({"mechanisms": "identity", "trials": trials, "block": block}).block_size == size


@pytest.mark.parametrize("what", ["mechanisms", "attacks"])
def test_two_plugins_of_one_label_are_refused(what):
    message = told(**{what: ["identity", {"name": "other", "label": "identity"}]})
    assert message == f"Two {what} are called identity; give each a label of its own."


def test_two_plans_that_are_the_same_are_refused():
    assert told(plans=[{"k": 2}, {"lambda": -1e4}]) == "Two plans are called k2-lambda-10000; leave one out."


def test_one_mechanism_may_come_twice_under_two_labels():
    spec = parse_spec({"mechanisms": ["word-rr", {"name": "word-rr", "label": "short", "slots": 2}]})
    assert [m.title for m in spec.mechanisms] == ["word-rr", "short"]
    assert spec.mechanisms[1].params == {"slots": 2}


@pytest.mark.parametrize("label", ["a/b", ".hidden", "..", "a\x00b", "a\nb", "\x1b[2J", "x" * 81])
def test_a_label_that_cannot_name_a_folder_is_refused(label):
    message = told(mechanisms=[{"name": "identity", "label": label}])
    assert message.startswith(f"{label!r} names a folder of the run")
    assert "give it another label" in message


def test_a_plugin_may_be_a_name_a_mapping_a_function_or_an_object():
    def shout(text):
        return text.upper()

    made = WordRR(slots=3)
    spec = parse_spec({"mechanisms": ["identity", shout, made, "py:pack.module:thing"]})
    assert [m.title for m in spec.mechanisms] == ["identity", "shout", "word-rr", "thing"]
    assert spec.mechanisms[1].params == {"function": shout}
    assert spec.mechanisms[2].reference("mechanism").live is made


def test_a_nameless_function_gets_a_label_that_can_name_a_folder():
    assert parse_spec({"mechanisms": [lambda text: text]}).mechanisms[0].title == "lambda"


@pytest.mark.parametrize("epsilons", [2, "2", [2], (2.0, 2), np.array([2.0]), np.float64(2)])
def test_epsilons_may_be_one_or_many_and_count_once(epsilons):
    assert parse_spec({"mechanisms": "word-rr", "epsilons": epsilons}).epsilons == [2.0]


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        ({}, "k2-lambda-10000"),
        ({"k": 4, "lambda": 1e10}, "k4-lambda1e10"),
        ({"lambda": 0}, "k2-lambda0"),
        ({"lambda": math.inf}, "k2-lambdainf"),
        ({"lambda": -math.inf, "estimator": "baseline"}, "k2-lambda-inf-baseline"),
        ({"k": "all", "lambda": 3}, "k-all"),
        ({"k": 3, "strategy": "nearest", "top": 10}, "k3-nearest10"),
    ],
)
def test_a_plan_has_a_short_name_for_folders(plan, name):
    assert PlanSpec.model_validate(plan).name == name


def test_a_spec_cannot_be_changed_after_it_was_checked():
    spec = parse_spec({"mechanisms": "identity"})
    with pytest.raises(ValidationError):
        spec.trials = 0


def test_an_object_of_this_process_is_not_written_down():
    spec = parse_spec({"mechanisms": [WordRR(slots=3)]})
    assert "live" not in spec.to_yaml()
    assert "live" not in spec.model_dump()["mechanisms"][0]


names = st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True)
numbers = st.floats(1e-300, 1e300)
values = st.one_of(st.booleans(), st.integers(-5, 5), numbers, st.text(max_size=5), st.none())
labels = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="/."), min_size=1, max_size=9
)
plans = st.one_of(
    st.fixed_dictionaries(
        {"k": st.one_of(st.integers(2, 99), st.just("all"))},
        optional={
            "lambda": st.one_of(st.sampled_from([math.inf, -math.inf, 0.0, -1e4]), numbers),
            "strategy": st.sampled_from(["transition", "nearest", "furthest"]),
            "top": st.integers(1, 99),
        },
    ),
    st.just({"k": 2, "estimator": "baseline"}),
)
plugins = st.builds(
    lambda name, extra, label: {**extra, "name": name, "label": label},
    names,
    st.dictionaries(st.sampled_from(["slots", "path", "size"]), values, max_size=2),
    labels,
)
specs = st.fixed_dictionaries(
    {
        "mechanisms": st.lists(plugins, min_size=1, max_size=3, unique_by=lambda p: p["label"]),
        "plans": st.lists(plans, min_size=1, max_size=1),
    },
    optional={
        "name": names,
        "corpus": plugins,
        "epsilons": st.lists(numbers, max_size=3),
        "attacks": st.lists(plugins, max_size=2, unique_by=lambda p: p["label"]),
        "trials": st.integers(1, 10**8),
        "alpha": st.floats(1e-300, 1, exclude_max=True),
        "delta": st.one_of(st.none(), st.floats(0, 1, exclude_max=True)),
        "seed": st.integers(-(2**70), 2**70),
        "batch_size": st.integers(1, 9),
        "block": st.integers(0, 9),
        "out": st.text(max_size=5),
    },
)


@settings(max_examples=80, deadline=None)
@given(specs)
def test_a_spec_is_the_same_after_a_trip_through_yaml_and_through_the_manifest(data):
    spec = parse_spec(data)
    assert parse_spec(yaml.safe_load(spec.to_yaml())) == spec
    written = json.dumps(spec.model_dump(mode="json", by_alias=True))
    assert parse_spec(strict(written)) == spec


@pytest.mark.parametrize("value", [math.inf, -math.inf])
@pytest.mark.parametrize("written", ["{}", "'{}'", ".{}"])
def test_an_infinite_lambda_can_be_written_in_yaml(value, written):
    text = written.format("inf") if value > 0 else ("-" + written.format("inf")).replace("-'", "'-")
    spec = parse_spec({"mechanisms": ["identity"], "plans": yaml.safe_load(f"[{{lambda: {text}}}]")})
    assert spec.plans[0].temperature == value


def test_numbers_in_the_short_form_that_yaml_takes_for_texts_are_numbers():
    data = yaml.safe_load("{mechanisms: word-rr, alpha: 1e-3, delta: 1e-5, epsilons: [1e2]}")
    assert isinstance(data["alpha"], str)
    spec = parse_spec(data)
    assert (spec.alpha, spec.delta, spec.epsilons) == (1e-3, 1e-5, [100.0])


def test_the_schema_names_every_setting_with_what_it_is_for():
    schema = AuditSpec.model_json_schema(by_alias=True)
    assert set(schema["properties"]) == set(AuditSpec.model_fields)
    assert set(schema["$defs"]["PlanSpec"]["properties"]) == {
        "k", "lambda", "strategy", "top", "sets", "estimator", "author", "texts", "knows", "releases",
    }  # fmt: skip
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: [b\n", "cannot be read as YAML: line 2, column 1: expected ',' or ']'"),
        (b"a: b: c\n", "cannot be read as YAML: line 1, column 5: mapping values are not allowed here"),
        (b"caf\xe9: 1\n", "cannot be read as YAML: 'utf-8' codec can't decode byte 0xe9 in position 3"),
        (b"a: !!python/object:os.system {}\n", "could not determine a constructor"),
        (b"a: 1\nb: 2\na: 3\n", "as YAML: line 3, column 1: duplicate key 'a'"),
        (b"plans: [{k: 2, k: 3}]\n", "line 1, column 16: duplicate key 'k'"),
        (b"? [1]\n: 2\n", "found unhashable key"),
        (b"- a\n- b\n", "holds a value of type list; it must hold settings as `key: value`"),
        (b"trials\n", "holds a value of type str; it must hold settings as `key: value`"),
        (b"", "holds nothing; it must hold settings as `key: value`"),
    ],
)
def test_a_file_that_holds_no_settings_is_named_with_the_place_and_a_way_out(tmp_path, content, said):
    path = tmp_path / "audit.yaml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    message = str(caught.value)
    assert message.startswith(f"'{path}' ")
    assert said in message
    assert message.endswith("`tedaudit init` writes an example.")
    assert "\n" not in message


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(SpecError, match=r"There is no file '.*none\.yaml'\. `tedaudit init` writes one"):
        read_spec(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match="Is a directory"):
        read_spec(tmp_path)


def test_a_setting_may_be_shared_between_plans(tmp_path):
    path = tmp_path / "audit.yaml"
    path.write_text(
        "plans: [&one {k: 3, top: 2}, &two {<<: *one, k: 4}, {<<: *two, k: 5}]\n", encoding="utf-8"
    )
    assert read_spec(path) == {"plans": [{"k": k, "top": 2} for k in (3, 4, 5)]}


def test_a_file_of_settings_is_read_as_it_is(tmp_path):
    path = tmp_path / "audit.yaml"
    path.write_text("mechanisms: [identity]\ntrials: 5\n", encoding="utf-8")
    assert read_spec(path) == {"mechanisms": ["identity"], "trials": 5}


# --- what names a folder


@pytest.mark.parametrize("name", ["..", ".", "...", ".a", "a/b", "", "x" * 81, "a\n", "a\0b", "~"])
def test_a_name_that_could_lead_elsewhere_is_refused(name):
    assert told(name=name).startswith("'name' is ")


@pytest.mark.parametrize("name", ["a", "a..b", "run-1.2_x", "ä", "x" * 80])
def test_a_name_that_stays_where_it_is_put_is_taken(name):
    assert parse_spec({"mechanisms": ["identity"], "name": name}).folder == Path("runs") / name


def test_a_name_of_few_characters_and_many_bytes_is_refused_as_a_path():
    with pytest.raises(PathError, match="at most 255 bytes"):
        parse_spec({"mechanisms": ["identity"], "name": "\U00020000" * 80}).folder  # noqa: B018


def test_out_begins_in_the_home_folder_if_it_says_so(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ann")
    assert parse_spec({"mechanisms": ["identity"], "out": "~/x"}).folder == Path("/home/ann/x")


@pytest.mark.parametrize("label", ["..", ".", "a/b", "\x1b", "a\nb", "x" * 81, "\U0001f600" * 41, "\ud800"])
def test_a_label_that_no_folder_of_the_run_can_have_is_refused(label):
    message = told(mechanisms=[{"name": "identity", "label": label}])
    assert "names a folder of the run" in message or "valid string" in message
    assert message.isprintable()


@pytest.mark.parametrize("setting", ["seed", "batch_size", "block", "trials"])
def test_a_whole_number_of_thousands_of_digits_is_refused_without_being_written_down(setting):
    message = told(**{setting: 16**5000})
    assert message.startswith(f"'{setting}' is a value of type int that is too large to be shown: it should")


def test_candidates_and_ranks_have_an_upper_limit_too():
    for plan in ({"k": 16**5000}, {"strategy": "nearest", "top": 16**5000}):
        assert "too large to be shown" in told(plans=[plan])


@pytest.mark.parametrize("name", ["release.csv", "my release.jsonl", "texts.parquet", "texts.tsv.gz"])
def test_a_table_in_the_place_of_a_spec_is_told_what_to_do_with_it(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"original,rewrite\nsee: this,that\n")
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    for command in ("link", "run -m recorded --set recorded.path=", "run -m NAME --corpus "):
        assert f"`tedaudit {command}".rstrip() in str(caught.value)
    assert shlex.quote(str(path)) in str(caught.value)


def test_a_spec_may_be_called_a_text(tmp_path):
    (tmp_path / "audit.txt").write_text("trials: 10\n")
    assert read_spec(tmp_path / "audit.txt") == {"trials": 10}
