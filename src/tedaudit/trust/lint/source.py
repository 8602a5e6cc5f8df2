"""Lint: the source of a function, as far as it can be read without running it.

Only the function, what it calls by name in its own module, and that module's own statements are read. Names
that come from the function's first parameter count as the private text.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from tedaudit.trust.lint.model import check_setting
from tedaudit.trust.lint.notes import Note

_SEEDING = frozenset(
    {"seed", "manual_seed", "manual_seed_all", "set_seed", "default_rng", "RandomState", "Random", "PRNGKey"}
)
_CAPS = frozenset({"max_length", "max_new_tokens", "max_tokens", "min_length", "min_new_tokens"})
_CASE = frozenset({"isupper", "istitle", "islower"})
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lint_source(function: Callable[..., Any]) -> Iterator[Note]:
    """Yield what stands in the source of a function; that it cannot be read is said too."""
    try:
        trees = _read_trees(function)
    except (OSError, TypeError, SyntaxError, ValueError):
        yield Note("info", "source", "the source of the function cannot be read, so nothing is known of it")
        return
    for tree, private in trees:
        tainted = _spread(tree, private)
        for node in ast.walk(tree):
            yield from _check_node(node, tainted)
        if isinstance(tree, Function):
            yield from _check_returns(tree, private)


def _read_trees(function: Callable[..., Any]) -> list[tuple[ast.AST, str]]:
    """Return the syntax trees to read, each with the name of its private parameter."""
    lines, first = inspect.getsourcelines(function)
    own = ast.increment_lineno(ast.parse(textwrap.dedent("".join(lines))), max(0, first - 1))
    trees: list[tuple[ast.AST, str]] = [
        (node, _first(node)) for node in own.body if isinstance(node, Function)
    ]
    trees = trees or [(own, "text")]  # a lambda in a statement, or a class
    module = inspect.getmodule(function)
    try:
        whole = ast.parse(inspect.getsource(module)) if module else None
    except (OSError, TypeError):
        whole = None
    if whole is None:
        return trees
    defined = {node.name: node for node in whole.body if isinstance(node, Function)}
    waiting, seen = [tree for tree, _ in trees], {getattr(function, "__name__", "")}
    while waiting:
        for name in _list_called(waiting.pop()):
            if name in defined and name not in seen:
                seen.add(name)
                waiting.append(defined[name])
                trees.append((defined[name], _first(defined[name])))
    outside = [node for node in whole.body if not isinstance(node, Function | ast.ClassDef)]
    return [*trees, *((node, "") for node in outside)]


def _first(node: ast.AST) -> str:
    """Return the name of a function's first parameter, other than self."""
    if not isinstance(node, Function):
        return ""
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    return next((name for name in names if name not in ("self", "cls")), "")


def _list_called(tree: ast.AST) -> set[str]:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {function.id for function in calls if isinstance(function, ast.Name)}


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _spread(tree: ast.AST, private: str) -> set[str]:
    """Return the names whose values come from the private parameter, by assignments and loops."""
    tainted = {private} - {""}
    flows = [
        (node.targets, node.value) if isinstance(node, ast.Assign) else ([node.target], node.iter)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.For | ast.comprehension)
    ]
    for _ in range(len(flows)):
        new = {n for targets, value in flows if _names(value) & tainted for t in targets for n in _names(t)}
        if new <= tainted:
            break
        tainted |= new
    return tainted


def _check_node(node: ast.AST, tainted: set[str]) -> Iterator[Note]:
    if isinstance(node, ast.Call):
        yield from _check_seed(node, tainted)
        yield from _check_generation(node, tainted)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CASE and _names(node.func) & tainted:
            text = f"line {node.lineno}: the case of the private text is looked at ({node.func.attr})"
            yield Note("warning", "case", text, "take case from what is drawn")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv):
        left = {name.lower() for name in _names(node.left)}
        if any(name.startswith("eps") for name in left) and _names(node.right) & tainted:
            text = f"line {node.lineno}: epsilon is divided by something that depends on the private text"
            yield Note("error", "budget of the text", text, "divide by a public number")
    elif isinstance(node, ast.Compare) and _names(node) & tainted:
        listed = {name.lower() for part in node.comparators for name in _names(part)}
        if any("stop" in name for name in listed):
            text = f"line {node.lineno}: words of the private text are looked up in a list of stop words"
            yield Note("warning", "stop words", text, "draw stop words like all others")


def _check_seed(node: ast.Call, tainted: set[str]) -> Iterator[Note]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    if called not in _SEEDING or not values:
        return
    if all(isinstance(value, ast.Constant) and value.value is not None for value in values):
        text = f"line {node.lineno}: {called} is given a constant: noise that comes from it can be recomputed"
        yield Note("error", "fixed seed", text, "draw noise from the system's entropy, or take a seed")
    elif any(_names(value) & tainted for value in values):
        text = (
            f"line {node.lineno}: {called} is given something that depends on the private text: noise that "
        )
        yield Note(
            "error",
            "seeded by the text",
            f"{text}comes from it is the same whenever the text is",
            "a fresh seed",
        )


def _check_generation(node: ast.Call, tainted: set[str]) -> Iterator[Note]:
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    for key in sorted(given.keys() & _CAPS):
        if _names(given[key]) & tainted:
            text = f"line {node.lineno}: {key} depends on the private text: the output's length tells its own"
            yield Note("error", "length rule", text, f"{key}: a public number")
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "generate"):
        return
    for key, value in given.items():
        note = check_setting(key, value.value) if isinstance(value, ast.Constant) else None
        if note is not None:
            yield Note(note.level, note.rule, f"line {node.lineno}: {note.text}", note.fix)
    if "do_sample" in given and "top_k" not in given and not any(k.arg is None for k in node.keywords):
        text = f"line {node.lineno}: generate without top_k: the library's default keeps the 50 likeliest"
        yield Note("warning", "top_k", text, "top_k=0")


def _check_returns(tree: Function, private: str) -> Iterator[Note]:
    """Yield if the private text itself is returned."""
    assigned = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.For)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in _names(target)
    }
    for node in ast.walk(tree):
        is_private = isinstance(node, ast.Return) and getattr(node.value, "id", "") == private
        if is_private and private and private not in assigned:
            text = f"line {getattr(node, 'lineno', 0)}: the private text is returned as it is"
            yield Note("error", "copied text", text, "return an ordinary draw for every text")
