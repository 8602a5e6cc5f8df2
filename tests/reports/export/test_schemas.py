"""The published schemas: what is shipped is what the documents say, and real runs keep to it."""

import copy
import json
import shutil

import jsonschema
import pytest

import tedaudit
from command_line import call
from helpers import Failing, Latents, NearestLatent, audited, make_spec, strict, summary
from tedaudit.api import report, run
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Claim
from tedaudit.reports.export.documents import SCHEMAS
from tedaudit.reports.export.schemas import make_schema, name_file, read_schema, write_schemas
from tedaudit.reports.export.writing import Export, make_export
from tedaudit.results.findings import SCHEMA

WORDS = ("red", "green", "blue", "black", "white", "brown")


class ClaimsLess(WordRR):
    """Claims half of what it spends, so that a single output refutes it."""

    def claim(self, epsilon):
        return Claim(epsilon / 2, "word", max_units=self.slots)


def check(document, kind="summary"):
    """Refuse a document that does not keep to the schema that is shipped."""
    schema = read_schema(kind)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert [f"{list(e.absolute_path)}: {e.message[:200]}" for e in validator.iter_errors(document)] == []


def refused(document, kind="summary"):
    return not jsonschema.Draft202012Validator(read_schema(kind)).is_valid(document)


@pytest.fixture(scope="module")
def losing(tmp_path_factory):
    """A run with likelihoods, so that its summary has losses."""
    out = tmp_path_factory.mktemp("losing") / "run"
    return run(make_spec(out, attacks=["lexical", "likelihood", "resample"], epsilons=[1, 3]))


@pytest.mark.parametrize("kind", SCHEMAS)
def test_what_is_shipped_is_what_the_documents_say(kind, tmp_path):
    assert read_schema(kind) == make_schema(kind)
    assert {path.name for path in write_schemas(tmp_path)} == set(map(name_file, SCHEMAS))


def test_a_summary_names_its_schema(made):
    assert summary(made.folder)["schema"] == SCHEMA == read_schema("summary")["$id"]


def test_summaries_keep_to_the_schema(made, clean, losing):
    check(summary(made.folder))
    check(summary(clean))
    check(summary(losing.folder))
    assert summary(losing.folder)["losses"]
    check(made.to_dict())


def test_the_summary_of_a_run_with_models_keeps_to_it(modelled):
    told = summary(modelled.folder)
    assert told["models"]
    check(told)


def test_what_commands_print_keeps_to_it(losing, tmp_path, capsys):
    copied = shutil.copytree(losing.folder, tmp_path / "copy")
    for command in (("estimate", copied), ("report", copied, "--no-figures")):
        capsys.readouterr()
        assert call(*command, "--json") == 0
        check(strict(capsys.readouterr().out))
    report(copied, redact=True)
    check(summary(copied))


def test_fresh_trials_and_losses_that_run_prints_keep_to_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(f"word{i} of text {i}" for i in range(30)))
    audit = ("run", "-m", "word-rr", "-e", "2", "-c", "texts.txt", "-a", "lexical", "-t", "60", "-q")
    assert (
        call(*audit, "--json", "--encoder", "lexical", "--worst", "1", "--worst-trials", "40", "--loss") == 0
    )
    told = strict(capsys.readouterr().out)
    assert told["worst_pairs"]["pairs"]
    assert "contradictions" in told
    check(told)


def test_a_claim_that_is_certainly_broken_keeps_to_it(tmp_path):
    """A loss above the claim, computed twice, has a shape of its own."""
    texts = [
        " ".join(WORDS[(start + i * step) % 6] for i in range(3)) for start in range(6) for step in (1, 2)
    ]
    broken = ClaimsLess(vocabulary=WORDS, slots=3)
    out = str(tmp_path / "run")
    result = tedaudit.audit(broken, texts, epsilon=30.0, attack="likelihood", trials=60, out=out)
    assert [claim.certain is not None for claim in result.claims] == [True]
    check(summary(result.folder))


@pytest.mark.parametrize("kind", ["rows", "trials", "losses"])
def test_exports_keep_to_their_schemas(kind, losing, made):
    for result in (losing, made):
        document = json.loads(make_export(result, Export("json", kind)))
        check(document, kind)
        assert kind == "losses" or document[kind]
    assert refused({**document, kind: [{"plan": "x"}]}, kind)


def test_exported_texts_keep_to_their_schema(made):
    document = json.loads(make_export(made, Export("json", "trials", texts=True)))
    assert document["trials"][0]["source_text"]
    check(document, "trials")


def test_a_field_that_the_schema_does_not_know_is_refused(made):
    told = summary(made.folder)
    for place in ((), ("findings", 0), ("claims", 0), ("claims", 0, "witness"), ("claims", 0, "claim")):
        changed = copy.deepcopy(told)
        inner = changed
        for step in place:
            inner = inner[step]
        inner["brand_new"] = 1
        assert refused(changed), place
        del inner["brand_new"]
        assert not refused(changed)


def test_a_field_that_is_missing_is_refused(made):
    told = summary(made.folder)
    for name in [name for name in told if name != "losses"]:
        assert refused({key: value for key, value in told.items() if key != name}), name
    changed = copy.deepcopy(told)
    del changed["findings"][0]["ceiling"]
    assert refused(changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trials", -1),
        ("success", 1.5),
        ("candidates", 1),
        ("verdict", "fine"),
        ("method", "guessed"),
        ("lower", None),
    ],
)
def test_a_value_that_a_field_cannot_have_is_refused(name, value, made):
    told = copy.deepcopy(summary(made.folder))
    told["findings"][0][name] = value
    assert refused(told)


def test_what_may_be_infinite_or_missing_may_be_null(made):
    told = copy.deepcopy(summary(made.folder))
    told["findings"][0] |= {"point": None, "upper": None, "epsilon": None, "claim": None, "cosine": None}
    check(told)


def test_another_number_is_another_schema(made):
    assert refused(summary(made.folder) | {"schema": "urn:tedaudit:summary:1"})


def test_every_field_says_what_it_means():
    for kind in SCHEMAS:
        schema = read_schema(kind)
        for part in [schema, *schema.get("$defs", {}).values()]:
            assert part["additionalProperties"] is False
            for name, known in part["properties"].items():
                assert known.get("description"), (kind, part["title"], name)


def test_an_unknown_schema_is_named_with_those_that_there_are():
    with pytest.raises(SpecError, match=r"no schema 'sumary'.*Did you mean 'summary'"):
        read_schema("sumary")


def test_a_run_without_a_claim_and_with_failures_keeps_to_it(tmp_path):
    check(summary(audited(tmp_path / "a", Failing(0.9), epsilons=[1]).folder))
    check(summary(audited(tmp_path / "b", Latents(), attacks=[NearestLatent()]).folder))
