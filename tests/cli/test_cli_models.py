"""`models get` and `models clip` as their users meet them."""

import pytest

from command_line import call
from helpers import strict
from model_servers import make_entry
from tedaudit.models import catalogue
from tiny_models import save_gpt2, save_roberta


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture
def tiny(models, tmp_path, monkeypatch):
    """The folder with the files of a model that the catalogue has."""
    folder = save_roberta(tmp_path / "model")
    entry = make_entry(folder, licence="MIT, as its card states")
    monkeypatch.setitem(catalogue.ENTRIES, "tiny", entry)
    adapter = {"licence": "none", "memory": 1, "made": 1, "base": "tiny", "adapter": "zoo:mine"}
    monkeypatch.setitem(catalogue.ENTRIES, "mine", catalogue.Entry("mine", "Mine.", **adapter))
    return folder


def test_before_it_begins_it_says_where_from_the_licence_and_what_it_takes(models, tiny, capfd):
    capfd.readouterr()
    assert call("models", "get", "tiny", "--dry-run") == 0
    told = capfd.readouterr().out
    assert not models.exists()
    assert "tiny: A tiny model." in told
    assert "from      the hub, some/tiny at 0123456789abcdef0123456789abcdef01234567" in told
    assert "licence   MIT, as its card states" in told
    assert "of disk, twice that while it is put together" in told
    assert "of memory for its weights, and 1 to 2 GB for the rest of an audit" in told
    assert str(models / "tiny") in told
    assert call("models", "get", "tiny", "--from", tiny) == 0
    out = capfd.readouterr().out
    assert f"from      {tiny}" in out
    assert "0 MB to download" in out
    assert out.endswith("Done: models:tiny\n")
    assert call("models", "get", "models:tiny") == 0
    assert capfd.readouterr().out.endswith("Was here: models:tiny\n")
    assert call("models", "get", "tiny", "--json") == 0
    told = strict(capfd.readouterr().out)
    assert (told["is_here"], told["fetched"], told["folder"]) == (True, False, str(models / "tiny"))


def test_of_a_model_with_an_adapter_it_says_whether_its_base_is_here(models, tiny, capfd):
    capfd.readouterr()
    assert call("models", "get", "mine", "--dry-run") == 0
    told = capfd.readouterr().out
    assert "from      models:tiny, from the hub, some/tiny at 0123456789" in told
    assert call("models", "get", "tiny", "--from", tiny, "-q") == 0
    capfd.readouterr()
    assert call("models", "get", "mine", "--dry-run") == 0
    told = capfd.readouterr().out
    assert "from      models:tiny, which is here, and the adapter zoo:mine" in told
    assert "0 MB to download" in told


def test_json_says_what_it_takes_and_that_it_is_here_now(models, tiny, capfd):
    capfd.readouterr()
    assert call("models", "get", "tiny", "--json", "--dry-run") == 0
    before = strict(capfd.readouterr().out)
    assert call("models", "get", "tiny", "--from", tiny, "--json", "-q") == 0
    after = strict(capfd.readouterr().out)
    assert before["download_bytes"] == sum(file.stat().st_size for file in tiny.iterdir())
    assert (before["is_here"], before["fetched"]) == (False, False)
    taken = {"source": str(tiny), "download_bytes": 0}
    assert after == before | taken | {"is_here": True, "fetched": True}


def test_a_folder_that_lacks_a_file_is_refused_with_its_name(models, tiny, capfd):
    (tiny / "config.json").unlink()
    assert call("models", "get", "tiny", "--from", tiny) == 2
    assert "lacks config.json. It must hold the files of 'tiny'" in " ".join(capfd.readouterr().err.split())


def test_a_name_that_is_not_known_is_told_with_those_that_are(models, capfd):
    assert call("models", "get", "opusmt") == 2
    assert "Did you mean 'opus-mt'" in capfd.readouterr().err


def test_a_range_is_measured_stored_and_taken(models, tmp_path, capfd):
    folder = save_gpt2(tmp_path / "model")
    capfd.readouterr()
    assert call("models", "clip", folder, "--limit", "40", "-q") == 0
    out = capfd.readouterr().out
    assert out.startswith("clip range: ")
    assert f"in 40 texts. Stored: {folder / 'clip.json'}" in out
    assert "40 texts of the corpus demo" in (folder / "clip.json").read_text()
    before = (folder / "clip.json").read_text()
    assert call("models", "clip", folder, "-q") == 2
    assert "has a clip range: " in (error := capfd.readouterr().err)
    assert "Use --force to measure again and replace it" in error
    assert (folder / "clip.json").read_text() == before
    (tmp_path / "public.txt").write_text("one line of text\nanother line of text\n")
    told = ("--texts", tmp_path / "public.txt", "--prompt", "{text} =", "--force", "--json", "-q")
    assert call("models", "clip", folder, *told) == 0
    found = strict(capfd.readouterr().out)
    assert found["texts"] == 2
    assert found["low"] < found["high"]
    assert "2 texts of public.txt" in (folder / "clip.json").read_text()


def test_a_damaged_range_is_told_and_replaced_if_that_is_asked_for(models, tmp_path, capfd):
    folder = save_gpt2(tmp_path / "model")
    (folder / "clip.json").write_text('{"low": 1')
    assert call("models", "clip", folder, "--limit", "3", "-q") == 2
    assert "models clip MODEL --force" in " ".join(capfd.readouterr().err.split())
    assert call("models", "clip", folder, "--limit", "3", "-q", "--force") == 0
    assert strict((folder / "clip.json").read_text())["low"] < 0


def test_a_range_that_cannot_be_stored_is_told_all_the_same(models, tmp_path, capfd):
    folder = save_gpt2(tmp_path / "model")
    (folder / "clip.partial").mkdir()  # in the way of what is written
    capfd.readouterr()
    assert call("models", "clip", folder, "--limit", "3", "-q", "--json") == 2
    out, error = capfd.readouterr()
    found = strict(out)
    assert found["file"] is None
    assert f"Set low={found['low']} and high={found['high']} of the mechanism" in " ".join(error.split())
    assert not (folder / "clip.json").exists()


def test_a_prompt_without_a_place_for_the_text_is_refused(models, tmp_path, capfd):
    assert call("models", "clip", tmp_path, "--prompt", "Say it again:") == 2
    assert "it must contain {text}" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("kind", "prompt"),
    [
        ("save_t5", "Document : {text}\nParaphrase of the document :"), ("save_gpt2", "{text} >>>>> "),
        ("save_marian", "{text}"), ("save_roberta", "{text}"),
    ],
)  # fmt: skip
def test_a_model_is_given_the_prompt_of_its_mechanism_and_a_translator_the_text_alone(kind, prompt, tmp_path):
    import tiny_models
    from tedaudit.cli.models import _choose_prompt

    assert _choose_prompt(str(getattr(tiny_models, kind)(tmp_path)), "") == prompt


def test_a_mechanism_says_that_its_range_was_measured_on_another_model_until_one_is_measured(
    models, tmp_path, capfd
):
    folder = save_gpt2(tmp_path / "model")
    run = (
        "run", "-m", "dp-paraphrase", "--set", f"model={folder}", "-c", "demo", "-e", "5", "-t", "20",
        "--set", "max_tokens=4", "--set", "corpus.size=60", "-a", "lexical", "-q",
    )  # fmt: skip
    assert call(*run, "--out", tmp_path / "first") == 0
    told = "".join(capfd.readouterr())
    assert "no clip range was measured on" in told
    assert f"tedauditmodelsclip{folder}" in "".join(told.split())  # lines are folded
    assert call("models", "clip", folder, "--limit", "20", "-q") == 0
    capfd.readouterr()
    assert call(*run, "--out", tmp_path / "second") == 0
    assert "no clip range was measured on" not in "".join(capfd.readouterr())
