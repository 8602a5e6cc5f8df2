import pytest

from tedaudit.text.readers import join_columns, show_name

TEXT = "My name is Pat and I live in Leeds"


def test_names_are_shown_and_what_may_be_a_text_is_told_by_its_length():
    assert join_columns(["b", TEXT, "a"]) == "(a name of 34 characters), a, b"
    assert TEXT not in join_columns([TEXT])


@pytest.mark.parametrize("name", [TEXT, "x" * 41, "\u6211\u4eec\u4eca\u5929\u53bb\u516c\u56ed\u5427\u597d"])
def test_a_sentence_in_any_script_is_not_shown(name):
    assert show_name(name) == f"(a name of {len(name)} characters)"
    assert show_name(name, 2) == f"(column 2, a name of {len(name)} characters)"
