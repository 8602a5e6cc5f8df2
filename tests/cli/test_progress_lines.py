"""A line a minute where there is no terminal."""

from tedaudit.cli.console import ProgressLines, progress_bar


def make_lines():
    now, told = [0.0], []
    return now, told, ProgressLines(told.append, lambda: now[0])


def test_a_line_comes_once_a_minute_with_rate_and_time_left():
    now, told, tell = make_lines()
    for second in range(0, 200, 10):
        now[0] = float(second)
        tell("word-rr: rewriting", 1_000 + 100 * second, 100_000)
    assert told == [
        "word-rr: rewriting: 7,000 of 100,000, 100 a second, 16 min left",
        "word-rr: rewriting: 13,000 of 100,000, 100 a second, 14 min left",
        "word-rr: rewriting: 19,000 of 100,000, 100 a second, 14 min left",
    ]


def test_what_was_there_before_does_not_count_for_the_rate_and_hours_are_told():
    now, told, tell = make_lines()
    tell("", 50_000, 100_000)
    now[0] = 100.0
    tell("", 50_000, 100_000)
    now[0] = 200.0
    tell("dp-st: rewriting", 50_200, 100_000)
    now[0] = 300.0
    tell("", 50_900, 100_000)
    assert told == [
        "preparing: 50,000 of 100,000",
        "dp-st: rewriting: 50,200 of 100,000, 1 a second, 13 h 50 min left",
        "dp-st: rewriting: 50,900 of 100,000, 3 a second, 4 h 33 min left",
    ]


def test_a_large_rate_is_told_in_digits():
    now, told, tell = make_lines()
    tell("word-rr: lexical", 0, 1_000_000)
    now[0] = 100.0
    tell("word-rr: lexical", 146_970, 1_000_000)
    assert "1,470 a second" in told[0]


def test_without_a_terminal_short_work_says_nothing(capsys):
    with progress_bar(quiet=False) as progress:
        progress("identity: rewriting", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_stage_that_counts_from_its_own_beginning_has_a_rate_of_its_own():
    now, told, tell = make_lines()
    for second, step, done in (
        (0, "reading", 0),
        (40, "reading", 1_200),
        (50, "scoring", 0),
        (110, "scoring", 600),
    ):
        now[0] = float(second)
        tell(step, done, 1_200)
    assert told == ["scoring: 600 of 1,200, 10 a second, 1 min left"]
