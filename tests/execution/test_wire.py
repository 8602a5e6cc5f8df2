"""The one format of work and results: what comes out is what went in, and what was changed is named."""

import hashlib
import json
import math
import os
import pickle
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from engine_examples import make_rewriting
from helpers import Latents, reference
from tedaudit.batches import Draws, Guesses, Observations, PairLosses, Ragged, Rewrites
from tedaudit.errors import PluginError, RunDirectoryError
from tedaudit.execution import wire
from tedaudit.execution.units import GuessChunk, RewriteChunk
from tedaudit.execution.wire import (
    Shelf,
    explain_difference,
    pack,
    read_chunk,
    read_result,
    seal,
    unpack,
    write_chunk,
    write_result,
    write_sealed,
)
from tedaudit.execution.work import Bench
from tedaudit.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.registry import Reference
from tedaudit.seeding import key_words
from tedaudit.types import Draw, Guess, Rewrite

ODD_TEXTS = [
    "",
    "plain",
    "naïve 漢字",
    "two\nlines\r\n",
    "\u2028\x0c\x00",
    "half \ud800 a pair",
    '"quoted" \\n',
]


ODD_REWRITES = [
    Rewrite("a\ud800 half", (1, 2, 3), np.array([0.5, -1.5], dtype=np.float32), 3),
    Rewrite("", error="raised-ValueError"),
    Rewrite("line\u2028separator\n", (), None, 0),
]


# --- bodies


@pytest.mark.parametrize(
    "value",
    [
        None, True, -7, 2**70, 0.1, float("inf"), "text \ud800", b"\0\xff", [], (), ["a", "b"],
        ("a", ["b", 1.5]), {"k": (1, 2), 3: None}, Nominal(2.5), NO_EPSILON,
    ],
)  # fmt: skip
def test_plain_values_keep_their_value_and_type(value):
    back = unpack(pack(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32", "bool", ">i4"])
@pytest.mark.parametrize("shape", [(0,), (3,), (0, 4), (2, 0), (5, 3)])
def test_columns_keep_their_type_shape_and_bits(dtype, shape):
    array = (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
    back = unpack(bytearray(pack([array, array[::2]])))
    for one, other in zip(back, [array, array[::2]], strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
        assert one.flags.writeable or not one.size
        assert one.ctypes.data % 16 == 0 or not one.size


def test_results_come_back_as_they_were():
    rewrites = Rewrites.of(ODD_REWRITES)
    assert unpack(pack(rewrites)) == rewrites
    losses = PairLosses(np.array([1.0, np.nan]), np.array([np.nan, 2.0]), Ragged.of([[1.0, 2.0], None]))
    guesses = Guesses(np.array([[0.25, -np.inf], [np.nan, 0.0]]), np.array([True, False]), None, losses)
    back = unpack(pack(guesses))
    assert back == guesses
    assert back.losses == losses
    ends = PairLosses.between(np.array([[-2.0, -np.inf, -1.0, -3.0], [0.0, 1.0, 0.0, 1.0]]))
    told = Guesses(np.zeros((2, 2)), np.array([True, True]), None, ends)
    assert unpack(pack(told)).losses == ends != losses
    assert PairLosses.join([PairLosses.of([*ends]), losses])[:2] == ends
    ragged = Guesses.of([*Guesses.unusable([2, 5])])
    assert unpack(pack(ragged)) == ragged


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_damaged_parcel_is_no_chunk(cut):
    parcel, _ = Shelf().pack(make_rewriting(1, 2))
    with pytest.raises((ValueError, KeyError)):
        unpack(parcel[:cut] if cut != 1 else parcel + b"x")


# --- files


def _same(left, right):
    assert (left.text, left.tokens, left.units, left.error) == (
        right.text, right.tokens, right.units, right.error,
    )  # fmt: skip
    assert (left.latent is None) == (right.latent is None)
    if left.latent is not None:
        assert left.latent.dtype == right.latent.dtype
        assert left.latent.tolist() == right.latent.tolist()


def _outputs():
    return Rewrites.of(
        [
            *(Rewrite(text) for text in ODD_TEXTS),
            Rewrite("t", (1, 2, 3), np.array([0.1, -3e38], dtype=np.float32), 3),
            Rewrite("", error="failed"),
            Rewrite("l", (), np.zeros(6, dtype=np.float32)),
        ]
    )


def _return(folder, chunk, result):
    """Return a result as it comes back from a file, after the chunk that it belongs to."""
    write_chunk(folder / "c", chunk, {})
    unit = read_chunk(folder / "c")
    write_result(folder / "r", result, unit, {})
    return read_result(folder / "r", unit, {})[0]


def _seen(outputs, pool=("a", "b"), candidates=None):
    return Observations(Rewrites.of(outputs), pool, candidates, key_words(range(1, len(outputs) + 1)))


def test_a_rewrite_chunk_travels_through_a_file(tmp_path):
    plugin = Reference("mechanism", "word-rr", {"slots": 3, "vocabulary": ["a", "b"]})
    draws = [
        Draw(text, epsilon, 2**127 + i) for i, text in enumerate(ODD_TEXTS) for epsilon in (0.1, math.inf)
    ]
    write_chunk(tmp_path / "c", RewriteChunk(plugin, Draws.of(draws)), {})
    back = read_chunk(tmp_path / "c").chunk
    assert isinstance(back, RewriteChunk)
    assert back.plugin == plugin
    assert list(back.draws) == draws
    assert len(back) == len(draws)


@pytest.mark.parametrize(
    "candidates",
    [
        None,
        np.arange(30, dtype=np.int32).reshape(10, 3) % 7,
        Ragged.of([np.arange(2 + row % 3) for row in range(10)], np.int32),
    ],
    ids=["everybody", "matrix", "ragged"],
)
def test_a_guess_chunk_travels_through_a_file_with_everything_that_the_attack_may_see(tmp_path, candidates):
    seen = Observations(_outputs(), tuple(ODD_TEXTS), candidates, key_words([2**120 + n for n in range(10)]))
    chunk = GuessChunk(Reference("attack", "lexical"), seen, practice=("one text", "another"))
    write_chunk(tmp_path / "c", chunk, {})
    back = read_chunk(tmp_path / "c").chunk
    assert isinstance(back, GuessChunk)
    assert (back.plugin, back.practice, len(back)) == (chunk.plugin, chunk.practice, 10)
    assert back.observations == seen
    assert back.observations.pool == tuple(ODD_TEXTS)
    for old, new in zip(chunk.batch(0, 99), back.batch(0, 99), strict=True):
        _same(old.output, new.output)
        assert tuple(old.candidates) == tuple(new.candidates)
        assert old.tie_key == new.tie_key
    if candidates is None:
        assert back.batch(0, 1)[0].candidates is back.observations.pool
    elif isinstance(candidates, np.ndarray):
        assert back.observations.candidates.dtype == np.int32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rewrites_travel_back_with_tokens_latents_and_errors(tmp_path, dtype):
    outputs = Rewrites.of(
        [replace(row, latent=None if row.latent is None else row.latent.astype(dtype)) for row in _outputs()]
    )
    chunk = RewriteChunk(reference("mechanism", "identity"), Draws.of([Draw("", 1.0, 1)] * 10))
    for old, new in zip(outputs, _return(tmp_path, chunk, outputs), strict=True):
        _same(old, new)


@pytest.mark.parametrize("shown", [None, np.array([1, 0, 2], dtype=np.int32)])
@pytest.mark.parametrize("sizes", [(3, 3), (3, 2)])
def test_guesses_travel_back_bit_by_bit(tmp_path, sizes, shown):
    guesses = [
        Guess(np.array([0.1, 1 / 3, -math.inf])[: sizes[0]], shown=shown),
        Guess(np.array([math.nan] * sizes[1]), usable=False),
    ]
    chunk = GuessChunk(reference("attack", "lexical"), _seen([Rewrite("x")] * 2))
    back = _return(tmp_path, chunk, Guesses.of(guesses))
    assert [guess.usable for guess in back] == [True, False]
    for old, new in zip(guesses, back, strict=True):
        np.testing.assert_array_equal(old.scores, new.scores)
        assert (old.shown is None) == (new.shown is None)
        if old.shown is not None:
            assert new.shown.tolist() == old.shown.tolist()


def test_a_chunk_without_work_has_a_result_without_rows(tmp_path):
    rewrite = RewriteChunk(reference("mechanism", "identity"), Draws.of([]))
    guess = GuessChunk(reference("attack", "lexical"), _seen([], candidates=np.zeros((0, 2), np.int32)))
    for chunk, batch in ((rewrite, Rewrites), (guess, Guesses)):
        assert _return(tmp_path, chunk, batch.of([])) == []
        assert len(read_chunk(tmp_path / "c").chunk) == 0


@pytest.mark.parametrize(
    "plugin",
    [
        Reference("mechanism", "latents", live=Latents()),
        Reference("mechanism", "function", {"function": str.upper}),
        Reference("mechanism", "function", {"function": partial(str.replace, "a")}),
    ],
)
def test_an_object_of_this_process_cannot_travel_and_the_error_says_what_can(tmp_path, plugin):
    with pytest.raises(PluginError, match=rf"'{plugin.name}' is an object.*py:package\.module:name"):
        write_chunk(tmp_path / "c", RewriteChunk(plugin, Draws.of([Draw("a", 1.0, 1)])), {})
    assert not (tmp_path / "c").exists()


def test_the_mechanism_travels_with_the_guesses_of_an_attack_that_knows_it(tmp_path):
    seen = _seen([Rewrite("a", tokens=(1, 0))])
    mechanism = reference("mechanism", "word-rr", slots=2)
    chunk = GuessChunk(reference("attack", "likelihood"), seen, mechanism, Nominal(3.5))
    write_chunk(tmp_path / "c", chunk, {})
    back = read_chunk(tmp_path / "c").chunk
    assert back.mechanism == chunk.mechanism
    assert back.epsilon == 3.5
    write_chunk(tmp_path / "c", GuessChunk(reference("attack", "lexical"), seen), {})
    plain = read_chunk(tmp_path / "c").chunk
    assert plain.mechanism is None
    assert plain.epsilon is NO_EPSILON


def test_a_file_holds_the_texts_of_its_draws_and_no_others(tmp_path):
    draws = Draws.of([Draw(f"text number {n}", 1.0, n) for n in range(50)])[[7, 33, 7]]
    assert len(draws.pool) == 50
    write_chunk(tmp_path / "c", RewriteChunk(reference("mechanism", "identity"), draws), {})
    assert set(re.findall(rb"text number \d+", (tmp_path / "c").read_bytes())) == {
        b"text number 7", b"text number 33",
    }  # fmt: skip
    assert list(read_chunk(tmp_path / "c").chunk.draws) == list(draws)


def test_settings_that_no_file_can_hold_are_named(tmp_path):
    plugin = Reference("mechanism", "word-rr", {"slots": {1, 2}})
    with pytest.raises(PluginError, match=r"'word-rr' cannot be written to a file: A set cannot be packed"):
        write_chunk(tmp_path / "c", RewriteChunk(plugin, Draws.of([])), {})


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"gone/c' cannot be written \(No such file.*Make room"):
        write_chunk(tmp_path / "gone" / "c", make_rewriting(1), {})


# --- files that are not what was written


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A chunk and its result, as files; what determines the plug-in."""
    folder = tmp_path_factory.mktemp("written")
    chunk, bench = make_rewriting(*range(12)), Bench()
    determinants = bench.describe(chunk)
    write_chunk(folder / "w.chunk", chunk, determinants)
    unit = read_chunk(folder / "w.chunk")
    write_result(folder / "w.result", bench.perform(chunk), unit, determinants)
    return folder, unit


def _read_file(path, written):
    """Read a file as what its name says."""
    unit = written[1]
    return read_chunk(path) if path.suffix == ".chunk" else read_result(path, unit, unit.determinants)[0]


def _refusal(path, written):
    """Return what is said of a file that must be refused by name."""
    with pytest.raises(RunDirectoryError) as caught:
        _read_file(path, written)
    told = str(caught.value)
    assert told.startswith(f"'{path}' ")
    assert ("--work FOLDER` writes" if path.suffix == ".chunk" else "tedaudit.worker FOLDER` makes") in told
    return told


NAMES = ("w.chunk", "w.result")


@pytest.mark.parametrize("name", NAMES)
def test_no_flipped_bit_is_silent(tmp_path, written, name):
    whole = (written[0] / name).read_bytes()
    for place in np.random.default_rng(26).choice(8 * len(whole), 400, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        (tmp_path / name).write_bytes(damaged)
        _refusal(tmp_path / name, written)
    (tmp_path / name).write_bytes(whole)
    assert _read_file(tmp_path / name, written) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_another_length_is_named(tmp_path, written, name):
    whole = (written[0] / name).read_bytes()
    said = {}
    for length in (0, 1, 7, 8, 55, 56, 87, 88, 200, len(whole) - 1):
        (tmp_path / name).write_bytes(whole[:length])
        said[length] = _refusal(tmp_path / name, written)
    assert "is empty" in said[0]
    assert all("is cut off" in said[length] for length in said if length)
    (tmp_path / name).write_bytes(whole + b"x")
    assert "cut off or damaged" in _refusal(tmp_path / name, written)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_another_version_is_named(tmp_path, written, name):
    whole = bytearray((written[0] / name).read_bytes())
    whole[11] = 2
    whole[-32:] = hashlib.sha256(whole[:-32]).digest()
    (tmp_path / name).write_bytes(whole)
    assert "has version 2 of its format, and this tedaudit reads version 1" in _refusal(
        tmp_path / name, written
    )


@pytest.mark.parametrize(
    ("name", "older"),
    [
        ("w.chunk", b'{"work": "rewrite", "plugin": {"kind": "mechanism", "name": "word-rr"}}\n'),
        ("w.result", b'{"text": "a", "tokens": null, "latent": null, "units": 1, "error": ""}\n'),
        ("w.result", b"PK\x03\x04scores.npy"),
    ],
)
def test_work_of_an_older_version_is_to_be_made_again(tmp_path, written, name, older):
    (tmp_path / name).write_bytes(older)
    assert "written by an older tedaudit, whose files are not read any more" in _refusal(
        tmp_path / name, written
    )


def test_a_result_of_another_chunk_is_refused_though_it_has_as_many_rows(tmp_path, written):
    other = make_rewriting(*range(12, 24))
    unit = written[1]
    write_chunk(tmp_path / "other.chunk", other, unit.determinants)
    write_result(
        tmp_path / "w.result", Bench().perform(other), read_chunk(tmp_path / "other.chunk"), unit.determinants
    )
    assert "is not the result of the work beside it" in _refusal(tmp_path / "w.result", written)


@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_is_no_result_and_a_result_no_chunk(tmp_path, written, name):
    [other] = set(NAMES) - {name}
    (tmp_path / name).write_bytes((written[0] / other).read_bytes())
    assert ("holds no work" if name == "w.chunk" else "not the result") in _refusal(tmp_path / name, written)


def test_a_result_that_other_weights_made_is_refused_with_both_named(tmp_path, written):
    unit = written[1]
    identity = unit.chunk.plugin.identity
    words = unit.determinants[identity]["vocabulary words"]
    other = {identity: {**unit.determinants[identity], "vocabulary words": "of others"}}
    write_result(tmp_path / "w.result", Bench().perform(unit.chunk), unit, other)
    told = _refusal(tmp_path / "w.result", written)
    assert f"made by another 'word-rr' (vocabulary words: 'of others' there, '{words}' here)" in told
    write_result(tmp_path / "w.result", Bench().perform(unit.chunk), unit, {})
    assert "made by another 'word-rr'" in _refusal(tmp_path / "w.result", written)


def test_what_determines_a_plug_in_is_compared_as_a_file_holds_it():
    known = {"words": ("a", "b"), "scale": math.nan, "map": {"x": 1, "y": 2}, "none": None}
    stored = json.loads(json.dumps(known)) | {"map": {"y": 2, "x": 1}}
    assert explain_difference(known, stored) == ""
    assert explain_difference(known, {**stored, "none": 0}) == "none: None there, 0 here"
    assert explain_difference({}, {"none": None}) == "none: '(nothing)' there, None here"


# --- files that somebody made up, with a checksum that fits


class Planted:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def _forge(path, written, packed, columns=()):
    """Write a result with this body."""
    lengths = [len(column) for column in columns]
    header = json.dumps([packed, lengths]).encode()
    header += b" " * (-len(header) % 16)
    padded = b"".join(column + bytes(-len(column) % 16) for column in columns)
    body = wire._SIZES.pack(len(header), len(padded)) + header + padded
    unit = written[1]
    write_sealed(path, seal(body, unit.determinants, unit.digest))


def _rewrites(**changes):
    """Return the packed rewrites of the chunk, whose columns are 12 numbers, 13 offsets and 12 texts."""
    whole = json.dumps([""] * 12).encode()
    ragged = {"kind": "Ragged", "fields": {"values": {"array": [2, "<i8", [0]]},
              "offsets": {"array": [1, "<i8", [13]]}, "missing": None}}  # fmt: skip
    parts = {"texts": {"list": 3}, "errors": {"list": 3}, "units": {"array": [0, "<i8", [12]]},
             "tokens": ragged, "latents": ragged}  # fmt: skip
    return {"kind": "Rewrites", "fields": parts | changes}, [bytes(96), bytes(104), b"", whole]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"units": {"array": [0, "|O", [12]]}}, r"cannot hold values of the type '\|O'"),
        ({"units": {"array": [0, "<M8[s]", [12]]}}, "cannot hold values of the type"),
        ({"units": {"array": [0, "i8,(1000000000,)f8", [12]]}}, "cannot hold values of the type"),
        ({"units": {"array": [0, "<i8", [10**15]]}}, "more rows than the message has bytes"),
        ({"tokens": {"array": [2, "<i8", [10**15, 0]]}}, "more rows than the message has bytes"),
        ({"units": {"array": [0, "<i8", [13]]}}, "another size than it says"),
        ({"units": {"array": [0, "<i8", [-12]]}}, "more rows than"),
        ({"units": {"array": [9, "<i8", [12]]}}, "IndexError"),
        ({"texts": [1] * 12}, "holds no result"),
        ({"texts": {"list": [1] * 12}}, "holds no result"),
        ({"texts": {"list": [""] * 11}}, "must have as many rows"),
        ({"tokens": None}, "The column tokens has 0 dimensions"),
        ({"texts": {"shared": 1}}, "KeyError"),
        ({"tokens": {"kind": "Failure", "fields": {}}}, "KeyError: 'Failure'"),
    ],
)
def test_a_made_up_result_is_named_and_nothing_large_is_made(tmp_path, written, changes, reason):
    _forge(tmp_path / "w.result", written, *_rewrites(**changes))
    assert re.search(reason, _refusal(tmp_path / "w.result", written))


def test_guesses_are_no_result_of_rewriting_nor_are_rewrites_of_other_draws(tmp_path, written):
    unit = written[1]
    for result, reason in (
        (Guesses.unusable([2] * 12), "holds no result"),
        (Rewrites.from_texts(["a"] * 11), "has 11 results for 12 items"),
    ):
        write_result(tmp_path / "w.result", result, unit, unit.determinants)
        assert reason in _refusal(tmp_path / "w.result", written)


def test_a_made_up_result_that_is_well_made_is_read(tmp_path, written):
    _forge(tmp_path / "w.result", written, *_rewrites())
    assert read_result(tmp_path / "w.result", written[1], written[1].determinants)[0].texts == [""] * 12


@pytest.mark.parametrize("packed", [None, 7, [], {}, {"map": [[[], 1]]}, {"kind": "Guesses", "fields": {}}])
def test_a_made_up_result_of_any_shape_is_named(tmp_path, written, packed):
    _forge(tmp_path / "w.result", written, packed)
    _refusal(tmp_path / "w.result", written)


def test_nothing_in_a_file_is_unpickled(tmp_path, written):
    planted = pickle.dumps(Planted(tmp_path / "was here"))
    rewrites, columns = _rewrites()
    words = {"kind": "", "message": "", "trace": ""}
    for packed, content in (
        ({"bytes": 0}, [planted]),
        ({"kind": "Failure", "fields": {"pickled": {"bytes": 0}, **words}}, [planted]),
        (_rewrites(units={"array": [4, "|O", [12]]})[0], [*columns, planted]),
        (rewrites, [*columns[:3], planted]),
    ):  # fmt: skip
        _forge(tmp_path / "w.result", written, packed, content)
        _refusal(tmp_path / "w.result", written)
    (tmp_path / "w.result").write_bytes(planted)
    _refusal(tmp_path / "w.result", written)
    assert not (tmp_path / "was here").exists()
    pickle.loads(planted)
    assert (tmp_path / "was here").exists()  # the object is what it says


def test_lengths_that_were_made_up_are_named(tmp_path, written):
    unit = written[1]
    for header, length, lengths in ((2**62, 0, [0]), (0, 2**62, [0]), (16, 16, [2**62]), (16, 0, [-16, 16])):
        told = json.dumps([None, lengths]).encode().ljust(16)
        body = wire._SIZES.pack(header, length) + told + bytes(16)
        write_sealed(tmp_path / "w.result", seal(body, unit.determinants, unit.digest))
        _refusal(tmp_path / "w.result", written)
    whole = bytearray((written[0] / "w.result").read_bytes())
    whole[16:24] = (2**63).to_bytes(8, "big")
    whole[-32:] = hashlib.sha256(whole[:-32]).digest()
    (tmp_path / "w.result").write_bytes(whole)
    assert "says 9,223,372,036,854,7" in _refusal(tmp_path / "w.result", written)


def test_made_up_work_that_cannot_be_done_is_named(tmp_path, written):
    def refer(live, params=()):
        told = {"kind": "mechanism", "name": "x", "params": {"map": list(params)}, "live": live}
        return {"kind": "Reference", "fields": told}

    failure = {"kind": "Failure", "fields": {"pickled": "", "kind": "", "message": "", "trace": ""}}
    draws = {"kind": "Draws", "fields": {"pool": {"tuple": []}, "text": {"array": [0, "<i4", [0]]},
             "epsilons": {"array": [0, "<f8", [0]]}, "keys": {"array": [0, "<u4", [0, 4]]}}}  # fmt: skip
    for plugin, rows, reason in (
        (refer("an object"), draws, "cannot be done"),
        (refer(None), None, "cannot be done"),
        (None, draws, "is damaged"),
        (refer(None, [["slots", failure]]), draws, "KeyError: 'Failure'"),
    ):
        fields = {"plugin": plugin, "draws": rows, "repeats": False, "own": False}
        _forge(tmp_path / "w.chunk", written, {"kind": "RewriteChunk", "fields": fields}, [b""])
        assert reason in _refusal(tmp_path / "w.chunk", written)
