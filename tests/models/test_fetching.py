"""Models are fetched from a hub, a server on this machine, or taken from a folder that was brought."""

import importlib.util
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from model_servers import make_entry, make_hub, serve
from tedaudit.errors import ModelError
from tedaudit.models import catalogue, fetching
from tedaudit.models.catalogue import (
    ENTRIES,
    Entry,
    File,
    Repository,
    find_entry,
    find_model,
    list_got,
)
from tedaudit.models.fetching import fetch, is_here
from tedaudit.models.loading import load_checkpoint
from tedaudit.models.places import find_clip, resolve
from tiny_models import save_gguf, save_marian, save_roberta

CHILD = """
import pickle, sys
from tedaudit.errors import ModelError
from tedaudit.models.fetching import fetch
try:
    print(fetch(pickle.load(open(sys.argv[1], "rb")), quiet=False))
except ModelError as error:
    print("refused:", error)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_roberta(tmp_path_factory.mktemp("model"))


@pytest.fixture
def models(tmp_path, monkeypatch):
    """The folder of models, and no proxy."""
    folder = tmp_path / "models"
    monkeypatch.setenv("TEDAUDIT_MODELS", str(folder))
    for key in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(key, raising=False)
    return folder


def begin(entry, tmp_path, **environment):
    """Start a process that fetches an entry: addresses are read when libraries are imported."""
    (tmp_path / "entry").write_bytes(pickle.dumps(entry))
    settings = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", **environment}
    settings["HF_HOME"] = str(tmp_path / "hf")
    command = [sys.executable, "-c", CHILD, str(tmp_path / "entry")]
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def child(entry, tmp_path, **environment):
    """Return what such a process prints."""
    return begin(entry, tmp_path, **environment).communicate(timeout=300)[0].strip()


def holds(folder, model):
    return all((folder / path.name).read_bytes() == path.read_bytes() for path in model.iterdir())


# --- A folder that was brought.


def test_what_is_brought_is_checked_and_only_the_files_of_the_model_are_taken(model, models, tmp_path):
    entry = make_entry(model)
    brought = shutil.copytree(model, tmp_path / "brought")
    (brought / ".cache").mkdir()
    (brought / "notes.txt").write_text("mine")
    folder = fetch(entry, brought)
    assert folder == models / "tiny"
    assert holds(folder, model)
    assert {path.name for path in folder.iterdir()} == {path.name for path in model.iterdir()} | {
        "source.json"
    }
    assert {path.name for path in models.iterdir()} == {"tiny", ".tiny.lock"}  # nothing half-made
    about = json.loads((folder / "source.json").read_text())
    assert about["taken"] == {file.path: file.sha256 for file in entry.files}
    assert load_checkpoint("masked", "models:tiny", device="cpu").name == "models:tiny"
    assert list_got() == {"models:tiny": folder}


def test_a_file_that_is_missing_from_what_is_brought_is_named_with_where_it_is_had(model, models, tmp_path):
    brought = shutil.copytree(model, tmp_path / "brought")
    (brought / "config.json").unlink()
    with pytest.raises(ModelError, match=r"brought' lacks config\.json\. .*'tiny'.* some/tiny at 0123456789"):
        fetch(make_entry(model), brought)
    with pytest.raises(ModelError, match=r"nowhere' lacks config\.json, .*model\.safetensors"):
        fetch(make_entry(model), tmp_path / "nowhere")
    assert [path.name for path in models.iterdir()] == [".tiny.lock"]


def test_a_file_that_was_changed_before_it_was_brought_is_named_and_not_used(model, models, tmp_path):
    brought = shutil.copytree(model, tmp_path / "brought")
    body = (brought / "model.safetensors").read_bytes()
    (brought / "model.safetensors").write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
    with pytest.raises(
        ModelError, match=r"model\.safetensors' is not the file that was pinned.* Bring it again from there"
    ):
        fetch(make_entry(model), brought)
    assert [path.name for path in models.iterdir()] == [".tiny.lock"]
    assert (brought / "model.safetensors").is_file()  # what is somebody's own stays


def test_what_a_killed_process_left_is_no_model_and_the_next_one_begins_anew(model, models):
    (models / ".tiny.partial").mkdir(parents=True)
    (models / ".tiny.partial" / "model.safetensors").write_bytes(b"half")
    assert list_got() == {}
    folder = fetch(make_entry(model), model)
    assert holds(folder, model)
    assert [path.name for path in models.glob(".*")] == [".tiny.lock"]


def test_two_processes_do_not_fetch_a_model_at_once(model, models):
    fcntl = pytest.importorskip("fcntl")
    models.mkdir()
    with (models / ".tiny.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(ModelError, match="Another process is getting 'tiny'"):
            fetch(make_entry(model), model)


def test_a_process_that_waited_for_the_lock_of_another_keeps_a_third_out(model, models):
    """If the file were removed at the end, one would hold the old one, and the next a new one of its name."""
    fcntl = pytest.importorskip("fcntl")
    models.mkdir()
    lock = models / ".tiny.lock"
    with fetching._hold(lock, "tiny"):
        waiting = lock.open("w")
    with waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)
        with pytest.raises(ModelError, match="Another process is getting 'tiny'"):
            fetch(make_entry(model), model)


def test_old_weights_are_stored_as_safetensors_tied_once_and_our_clip_range_is_added(models, tmp_path):
    import torch
    from safetensors import safe_open

    folder = save_marian(tmp_path / "marian")
    whole = load_checkpoint("seq2seq", str(folder), device="cpu")
    torch.save(whole.model.state_dict(), folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    (folder / "model.safetensors").unlink()
    clips = {"": {"low": -1.5, "high": 2.5, "measured_on": "a test"}}
    entry = make_entry(folder, conversion="pickle", clips=clips)
    made = fetch(entry, folder)
    assert not (made / "pytorch_model.bin").exists()
    with safe_open(made / "model.safetensors", "pt") as file:
        names = list(file.keys())
    tied = ("shared.weight", "embed_tokens.weight", "lm_head.weight")
    assert sum(name.endswith(tied) for name in names) == 1
    again = load_checkpoint("seq2seq", "models:tiny", device="cpu")
    assert again.checksum() == whole.checksum()
    assert again.clip == (-1.5, 2.5) == find_clip(str(made))


def test_a_gguf_file_is_unpacked_to_a_model_with_its_tokenizer(models, tmp_path):
    pytest.importorskip("gguf")
    folder = tmp_path / "packed"
    folder.mkdir()
    stored = save_gguf(folder)
    entry = make_entry(folder, conversion="gguf")
    made = fetch(entry, folder)
    assert not (made / "model.gguf").exists()
    checkpoint = load_checkpoint("causal", "models:tiny", dtype="float32", device="cpu")
    weights = checkpoint.model.state_dict()
    parts = {
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    }  # fmt: skip
    names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"} | {
        f"blk.{layer}.{theirs}": f"model.layers.{layer}.{ours}"
        for layer in range(2)
        for theirs, ours in parts.items()
    }
    assert {f"{name}.weight" for name in names} == stored.keys()
    assert {f"{name}.weight" for name in names.values()} | {"lm_head.weight"} == weights.keys()
    for theirs, ours in names.items():
        value = stored[f"{theirs}.weight"]
        if theirs.endswith(("attn_q", "attn_k")):  # the format has the halves that are rotated in turn
            value = value.reshape(4, 4, 2, 32).swapaxes(1, 2).reshape(32, 32)
        assert np.array_equal(weights[f"{ours}.weight"].numpy(), value), ours
    assert checkpoint.model.lm_head.weight.data_ptr() == checkpoint.model.model.embed_tokens.weight.data_ptr()
    assert checkpoint.tokenizer.decode(checkpoint.tokenizer.encode("b a")) == "b a"


def test_a_gguf_file_that_lacks_a_weight_is_not_completed_with_a_random_one(models, tmp_path):
    pytest.importorskip("gguf")
    folder = tmp_path / "packed"
    folder.mkdir()
    save_gguf(folder, lacks="blk.1.ffn_down.weight")
    with pytest.raises(ModelError, match=r"'tiny' lacks 1 of the weights .*layers\.1\.mlp\.down_proj"):
        fetch(make_entry(folder, conversion="gguf"), folder)
    assert not (models / "tiny").exists()


def test_what_unpacking_needs_is_named_before_anything_is_fetched(models, tmp_path, monkeypatch):
    folder = tmp_path / "packed"
    folder.mkdir()
    (folder / "model.gguf").write_bytes(b"GGUF")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "accelerate" else found(name, *rest)
    )
    with pytest.raises(ModelError, match=r"Getting 'tiny' needs accelerate"):
        fetch(make_entry(folder, conversion="gguf"), folder)
    assert not models.exists()


NAME = "lm_head.bias"  # of the weight that the adapter of these tests replaces


@pytest.fixture
def adapted(model, models, tmp_path, monkeypatch):
    """An entry for an adapter, and the adapter's folder."""
    from safetensors.torch import load_file, save_file

    monkeypatch.setitem(catalogue.ENTRIES, "tiny", make_entry(model))
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    save_file({NAME: load_file(model / "model.safetensors")[NAME] + 1}, adapter / "adapter.safetensors")
    (adapter / "adapter.json").write_text('{"base": "tiny"}')
    monkeypatch.setattr(fetching, "find_folder", lambda reference: adapter)
    entry = Entry("mine", "Mine.", "none", memory=1, made=1, base="tiny", adapter="zoo:mine")
    return entry, adapter


def test_an_adapter_is_laid_over_its_base_which_is_taken_first(model, models, adapted):
    import torch
    from safetensors.torch import load_file, save_file

    entry, adapter = adapted
    made = fetch(entry, model)
    assert holds(models / "tiny", model)
    whole, changed = load_file(model / "model.safetensors"), load_file(made / "model.safetensors")
    assert torch.equal(changed[NAME], whole[NAME] + 1)
    assert all(torch.equal(changed[key], whole[key]) for key in whole.keys() - {NAME})
    about = json.loads((made / "source.json").read_text())
    assert (about["base"], about["adapter"]) == ("tiny", "zoo:mine")
    load_checkpoint("masked", "models:mine", device="cpu")
    assert is_here(entry)
    save_file({NAME: whole[NAME] + 2}, adapter / "adapter.safetensors")  # the zoo has a newer one
    assert not is_here(entry)
    assert torch.equal(load_file(fetch(entry) / "model.safetensors")[NAME], whole[NAME] + 2)  # asks no hub
    (made / "source.json").unlink()  # put there by hand: it stays
    save_file({NAME: whole[NAME] + 3}, adapter / "adapter.safetensors")
    assert is_here(entry)


def test_an_adapter_is_not_laid_over_a_base_of_other_bits(model, models, adapted, monkeypatch):
    from safetensors.torch import load_file, save_file

    entry, _ = adapted
    file = shutil.copytree(model, models / "tiny") / "model.safetensors"
    other = load_file(file)
    other[NAME] = other[NAME] + 1
    save_file(other, file, metadata={"format": "pt"})
    with pytest.raises(
        ModelError, match=r"is not the file that 'tiny' has .*Call that folder something else"
    ):
        fetch(entry)
    unpinned = replace(ENTRIES["tiny"], files=[])  # as those that are converted here
    monkeypatch.setitem(catalogue.ENTRIES, "tiny", unpinned)
    (models / "tiny" / "source.json").write_text('{"files": {"model.safetensors": "0"}}')
    with pytest.raises(ModelError, match="is not the file that 'tiny' has"):
        fetch(entry)
    (models / "tiny" / "source.json").unlink()  # of a base that was put there by hand nothing is known
    fetch(entry)
    monkeypatch.setitem(catalogue.ENTRIES, "tiny", make_entry(model))
    assert is_here(entry)  # what is made does not need its base


def test_an_adapter_is_not_laid_over_another_base_than_its_own(models, adapted):
    entry, adapter = adapted
    (adapter / "adapter.json").write_text('{"base": "large"}')
    with pytest.raises(ModelError, match=r"'zoo:mine' was made for 'large', and is not laid over 'tiny'"):
        fetch(entry)
    assert not models.exists()  # nothing was fetched


def test_a_model_is_replaced_although_the_old_one_cannot_be_deleted(model, models, monkeypatch):
    """As on a network, where a file that somebody has open cannot be: half of the old folder was left."""
    (models / "tiny").mkdir(parents=True)
    (models / "tiny" / "old.bin").touch()
    shutil.copytree(model, models / ".tiny.partial")
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    fetching._replace(models / "tiny", models / ".tiny.partial")
    assert holds(models / "tiny", model)
    assert not (models / "tiny" / "old.bin").exists()


def test_a_model_is_here_if_every_name_of_it_can_be_resolved(models):
    entry = ENTRIES["opus-mt"]
    for done, reference in enumerate(entry.references):
        assert not is_here(entry), done
        folder = models / reference.removeprefix("models:")
        folder.mkdir(parents=True)
        (folder / "config.json").touch()  # as a copy that was broken off leaves it
        with pytest.raises(ModelError, match="not on this machine"):
            resolve(reference)
        assert not is_here(entry), done
        (folder / "model.safetensors").touch()
        assert resolve(reference) == str(folder)
    assert is_here(entry)


def test_what_somebody_put_in_the_place_of_a_model_is_not_replaced(model, models):
    (models / "tiny").mkdir(parents=True)
    (models / "tiny" / "notes.txt").write_text("mine")
    with pytest.raises(ModelError, match=r"tiny' is in the way: .*Remove it"):
        fetch(make_entry(model), model)
    (models / "tiny" / "notes.txt").unlink()  # an empty folder is nobody's
    assert holds(fetch(make_entry(model), model), model)


def test_an_adapter_of_the_zoo_is_no_model_by_itself():
    pytest.importorskip("tedaudit_zoo")
    with pytest.raises(ModelError, match=r"'zoo:mpnet-mlm' is an adapter.*`tedaudit models get mpnet-mlm`"):
        resolve("zoo:mpnet-mlm")


# --- The hub.


def test_a_hub_hands_out_the_pinned_commit(model, models, tmp_path):
    entry, hub = make_hub(model)
    with serve(hub, is_hub=True):
        assert child(entry, tmp_path, HF_ENDPOINT=hub.url) == str(models / "tiny")
    assert holds(models / "tiny", model)
    assert json.loads((models / "tiny" / "source.json").read_text())["hub"] == [
        "some/tiny@0123456789abcdef0123456789abcdef01234567"
    ]
    assert [path.name for path in models.glob(".*")] == [".tiny.lock"]


def test_a_model_may_be_of_two_repositories_each_in_its_folder(model, models, tmp_path):
    entry, hub = make_hub(model)
    files = [File(f"{side}/{one.path}", one.bytes, one.sha256) for side in ("a", "b") for one in entry.files]
    commit = entry.hub[0].revision
    entry = replace(entry, files=files, hub=[Repository("some/tiny", commit, side) for side in ("a", "b")])
    with serve(hub, is_hub=True):
        assert child(entry, tmp_path, HF_ENDPOINT=hub.url) == str(models / "tiny")
    assert holds(models / "tiny" / "a", model)
    assert holds(models / "tiny" / "b", model)


@pytest.mark.parametrize("settings", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}])
def test_without_a_hub_it_is_told_what_takes_its_place(settings, model, models, tmp_path):
    told = child(make_entry(model), tmp_path, **settings)
    assert told.startswith("refused: The hub cannot be reached.")
    assert "tedaudit models get tiny --from FOLDER" in told
    assert "recipes/models_from_packages.py" in told
    assert not (models / "tiny").exists()


def test_a_hub_that_refuses_is_told_with_the_file_and_its_reason(model, models, tmp_path):
    entry, hub = make_hub(model)
    hub.status = 403  # of a company's gate
    with serve(hub, is_hub=True):
        told = child(entry, tmp_path, HF_ENDPOINT=hub.url)
    assert "refused: The hub did not hand out 'config.json' of some/tiny at 0123456789" in told
    assert "tedaudit models get tiny --from FOLDER" in told


def test_a_file_of_the_hub_that_has_changed_is_not_used_and_not_kept(model, models, tmp_path):
    entry, hub = make_hub(model)
    body = hub.files["some/tiny/model.safetensors"]
    hub.files["some/tiny/model.safetensors"] = body[:-1] + bytes([body[-1] ^ 1])
    with serve(hub, is_hub=True):
        told = child(entry, tmp_path, HF_ENDPOINT=hub.url)
        assert "model.safetensors' is not the file that was pinned, and is not used: its SHA-256 is" in told
        assert "Run the same command again to download it anew" in told
        assert not (models / "tiny").exists()
        assert not list(models.rglob("model.safetensors"))
        hub.files["some/tiny/model.safetensors"] = body
        assert child(entry, tmp_path, HF_ENDPOINT=hub.url) == str(models / "tiny")
    assert holds(models / "tiny", model)


def test_a_file_that_the_hub_no_longer_has_is_named_with_the_other_way(model, models, tmp_path):
    entry, hub = make_hub(model)
    del hub.files["some/tiny/config.json"]
    with serve(hub, is_hub=True):
        told = child(entry, tmp_path, HF_ENDPOINT=hub.url)
    assert "refused: The hub did not hand out 'config.json' of some/tiny at 0123456789" in told
    assert "404" in told
    assert "tedaudit models get tiny --from FOLDER" in told
    assert not (models / "tiny").exists()


def test_a_connection_that_is_cut_is_taken_up_where_it_ended(models, tmp_path):
    """By the library, which asks for the rest."""
    large = tmp_path / "large"
    large.mkdir()
    (large / "model.safetensors").write_bytes(os.urandom(24 << 20))
    entry, hub = make_hub(large)
    hub.cut = 1
    with serve(hub, is_hub=True):
        assert child(entry, tmp_path, HF_ENDPOINT=hub.url) == str(models / "tiny")
    assert any(range_asked for _, _, range_asked in hub.asked)
    assert holds(models / "tiny", large)


@pytest.fixture
def two_files(tmp_path):
    """A model of two files, and a hub that cuts the second off whenever it is asked for it."""
    large = tmp_path / "large"
    large.mkdir()
    for name in ("a.safetensors", "b.safetensors"):
        (large / name).write_bytes(os.urandom(2 << 20))
    entry, hub = make_hub(large)
    hub.cut, hub.cut_at = 1000, "b.safetensors"
    return large, entry, hub


def goes_on(two_files, models, tmp_path):
    """Return whether the next process asks for what has not arrived alone, and nothing else is left."""
    large, entry, hub = two_files
    assert list_got() == {}
    assert not (models / "tiny").exists()
    hub.cut = 0
    hub.asked.clear()
    assert child(entry, tmp_path, HF_ENDPOINT=hub.url) == str(models / "tiny")
    assert holds(models / "tiny", large)
    assert [path.name for path in models.glob(".*")] == [".tiny.lock"]
    return not any("a.safetensors" in name for _, name, _ in hub.asked)


def test_a_hub_that_is_gone_in_the_middle_leaves_the_files_that_have_arrived(two_files, models, tmp_path):
    _, entry, hub = two_files
    with serve(hub, is_hub=True):
        told = child(entry, tmp_path, HF_ENDPOINT=hub.url, HF_HUB_DOWNLOAD_TIMEOUT="2")
        assert "refused: The hub did not hand out 'b.safetensors'" in told
        assert "Files that have arrived are kept, and the same command goes on" in told
        assert goes_on(two_files, models, tmp_path)


def test_a_process_that_is_killed_leaves_the_files_that_have_arrived(two_files, models, tmp_path):
    _, entry, hub = two_files
    with serve(hub, is_hub=True):
        running = begin(entry, tmp_path, HF_ENDPOINT=hub.url)
        while not any("b.safetensors" in name for _, name, _ in hub.asked):
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert goes_on(two_files, models, tmp_path)


def test_two_processes_that_begin_at_once_leave_one_whole_model(model, models, tmp_path):
    entry, hub = make_hub(model)
    with serve(hub, is_hub=True):
        both = [begin(entry, tmp_path, HF_ENDPOINT=hub.url) for _ in range(2)]
        told = [one.communicate(timeout=300)[0].strip() for one in both]
    assert str(models / "tiny") in told
    busy = "refused: Another process is getting 'tiny'. Wait for it to end."
    assert set(told) <= {str(models / "tiny"), busy}
    assert holds(models / "tiny", model)
    assert [path.name for path in models.glob(".*")] == [".tiny.lock"]


# --- The catalogue.


def test_a_model_that_is_not_here_is_refused_with_the_command_that_gets_it(models):
    for reference in ("models:opus-mt/fr-en", "models:smollm2"):
        bare = reference.removeprefix("models:").split("/")[0]
        with pytest.raises(ModelError, match=rf"is not on this machine .*: tedaudit models get {bare}$"):
            resolve(reference)
    with pytest.raises(ModelError, match=r"names no model; use models:opus-mt/en-fr, models:opus-mt/fr-en"):
        resolve("models:opus-mt")
    with pytest.raises(ModelError, match=r"Did you mean 'smollm2'"):
        resolve("models:smolm2")


@pytest.mark.parametrize(
    "name", ["models:", "models:../etc", "models:/etc", "models:.tiny.arriving", "models:a/../../b"]
)
def test_a_reference_does_not_lead_out_of_the_folder_of_models(name, models):
    models.mkdir()
    with pytest.raises(ModelError, match="must be models:NAME"):
        find_model(name)


def test_the_folder_of_models_is_in_the_cache_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("TEDAUDIT_MODELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "tedaudit" / "models" / "mine").mkdir(parents=True)
    (tmp_path / "tedaudit" / "models" / "mine" / "config.json").write_text("{}")
    assert resolve("models:mine") == str(tmp_path / "tedaudit" / "models" / "mine")


def test_every_entry_pins_what_it_takes_and_says_its_licence():
    for entry in ENTRIES.values():
        assert entry.licence.startswith("apache-2.0")
        assert entry.memory > 0 < entry.made
        if entry.base:
            assert (ENTRIES[entry.base].name, entry.adapter) == (entry.base, f"zoo:{entry.name}")
            continue
        assert all(len(file.sha256) == 64 and file.bytes > 0 for file in entry.files)
        assert all(len(one.revision) == 40 for one in entry.hub)
        taken = [file for one in entry.hub for file in one.list_files(entry.files)]
        assert taken == list(entry.files)  # each of one repository
    assert find_entry("models:opus-mt/fr-en").name == "opus-mt"
    with pytest.raises(ModelError, match=r"no model 'opus'.*There are: "):
        find_entry("opus")
