"""BART loads plain and as released, reads windows, and decodes as the library does."""

import numpy as np
import pytest

from tedaudit.errors import ModelError
from tedaudit.models.autoencoders import bart
from tedaudit.models.autoencoders.bart import (
    PRUNED,
    beam_decode,
    cut_windows,
    encode,
    load_bart,
    prune_order,
    read_pruned,
)
from tiny_models import SENTENCES, one_thread, save_bart


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with one_thread():
        yield str(save_bart(tmp_path_factory.mktemp("bart")))


@pytest.fixture
def loaded(folder):
    return load_bart(folder, device="cpu").checkpoint


def _release(model, lm_head=None):
    """Return weights under the names of a release: one more `model.`, and an output matrix of their own."""
    state = {f"model.{name}": value.clone() for name, value in model.state_dict().items()}
    if lm_head is not None:
        state["model.lm_head.weight"] = lm_head
    return state


@pytest.fixture
def other(tmp_path):
    """Return a model of the same shape with other weights."""
    return load_bart(str(save_bart(tmp_path / "other", seed=1)), device="cpu").checkpoint.model


def test_a_window_is_cut_and_padded_and_never_empty(loaded):
    read = cut_windows(loaded, [SENTENCES[0], "", "word " * 10_000, "\ud800"], 20)
    assert read.ids.shape == read.mask.shape == (4, 20)
    assert read.mask.sum(dim=1).tolist()[1:3] == [2, 20]
    assert read.ids[2, 0] == 0
    assert read.ids[2, -1] == 2
    assert read.ids[1].tolist() == [0, 2] + [1] * 18


def test_the_encoder_gives_what_the_library_gives(loaded):
    import torch

    read = cut_windows(loaded, SENTENCES, 20)
    with torch.inference_mode():
        wanted = loaded.model.get_encoder()(input_ids=read.ids, attention_mask=read.mask).last_hidden_state
    assert encode(loaded, read) == pytest.approx(wanted.numpy(), abs=1e-5)


def test_a_beam_decode_is_the_librarys_own(loaded):
    import torch

    for text in SENTENCES:
        read = cut_windows(loaded, [text + " and the rest is cut"], 20)
        assert read.mask.all()
        with torch.inference_mode():
            library = loaded.model.generate(
                input_ids=read.ids, attention_mask=read.mask, num_beams=3, max_length=20, early_stopping=True
            )[0].tolist()
        (tokens,) = beam_decode(loaded, encode(loaded, read), read.mask, beams=3, length=20)
        assert [2, *tokens] == library[: len(tokens) + 1]
        assert set(library[len(tokens) + 1 :]) <= {1}


def test_beams_stop_as_soon_as_enough_of_them_have_ended(loaded):
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    hidden = np.random.default_rng(2).normal(scale=3.0, size=(48, 20, 16)).astype(np.float32)
    mask = torch.ones((48, 20), dtype=torch.long)
    library = {}
    for early in (True, False):
        with torch.inference_mode():
            encoded = BaseModelOutput(last_hidden_state=torch.from_numpy(hidden))
            library[early] = loaded.model.generate(
                encoder_outputs=encoded, attention_mask=mask, num_beams=3, max_length=20, early_stopping=early
            ).tolist()
    assert library[True] != library[False]
    for tokens, row in zip(beam_decode(loaded, hidden, mask, 3, 20), library[True], strict=True):
        assert [2, *tokens] == row[: len(tokens) + 1]


def test_decoding_does_not_depend_on_the_batch(loaded):
    import torch

    hidden = np.random.default_rng(0).normal(scale=3.0, size=(37, 20, 16)).astype(np.float32)
    mask = torch.ones((37, 20), dtype=torch.long)
    together = beam_decode(loaded, hidden, mask, beams=3, length=20)
    assert len({len(tokens) for tokens in together}) > 3  # some end early, some at the last step
    for i in (0, 15, 16, 36):
        assert beam_decode(loaded, hidden[i : i + 1], mask[:1], beams=3, length=20) == [together[i]]
    order = np.random.default_rng(1).permutation(37)
    assert beam_decode(loaded, hidden[order], mask, beams=3, length=20) == [together[i] for i in order]


def test_a_release_loads_whatever_its_wrapping(folder, other, tmp_path):
    import torch
    from safetensors.torch import save_file

    wanted = other.state_dict()
    library = {name: value.clone() for name, value in wanted.items()}
    torch.save(_release(other), tmp_path / "bare.pt")
    torch.save({"model_state_dict": _release(other), "checkpoint_epoch": 3}, tmp_path / "wrapped.pt")
    torch.save(library, tmp_path / "library.pt")
    save_file(_release(other), tmp_path / "release.safetensors")
    for name in ("bare.pt", "wrapped.pt", "library.pt", "release.safetensors"):
        model = load_bart(folder, weights=str(tmp_path / name), device="cpu").checkpoint.model
        assert all(torch.equal(value, wanted[key]) for key, value in model.state_dict().items())


def test_a_release_keeps_its_own_output_matrix(folder, other, tmp_path):
    import torch

    own = torch.randn(other.lm_head.weight.shape, generator=torch.Generator().manual_seed(3))
    torch.save(_release(other, own), tmp_path / "release.pt")
    model = load_bart(folder, weights=str(tmp_path / "release.pt"), device="cpu").checkpoint.model
    assert torch.equal(model.lm_head.weight, own)
    assert torch.equal(model.model.shared.weight, other.model.shared.weight)
    assert torch.equal(model.get_encoder().embed_tokens.weight, other.model.shared.weight)


def test_a_release_leaves_the_plain_model_as_it_was(folder, other, loaded, tmp_path):
    import torch

    before = loaded.checksum()
    torch.save(_release(other), tmp_path / "release.pt")
    released = load_bart(folder, weights=str(tmp_path / "release.pt"), device="cpu").checkpoint
    assert released.checksum() != before
    assert load_bart(folder, device="cpu").checkpoint.checksum() == loaded.checksum() == before


def test_weights_that_do_not_fit_are_named(folder, other, tmp_path):
    import torch

    state = _release(other)
    del state["model.model.encoder.layers.0.fc1.weight"]
    state["model.adapter.weight"] = torch.zeros(2)
    torch.save(state, tmp_path / "wrong.pt")
    with pytest.raises(ModelError, match=r"1 missing \(model.encoder.layers.0.fc1.weight\)") as caught:
        load_bart(folder, weights=str(tmp_path / "wrong.pt"), device="cpu")
    assert "1 not of this model (adapter.weight)" in str(caught.value)
    wide = {name: torch.zeros(3, 3) for name in _release(other)}
    torch.save(wide, tmp_path / "wide.pt")
    with pytest.raises(ModelError, match=r"do not fit the model: size mismatch .* facebook/bart-base"):
        load_bart(folder, weights=str(tmp_path / "wide.pt"), device="cpu")


class _Harmful:
    """An object that writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_file_that_would_run_code_is_refused(folder, tmp_path):
    import torch

    torch.save({"model_state_dict": _Harmful(str(tmp_path / "ran"))}, tmp_path / "harmful.pt")
    with pytest.raises(ModelError, match="contain only tensors"):
        load_bart(folder, weights=str(tmp_path / "harmful.pt"), device="cpu")
    assert not (tmp_path / "ran").exists()
    with pytest.raises(ModelError, match=r"nowhere\.pt' could not be read"):
        load_bart(folder, weights=str(tmp_path / "nowhere.pt"), device="cpu")


def test_pruned_dimensions_are_read_from_any_of_the_formats(folder, tmp_path):
    import torch
    from safetensors.torch import save_file

    dimensions = torch.tensor([9, 1, 4])
    mask = torch.zeros(16, dtype=torch.bool)
    mask[dimensions] = True
    torch.save(dimensions, tmp_path / "numbers.pt")
    torch.save(mask, tmp_path / "mask.pt")
    np.save(tmp_path / "numbers.npy", dimensions.numpy().astype(np.int32))
    np.save(tmp_path / "mask.npy", mask.numpy())
    save_file({"pruned": dimensions}, tmp_path / "numbers.safetensors")
    for name in ("numbers.pt", "mask.pt", "numbers.npy", "mask.npy", "numbers.safetensors"):
        assert read_pruned(str(tmp_path / name), 16).tolist() == [1, 4, 9]
    kept = load_bart(folder, pruned=str(tmp_path / "mask.pt"), device="cpu").kept
    assert kept.tolist() == [i for i in range(16) if i not in (1, 4, 9)]


def test_a_folder_names_its_own_pruned_dimensions(other, tmp_path):
    import torch
    from safetensors.torch import save_file

    folder = str(save_bart(tmp_path / "pruned"))
    save_file({"pruned": torch.tensor([2, 3], dtype=torch.int16)}, tmp_path / "pruned" / PRUNED)
    np.save(tmp_path / "given.npy", np.array([5]))
    torch.save(_release(other), tmp_path / "release.pt")
    left = {
        "own": load_bart(folder, device="cpu"),
        "given": load_bart(folder, pruned=str(tmp_path / "given.npy"), device="cpu"),
        "none": load_bart(folder, pruned="none", device="cpu"),
        "other weights": load_bart(folder, weights=str(tmp_path / "release.pt"), device="cpu"),
    }
    pruned = {name: sorted({*range(16)} - {*found.kept.tolist()}) for name, found in left.items()}
    assert pruned == {"own": [2, 3], "given": [5], "none": [], "other weights": []}


@pytest.mark.parametrize(
    "values", [[16], [-1], [0.5], [[1, 2]], [True] * 15, list(range(16)), [True] * 16], ids=str
)
def test_dimensions_that_cannot_be_pruned_are_refused(tmp_path, values):
    np.save(tmp_path / "pruned.npy", np.array(values))
    with pytest.raises(ModelError, match="numbers from 0 to 15, or 16 Booleans"):
        read_pruned(str(tmp_path / "pruned.npy"), 16)


def test_the_least_used_dimensions_come_first_in_the_order_of_pruning(folder):
    import copy

    import torch

    model = copy.deepcopy(load_bart(folder, device="cpu").checkpoint.model)
    key = model.model.decoder.layers[0].encoder_attn.k_proj.weight
    use = torch.tensor([5, 3, 8, 1, 9, 2, 7, 4, 6, 0, 15, 11, 13, 12, 14, 10])
    signs = torch.where(torch.arange(16) % 2 == 0, 1.0, -1.0)  # absolute weights count
    key.data = signs[:, None] * use[None, :].float()
    assert prune_order(model) == use.argsort().tolist()


def test_batches_are_full_on_a_cpu_and_count_each_row_once(loaded):
    seen = []
    for rows, count in bart.iterate_batches(loaded, 37, {"cpu": 16, "cuda": 99}):
        assert len(rows) == 16
        seen += rows[:count].tolist()
    assert seen == list(range(37))
