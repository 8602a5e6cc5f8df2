"""A file of a run that is not what was written is noticed: every bit, every place, every number in JSON."""

import io
import json
import shutil

import numpy as np
import polars as pl
import pytest

from helpers import make_spec
from tedaudit.api import load_run, report, run
from tedaudit.errors import RunDirectoryError
from tedaudit.runs.checksums import (
    BLANK_NOTE,
    FIELD,
    ChecksumError,
    check_json,
    check_parquet,
    parse_json,
    seal_json,
    seal_parquet,
)
from tedaudit.runs.files import read_frame, read_notes, write_frame

FRAME = pl.DataFrame({"n": np.arange(40), "t": ["some text", "another"] * 20})


def _flipped(raw, bit):
    return raw[: bit // 8] + bytes([raw[bit // 8] ^ 1 << bit % 8]) + raw[bit // 8 + 1 :]


@pytest.fixture
def part(tmp_path):
    path = tmp_path / "part-000000.parquet"
    write_frame(path, FRAME, "key", {"released": "40"})
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    root = tmp_path_factory.mktemp("finished") / "run"
    run(make_spec(root, epsilons=[3, 8]))
    return root


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


# --- a Parquet file


def test_every_flipped_bit_of_a_part_is_noticed(part):
    whole = part.read_bytes()
    for bit in range(0, 8 * len(whole), 9):  # one bit of every byte, in all eight places
        part.write_bytes(_flipped(whole, bit))
        with pytest.raises(RunDirectoryError) as caught:
            read_frame(part, "key", ["n"])
        assert str(part) in str(caught.value)


def test_every_flipped_bit_of_a_footer_is_noticed_by_who_reads_the_notes_alone(part):
    whole = part.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    for bit in range(8 * (len(whole) - footer), 8 * len(whole), 5):
        part.write_bytes(_flipped(whole, bit))
        with pytest.raises(RunDirectoryError):
            read_notes(part, "key")


def test_the_message_names_the_file_and_the_next_step(part):
    whole = part.read_bytes()
    part.write_bytes(_flipped(whole, 200))
    with pytest.raises(RunDirectoryError) as caught:
        read_frame(part, "key")
    assert str(caught.value) == (
        f"'{part}' is damaged (its data changed after it was written). Delete it and run the same command "
        "again: only what was in it is computed again."
    )


def test_a_sealed_file_is_still_a_plain_parquet_file_with_its_notes(part):
    assert pl.read_parquet(part).equals(FRAME)
    assert read_frame(part, "key").equals(FRAME)
    notes = read_notes(part, "key")
    assert (notes["tedaudit"], notes["file"], notes["released"]) == ("key", part.name, "40")
    assert notes[FIELD] != BLANK_NOTE


def test_a_text_that_looks_like_a_checksum_disturbs_nothing(tmp_path):
    texts = [f"\x18{chr(len(BLANK_NOTE))}{BLANK_NOTE}", BLANK_NOTE, "sha256:"]
    path = tmp_path / f"{BLANK_NOTE}.parquet"
    write_frame(path, pl.DataFrame({"t": texts}), "key")
    assert read_frame(path, "key")["t"].to_list() == texts
    assert read_notes(path, "key")["file"] == path.name


def test_what_has_no_footer_is_no_parquet_file():
    for raw in (b"", b"PAR1", b"\xff" * 40, b"\x00" * 6):
        with pytest.raises(ChecksumError):
            check_parquet(raw)


def test_a_file_without_a_note_is_told_apart_from_one_that_is_right():
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    assert check_parquet(buffer.getvalue()) is False
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer, metadata={FIELD: BLANK_NOTE})
    assert check_parquet(seal_parquet(buffer.getvalue())) is True


def test_a_part_in_the_place_of_another_is_noticed(part):
    other = part.with_name("part-000001.parquet")
    shutil.copy(part, other)
    for read in (read_frame, read_notes):
        with pytest.raises(RunDirectoryError, match=r"part-000001\.parquet' does not belong.*place.*Move it"):
            read(other, "key")


def test_a_part_that_was_written_again_by_another_program_is_noticed(part):
    pl.read_parquet(part).with_columns(n=pl.col("n") + 1).write_parquet(part, metadata={"tedaudit": "key"})
    for read in (read_frame, read_notes):
        with pytest.raises(
            RunDirectoryError, match=r"lacks the checksum that it was written with.*Delete it"
        ):
            read(part, "key")


def test_a_checksum_whose_name_was_lost_is_not_taken_for_a_part_that_never_had_one(part):
    notes = {"tedaudit": "key", "checksun": "sha256:0"}
    pl.read_parquet(part).write_parquet(part, metadata=notes)
    with pytest.raises(RunDirectoryError, match="lacks the checksum"):
        read_frame(part, "key")


# --- a JSON file


def test_every_changed_value_of_sealed_json_is_noticed():
    sealed = seal_json({"a": 1, "b": [1.5, None, "x"], "c": {"d": True}})
    assert check_json(sealed) is True
    assert check_json(json.loads(json.dumps(sealed))) is True
    for other in ({"a": 2}, {"b": [1.5, None]}, {"c": {}}, {"new": 1}, {FIELD: "sha256:0"}):
        with pytest.raises(ChecksumError):
            check_json({**sealed, **other})
    assert check_json({"a": 1}) is False


def test_json_that_could_not_be_written_again_is_refused():
    assert parse_json('{"a": "\\u00e9"}') == {"a": "é"}
    with pytest.raises(ValueError, match="surrogates"):
        parse_json('{"a": "\\ud800"}')


# --- a run


PLACES = ("manifest.json", "plans/*", "corpus/*", "guesses/**/part-*", "guesses/**/table.json",
          "rewrites/**/part-*", "rewrites/**/table.json")  # fmt: skip


@pytest.mark.parametrize("pattern", PLACES)
def test_no_file_of_a_run_can_change_without_being_noticed(finished, copy, pattern):
    told = load_run(finished).to_dict()["findings"]
    noticed = []
    for path in copy.glob(pattern):
        whole = path.read_bytes()
        for bit in np.random.default_rng(1).choice(8 * len(whole), 12, replace=False).tolist():
            path.write_bytes(_flipped(whole, bit))
            try:
                report(copy)
            except RunDirectoryError as error:
                noticed.append((path.name, str(error)))
            else:  # nobody needed the file
                assert load_run(copy).to_dict()["findings"] == told
        path.write_bytes(whole)
    assert noticed
    assert all(name in message for name, message in noticed)


def test_a_damaged_part_is_made_anew_once_it_is_deleted(finished, copy):
    path = min(copy.glob("guesses/**/part-*"))
    path.write_bytes(_flipped(path.read_bytes(), 500))
    with pytest.raises(RunDirectoryError, match="Delete it and run the same command again"):
        load_run(copy)
    path.unlink()
    assert (
        run(make_spec(copy, epsilons=[3, 8])).to_dict()["findings"]
        == load_run(finished).to_dict()["findings"]
    )
    assert path.read_bytes() == (finished / path.relative_to(copy)).read_bytes()


def test_the_guesses_of_one_setting_are_not_taken_for_those_of_another(copy):
    table = copy / "guesses" / "k2-lambda0" / "word-rr"
    shutil.rmtree(table / "8")
    shutil.copytree(table / "3", table / "8")
    with pytest.raises(
        RunDirectoryError, match=r"8/lexical' does not belong here.*word-rr 3 lexical.*Move it"
    ):
        load_run(copy)
