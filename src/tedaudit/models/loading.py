"""Models by reference: a hub id, a folder, `zoo:NAME` (the small ones of tedaudit-zoo), or `models:NAME`.

Weights load from safetensors, or from older files with `weights_only`; remote code is never run.
"""

import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError
from tedaudit.models.missing import drop_pooler, refuse_missing, report_bias
from tedaudit.models.places import find_clip, is_hub_reachable, resolve
from tedaudit.models.silence import silence_loading
from tedaudit.plugins.extras import explain_missing, is_installed, require

# --- What a masked language model said last: rewriting and the likelihood attack read the same texts.

_CELLS = 1 << 25  # logits that are kept: 128 MiB of float32


class RowMemory:
    """Rows of logits by what the model read and where the mask was; the least recently used ones go first."""

    def __init__(self, cells: int = _CELLS) -> None:
        self._rows: OrderedDict[tuple[bytes, int], Any] = OrderedDict()
        self._cells = cells
        self._used = 0

    def find(self, ids: Sequence[int], position: int) -> Any | None:
        """Return the logits for a row if they are known."""
        key = _make_key(ids, position)
        if key in self._rows:
            self._rows.move_to_end(key)
        return self._rows.get(key)

    def keep(self, ids: Sequence[int], position: int, logits: Any) -> None:
        """Remember the logits of a row, in place of the oldest ones if there is no room."""
        key = _make_key(ids, position)
        if key in self._rows or logits.numel() > self._cells:
            return
        self._rows[key] = logits.clone()  # a part of a batch would keep the whole batch in memory
        self._used += logits.numel()
        while self._used > self._cells:
            _, oldest = self._rows.popitem(last=False)
            self._used -= oldest.numel()


def _make_key(ids: Sequence[int], position: int) -> tuple[bytes, int]:
    return np.asarray(ids, dtype=np.int32).tobytes(), position


Task = Literal["causal", "seq2seq", "masked", "body"]
_CLASSES: dict[Task, str] = {
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "masked": "AutoModelForMaskedLM",
    "body": "AutoModel",
}
_ABLE: dict[Task, str] = {
    "causal": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "masked": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "body": "MODEL_MAPPING_NAMES",
}
_TRAINED: dict[Task, str] = {
    "causal": "a causal language model",
    "seq2seq": "an encoder-decoder that writes text",
    "masked": "a masked language model, which a sentence encoder is not",
    "body": "an encoder of texts",
}
PADDING = 8  # the multiple that lengths are padded to, so that rows make batches


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model with its tokenizer, on its device, in evaluation mode.

    `clip` is the range of logits measured for it on public text, if its folder has one.
    """

    name: str
    model: Any
    tokenizer: Any
    clip: tuple[float, float] | None = None
    row_memory: RowMemory = field(default_factory=RowMemory, repr=False, compare=False)

    @property
    def device(self) -> Any:
        """The device of the weights."""
        return next(self.model.parameters()).device

    @property
    def fixed_rows(self) -> int:
        """Rows per forward pass: fixed on a CPU, so that no row depends on the others; 0 if not fixed."""
        return 8 if self.device.type == "cpu" else 0

    @property
    def positions(self) -> int | None:
        """How many tokens the model can read; None if unlimited."""
        return count_positions(self.model)

    @property
    def is_precise(self) -> bool:
        """Whether the model computes with at least the digits of float32, so that sums may be believed."""
        return int(self.model.dtype.itemsize) >= 4

    def checksum(self) -> str:
        """Return a hash of the weights."""
        return checksum(self.model)

    def fingerprint(self) -> dict[str, str]:
        """Return what determines a model's results: its weights and their number format."""
        return {"weights": self.checksum(), "number format": str(self.model.dtype)}


def count_positions(model: Any) -> int | None:
    """Return how many tokens a model can read; None if unlimited.

    RoBERTa and its kin count positions from after that of padding, which their table of positions names.
    """
    size: int | None = getattr(model.config, "max_position_embeddings", None)
    if not size or size < 0:
        return None
    tables = (part for name, part in model.named_modules() if name.endswith("position_embeddings"))
    paddings = (getattr(table, "padding_idx", None) for table in tables)
    return size - max((number + 1 for number in paddings if number is not None), default=0)


def settle_logits(logits: Any) -> Any:
    """Return logits in float32 or wider, with the least there is in place of what is no number.

    A model overflows on some texts if it has few digits. No noise would come out of such a row: sums that are
    no numbers always point to the last item, so that this text alone would be rewritten without noise.
    """
    import torch

    wide = logits if logits.dtype == torch.float64 else logits.float()
    return torch.nan_to_num(wide, nan=-math.inf, posinf=math.inf, neginf=-math.inf)


def choose_device(device: str = "auto") -> str:
    """Return the device to use; "auto" is CUDA or the CPU: MPS has no float64, which probabilities need."""
    import torch

    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def choose_dtype(dtype: str, device: str) -> Any:
    """Return the number format of the body; "auto": bfloat16 on CUDA, else float32. Logits are float32."""
    import torch

    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    number_format = getattr(torch, dtype, None)
    if not isinstance(number_format, torch.dtype):
        raise ModelError(f"dtype is '{dtype}'; it must be auto, float32, bfloat16, float16 or float64.")
    return number_format


def find_task(name: str, revision: str = "") -> Task:
    """Return what a model can do, and so how it has to be loaded, by its config."""
    return _task_of(_read_config(name, revision))


def is_translator(name: str, revision: str = "") -> bool:
    """Return whether a model translates: it is given a text alone, without a prompt."""
    return bool(_read_config(name, revision).model_type == "marian")


@lru_cache(maxsize=16)
def _read_config(name: str, revision: str) -> Any:
    require(f"'{name}'", "torch", "transformers")
    from transformers import AutoConfig

    source = resolve(name)
    options: dict[str, Any] = {"revision": revision} if revision else {}
    options |= {"local_files_only": not is_hub_reachable(source), "trust_remote_code": False}
    with silence_loading(), explain_failure(name):
        return AutoConfig.from_pretrained(source, **options)


def _task_of(config: Any) -> Task:
    """Return the task that a model was saved for, or, if that is not told, what its kind is used for.

    Kinds that have both heads (BERT, RoBERTa) fill in masks, unless they are told to be decoders.
    """
    from transformers.models.auto import modeling_auto

    saved = "".join((config.architectures or [""])[:1])
    if config.is_encoder_decoder:
        return "seq2seq"
    if saved.endswith(("ForCausalLM", "LMHeadModel")) and "WithLMHead" not in saved:
        return "causal"
    if saved.endswith("ForMaskedLM"):
        return "masked"
    if saved and not saved.endswith(("ForPreTraining", "WithLMHeadModel", "ForConditionalGeneration")):
        return "body"
    if config.model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "causal" if getattr(config, "is_decoder", False) else "masked"
    return "causal" if config.model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES else "body"


def find_writer(name: str, revision: str = "") -> Task:
    """Return how a model that writes text has to be loaded; one that writes none is refused."""
    task = find_task(name, revision)
    if task == "masked":
        raise ModelError(
            f"Model '{name}' is a masked language model, which fills in words and writes no text. Name "
            f"{_TRAINED['causal']} or {_TRAINED['seq2seq']}; dp-mlm takes a masked one."
        )
    if task == "body":
        raise ModelError(
            f"Model '{name}' has no head that predicts words: it is a sentence encoder, or a body alone, and "
            f"writes no text. Name {_TRAINED['causal']} or {_TRAINED['seq2seq']}."
        )
    return task


@lru_cache(maxsize=4)
def load_checkpoint(
    task: Task,
    name: str,
    revision: str = "",
    device: str = "auto",
    dtype: str = "auto",
    attention: str = "",
) -> Checkpoint:
    """Return a model for a task; the most recent ones stay loaded.

    Attention is eager unless named: mechanisms step one token at a time over padded caches, and fused
    kernels are slow there. A masked model reads whole texts: on a GPU the library chooses for it.
    """
    require(f"'{name}'", "torch", "transformers")
    import torch
    import transformers

    target = choose_device(device)
    source = resolve(name)
    options: dict[str, Any] = {"revision": revision} if revision else {}
    options |= {"local_files_only": not is_hub_reachable(source), "trust_remote_code": False}
    with silence_loading(), explain_failure(name):
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
        written, _ = transformers.PreTrainedConfig.get_config_dict(source, **options)
        _refuse_other_kinds(name, written.get("model_type", ""), task)
        kind = getattr(transformers, _CLASSES[task])
        options["attn_implementation"] = attention or _choose_attention(task, target)
        options["dtype"] = choose_dtype(dtype, target)
        # The library makes Marian's table of positions by chance before it computes it.
        with report_bias(written.get("model_type", "")), torch.random.fork_rng(devices=[]):
            if (Path(source) / WEIGHTS).is_file():
                model, report = _load_integers(kind, source, options)
            else:
                model, report = kind.from_pretrained(source, output_loading_info=True, **options)
    refuse_missing(name, report["missing_keys"], _TRAINED[task])
    if task != "body" and written.get("tie_word_embeddings") is False and _is_tied(model):
        refuse_missing(name, ["lm_head.weight"], _TRAINED[task])  # T5, which the library ties all the same
    if task == "body":
        drop_pooler(model)
    model.eval().requires_grad_(requires_grad=False)
    return Checkpoint(
        name=name, model=model.to(target), tokenizer=tokenizer, clip=find_clip(source, revision)
    )


def _refuse_other_kinds(name: str, kind: str, task: Task) -> None:
    """Refuse a model that the library can load, but not for this task."""
    from transformers.models.auto import modeling_auto

    known, able = (getattr(modeling_auto, _ABLE[one]) for one in ("body", task))
    if kind in known and kind not in able:
        raise ModelError(
            f"Model '{name}' is of type '{kind}'. Needed here is {_TRAINED[task]}: name such a one."
        )


def _choose_attention(task: Task, device: str) -> str | None:
    """Return how a model attends; None: as the library would."""
    return None if task == "masked" and device.startswith("cuda") else "eager"


def _load_integers(kind: Any, source: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a model whose weights are stored as integers, and what the library says of its loading."""
    import torch
    from transformers import AutoConfig, GenerationConfig

    config = AutoConfig.from_pretrained(source)
    with torch.device("meta"):  # only its class is needed
        exact = type(kind.from_config(config))
    model, report = exact.from_pretrained(
        None, config=config, state_dict=load_quantised(Path(source) / WEIGHTS), output_loading_info=True,
        **options,
    )  # fmt: skip
    if (Path(source) / "generation_config.json").is_file():
        model.generation_config = GenerationConfig.from_pretrained(source)
    return model, report


def _is_tied(model: Any) -> bool:
    head, table = model.get_output_embeddings(), model.get_input_embeddings()
    return head is not None and table is not None and head.weight is table.weight


@contextmanager
def explain_failure(name: str) -> Iterator[None]:
    """Turn a failure to load into an error that says what to install or which path to give."""
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if "sentencepiece" in _tell_causes(error) and not is_installed("sentencepiece"):
            reason = explain_missing("its tokenizer", "sentencepiece")
        raise ModelError(
            f"Model '{name}' could not be loaded: {reason} Name a folder that contains it (weights, "
            "config and tokenizer), or a hub id that this machine can download or has in its cache; "
            "the models of tedaudit-zoo (zoo:NAME) need no download."
        ) from error


def _tell_causes(error: BaseException | None) -> str:
    """Return what an error and those that it came from say, in lower case."""
    told = ""
    while error is not None:
        told, error = f"{told} {error}".lower(), error.__cause__ or error.__context__
    return told


def checksum(model: Any) -> str:
    """Return a hash of a model's weights."""
    digest = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        digest.update(key.encode() + value.detach().cpu().float().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


# --- Moving arrays to where a model runs without waiting for what it is doing.


def send(array: npt.NDArray[Any], device: Any) -> Any:
    """Return an array as a tensor on a device; a GPU fetches it when it comes to it."""
    import torch

    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)  # from other memory a copy waits for the GPU


# --- Weights as 8-bit integers: a quarter of the size, converted back to float32 on loading.
#
# Every row of a matrix has its own scale, so that its largest weight becomes 127; vectors are stored
# unchanged. One multiplication per weight gives the same float32 numbers on every machine.

WEIGHTS = "model.int8.safetensors"
_SCALE = ":scale"


def save_quantised(path: str | Path, tensors: Mapping[str, Any]) -> None:
    """Save tensors, matrices as integers; of tensors that share memory, only the first is saved."""
    import torch
    from safetensors.torch import save_file

    out: dict[str, Any] = {}
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for name, tensor in tensors.items():
        memory = (tensor.data_ptr(), tuple(tensor.shape))
        if tensor.numel() and memory in seen:
            continue
        seen.add(memory)
        value = tensor.detach().cpu()
        if value.ndim < 2 or not value.is_floating_point():
            out[name] = value.float().clone() if value.is_floating_point() else value.clone()
            continue
        flat = value.float().reshape(len(value), -1)
        scale = flat.abs().amax(dim=1, keepdim=True).clamp(min=1e-30) / 127
        out[name] = (flat / scale).round().to(torch.int8).reshape(value.shape).contiguous()
        out[name + _SCALE] = scale[:, 0].contiguous()
    save_file(out, str(path))


def read_quantised(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file, with integers converted back to float32."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        stored = load_file(str(path))
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}).") from error
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, value in stored.items():
        if name.endswith(_SCALE):
            continue
        scale = stored.get(name + _SCALE)
        if scale is None:
            arrays[name] = value
        else:
            arrays[name] = value.astype(np.float32) * scale.reshape(-1, *[1] * (value.ndim - 1))
    return arrays


def load_quantised(path: str | Path) -> dict[str, Any]:
    """Return the same as tensors."""
    import torch

    return {name: torch.tensor(array) for name, array in read_quantised(path).items()}
