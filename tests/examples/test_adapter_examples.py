"""The examples that run packages of others with `command`: the real ones, in environments as documented."""

import json
import math
import os
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import tiny_models
from child_programs import rewrite
from command_line import call
from environments import PROJECT, find_environment, read_commands
from tedaudit.errors import ModelError, PluginError
from tedaudit.mechanisms import _programs
from tedaudit.plugins.registry import Reference, build, determinants
from tedaudit.plugins.values import Draw
from tedaudit.testing import check_mechanism
from tiny_nltk_data import save_nltk_data

ADAPTERS = PROJECT / "examples" / "adapters"
NAMES = ("dpmlm", "scrubadub")
TEXT = "Ask Alice at alice@example.com or 212-555-5555; alice@example.com is better."
INVOICE = "Please send the March invoice to Zyxgor!"

pytestmark = pytest.mark.skipif(not ADAPTERS.is_dir(), reason="the tests do not run from a checkout")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the examples: environments and models are made in it."""
    return shutil.copytree(ADAPTERS, tmp_path_factory.mktemp("adapters") / "adapters")


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def make_environment(name, folder):
    """Make the environment that an example names, with the libraries that are installed here."""
    python = Path(find_environment(name, folder, shared=True))
    (folder / f"venv-{name}").symlink_to(python.parents[1])


@pytest.fixture(scope="module")
def redactor(folder):
    make_environment("scrubadub", folder)


@pytest.fixture(scope="module")
def release(folder):
    """The package dpmlm on a tiny model."""
    pytest.importorskip("transformers")
    make_environment("dpmlm", folder)
    unpack(tiny_models.save_roberta(folder / "tiny", positions=256), folder / "dpmlm-model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLTK_DATA", str(save_nltk_data(folder / "nltk")))
        yield


def unpack(name, folder):
    runpy.run_path(str(ADAPTERS / "unpack_model.py"))["unpack"](str(name), folder)


def read_settings(name):
    [settings] = yaml.safe_load((ADAPTERS / f"{name}.yaml").read_text("utf-8"))["mechanisms"]
    return settings


def make(example, *flags, **fields):
    """Return the mechanism of an example, with further arguments for its program."""
    settings = {key: value for key, value in read_settings(example).items() if key not in ("name", "label")}
    return build(
        Reference("mechanism", "command", {**settings, "program": [*settings["program"], *flags], **fields})
    )


def scrub(*flags, text=TEXT):
    [made] = make("scrubadub", *flags).rewrite([Draw(text, math.inf, 1)])
    assert made.error == ""
    return made.text


# --- both


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_a_spec_and_a_script_of_some_fifty_lines(name):
    spec = yaml.safe_load((ADAPTERS / f"{name}.yaml").read_text("utf-8"))
    assert [mechanism["name"] for mechanism in spec["mechanisms"]] == ["command"]
    script = ADAPTERS / f"rewrite_{name}.py"
    assert script.name in read_settings(name)["program"]
    assert len(script.read_text("utf-8").splitlines()) < 60


@pytest.mark.parametrize("name", NAMES)
def test_the_versions_of_an_example_are_those_of_the_documentation_and_of_our_own_environment(name):
    pinned = dict(line.split("==") for line in (PROJECT / "constraints.txt").read_text().split())
    installed = dict(package.split("==") for package in read_commands(name))
    assert {package: pinned.get(package, version) for package, version in installed.items()} == installed
    told = dict(part.split() for part in read_settings(name)["program_version"].split(", "))
    assert told
    assert told.items() <= installed.items()


# --- scrubadub


@pytest.mark.usefixtures("here", "redactor")
def test_scrubadub_is_audited_as_the_example_says(capfd):
    assert call("run", "scrubadub.yaml", "-t", "40", "-o", "run", "--set", "corpus.size=100") == 0
    shown = capfd.readouterr().out
    assert "scrubadub" in shown
    assert "no claim" in shown


@pytest.mark.usefixtures("here", "redactor")
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), "Ask Alice at {{EMAIL}} or {{PHONE}}; {{EMAIL}} is better."),
        (("--replacement", "remove"), "Ask Alice at  or ;  is better."),
        (("--detectors", "phone"), TEXT.replace("212-555-5555", "{{PHONE}}")),
        (("--detectors", "postalcode", "--locale", "en_GB"), TEXT),
    ],
)
def test_what_is_found_is_replaced(flags, expected):
    assert scrub(*flags) == expected


@pytest.mark.usefixtures("here", "redactor")
def test_scrubadub_keeps_the_contract_and_names_stay(no_long_texts):
    plugin = make("scrubadub")
    assert not check_mechanism(plugin).random
    born, found = "Alice Smith was born in London on 3 May 1980.", "Write to {{EMAIL}}."
    made = rewrite(plugin, TEXT, "Write to bob@example.com.", born, TEXT)
    assert made[1:3] == [found, born]
    assert made[0] == made[3]  # no text depends on those before it


@pytest.mark.usefixtures("here", "redactor")
def test_a_hash_has_a_salt_from_the_key_or_from_its_user():
    flags = ("--replacement", "hash", "--hash-length", "8")
    draws = [Draw(TEXT, math.inf, key) for key in (1, 1, 2)]
    first, second, other = (made.text for made in make("scrubadub", *flags).rewrite(draws))
    assert first == second != other
    codes = [word.strip("{};") for word in first.split() if "EMAIL-" in word]
    assert codes[0] == codes[1]  # within a text equal addresses have equal hashes
    assert len(codes[0]) == len("EMAIL-") + 8
    assert len({made.text for made in make("scrubadub", *flags, "--salt", "s").rewrite(draws)}) == 1


@pytest.mark.usefixtures("here", "redactor")
def test_names_need_a_file_of_nltk(tmp_path, monkeypatch):
    monkeypatch.setattr(_programs, "_MOST_AT_FIRST", 1)
    for name in ("HOME", "NLTK_DATA"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(PluginError, match=r"not answered once"):
        scrub("--detectors", "text_blob_name")
    save_nltk_data(tmp_path)
    found = scrub("--detectors", "text_blob_name", text="We met Maria there.")
    assert found == "We met {{NAME}} there."


@pytest.mark.usefixtures("here", "redactor")
@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--detectors", "emial"), "emial"),
        (("--detectors", "postalcode"), "does not support the locale 'en_US'"),
        (("--replacement", "mask"), "invalid choice: 'mask'"),
    ],
)
def test_a_wrong_setting_stops_the_run_and_is_no_output(flags, told, monkeypatch):
    monkeypatch.setattr(_programs, "_MOST_AT_FIRST", 1)
    with pytest.raises(PluginError, match="not answered once") as caught:
        scrub(*flags)
    assert told in str(caught.value)


# A fresh process without a home, in which every way to another machine is closed and noted.
OFFLINE = """
import runpy, socket, sys
asked = []
def close(*arguments, **settings):
    asked.append(arguments)
    raise OSError("there is no network")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = close
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
assert not asked, asked
"""


@pytest.mark.usefixtures("here", "redactor")
@pytest.mark.parametrize("locale", ["en_US", "en_GB"])
def test_scrubadub_fetches_nothing_with_any_detector_that_needs_no_file(locale, tmp_path):
    british = "credential credit_card date_of_birth drivers_licence email phone postalcode skype twitter url"
    british += " vehicle_licence_plate national_insurance_number tax_reference_number"
    flags = ["--detectors", *british.split()] if locale == "en_GB" else []
    homes = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "NLTK_DATA")}
    text = "Ask alice@example.co.uk, bob@nowhere.invalid, +1 212-555-5555, http://example.com/a or 10.0.0.1."
    done = subprocess.run(
        ["venv-scrubadub/bin/python", "-c", OFFLINE, "rewrite_scrubadub.py", "--locale", locale, *flags],
        input=json.dumps({"id": 1, "text": text, "draw_key": "0" * 32}), env={**os.environ, **homes},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Ask {{EMAIL}}, {{EMAIL}}, " in json.loads(done.stdout)["text"]


# --- dpmlm


@pytest.mark.usefixtures("here", "release")
def test_dpmlm_is_audited_as_the_example_says_and_nothing_bounds_its_words(capfd):
    assert (
        call("run", "dpmlm.yaml", "-e", "10", "-t", "20", "-o", "run-dpmlm", "--set", "corpus.size=60") == 0
    )
    shown = capfd.readouterr().out
    assert "dpmlm-release" in shown
    assert make("dpmlm").claim(3.0).total == math.inf


@pytest.mark.usefixtures("here", "release")
def test_dpmlm_releases_stop_words_punctuation_case_and_length():
    made = rewrite(make("dpmlm"), INVOICE, INVOICE, INVOICE, "it is the .")
    assert made[-1] == "it is the."
    for text in made[:3]:
        words = text.split()
        assert words[2] == "the"
        assert text.endswith("!")
        assert words[0][0].isupper() or not words[0][0].isalpha()
    assert len(set(made[:3])) == 3


@pytest.mark.usefixtures("here", "release")
def test_dpmlm_keeps_the_contract(no_long_texts):
    assert check_mechanism(make("dpmlm"), epsilon=10.0).random


@pytest.mark.usefixtures("here", "release")
def test_dpmlm_runs_on_the_model_of_the_zoo(tmp_path):
    pytest.importorskip("tedaudit_zoo")
    unpack("zoo:mlm", tmp_path / "zoo")
    program = [*read_settings("dpmlm")["program"][:-1], str(tmp_path / "zoo"), "--batch"]
    [made] = make("dpmlm", program=program).rewrite([Draw("The invoice is of the office.", 1e4, 1)])
    assert made.text.startswith("The ")
    assert made.text.endswith(" is of the office.")  # with hardly any noise
    assert json.loads((tmp_path / "zoo" / "clip.json").read_text()) == {"low": -14.877, "high": 20.23}


@pytest.mark.usefixtures("here", "release")
def test_script_and_model_are_in_the_key():
    known = determinants(make("dpmlm"))
    files = {name.partition(": ")[2] for name in known if name.startswith("file ")}
    weights = {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "clip.json"}
    assert {"rewrite_dpmlm.py", *weights} <= files


def test_a_model_without_a_length_gets_one_and_a_range_of_another_model_is_told(tmp_path, capsys):
    pytest.importorskip("transformers")
    model = tiny_models.save_roberta(tmp_path / "mine", positions=64)
    file = model / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "model_max_length": int(1e30)}))
    unpack(model, tmp_path / "unpacked")
    assert json.loads((tmp_path / "unpacked" / "tokenizer_config.json").read_text())["model_max_length"] == 64
    assert "clipped to [-3.209, 16.3], as measured on roberta-base" in capsys.readouterr().err
    assert json.loads((tmp_path / "unpacked" / "clip.json").read_text())["low"] == -3.2093127
    unpack(model.rename(tmp_path / "roberta-base"), tmp_path / "again")
    assert "clipped" not in capsys.readouterr().err


def test_a_model_that_lacks_weights_is_refused_before_the_package_draws_from_random_ones(tmp_path):
    pytest.importorskip("transformers")
    tiny_models.save_roberta(tmp_path / "model")
    model = tiny_models.drop_weights(tmp_path / "model", "lm_head.dense.weight")
    with pytest.raises(ModelError, match=r"lacks 1 of the weights.*lm_head\.dense\.weight"):
        unpack(model, tmp_path / "unpacked")
