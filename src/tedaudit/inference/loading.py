"""Models by reference: a hub id, a folder, or `zoo:NAME` for the small ones that ship as tedaudit-zoo.

Weights load from safetensors, or from older files with `weights_only`; remote code is never run.
"""

import hashlib
import importlib
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from tedaudit.errors import ModelError

Task = Literal["causal", "seq2seq", "masked"]
_CLASSES: dict[Task, str] = {
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "masked": "AutoModelForMaskedLM",
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model with its tokenizer, on its device, in evaluation mode."""

    name: str
    model: Any
    tokenizer: Any

    @property
    def device(self) -> Any:
        """Where the weights lie."""
        return next(self.model.parameters()).device

    @property
    def fixed_rows(self) -> int:
        """How many rows every forward pass has: on a CPU fixed, so that no row depends on the others."""
        return 8 if self.device.type == "cpu" else 0

    @property
    def padding_step(self) -> int:
        """To which multiple lengths are padded: on a GPU coarser, since few large batches are faster."""
        return 8 if self.device.type == "cpu" else 32

    def checksum(self) -> str:
        """Return a hash of the weights."""
        return checksum(self.model)


def choose_device(device: str = "auto") -> str:
    """Return the device to use: CUDA, then MPS, then CPU where nothing is asked for."""
    import torch

    if device != "auto":
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def choose_dtype(dtype: str, device: str) -> Any:
    """Return the number format of the body: bfloat16 on CUDA, float32 elsewhere; logits are float32."""
    import torch

    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    found = getattr(torch, dtype, None)
    if not isinstance(found, torch.dtype):
        raise ModelError(f"dtype is '{dtype}'; it must be auto, float32, bfloat16, float16 or float64.")
    return found


def resolve(name: str) -> str:
    """Return a folder or hub id for a reference."""
    if name.startswith("zoo:"):
        try:
            zoo = importlib.import_module("tedaudit_zoo")
        except ImportError as error:
            raise ModelError(
                f"'{name}' is a model of the zoo, which is not installed. Install it with: "
                "pip install tedaudit-zoo; or name another checkpoint: a folder or a hub id."
            ) from error
        return str(zoo.path(name.removeprefix("zoo:")))
    return str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name


def hub_reachable(name: str) -> bool:
    """Return whether a hub model may be asked for: the libraries would retry for a minute where it cannot.

    A folder needs no hub. Behind a proxy the question is left to the libraries.
    """
    if Path(name).expanduser().is_dir():
        return False
    if any(os.environ.get(key) for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    from huggingface_hub import constants

    where = urlsplit(constants.ENDPOINT)
    try:
        port = where.port or (443 if where.scheme == "https" else 80)
        socket.create_connection((where.hostname or "", port), timeout=5).close()
    except OSError:
        return False
    return not constants.HF_HUB_OFFLINE


@lru_cache(maxsize=4)
def load_checkpoint(
    task: Task, name: str, revision: str = "", device: str = "auto", dtype: str = "auto"
) -> Checkpoint:
    """Return a model of a task; the last few stay loaded."""
    place = choose_device(device)
    try:
        import transformers
    except ImportError as error:
        raise ModelError(
            f"'{name}' needs torch and transformers, which are not installed. "
            "Install them with: pip install 'tedaudit[models]'."
        ) from error
    where = resolve(name)
    options: dict[str, Any] = {"revision": revision} if revision else {}
    options["local_files_only"] = not hub_reachable(where)
    with quiet_loading(), explained(name):
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
        kind = getattr(transformers, _CLASSES[task])
        # Plain attention: rows step one token at a time over padded caches, where fused kernels are slow.
        options["attn_implementation"] = "eager"
        model = kind.from_pretrained(where, dtype=choose_dtype(dtype, place), **options)
    model.eval().requires_grad_(requires_grad=False)
    return Checkpoint(name, model.to(place), tokenizer)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn a failure to load into a message that says what to install or where to point."""
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"Model '{name}' could not be loaded: {reason} Point to a folder that holds it (weights, "
            "config and tokenizer), or to a hub id that this machine can reach or has in its cache; "
            "the models of tedaudit-zoo (zoo:NAME) need no download."
        ) from error


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Keep the libraries from printing bars and advice while a model loads."""
    from transformers.utils import logging as transformers_logging

    names = ("transformers", "sentence_transformers", "huggingface_hub")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            transformers_logging.enable_progress_bar()


def checksum(model: Any) -> str:
    """Return a hash of a model's weights."""
    digest = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        digest.update(key.encode() + value.detach().cpu().float().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
