import json

import pytest
import torch

from tedaudit.errors import ModelError
from tedaudit.models.loading import WEIGHTS, load_checkpoint, load_quantised, save_quantised
from tiny_models import save_gpt2


@pytest.fixture
def folder(tmp_path):
    """A real model whose weights are stored as integers."""
    save_gpt2(tmp_path)
    model = load_checkpoint.__wrapped__("causal", str(tmp_path), device="cpu").model
    save_quantised(tmp_path / WEIGHTS, model.state_dict())
    for file in tmp_path.glob("*.safetensors"):
        if file.name != WEIGHTS:
            file.unlink()
    return tmp_path


def load(folder):
    return load_checkpoint.__wrapped__("causal", str(folder), device="cpu")


def test_matrices_are_off_by_half_a_step_at_most_and_vectors_not_at_all(tmp_path):
    generator = torch.Generator().manual_seed(0)
    given = {
        "matrix": torch.randn(50, 30, generator=generator) * torch.logspace(-6, 6, 50)[:, None],
        "block": torch.randn(4, 3, 5, generator=generator),
        "vector": torch.randn(7, generator=generator),
        "numbers": torch.arange(6).reshape(2, 3),
        "zeros": torch.zeros(3, 4),
    }
    save_quantised(tmp_path / "w", given)
    found = load_quantised(tmp_path / "w")
    assert set(found) == set(given)
    for name in ("vector", "numbers", "zeros"):
        assert torch.equal(found[name], given[name])
    for name in ("matrix", "block"):
        flat, back = given[name].flatten(1), found[name].flatten(1)
        step = flat.abs().amax(dim=1, keepdim=True) / 127
        assert ((flat - back).abs() <= 0.5001 * step).all()
        assert torch.allclose(back.abs().amax(dim=1), flat.abs().amax(dim=1), rtol=1e-6)


def test_tensors_that_share_their_memory_are_stored_once(tmp_path):
    one = torch.randn(20, 20)
    save_quantised(tmp_path / "w", {"a": one, "b": one, "c": one.clone()})
    assert set(load_quantised(tmp_path / "w")) == {"a", "c"}


def test_a_folder_with_integers_loads_as_the_model_that_they_came_from(folder):
    first, second = load(folder), load(folder)
    assert first.checksum() == second.checksum()
    weights = load_quantised(folder / WEIGHTS)
    state = first.model.state_dict()
    assert all(torch.equal(state[name], value) for name, value in weights.items())
    assert first.model.get_output_embeddings().weight is first.model.get_input_embeddings().weight
    assert not first.model.training
    assert first.clip is None


def test_integers_that_lack_a_weight_are_refused(folder):
    weights = load_quantised(folder / WEIGHTS)
    del weights["transformer.h.0.mlp.c_fc.weight"]
    save_quantised(folder / WEIGHTS, weights)
    with pytest.raises(
        ModelError, match=r"lacks 1 of the weights .*: transformer\.h\.0\.mlp\.c_fc\.weight\."
    ):
        load(folder)


def test_a_file_that_is_cut_off_is_refused(folder):
    raw = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(raw[: len(raw) // 2])
    with pytest.raises(ModelError, match="could not be loaded"):
        load(folder)


def test_a_range_of_logits_comes_with_the_folder(folder):
    (folder / "clip.json").write_text(json.dumps({"low": -3, "high": 4.5, "rule": "by hand"}))
    assert load(folder).clip == (-3.0, 4.5)
    (folder / "clip.json").write_text('{"low": "far"}')
    with pytest.raises(ModelError, match=r"clip\.json' must contain numbers named low and high"):
        load(folder)
