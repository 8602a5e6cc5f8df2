"""How a table is fitted into a terminal: parts, widths, and no word that is cut."""

import pytest

from tedaudit.reports.fitting import fit_columns

HEADINGS = ("who", "how many", "interval", "verdict")
ROWS = (("ann", "12 / 200", "1.25 (to 3.50)", "out of reach"), ("bob", "7 / 9", "0.10 (to 0.20)", "no claim"))


def test_a_table_that_has_room_keeps_its_natural_widths():
    assert fit_columns(HEADINGS, ROWS, 200, [0]) == [{0: 3, 1: 8, 2: 14, 3: 12}]


@pytest.mark.parametrize("width", range(24, 60))
def test_every_part_fits_has_the_keys_and_room_for_every_word(width):
    parts = fit_columns(HEADINGS, ROWS, width, [0])
    assert sorted({i for part in parts for i in part}) == [0, 1, 2, 3]
    for part in parts:
        assert 0 in part
        assert sum(size + 3 for size in part.values()) + 1 <= width
        for i, size in part.items():
            words = [word for row in (HEADINGS, *ROWS) for word in row[i].split()]
            assert size >= max(map(len, words))


def test_a_word_of_any_length_takes_no_more_than_it_may():
    [part] = fit_columns(("path",), (("x" * 500,),), 40, [0])
    assert part == {0: 36}


def test_a_table_without_rows_has_its_headings():
    assert fit_columns(("a", "b"), (), 80, [0, 1]) == [{0: 1, 1: 1}]
