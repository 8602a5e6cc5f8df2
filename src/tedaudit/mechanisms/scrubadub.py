"""Redact what scrubadub finds: addresses, telephone and card numbers, user names, and names if asked for.

Package: scrubadub, with the detectors that come with it or that another package registers with it.
Claim:   none. What is not found, and everything around it, is released as it is.
Departs: salts come from the draw's key; see the card.
"""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from tedaudit.batches import Draws, Rewrites
from tedaudit.errors import ModelError, SpecError, did_you_mean, join_names
from tedaudit.mechanisms._anonymisers import WithoutEpsilon, read_versions, rewrite_each
from tedaudit.plugins.extras import require
from tedaudit.seeding import derive
from tedaudit.types import Card, Draw

_PACKAGES = ("scrubadub", "phonenumbers", "python-stdnum", "textblob", "dateparser")
_NEED_LISTS = ("tagged", "user_supplied")  # detectors of texts that their user knows beforehand
_DATED, _NAMES = "date_of_birth", "text_blob_name"


@dataclass(frozen=True)
class Scrubadub(WithoutEpsilon):
    """Finds with `detectors`, by their names in scrubadub; () means those that it loads itself in a locale.

    `type` puts the type of what was found in its place, as scrubadub does by default, `hash` the type and a
    salted hash, `remove` nothing. With `salt` the same name has the same hash in every text; a run stores its
    settings, so whoever reads the run knows the salt. Without it every text has a salt of its own.
    """

    detectors: tuple[str, ...] = ()
    """Detectors, by their names in scrubadub. (): those that it loads by default."""
    locale: str = "en_US"
    """The locale whose detectors are used."""
    replacement: Literal["type", "hash", "remove"] = "type"
    """What replaces a finding: its type, its type and a salted hash, or nothing."""
    hash_length: int = 16
    """For hash: how many characters of the hash are shown."""
    salt: str = ""
    """For hash: one salt for all texts, stored with the run. Without it every text has its own."""
    card: ClassVar[Card] = Card(
        name="scrubadub",
        english=("locale: the detectors of the default locale",),
        needs=("scrubadub",),
        summary="Addresses, numbers and user names that scrubadub finds, replaced, hashed or removed.",
        paper="package scrubadub 2.0.1",
        claim="none: what is not found is released as it is",
        departures=(
            "by default no detector looks for names, places or dates",
            "text_blob_name finds names and needs punkt_tab, a file of NLTK; no other detector needs a file",
            "date_of_birth compares with today: what it finds changes with the year",
            "hash without a salt: one from the draw's key per text; scrubadub has one for all of a process",
            "numbers beside types are left out: scrubadub counts over all texts that a process has seen",
            "card numbers with spaces, hosts of one letter and other plain cases are missed",
        ),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "detectors", tuple(self.detectors))  # a spec has a list
        if self.salt and self.replacement != "hash":
            raise SpecError(
                f"'scrubadub': salt is for the replacement `hash`, and replacement is '{self.replacement}'."
            )
        if not re.fullmatch("[a-z]{2}_[A-Z]{2}", self.locale):
            raise SpecError(
                f"'scrubadub': the locale is '{self.locale}'; it must be one such as en_US or en_GB."
            )
        if not 1 <= self.hash_length <= 64:
            raise SpecError(f"'scrubadub': hash_length is {self.hash_length}; it must be 1 to 64 digits.")

    def fingerprint(self) -> Mapping[str, str]:
        """Return the versions of all that finds something, and the year if a detector compares with it."""
        self._load("")
        year = {"year": str(datetime.datetime.now().astimezone().year)} if _DATED in self.detectors else {}
        return {**read_versions(*_PACKAGES), **year}

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the texts with everything found replaced."""
        self._load("")
        is_fixed = self.replacement != "hash" or bool(self.salt)
        return rewrite_each(self.card.name, Draws.of(draws), self._scrub, is_fixed=is_fixed)

    def _scrub(self, text: str, key: int) -> str:
        fresh = f"{derive(key, 'salt'):032x}" if self.replacement == "hash" else ""
        return str(self._load(self.salt or fresh).clean(text))

    def _load(self, salt: str) -> Any:
        """Return a scrubber with this salt, which only the replacement `hash` needs."""
        found = _load_detectors(self.detectors, self.locale)
        import scrubadub
        from scrubadub import post_processors

        after: list[Any] = []
        if self.replacement == "remove":
            after = [post_processors.FilthRemover()]
        elif self.replacement == "hash":
            size = self.hash_length
            replacer = post_processors.FilthReplacer(include_hash=True, hash_salt=salt, hash_length=size)
            after = [replacer, post_processors.PrefixSuffixReplacer()]
        return scrubadub.Scrubber(list(found), after, self.locale)


@lru_cache(maxsize=8)
def _load_detectors(names: tuple[str, ...], locale: str) -> tuple[Any, ...]:
    """Return the detectors with these names; wrong ones are refused, and those that lack a file."""
    require("'scrubadub'", "scrubadub")
    import scrubadub
    from scrubadub.detectors import detector_catalogue

    known = {name: kind for name, kind in detector_catalogue.get_all().items() if name not in _NEED_LISTS}
    own = scrubadub.Scrubber(locale=locale)._detectors  # noqa: SLF001 - there is no other list of them
    for name in names:
        if name not in known:
            raise SpecError(
                f"'scrubadub': there is no detector '{name}'.{did_you_mean(name, known)} There are: "
                f"{join_names(sorted(known))}."
            )
        if not getattr(known[name], "supported_locale", lambda _: True)(locale):
            raise SpecError(f"'scrubadub': the detector '{name}' is not made for the locale '{locale}'.")
    if _NAMES in names:
        _check_tokenizer()
    return tuple(known[name](locale=locale) for name in names) or tuple(own.values())


def _check_tokenizer() -> None:
    """Say what to install if the file is missing without which every text would fail."""
    from nltk.tokenize import sent_tokenize

    try:
        sent_tokenize("A name.")
    except LookupError as error:
        raise ModelError(
            f"'scrubadub': the detector '{_NAMES}' needs punkt_tab, a file of NLTK that is not installed. "
            "Where there is a network: python -m nltk.downloader punkt_tab; elsewhere copy the folder and "
            "name the one above `tokenizers` in NLTK_DATA."
        ) from error
