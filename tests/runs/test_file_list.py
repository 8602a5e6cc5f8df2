"""The list of files beside the tables: what was written is known, whatever else is there is named."""

import json
import os
import shutil
import signal
from itertools import pairwise

import pytest

import tedaudit.runs.file_list as module
from command_line import call
from helpers import make_spec
from tedaudit.api import load_run, report, run
from tedaudit.errors import RunDirectoryError
from tedaudit.results.certain_losses import write_certain
from tedaudit.results.section import Column, Section, Table, store_section
from tedaudit.runs.checking import find_damage
from tedaudit.runs.checksums import seal_json
from tedaudit.runs.directory import RunDirectory

ROW = ("word-rr", "a text of somebody")
SECTION = Section(
    "Pairs", Table((Column("mechanism", "label"), Column("text", "text")), (ROW,)), "How to read it."
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run with a section, certain losses, utility and cards."""
    root = tmp_path_factory.mktemp("finished") / "run"
    run(make_spec(root))
    store = RunDirectory(root)
    store_section(store, "pairs", SECTION)
    write_certain(store, [])
    store.files.write({store.utility: b'{"rows": [], "tasks": []}'}, redacted=False)
    report(root)
    call("export", root, "-f", "card")
    return root


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def damage(root):
    return find_damage(RunDirectory(root))[1]


def test_a_run_as_it_was_written_fits(copy):
    number, found = find_damage(RunDirectory(copy))
    files = [path for path in copy.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert (number >= len(files), found) == (True, [])


@pytest.mark.parametrize("name", ["sections/pairs.json", "certain.json", "utility.json"])
def test_what_a_report_is_made_from_is_refused_if_it_was_edited(copy, name):
    path = copy / name
    path.write_text(path.read_text().replace("[]", "[ ]").replace("a text", "some text"))
    with pytest.raises(RunDirectoryError, match=rf"{path.name}' is not the file that was written here"):
        report(copy)


@pytest.mark.parametrize(
    "name",
    ["report.html", "report.md", "summary.json", "estimates.parquet", "sections/pairs.json", "certain.json",
     "utility.json", "cards/word-rr.card.md", "files.json", "manifest.json"],
)  # fmt: skip
@pytest.mark.parametrize("change", ["cut", "another", "gone"])
def test_check_names_a_file_that_was_cut_short_exchanged_or_lost(copy, name, change):
    path = copy / name
    if change == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif change == "another":
        other = "report.md" if name != "report.md" else "summary.json"
        shutil.copy(copy / other, path)
    else:
        path.unlink()
    found = damage(copy)
    assert len(found) == 1
    assert name.rpartition("/")[2] in found[0]


def test_check_prints_every_file_that_does_not_fit_and_ends_with_2(copy, capsys):
    assert call("report", copy, "--check") == 0
    assert "files of" in capsys.readouterr().out
    (copy / "report.md").write_text("# all is well\n")
    (copy / "sections" / "pairs.json").unlink()
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert call("report", copy, "--check") == 2
    told = capsys.readouterr()
    assert [name for name in ("report.md", "pairs.json") if name in told.err] == ["report.md", "pairs.json"]
    assert len(told.err.splitlines()) == 2
    assert call("report", copy, "--check", "--json") == 2
    assert len(json.loads(capsys.readouterr().out)["damaged"]) == 2
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert call("report", copy, "--check", "--redact") == 2
    assert "leave out --redact and --full" in capsys.readouterr().err


def test_check_reads_tables_and_the_runs_of_studies_too(copy, finished):
    shutil.copytree(finished, copy / "studies" / "pairs-1x2" / "word-rr" / "3")
    assert damage(copy) == []
    parts = [min(copy.glob(f"{place}/**/part-*")) for place in ("rewrites", "guesses", "studies")]
    for path in parts:
        path.write_bytes(path.read_bytes()[:-1])
    assert [str(path) in line for path, line in zip(parts, damage(copy), strict=True)] == [True] * 3


def test_a_section_of_another_run_is_not_taken_for_one_of_this(copy):
    shutil.copy(copy / "sections" / "pairs.json", copy / "sections" / "records.json")
    with pytest.raises(RunDirectoryError, match=r"records\.json' is not the file"):
        report(copy)


def test_the_list_of_another_run_is_noticed(copy, tmp_path):
    run(make_spec(tmp_path / "other"))
    shutil.copy(tmp_path / "other" / "files.json", copy / "files.json")
    with pytest.raises(RunDirectoryError, match=r"files\.json' is damaged \(it is that of another run\)"):
        report(copy)


def test_what_is_gone_is_told_and_stops_nobody(copy):
    (copy / "sections" / "pairs.json").unlink()
    (copy / "certain.json").unlink()
    (copy / "report.html").unlink()
    told = report(copy).told_missing
    assert told == ["certain.json, and with it what it told", "sections/pairs.json, and with it what it told"]
    store_section(RunDirectory(copy), "pairs", SECTION)
    assert not any("pairs" in note for note in load_run(copy).notes)


def test_damage_is_mended_by_what_the_message_says(copy):
    (copy / "sections" / "pairs.json").write_text("{")
    store_section(RunDirectory(copy), "pairs", SECTION)  # by the command that wrote it
    report(copy)
    assert damage(copy) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000], ids=repr)
def test_a_list_that_cannot_be_read_is_named(copy, content):
    (copy / "files.json").write_bytes(content)
    with pytest.raises(
        RunDirectoryError, match=r"files\.json' is damaged .*Restore it; or delete what is there"
    ):
        load_run(copy)


@pytest.mark.parametrize("field", ["files", "redacted", "run", "checksum"])
def test_a_list_that_lacks_something_is_named(copy, field):
    path = copy / "files.json"
    content = json.loads(path.read_text())
    del content[field]
    path.write_text(json.dumps(content if field == "checksum" else seal_json(content)))
    with pytest.raises(RunDirectoryError, match=r"files\.json' is damaged"):
        load_run(copy)


@pytest.mark.parametrize("value", [None, [], "x", {"a": None}, {"a": ["b"]}, {"a": 3}])
def test_a_list_of_the_wrong_shape_is_named(copy, value):
    path = copy / "files.json"
    path.write_text(json.dumps(seal_json({**json.loads(path.read_text()), "files": value})))
    with pytest.raises(RunDirectoryError, match=r"files\.json' is damaged"):
        load_run(copy)


@pytest.mark.parametrize(
    "name",
    [
        "../x.png",
        "figures/../../x.png",
        "figures/..",
        "/x.png",
        "figures/a/x.png",
        "manifest.json",
        "",
        "figures",
    ],
)
def test_a_list_never_leads_out_of_the_run_nor_to_its_tables(copy, name):
    (copy.parent / "x.png").write_bytes(b"mine")
    path = copy / "files.json"
    content = json.loads(path.read_text())
    content["files"][name] = {"0": False}
    path.write_text(json.dumps(seal_json(content)))
    with pytest.raises(RunDirectoryError, match=r"is damaged .*not beside the tables"):
        report(copy, redact=True)
    assert (copy.parent / "x.png").exists()
    assert (copy / "manifest.json").exists()


def test_nothing_behind_a_link_is_removed_or_listed(copy, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "holiday.png").write_bytes(b"mine")
    shutil.rmtree(copy / "figures", ignore_errors=True)
    (copy / "figures").symlink_to(mine)
    (copy / "files.json").unlink()
    RunDirectory(copy).note_redaction(redacted=True)  # lists all that is there anew
    assert (mine / "holiday.png").exists()
    content = json.loads((copy / "files.json").read_text())
    content["files"]["figures/holiday.png"] = {"0": False}
    (copy / "files.json").write_text(json.dumps(seal_json(content)))
    with pytest.raises(RunDirectoryError, match="figures' is a link to somewhere else"):
        RunDirectory(copy).note_redaction(redacted=True)
    assert (mine / "holiday.png").exists()


@pytest.mark.parametrize("redacted", [True, False])
def test_a_lost_list_drops_no_redaction_and_is_made_anew_by_who_says_which_it_is(copy, redacted):
    report(copy, redact=True)
    (copy / "files.json").unlink()
    for command in (
        ("report", copy),
        ("records", copy),
        ("export", copy, "-f", "card"),
        ("estimate", copy),
    ):
        assert call(*command) == 2
    assert ROW[1] not in (copy / "report.html").read_text()
    report(copy, redact=redacted, full=not redacted)
    assert RunDirectory(copy).files.is_redacted is redacted
    assert damage(copy) == []


def test_the_list_costs_two_writes_however_many_files_are_written_at_once(copy, monkeypatch):
    written = []
    write = module.write_atomically
    monkeypatch.setattr(
        module, "write_atomically", lambda path, content: (written.append(path.name), write(path, content))
    )
    report(copy)
    assert written == [
        "files.json",
        "summary.json",
        "report.md",
        "estimates.parquet",
        "report.html",
        "files.json",
    ]


def _stop_before(number):
    """Make this process die instead of renaming the n-th file."""
    import sys

    left = number

    def hook(event, args):
        nonlocal left
        if event == "os.rename" and ".writing-" in str(args[0]):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.parametrize("redacted", [False, True])
def test_killed_at_any_file_nothing_reads_as_damage_and_no_text_is_left(tmp_path, redacted):
    root = tmp_path / "run"
    root.mkdir()
    store = RunDirectory(root)
    names = [root / name for name in ("report.html", "figures/a.png", "sections/pairs.json")]
    for number in range(1, 12):
        store.files.note_redaction(redacted=False)
        store.files.write(dict.fromkeys(names, b"a text, full"), redacted=False)
        child = os.fork()
        if not child:
            _stop_before(number)
            store.files.note_redaction(redacted=redacted)
            store.files.write({names[0]: b"new", names[2]: b"new"}, redacted=redacted)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        states = {path: path.read_bytes() if path.exists() else b"" for path in names}
        assert set(states.values()) <= {b"a text, full", b"new", b""}
        told = [line for line in store.files.examine() if line]
        assert all("holds texts, and the run is redacted" in line for line in told)
        assert store.files.list_gone() == []
        if store.files.is_redacted:
            full = sorted(str(path) for path, content in states.items() if content == b"a text, full")
            assert sorted(line.split("'")[1] for line in told) == full  # each is named
            store.files.write({names[0]: b"other", names[2]: b"other"}, redacted=True)
            left = [path for path in root.rglob("*") if path.is_file() and b"full" in path.read_bytes()]
            assert left == []
        store.files.note_redaction(redacted=False)
        assert not list(root.glob(".writing-*-files.json"))
        if status == 0:
            break
    else:
        pytest.fail("it was always killed")
    assert number > 4


def test_two_processes_that_write_at_once_lose_nothing(tmp_path):
    root = tmp_path / "run"
    root.mkdir()
    children = []
    for name in "abcd":
        child = os.fork()
        if not child:
            store = RunDirectory(root)
            for number in range(25):
                paths = [root / "cards" / f"{name}-{number}.md", root / "report.md"]
                store.files.write(dict.fromkeys(paths, f"{name} {number}".encode()), redacted=True)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    told = list(RunDirectory(root).files.examine())
    assert (len(told), [line for line in told if line]) == (1 + 100 + 1, [])


def test_a_reader_never_takes_a_file_that_is_being_replaced_for_damage(tmp_path):
    root = tmp_path / "run"
    root.mkdir()
    path = root / "utility.json"
    RunDirectory(root).files.write({path: b"0"}, redacted=False)
    child = os.fork()
    if not child:
        store = RunDirectory(root)
        for number in range(1, 150):
            store.files.write({path: b"%d" % number}, redacted=False)
        os._exit(0)
    seen = []
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        seen.append(int(RunDirectory(root).files.read(path)))
    assert all(a <= b for a, b in pairwise(seen))


def test_nothing_with_texts_is_written_once_another_process_has_redacted_the_run(copy):
    slow = RunDirectory(copy)
    assert not slow.files.is_redacted
    RunDirectory(copy).note_redaction(redacted=True)
    with pytest.raises(RunDirectoryError, match="was redacted while this command was working"):
        slow.files.write({slow.page: b"texts"}, redacted=False)
    slow.files.write({slow.certain_losses: b"{}"}, redacted=False)  # nobody is shown it


def test_what_holds_texts_goes_at_once_even_if_no_report_can_be_written_any_more(copy):
    min(copy.glob("guesses/**/part-*")).write_bytes(b"")
    with pytest.raises(RunDirectoryError, match="part-"):
        report(copy, redact=True)
    assert not any((copy / name).exists() for name in ("report.html", "report.md", "estimates.parquet"))
    assert (copy / "cards" / "word-rr.card.md").exists()  # cards never hold any
    assert [line for line in damage(copy) if "pairs.json' holds texts, and the run is redacted" in line]


def test_a_look_noted_by_another_process_is_not_lost(copy):
    mine, other = RunDirectory(copy), RunDirectory(copy)
    mine.manifest()
    with other.locked():
        other.write_manifest({**other.manifest(), "looks": ["x"]})
    with mine.locked():
        assert mine.manifest()["looks"] == ["x"]
