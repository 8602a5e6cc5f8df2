import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tedaudit.errors import ModelError
from tedaudit.models.zoo import default_checkpoint, find_folder, is_default, list_folders, zoo_or

tedaudit_zoo = pytest.importorskip("tedaudit_zoo")
ROOT = Path(tedaudit_zoo.__file__).parent
NAMES = [
    "adept",
    "bart-plain",
    "bart-pruned",
    "encoder",
    "mlm",
    "paraphraser",
    "parser",
    "seq2seq",
    "triples",
]
ADAPTERS = ["mpnet-mlm", "smollm2-paraphraser"]


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of one model, which a test may damage."""
    shutil.copytree(ROOT / "models" / "vocabulary", tmp_path / "vocabulary")
    monkeypatch.setattr(tedaudit_zoo, "_MODELS", tmp_path)
    tedaudit_zoo.path.cache_clear()
    yield tmp_path / "vocabulary"
    tedaudit_zoo.path.cache_clear()


def test_all_models_are_there_and_fit_their_hashes():
    assert {*NAMES, *ADAPTERS} <= set(tedaudit_zoo.names())
    for name in tedaudit_zoo.names():
        assert tedaudit_zoo.path(name) == find_folder(f"zoo:{name}") == list_folders()[name]


def test_every_file_has_a_hash():
    hashes = json.loads((ROOT / "checksums.json").read_text("utf-8"))
    for name in tedaudit_zoo.names():
        place = ROOT / "models" / name
        files = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
        assert files - {"card.md"} == set(hashes[name])


def test_the_zoo_is_small():
    sizes = {path: path.stat().st_size for path in ROOT.parents[1].rglob("*") if path.is_file()}
    of_adapters = {name: sum(size for path, size in sizes.items() if name in path.parts) for name in ADAPTERS}
    assert sum(sizes.values()) - sum(of_adapters.values()) <= 48_000_000
    assert max(of_adapters.values()) <= 10_000_000
    assert max(sizes.values()) <= 15 * 2**20


@pytest.mark.parametrize("name", ["vocabulary", *NAMES, *ADAPTERS])
def test_every_model_has_a_card_with_data_licence_figures_limits_and_hashes(name):
    card = tedaudit_zoo.card(name)
    for part in ("## Data", "Licence", "## Training", "python recipes/", "## Figures", "## Limits"):
        assert part in card
    hashes = json.loads((ROOT / "checksums.json").read_text("utf-8"))[name]
    assert all(value in card for value in hashes.values())


def test_a_damaged_file_is_named_with_the_fix(copy):
    with (copy / "tokenizer.json").open("ab") as file:
        file.write(b" ")
    with pytest.raises(ModelError, match=r"'zoo:vocabulary'.*tokenizer\.json is damaged.*--force-reinstall"):
        find_folder("zoo:vocabulary")


def test_a_missing_file_is_named_with_the_fix(copy):
    (copy / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing.*--force-reinstall"):
        find_folder("zoo:vocabulary")


def test_a_model_that_is_not_in_the_zoo_is_refused_with_those_that_are():
    with pytest.raises(ModelError, match=r"no model 'mml' in the zoo\. There are: adept, .*mlm"):
        find_folder("zoo:mml")


def test_without_the_zoo_fields_take_the_other_checkpoint(monkeypatch):
    @dataclass
    class Plugin:
        model: str = zoo_or("mlm", "somebody/roberta")

    assert not is_default()  # switched off for the tests
    assert Plugin().model == default_checkpoint("mlm", "somebody/roberta") == "somebody/roberta"
    monkeypatch.delenv("TEDAUDIT_ZOO")
    assert Plugin().model == "zoo:mlm"
    assert Plugin("mine").model == "mine"
    monkeypatch.setitem(sys.modules, "tedaudit_zoo", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert Plugin().model == "somebody/roberta"
    assert list_folders() == {}
