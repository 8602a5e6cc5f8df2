"""Mutated files of texts: each is audited and comes back from the run as it was, or is refused in one line.

PYTHONPATH=src:tests python -m fuzz.corpora --cases 2000 --seed 0
"""

import bz2
import gzip
import io
import json
import lzma
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from fuzz.command import main
from fuzz.mutations import JSON, NAMES, Tally, flip, spoil, try_case, working_in
from tedaudit.api import load_corpus, run
from tedaudit.corpora.files import Given
from tedaudit.mechanisms.recorded import Recorded
from tedaudit.runs.directory import RunDirectory

LINES = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat") for did in ("lost", "sold")
         for what in ("ring", "boat", "lamp")]  # fmt: skip
ENCODINGS = (
    "utf-8", "utf-16", "utf-32", "latin-1", "cp1252", "ascii", "undefined", "idna", "punycode", "utf-7",
    "hex", "rot13",
    "unicode_escape", "raw_unicode_escape", "mbcs", "zlib", "big5", "shift_jis", "cp037", "utf-8-sig",
    "a\0b", "", "..",
    "x" * 1000, "UTF-8\n",
)  # fmt: skip
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda raw: raw, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
}  # fmt: skip
_COMMON = ("text", "label", "sentence", "texts", "text_")


def fuzz_corpora(cases: int, seed: int) -> Tally:
    """Try mutated corpora, the same ones for the same seed."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "case"
        for number in range(cases):
            rng = random.Random(f"{seed} {number}")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            with working_in(folder):
                try_case(tally, f"corpus {seed} {number}", lambda rng=rng: _try(rng))
    return tally


def _try(rng: random.Random) -> None:
    """Write a file, load it, audit it, and see that the run holds what was read."""
    kind = rng.choice(("files", "files", "files", "files", "recorded", "trustpilot", "atis"))
    if kind == "recorded":
        Path("pairs.jsonl").write_bytes(_jsonl(rng, ("original", "rewrite", "epsilon", "label")))
        Recorded("pairs.jsonl")
        return
    if kind != "files":
        Path("official").mkdir()
        for split in ("train", "test"):
            content = _official(rng, kind)
            Path("official", f"{split}.jsonl" if kind == "trustpilot" else f"{split}.json").write_bytes(
                content
            )
        corpus = load_corpus(kind, path="official")
    else:
        path = _write_table(rng)
        options: dict[str, Any] = {"path": str(path)}
        if rng.random() < 0.3:
            options["column"] = rng.choice((*_COMMON, rng.choice(NAMES)))
        if rng.random() < 0.15:
            options["encoding"] = rng.choice(ENCODINGS)
        if rng.random() < 0.15:
            options["header"] = False
        corpus = load_corpus("files", **options)
    settings = {
        "mechanisms": ["identity"],
        "trials": 6,
        "plans": [{"k": 2, "lambda": 0}],
        "encoder": "lexical",
    }
    run({**settings, "corpus": {"name": "given", "live": Given(corpus)}, "out": "run"}, page=False)
    stored = RunDirectory(Path("run")).corpus()
    for name, split in corpus.splits.items():
        assert stored.splits[name].texts == split.texts, f"other texts came back for {name}"
        assert len(stored.splits[name].columns) == len(split.columns), f"a column of {name} is lost"


def _write_table(rng: random.Random) -> Path:
    """Write a mutated table in one of the formats, compressed or not, and return its path."""
    packing = rng.choice(list(_PACKERS)) if rng.random() < 0.2 else ""
    kind = rng.choice(("txt", "csv", "tsv", "jsonl", "jsonl", "jsonl", "parquet"))
    make = {"txt": _txt, "csv": _csv, "tsv": _csv, "jsonl": _jsonl, "parquet": _parquet}[kind]
    raw = _PACKERS[packing](make(rng))
    if rng.random() < 0.15:
        raw = flip(raw, rng)
    if rng.random() < 0.05:
        raw = raw[: rng.randrange(len(raw) + 1)]
    path = Path(f"train.{kind}{packing}")
    path.write_bytes(raw)
    return path


def _txt(rng: random.Random) -> bytes:
    return _encode(spoil("\n".join(LINES), rng, NAMES), rng)


def _csv(rng: random.Random) -> bytes:
    names = [rng.choice((*_COMMON, rng.choice(NAMES))) for _ in range(rng.choice((1, 2, 2, 3)))]
    rows = [[text, *(str(number % 3) for _ in names[1:])] for number, text in enumerate(LINES)]
    text = "\n".join(",".join(cells) for cells in (names, *rows))
    return _encode(spoil(text, rng, NAMES) if rng.random() < 0.6 else text, rng)


def _jsonl(rng: random.Random, names: tuple[str, ...] = ()) -> bytes:
    others = [rng.choice((*_COMMON, rng.choice(NAMES))) for _ in range(rng.choice((0, 1, 1, 2)))]
    columns = list(dict.fromkeys(names or (rng.choice(_COMMON), *others)))
    nasty = rng.choice(columns)
    rows = []
    for number, text in enumerate(LINES):
        cells = {name: json.dumps(text if name == columns[0] else number % 3 + 1) for name in columns}
        if rng.random() < rng.choice((0, 0.1, 1)):
            cells[nasty] = rng.choice(JSON)
        if rng.random() < 0.05:
            del cells[rng.choice(list(cells))]
        rows.append("{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in cells.items()) + "}")
    text = "\n".join(rows)
    return _encode(spoil(text, rng, JSON) if rng.random() < 0.3 else text, rng)


def _parquet(rng: random.Random) -> bytes:
    values: tuple[list[Any], ...] = (
        [1, 2] * 9, [[1], []] * 9, [{"a": 1}, {"a": None}] * 9, [b"\xff", b""] * 9, [None] * 18, ["x", None]
        * 9,
        [[["deep"]], None] * 9, [1.5, float("nan")] * 9,
    )  # fmt: skip
    columns: dict[str, Any] = {rng.choice(_COMMON): LINES}
    for _ in range(rng.choice((0, 1, 2))):
        name = rng.choice((*_COMMON, rng.choice(NAMES))).encode("utf-8", "replace").decode()
        columns[name] = rng.choice(values)
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def _official(rng: random.Random, kind: str) -> bytes:
    """Return a split of a published corpus, something in it replaced."""
    if kind == "trustpilot":
        users = [{"user_id": n, "gender": "F", "birth_year": 1980, "reviews": [{"text": [text], "rating":
        "5"}]}
                 for n, text in enumerate(LINES)]  # fmt: skip
        text = "\n".join(json.dumps(user) for user in users)
    else:
        examples = [{"text": text, "intent": "x", "entities": []} for text in LINES]
        text = json.dumps({"rasa_nlu_data": {"common_examples": examples}})
    return _encode(spoil(text, rng, JSON) if rng.random() < 0.8 else text, rng)


def _encode(text: str, rng: random.Random) -> bytes:
    encoding = rng.choice(("utf-16", "latin-1", "utf-8-sig")) if rng.random() < 0.1 else "utf-8"
    return text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")


if __name__ == "__main__":
    main(fuzz_corpora, __doc__)
