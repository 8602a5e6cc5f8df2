"""The list of a run's files: what is not listed, or is gone, does not exist; `sha256sum -c` says the same."""

import hashlib
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import make_spec
from tedaudit.api import run
from tedaudit.errors import RunDirectoryError
from tedaudit.runs.checking import find_damage
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.listing import NAME, Listing, Made
from tedaudit.runs.steps import commit

PLACE = "rewrites/word-rr/3"


def make(root, number, content=b"content", source="", place=PLACE):
    """Write a file of a table, and return what there is to list of it."""
    [made] = commit(root, {f"{place}/part-{number:06d}.parquet": content})
    return Made(made.name, made.digest, source)


def add(root, *numbers, part="", **how):
    made = [make(root, number, **how) for number in numbers]
    Listing(root, part).add(made)
    return [one.name for one in made]


def check_by_hand(root):
    """Return what sha256sum says: its exit code, and the names that it says no good of."""
    done = subprocess.run(
        ["sha256sum", "-c", "--quiet", NAME], cwd=root, capture_output=True, text=True, check=False
    )
    return done.returncode, [line.split(":")[0] for line in done.stdout.splitlines()], done.stderr


needs_sha256sum = pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs coreutils")


@needs_sha256sum
def test_coreutils_accept_the_list_of_a_run_and_name_a_file_that_changed_or_is_gone(tmp_path):
    run(make_spec(tmp_path / "run", mechanisms=["identity", {"name": "word-rr"}], attacks=["resample"]))
    root = tmp_path / "run"
    listing = Listing(root)
    shards = sorted(str(path.relative_to(root)) for path in root.glob("[rgo]*es/**/part-*.parquet"))
    assert list(listing) == shards
    assert {name.split("/")[0] for name in shards} == {"rewrites", "own_rewrites", "guesses"}
    assert check_by_hand(root) == (0, [], "")
    assert "# from " in (root / NAME).read_text()  # comments do not disturb
    (root / shards[0]).write_bytes(b"another")
    (root / shards[-1]).unlink()
    code, named, _ = check_by_hand(root)
    assert (code, sorted(named)) == (1, sorted([shards[0], shards[-1]]))


def test_digests_are_those_of_the_contents(tmp_path):
    [name] = add(tmp_path, 0, content=b"abc")
    assert Listing(tmp_path).digests == {name: hashlib.sha256(b"abc").hexdigest()}


def test_an_empty_folder_has_no_list_and_nothing_in_it(tmp_path):
    listing = Listing(tmp_path / "none")
    assert (list(listing), listing.list_lost(), dict(listing.digests)) == ([], [], {})
    assert not (tmp_path / "none").exists()


# --- there and listed


def test_a_file_that_is_listed_and_gone_does_not_exist_and_is_said_to_be_lost(tmp_path):
    first, second = add(tmp_path, 0, 1)
    (tmp_path / first).unlink()
    listing = Listing(tmp_path)
    assert first not in listing
    assert list(listing) == [second]
    assert listing.list_lost() == [first]


def test_a_file_that_is_there_and_not_listed_does_not_exist_until_it_is(tmp_path):
    made = make(tmp_path, 0)
    listing = Listing(tmp_path)
    assert made.name not in listing
    assert listing.list_lost() == []
    listing.add([made])
    assert made.name in listing
    assert made.name in Listing(tmp_path)


def test_tidying_removes_what_was_never_listed_and_leaves_all_else(tmp_path):
    [listed] = add(tmp_path, 0)
    assert Listing(tmp_path).spoilt == []
    unlisted = make(tmp_path, 1).name
    others = [
        tmp_path / PLACE / "table.json",
        tmp_path / PLACE / "notes.txt",
        tmp_path / "part-000001.parquet",
    ]
    for path in others:
        path.write_text("of somebody else")
    Listing(tmp_path).tidy()
    assert not (tmp_path / unlisted).exists()
    assert (tmp_path / listed).exists()
    assert all(path.exists() for path in others)


def test_a_file_that_is_dropped_is_gone_from_the_list_and_from_the_disk(tmp_path):
    first, second = add(tmp_path, 0, 1, source="a" * 64)
    listing = Listing(tmp_path)
    listing.drop([first, "guesses/never/there/part-000000.parquet"])
    for one in (listing, Listing(tmp_path)):
        assert list(one) == [second]
        assert (first in one.digests, one.list_lost()) == (False, [])
    assert not (tmp_path / first).exists()
    assert first not in (tmp_path / NAME).read_text()
    assert second in (tmp_path / NAME).read_text()


# --- torn lines


def test_a_list_that_is_cut_anywhere_loses_the_last_line_and_no_other(tmp_path):
    names = add(tmp_path, 0, 1, 2)
    whole = (tmp_path / NAME).read_bytes()
    lines = whole.count(b"\n")
    for size in range(len(whole)):
        (tmp_path / NAME).write_bytes(whole[:size])
        assert list(Listing(tmp_path)) == names[: whole[:size].count(b"\n")]
    assert lines == 3


def test_after_a_torn_line_the_next_one_stands_by_itself(tmp_path):
    names = add(tmp_path, 0, 1)
    whole = (tmp_path / NAME).read_bytes()
    for size in range(len(whole)):
        (tmp_path / NAME).write_bytes(whole[:size])
        [third] = add(tmp_path, 2)
        known = Listing(tmp_path)
        kept = names[: whole[:size].count(b"\n")]
        assert set(known) - set(names) == {third}
        assert set(kept) <= set(known)  # what was torn off its end alone is whole again
        assert all(known.digests[name] == hashlib.sha256(b"content").hexdigest() for name in known)


def test_half_a_digest_that_is_closed_says_nothing_of_a_file(tmp_path):
    [name] = add(tmp_path, 0)
    path = tmp_path / NAME
    path.write_text(path.read_text()[:40])
    [other] = add(tmp_path, 1)
    assert list(Listing(tmp_path)) == [other]
    assert name not in Listing(tmp_path).digests


@pytest.mark.parametrize(
    "line",
    [b"", b"\xff\xfe", b"x", b"# a remark", b"0" * 63 + b"  name", b"\x00" * 100, b"0" * 64 + b"  a\x1bb"],
)
def test_a_line_that_is_none_of_ours_says_nothing(tmp_path, line):
    names = add(tmp_path, 0, 1)
    path = tmp_path / NAME
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + line + b"\n" + second)
    listing = Listing(tmp_path)
    assert (list(listing), listing.list_lost(), listing.spoilt) == (names, [], [path])
    listing.tidy()
    assert (listing.spoilt, Listing(tmp_path).spoilt, path.read_bytes()) == ([], [], first + second)


# --- several lists


def test_lists_of_parts_are_read_with_that_of_the_run_and_become_one(tmp_path):
    names = [
        *add(tmp_path, 0),
        *add(tmp_path, 1, part="part-1-of-2"),
        *add(tmp_path, 2, part="part-2-of-2", source="b" * 64),
    ]
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == [
        "files-part-1-of-2.txt", "files-part-2-of-2.txt", NAME,
    ]  # fmt: skip
    assert list(Listing(tmp_path)) == list(Listing(tmp_path, "part-1-of-2")) == names
    listing = Listing(tmp_path)
    listing.tidy()
    assert [path.name for path in tmp_path.glob("*.txt")] == [NAME]
    for one in (listing, Listing(tmp_path)):
        assert list(one) == names
    assert f"# from {'b' * 64} " in (tmp_path / NAME).read_text()


def test_what_a_part_lists_later_is_seen_when_the_lists_are_read_again(tmp_path):
    mine, other = Listing(tmp_path, "part-1-of-2"), Listing(tmp_path, "part-2-of-2")
    made = make(tmp_path, 0)
    other.add([made])
    assert made.name not in mine
    mine.read()
    assert made.name in mine


def test_a_newer_list_or_line_is_right_about_a_file_that_was_made_again(tmp_path):
    [name] = add(tmp_path, 0, content=b"first", source="a" * 64)
    add(tmp_path, 0, content=b"second", source="b" * 64)
    assert Listing(tmp_path).digests[name] == hashlib.sha256(b"second").hexdigest()
    add(tmp_path, 0, content=b"third", source="c" * 64, part="part-1-of-2")
    listing = Listing(tmp_path)
    assert listing.digests[name] == hashlib.sha256(b"third").hexdigest()
    listing.tidy()
    text = (tmp_path / NAME).read_text()
    assert [text.count(word) for word in (name, "c" * 64, "a" * 64, "b" * 64)] == [2, 1, 0, 0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["", "part-1-of-2", "part-2-of-2"]), st.booleans()),
        max_size=12,
    )
)
def test_a_list_holds_what_was_added_and_not_dropped_in_whichever_order(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("run")
    expected = set()
    for number, part, drops in steps:
        name = f"{PLACE}/part-{number:06d}.parquet"
        if drops:  # a plain run alone drops, and it has put all lists into one before
            listing = Listing(root)
            listing.tidy()
            listing.drop([name])
            expected.discard(name)
        else:
            expected.update(add(root, number, part=part))
        assert set(Listing(root)) == expected


# --- what a file was made from


def test_a_file_is_made_from_others_as_they_are_now_and_no_more_if_one_changes(tmp_path):
    sources = add(tmp_path, 0, 1)
    listing = Listing(tmp_path)
    guess = make(tmp_path, 0, place="guesses/plan/word-rr/3/lexical", source=listing.digest_of(sources))
    listing.add([guess])
    for one in (listing, Listing(tmp_path)):
        assert one.is_made_from(guess.name, sources)
        assert one.is_made_from(guess.name, reversed(sources))
        assert not one.is_made_from(guess.name, sources[:1])
    listing.add([make(tmp_path, 1, content=b"otherwise")])
    assert not listing.is_made_from(guess.name, sources)
    assert not Listing(tmp_path).is_made_from(guess.name, sources)
    listing.add([make(tmp_path, 1)])
    assert Listing(tmp_path).is_made_from(guess.name, sources)


def test_files_that_changed_places_are_other_sources(tmp_path):
    sources = [*add(tmp_path, 0, content=b"a"), *add(tmp_path, 1, content=b"b")]
    before = Listing(tmp_path).digest_of(sources)
    add(tmp_path, 0, content=b"b")
    add(tmp_path, 1, content=b"a")
    assert Listing(tmp_path).digest_of(sources) != before
    same = add(tmp_path, 2, 3)
    assert Listing(tmp_path).digest_of(same[:1]) != Listing(tmp_path).digest_of(same[1:])


def test_a_file_of_whose_sources_nothing_is_known_is_not_accused(tmp_path):
    [name] = add(tmp_path, 0)
    assert Listing(tmp_path).is_made_from(name, [])
    assert Listing(tmp_path).is_made_from(name, [name])


def test_a_comment_that_is_not_as_it_was_written_says_nothing_and_is_told(tmp_path):
    [name] = add(tmp_path, 0, source="b" * 64)
    path = tmp_path / NAME
    assert not Listing(tmp_path).is_made_from(name, [])
    path.write_text(path.read_text().replace("# from b", "# from a"))
    listing = Listing(tmp_path)
    assert (listing.is_made_from(name, []), listing.spoilt) == (True, [path])


# --- the file itself


def test_nobody_else_reads_the_list(tmp_path):
    add(tmp_path, 0)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    Listing(tmp_path).drop([])
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_a_list_that_cannot_be_written_is_told_with_what_to_do(tmp_path):
    listing = Listing(tmp_path)
    (tmp_path / NAME).mkdir()
    with pytest.raises(
        RunDirectoryError, match=r"files\.txt' cannot be written .* run the same command again"
    ):
        listing.add([make(tmp_path, 0)])


# --- what `report --check` says of it


def damage(root):
    return find_damage(RunDirectory(root))[1]


def test_a_file_that_is_not_the_listed_one_is_named_though_it_is_whole_in_itself(tmp_path):
    root = run(make_spec(tmp_path / "run", attacks=["lexical"])).folder
    assert damage(root) == []
    lexical = root / "guesses/k2-lambda0/word-rr/3/lexical"
    first = min(lexical.glob("part-*"))
    other = run(make_spec(tmp_path / "other", attacks=["lexical"], seed=5)).folder
    shutil.copy(other / "rewrites/word-rr/3/part-000000.parquet", root / "rewrites/word-rr/3")
    assert "part-000000.parquet" in damage(root)[0]
    shutil.copy(other / first.relative_to(root), first)
    text = (root / NAME).read_text()
    (root / NAME).write_text(
        text.replace("  rewrites/word-rr/3/part-000001", "  rewrites/word-rr/3/part-100001")
    )
    told = damage(root)
    assert sum(first.name in line for line in told) == 1
    assert sum("part-100001.parquet' is in" in line and "not there" in line for line in told) == 1


def test_a_digest_that_changed_in_the_list_is_named_with_the_list(tmp_path):
    root = run(make_spec(tmp_path / "run", mechanisms=["identity"], attacks=["lexical"])).folder
    lines = (root / NAME).read_text().splitlines(keepends=True)
    last = next(line for line in lines if not line.startswith("#"))
    changed = ("1" if last[0] == "0" else "0") + last[1:]
    (root / NAME).write_text("".join(lines).replace(last, changed))
    [line] = damage(root)
    assert last[66:].strip() in line
    assert str(root / NAME) in line
    (root / NAME).write_text("".join(lines).replace(last, "x" + last))
    assert damage(root) == [f"'{root / NAME}' has a line that says nothing. Run the same command again."]
