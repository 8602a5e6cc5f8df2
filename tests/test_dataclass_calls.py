"""No dataclass is called with more than three positional arguments: who knows the fourth from the fifth?"""

import ast
from pathlib import Path

import tedaudit

SOURCE = Path(tedaudit.__file__).parent
TELLING = {"Column", "Section"}  # a row of a table reads better as a row


def parse():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def is_dataclass(node):
    named = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(getattr(one, "id", "") == "dataclass" for one in named)


def find_long_calls(trees):
    """Yield file, line and class of each call that names too few fields."""
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    own_init = {c.name for c in classes for f in c.body if getattr(f, "name", "") == "__init__"}
    known = {node.name for node in classes if is_dataclass(node)} - own_init - TELLING
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in known:
                is_spread = any(isinstance(one, ast.Starred) for one in node.args)
                if len(node.args) > 3 and not is_spread:
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.func.id


def test_fields_beyond_the_third_are_given_by_name():
    assert list(find_long_calls(parse())) == []


def test_a_call_with_four_is_found():
    code = "@dataclass\nclass Four:\n    a: int\n\nFour(1, 2, 3, 4)\nFour(1, 2, 3, d=4)\nprint(1, 2, 3, 4)\n"
    assert list(find_long_calls({SOURCE / "made.py": ast.parse(code)})) == [("made.py:5", "Four")]
