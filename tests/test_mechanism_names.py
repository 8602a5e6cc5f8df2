"""A mechanism is one file: nothing else in the package asks for one by its name."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import tedaudit

SOURCE = Path(tedaudit.__file__).parent
HOMES = {"mechanisms", "paper"}  # where mechanisms are written, and where the paper's audits name them
EXAMPLES = {"SMALL", "SIX"}  # of spec: what `tedaudit run` does without a file
_WRAPPED = "whatever is called to rewrite and is no mechanism is wrapped by this one"
ALLOWED = {
    ("plugins", "function"): _WRAPPED,
    ("runs", "function"): _WRAPPED,
    ("runs", "identity"): "texts that were not rewritten stand beside rewrites if other texts are known",
    ("cli", "function"): _WRAPPED,
    ("leaks", "function"): _WRAPPED,
    ("testing", "function"): _WRAPPED,
    ("testing", "identity"): "the answer of an audit of it is known: it must be found",
    ("testing", "constant"): "the answer of an audit of it is known: nothing may be said of it",
    ("leaks", "recorded"): "a word for a table in a note, and the purpose of a seed",
    ("runs", "recorded"): "the name of a corpus that a mechanism brings",
    ("plugins", "presidio"): "an extra, with the packages that it installs",
    ("plugins", "translate"): "an extra, with the packages that it installs",
}
"""By folder and name: why it stands there."""


@cache
def built_in() -> frozenset[str]:
    """Return the names of the mechanisms that come with the package; others are none of its own."""
    files = (SOURCE / "mechanisms").glob("[!_]*.py")
    return frozenset(file.stem.replace("_", "-") for file in files)


def is_example(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in EXAMPLES
    )


def find_names(tree: ast.AST, names: frozenset[str]) -> list[str]:
    """Return the strings of a syntax tree that are names, but for docstrings and the examples of specs."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    told |= {id(part) for node in ast.walk(tree) if is_example(node) for part in ast.walk(node)}
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    return [node.value for node in strings if isinstance(node.value, str) and node.value in names]


def find_imports(tree: ast.AST, names: frozenset[str]) -> list[str]:
    """Return the mechanisms whose modules a syntax tree imports, inside functions too."""
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    ends = [module.removeprefix("tedaudit.mechanisms.") for module in modules if ".mechanisms." in module]
    return [end.replace("_", "-") for end in ends if end.replace("_", "-") in names]


@cache
def find_all() -> dict[tuple[str, str], set[str]]:
    """Return which files know a mechanism, by the folder that they lie in and its name."""
    found = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text("utf-8"))
        for name in (
            () if place in HOMES else (*find_names(tree, built_in()), *find_imports(tree, built_in()))
        ):
            found[place, name].add(path.name)
    return dict(found)


def test_no_file_knows_a_mechanism_by_its_name():
    known = {where: files for where, files in find_all().items() if where not in ALLOWED}
    assert known == {}, "say it on the mechanism's card, or as an ability"


def test_every_exception_is_needed_and_says_why():
    assert set(ALLOWED) <= set(find_all())
    assert all(len(reason.split()) > 3 for reason in ALLOWED.values())


def test_the_check_finds_branches_tables_and_imports_and_no_docstring():
    names = frozenset({"dp-mlm", "word-rr"})
    code = (
        "'dp-mlm'\n"
        "class K:\n    'word-rr'\n    x: int\n    'dp-mlm'\n"
        "SMALL: dict = {'mechanisms': ['word-rr', 'dp-mlm']}\n"
        "def f(m):\n    return m.card.name == 'dp-mlm' or {'word-rr': 3}\n"
    )
    assert sorted(find_names(ast.parse(code), names)) == ["dp-mlm", "word-rr"]
    assert find_names(ast.parse("match m:\n    case 'dp-mlm': pass"), names) == ["dp-mlm"]
    imports = "def f():\n    from tedaudit.mechanisms.dp_mlm import DPMLM\nimport tedaudit.mechanisms.word_rr"
    assert sorted(find_imports(ast.parse(imports), names)) == ["dp-mlm", "word-rr"]
    assert find_imports(ast.parse("from tedaudit.mechanisms._noise import sigma_for"), names) == []
