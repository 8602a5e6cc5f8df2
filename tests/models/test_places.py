import pytest

from tedaudit.errors import ModelError, PathError
from tedaudit.models.places import caution_range, find_clip, is_hub_reachable, place_clip, resolve


def test_a_model_of_the_zoo_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tedaudit_zoo", None)
    with pytest.raises(ModelError, match="pip install tedaudit-zoo"):
        resolve("zoo:mlm")


def test_a_hub_that_cannot_be_reached_is_not_waited_for(monkeypatch):
    import socket

    from huggingface_hub import constants

    for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://nowhere.invalid")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
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


def test_a_library_that_is_told_to_stay_offline_does_so_behind_a_proxy_too(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert is_hub_reachable("somebody/some-model")  # the libraries find out
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert not is_hub_reachable("somebody/some-model")


def test_a_folder_needs_no_hub(tmp_path):
    assert not is_hub_reachable(str(tmp_path))


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "~nobody-here/model"])
def test_what_no_folder_can_be_called_is_refused_in_one_line(name):
    with pytest.raises(PathError):
        resolve(name)


def test_a_range_measured_on_a_hub_model_is_found_by_its_id_and_revision(tmp_path, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_MODELS", str(tmp_path))
    file = place_clip("some/model", "abc")
    assert file.is_relative_to(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text('{"low": -1, "high": 2}')
    assert find_clip("some/model", "abc") == (-1.0, 2.0)
    assert find_clip("some/model") is None
    assert caution_range("some/model", None, None, (0, 1), "gpt2", "abc") == ()
    [caution] = caution_range("some/model", None, None, (0, 1), "gpt2", "main")
    assert "`tedaudit models clip some/model --revision main`" in caution


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (None, None, "clipped to [0, 1], as measured on gpt2. The"),
        (-3, None, "clipped to [-3, 1], as measured on gpt2 at the upper end. The"),
        (None, 3, "clipped to [0, 3], as measured on gpt2 at the lower end. The"),
    ],
)
def test_an_end_of_a_range_that_was_given_is_not_told_as_measured(low, high, told, tmp_path):
    [caution] = caution_range(str(tmp_path), low, high, (0, 1), "gpt2")
    assert told in caution
