import pytest

from tedaudit.errors import ModelError, PathError
from tedaudit.inference.loading import (
    choose_device,
    choose_dtype,
    find_task,
    is_hub_reachable,
    load_checkpoint,
    resolve,
)
from tiny_models import save_gpt2, save_t5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(save_gpt2(tmp_path_factory.mktemp("gpt2")))


def test_a_folder_is_loaded_once_in_float32_on_a_cpu(folder):
    import torch

    checkpoint = load_checkpoint("causal", folder, device="cpu")
    assert checkpoint is load_checkpoint("causal", folder, device="cpu")
    assert checkpoint.model.dtype == torch.float32
    assert not checkpoint.model.training
    assert checkpoint.fixed_rows > 0


def test_a_model_says_if_it_has_an_encoder(folder, tmp_path):
    assert find_task(folder) == "causal"
    assert find_task(str(save_t5(tmp_path))) == "seq2seq"
    with pytest.raises(ModelError, match="nobody/no-such-model"):
        find_task("nobody/no-such-model")


def test_the_checksum_follows_the_weights(folder, tmp_path):
    other = load_checkpoint("causal", str(save_gpt2(tmp_path, seed=1)), device="cpu")
    assert load_checkpoint("causal", folder, device="cpu").checksum() != other.checksum()


def test_a_model_that_cannot_be_reached_says_both_ways_out():
    with pytest.raises(ModelError, match=r"nobody/no-such-model.*folder.*zoo"):
        load_checkpoint("causal", "nobody/no-such-model")


def test_a_model_of_the_zoo_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tedaudit_zoo", None)
    with pytest.raises(ModelError, match="pip install tedaudit-zoo"):
        resolve("zoo:mlm")


def test_transformers_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(ModelError, match=r"tedaudit\[models\]"):
        load_checkpoint("masked", "somewhere-else")


def test_devices_and_number_formats_are_chosen_by_name_or_by_what_is_there():
    import torch

    assert choose_device("cpu") == "cpu"
    assert choose_device() in ("cuda", "mps", "cpu")
    assert choose_dtype("auto", "cuda:0") == torch.bfloat16
    assert choose_dtype("auto", "cpu") == torch.float32
    with pytest.raises(ModelError, match="dtype is 'tiny'"):
        choose_dtype("tiny", "cpu")


def test_a_hub_that_cannot_be_reached_is_not_waited_for(monkeypatch):
    import socket

    from huggingface_hub import constants

    for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://nowhere.invalid")
    asked = []

    def refuse(address, timeout):
        asked.append((address, timeout))
        raise OSError("no network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    assert not is_hub_reachable("somebody/some-model")
    assert asked == [(("nowhere.invalid", 443), 5)]  # once, for five seconds at most


def test_a_hub_that_answers_is_reachable_unless_the_library_is_told_to_stay_offline(monkeypatch):
    import socket

    from huggingface_hub import constants

    for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(key, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        assert is_hub_reachable("somebody/some-model")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        assert not is_hub_reachable("somebody/some-model")


def test_a_folder_needs_no_hub(tmp_path):
    assert not is_hub_reachable(str(tmp_path))


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "~nobody-here/model"])
def test_what_no_folder_can_be_called_is_refused_in_one_line(name):
    with pytest.raises(PathError):
        resolve(name)
