"""YAML that anybody may have written: read, or refused in one line that says where."""

import pytest

from tedaudit.errors import PathError, SpecError
from tedaudit.runs.spec.flags import parse_value
from tedaudit.runs.spec.model import read_spec
from tedaudit.runs.spec.yaml_text import load_yaml

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)

WRONG = {
    "digits": (f"seed: {'9' * 5000}", "line 1, column 7: '999", "cannot be read as a value of type int"),
    "date": ("a: 2024-99-99", "line 1, column 4: '2024-99-99' cannot be read as a value of type timestamp",
    ""),
    "int": ("a: !!int abc", "'abc' cannot be read as a value of type int", ""),
    "float": ("a: !!float x", "cannot be read as a value of type float", ""),
    "bool": ("a: !!bool maybe", "cannot be read as a value of type bool", ""),
    "binary": ("a: !!binary 'é'", "line 1, column 4", ""),
    "object": ("a: !!python/object/apply:os.system [id]", "could not determine a constructor for the tag",
    ""),
    "tag": ("a: !mine x", "could not determine a constructor", ""),
    "deep": ("a: " + "[" * 5000 + "]" * 5000, "it is nested too deeply", ""),
    "deep mapping": ("a: " + "{b: " * 5000 + "}" * 5000, "it is nested too deeply", ""),
    "itself": ("a: &a [*a]", "an alias that contains itself", ""),
    "aliases": (LAUGHS, "more than 100,000 values", ""),
    "merged": ("a: &a {x: 1}\n" + "".join(f"{n}: &{n} {{<<: [*{o}, *{o}, *{o}, *{o}, *{o}, *{o}, *{o}]}}\n"
               for o, n in zip("abcdefgh", "bcdefghi", strict=True)), "more than 100,000 values", ""),
    "list as a key": ("{[a]: b}", "found unhashable key", ""),
    "unknown alias": ("a: *b", "found undefined alias", ""),
    "control": ("a: \x01", "unacceptable character #x0001", ""),
    "two documents": ("a: 1\n---\nb: 2", "line 2, column 1: but found another document", ""),
    "long": ("a: " + "x" * 10_000_000, "it is longer than 10,000,000 characters", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_read_is_said_in_one_line(case, tmp_path):
    text, *said = WRONG[case]
    with pytest.raises(ValueError, match=r".") as caught:
        load_yaml(text)
    assert all(part in str(caught.value) for part in said)
    assert len(str(caught.value).splitlines()) == 1
    path = tmp_path / "audit.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        read_spec(path)
    message = str(refused.value)
    assert message.isprintable()
    assert f"'{path}' cannot be read as YAML: " in message
    assert all(part in message for part in said)
    with pytest.raises(SpecError, match="the value cannot be read as YAML"):
        parse_value(f"x.y={text}", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: [x, 2.5, null]", {"a": 1, "b": ["x", 2.5, None]}), ("", None), ("a: &x 1\nb: *x", {"a":
        1, "b": 1}),
        ("0x10", 16), ("{a: {<<: {b: 1}, c: 2}}", {"a": {"b": 1, "c": 2}}), ("'²'", "²"),
    ],
)  # fmt: skip
def test_what_can_be_read_is_read(text, value):
    assert load_yaml(text) == value


def test_a_spec_that_is_a_folder_or_a_device_is_refused(tmp_path):
    with pytest.raises(SpecError, match="cannot be read as YAML: Is a directory"):
        read_spec(tmp_path)
    with pytest.raises(PathError, match="too long"):
        read_spec(tmp_path / ("x" * 300))
    with pytest.raises(SpecError, match="cannot be read as YAML: it is longer than"):
        read_spec(type(tmp_path)("/dev/zero"))
