"""`corpus check` as its users meet it."""

import json
import subprocess
import sys

from command_line import call, process
from world_texts import BIDI, write_texts


def write_csv(path, texts):
    lines = [f'{i},"{text}",{"ab"[i % 2]}' for i, text in enumerate(texts)]
    path.write_text("\n".join(["id,text,label", *lines]) + "\n", encoding="utf-8")
    return path


def test_it_tells_what_will_be_read_and_shows_no_text(tmp_path, capsys):
    texts = [*write_texts("arabic"), *BIDI, "esc \x1b[31m"]
    path = write_csv(tmp_path / "texts.csv", texts)
    assert call("corpus", "check", path) == 0
    told = capsys.readouterr().out
    assert "encoding: utf-8, read as utf-8" in told
    assert "column 'text': text, because its name is a usual one for texts" in told
    assert "Arabic above 99%" in told
    assert "characters that turn the order of writing around: 5 rows (181, 182, 183, 184, 185)" in told
    assert "would be cut" in told
    assert not any(text in told for text in texts)
    assert "\x1b" not in told


def test_texts_are_shown_if_asked_for_and_cannot_command_a_terminal(tmp_path, capsys):
    path = write_csv(tmp_path / "texts.csv", ["esc \x1b[31m \u202e", "字", "b"])
    assert call("corpus", "check", path, "--show", "2") == 0
    told = capsys.readouterr().out
    assert "> esc \\x1b[31m \\u202e" in told
    assert "> 字" in told
    assert "> b" not in told
    assert "\x1b" not in told


def test_it_exits_with_two_if_a_run_could_not_read_it(tmp_path, capsys):
    path = tmp_path / "texts.csv"
    path.write_bytes("id,text\n1,caf\u00e9\n2,b\n".encode("latin-1"))
    assert call("corpus", "check", path) == 2
    told = capsys.readouterr()
    assert "lines that cannot be decoded: 1 (line 2)" in told.out
    assert "`run` would refuse this: " in told.err
    assert call("corpus", "check", path, "--encoding", "latin-1") == 0
    assert call("corpus", "check", tmp_path / "none.csv") == 2


def test_json_has_the_same_and_the_exit_code(tmp_path, capsys):
    path = write_csv(tmp_path / "texts.csv", write_texts("thai"))
    assert call("corpus", "check", path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["readable"] is True
    assert told["files"][0]["texts"]["scripts"] == {"Thai": 1.0}
    assert {cut["mechanism"] for cut in told["cut_by_default"]}
    assert "shown" not in told
    assert call("corpus", "check", path, "--json", "--show", "1") == 0
    assert json.loads(capsys.readouterr().out)["shown"] == {"train": [write_texts("thai")[0]]}
    (tmp_path / "bad.jsonl").write_text("no\n")
    assert call("corpus", "check", tmp_path / "bad.jsonl", "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert told["readable"] is False
    assert told["files"][0]["refused_lines"]["count"] == 1


def test_authors_are_counted_in_words_and_in_json_and_nobody_is_named(tmp_path, capsys):
    rows = [f"text {i},{['Nora', 'Omar', ''][i % 3]}" for i in range(12)]
    (tmp_path / "train.csv").write_text("\n".join(["text,who", *rows, "text 0,Omar"]) + "\n")
    (tmp_path / "test.csv").write_text("text,who\nx,Nora\n")
    assert call("corpus", "check", tmp_path, "--author", "who") == 0
    told = capsys.readouterr().out
    assert "authors, column 'who': 2; texts of one: fewest 4, median 4.5, most 5" in told
    assert "of these authors 2 have 1 or more, 2 have 2 or more, 2 have 4 or more, 0 have 8 or more" in told
    assert "texts without an author: 4" in told
    assert "the same text by several authors: 1, counted for each of them" in told
    assert "- authors with texts in several splits: 1" in told
    assert "Nora" not in told
    assert call("corpus", "check", tmp_path, "--author", "who", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["files"][0]["authors"] == {
        "column": "who", "authors": 2, "texts_per_author": {"fewest": 4, "median": 4.5, "most": 5},
        "authors_with_at_least": {"1": 2, "2": 2, "4": 2, "8": 0, "16": 0},
        "texts_without_author": 4, "texts_of_several_authors": 1,
    }  # fmt: skip
    assert data["authors_in_several_splits"] == 1
    assert call("corpus", "check", tmp_path, "--author", "whom") == 2
    assert "Did you mean 'who'?" in capsys.readouterr().err


def test_it_loads_no_model(tmp_path):
    path = write_csv(tmp_path / "texts.csv", write_texts("korean"))
    code = (
        "import sys; sys.argv = ['tedaudit', 'corpus', 'check', sys.argv[1]]\n"
        "from tedaudit.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)
    assert process("corpus").returncode != 0
