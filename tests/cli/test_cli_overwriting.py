"""No command overwrites a file of its user, unless --force says so; its own it replaces.

`reproduce` is tested with the experiments.
"""

import pytest
import typer

from tedaudit.cli import app

FILES = {
    "export rows": ("export", "made", "--out", "{}/a.csv"),
    "export texts": ("export", "made", "--what", "trials", "--texts", "--out", "{}/a.csv"),
    "export junit": ("export", "made", "--fail-above", "30", "--out", "{}/a.xml"),
    "compare": ("compare", "made", "--by", "mechanism", "--out", "{}/a.html"),
    "records": ("records", "made", "--count", "1", "-t", "20", "-q", "--yes", "--csv", "{}/a.csv"),
    "export card": ("export", "made", "-f", "card", "-m", "identity", "--out", "{}"),
}  # fmt: skip
NEVER = {  # whatever lies there already stays, unless it is a run or a study that goes on
    "init": ("init", "{}/a.yaml"),
    "rewrite": ("rewrite", "texts.txt", "-m", "identity", "-e", "1", "-q", "-o", "{}/a.txt"),
    "run": ("run", "-m", "identity", "-c", "texts.txt", "-t", "20", "-q", "-o", "{}"),
    "loss": ("loss", "-m", "word-rr", "-e", "1", "-c", "texts.txt", "-t", "20", "-q", "-o", "{}"),
    "link": ("link", "pairs.csv", "--out", "{}"),
    "utility": ("utility", "-c", "demo", "--task", "topic", "-m", "identity", "--limit", "50", "-q", "-o",
                "{}"),
    "calibrate": ("calibrate", "-m", "word-rr", "-c", "texts.txt", "--target", "1", "-q", "-o", "{}"),
    "frontier": ("frontier", "-m", "word-rr", "-c", "demo", "--task", "topic", "--target", "1", "-q", "-o",
                 "{}"),
    "corpus triples": ("corpus", "triples", "texts.txt", "{}", "--encoder", "lexical", "-q"),
}  # fmt: skip


def fill(arguments, place):
    return [str(part).replace("{}", place) for part in arguments]


def read_files(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_replaced_if_tedaudit_wrote_it_or_by_force(case, made, command, here):
    place = here / "place"
    place.mkdir()
    once = fill(FILES[case], "place")
    assert command(*once)[0] == 0
    first = list(place.iterdir())
    assert first
    assert command(*once)[0] == 0  # its own
    for path in first:
        path.write_bytes(b"mine")
    before = read_files(here)
    code, _, err = command(*once)
    assert code == 2
    assert "already exists" in err
    assert "--force" in err
    assert read_files(here) == before
    assert command(*once, "--force")[0] == 0
    assert all(path.read_bytes() != b"mine" for path in first)


@pytest.mark.parametrize("case", NEVER)
def test_whatever_is_there_stays(case, command, here):
    place = here / "place"
    place.mkdir()
    for name in ("a.yaml", "a.txt", "a.md", "link.json", "study.json", "report.md", "table.csv"):
        (place / name).write_text("mine")
    before = read_files(place)
    code, _, err = command(*fill(NEVER[case], "place"))
    assert code == 2
    assert err.startswith("error: ")
    assert read_files(place) == before


def test_a_new_command_that_writes_a_file_is_tested_here_too():
    group, found = typer.main.get_command(app), set()
    for name, command in group.commands.items():
        for option in command.params:
            flags = {"--out", "--csv", "--file"} & set(option.opts)
            found |= {(name, flag) for flag in flags}
    tested = {case.partition(" ")[0] for case in (*FILES, *NEVER)} | {"reproduce"}
    assert {one for one in found if one[0] not in tested} == set()
    takes_force = {
        name for name, command in group.commands.items() if any("--force" in p.opts for p in command.params)
    }
    assert takes_force == {case.partition(" ")[0] for case in FILES} | {"reproduce"}


@pytest.mark.parametrize("name", ["link.json", "study.json"])
def test_a_file_of_the_same_name_makes_no_study(name, command, here):
    place = here / "place"
    place.mkdir()
    (place / name).write_text('{"mine": 1}')
    kind = "link" if name == "link.json" else "utility"
    code, _, err = command(*fill(NEVER[kind], "place"))
    assert code == 2
    assert f"'place/{name}' does not belong to a " in err
    assert (place / name).read_text() == '{"mine": 1}'


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("cards", ("export", "made", "-f", "card")), ("figures", ("report", "made"))],
)
def test_a_folder_of_the_run_that_is_a_link_is_refused(name, arguments, made, command, here):
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    (made / name).symlink_to(elsewhere)
    code, _, err = command(*arguments)
    assert code == 2
    assert f"'made/{name}' is a link to somewhere else" in err
    assert list(elsewhere.iterdir()) == []
