"""The order of the folders: one list, and every module is checked against it."""

import ast
from functools import cache
from pathlib import Path

import tedaudit

SOURCE = Path(tedaudit.__file__).parent
LEVELS = (
    ("version", "errors", "paths", "seeding", "text"),
    ("plugins",),
    ("estimators", "trials", "models"),
    ("corpora", "mechanisms", "attacks"),
    ("runs",),
    ("results",),
    ("reports",),
    ("api",),
    ("leaks", "studies"),
    ("testing", "paper"),
    ("cli",),
)
"""From the ground up. A module may import from levels below its own and from its own folder, no other."""
FLAT = LEVELS[0]  # single modules, which have an order of their own: none imports one that imports it


def place(module: str) -> str:
    """Return the folder of a module, or its own name if it lies at the top of the package."""
    name = module.split(".")[1] if "." in module else ""
    return "cli" if name == "__main__" else name  # `python -m tedaudit` is the command line


@cache
def levels() -> dict[str, int]:
    return {name: number for number, names in enumerate(LEVELS) for name in names}


def violations(module: str, imported: set[str]) -> list[str]:
    """Return what a module imports from its own level or above, other than its own folder."""
    mine = place(module)
    return [
        name
        for name in sorted(imported)
        if place(name) != mine
        and not (mine in FLAT and place(name) in FLAT)
        and levels()[place(name)] >= levels()[mine]
    ]


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(tree: ast.AST, known: frozenset[str]) -> set[str]:
    """Return the modules of the package that a syntax tree imports, inside functions too."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if is_for_type_checkers(node):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in known else str(node.module) for name in names}
        else:
            found |= imports(node, known)
    return {name for name in found if name.startswith("tedaudit.")}


@cache
def modules() -> dict[str, ast.AST]:
    named = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        named[name] = ast.parse(path.read_text("utf-8"))
    return named


def imported_by(module: str) -> set[str]:
    return imports(modules()[module], frozenset(modules()))


def test_every_folder_is_in_the_list_once_and_the_list_names_no_other():
    named = [name for names in LEVELS for name in names]
    assert len(named) == len(set(named))
    assert {place(module) for module in modules() if module != "tedaudit"} == set(named)


def test_the_list_has_eleven_levels_at_most():
    assert len(LEVELS) <= 11


def test_no_import_points_up():
    found = {name: violations(name, imported_by(name)) for name in modules() if name != "tedaudit"}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_the_face_of_the_package_imports_nothing():
    assert imported_by("tedaudit") == set()


def test_nothing_imports_what_imports_it():
    done, path = set(), []

    def visit(name):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        path.append(name)
        for found in imported_by(name):
            visit(found)
        path.pop()
        done.add(name)

    for name in modules():
        visit(name)
    assert done == set(modules())


def test_the_check_finds_an_import_that_points_up_or_sideways():
    assert violations("tedaudit.runs.runner", {"tedaudit.reports.files"}) == ["tedaudit.reports.files"]
    assert violations("tedaudit.runs.runner", {"tedaudit.results.reading"}) != []
    assert violations("tedaudit.plugins.values", {"tedaudit.trials.judge"}) != []
    assert violations("tedaudit.runs.runner", {"tedaudit.runs.steps", "tedaudit.runs.jobs"}) == []


def test_the_check_sees_imports_inside_functions_and_not_those_for_type_checkers():
    tree = ast.parse(
        "import tedaudit.a\nif TYPE_CHECKING:\n    import tedaudit.b\n"
        "class K:\n    def f(self):\n        from tedaudit.c import d\n"
    )
    assert imports(tree, frozenset()) == {"tedaudit.a", "tedaudit.c"}
    assert imports(tree, frozenset({"tedaudit.c.d"})) == {"tedaudit.a", "tedaudit.c.d"}
