"""Lint: the source of a function, as far as it can be read without running it.

Only the function, what it calls by name in its own module, and the generators that the module's own
statements make and seed are read. Names that come from the function's first parameter count as the private
text.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tedaudit.leaks.lint.model import check_setting
from tedaudit.plugins.values import Level, Note

SEEDS = ("fixed seed", "seeded by the text")
"""The rules on noise that can be computed again: with it, no bound says anything."""
_SEEDING = frozenset(
    {"seed", "manual_seed", "manual_seed_all", "set_seed", "default_rng", "RandomState", "Random", "PRNGKey"}
)
_GLOBAL = frozenset({"seed", "manual_seed", "manual_seed_all", "set_seed"})  # these seed a whole library
_GUESSED = {
    "time.time": "the clock", "time.time_ns": "the clock", "time.monotonic": "the clock",
    "time.perf_counter": "the clock", "time.process_time": "the clock", "datetime.now": "the clock",
    "datetime.utcnow": "the clock", "datetime.today": "the clock", "date.today": "the clock",
    "os.getpid": "the number of its process", "os.getppid": "the number of its process",
    "multiprocessing.current_process": "the number of its process",
}  # fmt: skip
_PURE = frozenset(
    {"abs", "bytes", "enumerate", "float", "hash", "int", "len", "list", "map", "max", "min", "ord", "range",
     "repr", "round", "sorted", "str", "sum", "tuple", "zip", "hashlib", "zlib", "binascii", "math", "struct"}
)  # fmt: skip
_NOISE = ("random.", "numpy.random.", "secrets.", "os.urandom", "uuid.uuid4", "torch.rand", "torch.normal",
          "torch.multinomial", "torch.bernoulli", "torch.distributions.", "random.SystemRandom")  # fmt: skip
_CAPS = frozenset({"max_length", "max_new_tokens", "max_tokens", "min_length", "min_new_tokens"})
_CASE = frozenset({"isupper", "istitle", "islower"})
Function = ast.FunctionDef | ast.AsyncFunctionDef
Statement = ast.Assign | ast.AnnAssign | ast.Expr


@dataclass(frozen=True)
class _Source:
    """What is read: the function and those that it calls, each with its private parameter, and the module."""

    functions: Sequence[tuple[ast.AST, str]]
    statements: Sequence[Statement] = ()  # of the module, that run when it is imported
    modules: Mapping[str, str] = field(default_factory=dict)  # what an imported name stands for

    def name(self, node: ast.AST) -> str:
        """Return what is called, such as "numpy.random.seed"; empty if it is no plain name."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id, node.id)
        inner = self.name(node.value) if isinstance(node, ast.Attribute) else ""
        return f"{inner}.{node.attr}" if inner and isinstance(node, ast.Attribute) else ""


def lint_source(function: Callable[..., Any]) -> Iterator[Note]:
    """Yield what stands in the source of a function; that it cannot be read is said too."""
    try:
        source = _read_source(function)
    except (OSError, TypeError, SyntaxError, ValueError):
        yield Note("info", "source", "the source of the function cannot be read, so lint did not check it")
        return
    for tree, private in source.functions:
        tainted = _spread(tree, private)
        for node in ast.walk(tree):
            yield from _check_node(node, tainted)
        if isinstance(tree, Function):
            yield from _check_returns(tree, private)
    yield from _check_seeds(source)


def _read_source(function: Callable[..., Any]) -> _Source:
    """Return the syntax trees to read."""
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
        return _Source(trees)
    defined = {node.name: node for node in whole.body if isinstance(node, Function)}
    waiting, seen = [tree for tree, _ in trees], {getattr(function, "__name__", "")}
    while waiting:
        for name in _list_called(waiting.pop()):
            if name in defined and name not in seen:
                seen.add(name)
                waiting.append(defined[name])
                trees.append((defined[name], _first(defined[name])))
    statements = list(_list_statements(whole.body))
    imports = [node for tree in (whole, *(tree for tree, _ in trees)) for node in ast.walk(tree)]
    return _Source(trees, statements, _read_imports(imports))


def _list_statements(body: Sequence[ast.stmt]) -> Iterator[Statement]:
    """Yield the statements that run when a module is imported; not what runs if it is a script."""
    for node in body:
        if isinstance(node, Statement):
            yield node
        elif isinstance(node, ast.If) and "__name__" not in _names(node.test):
            yield from _list_statements([*node.body, *node.orelse])
        elif isinstance(node, ast.With | ast.Try):
            yield from _list_statements(node.body)


def _read_imports(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Return what imported names stand for: {"np": "numpy", "choice": "random.choice"}."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {n.asname or n.name.partition(".")[0]: n.name if n.asname else n.name.partition(".")[0]
                      for n in node.names}  # fmt: skip
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {n.asname or n.name: f"{node.module}.{n.name}" for n in node.names}
    return found


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
        yield from _check_generation(node, tainted)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CASE and _names(node.func) & tainted:
            text = f"line {node.lineno}: the case of the private text is looked at ({node.func.attr})"
            yield Note(level="warning", rule="case", text=text, fix="take case from what is drawn")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv):
        left = {name.lower() for name in _names(node.left)}
        if any(name.startswith("eps") for name in left) and _names(node.right) & tainted:
            text = (
                f"line {node.lineno}: epsilon is divided by something made from the private text: "
                "unless that is the same for all texts, the noise gives it away"
            )
            yield Note(level="warning", rule="budget of the text", text=text, fix="divide by a public number")
    elif isinstance(node, ast.Compare) and _names(node) & tainted:
        listed = {name.lower() for part in node.comparators for name in _names(part)}
        if any("stop" in name for name in listed):
            text = f"line {node.lineno}: words of the private text are looked up in a list of stop words"
            yield Note(level="warning", rule="stop words", text=text, fix="draw stop words like all others")


def _check_seeds(source: _Source) -> Iterator[Note]:
    """Yield seeds that can be guessed: an error if no other noise is seen, else a warning."""
    values = _list_values(source.statements)
    for tree, private in source.functions:
        scope = _Scope(
            source=source,
            values=values | _list_values(ast.walk(tree)),
            parameters=_list_parameters(tree),
            private=private,
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield from _check_seed(node, scope, _grade(source, node))
    used = {name for tree, _ in source.functions for name in _names(tree)}
    outside = _Scope(source=source, values=values, parameters=frozenset(), private="")
    for statement in source.statements:
        call = statement.value
        if not isinstance(call, ast.Call):
            continue
        if isinstance(statement, ast.Expr):
            if _name_called(call) in _GLOBAL:
                is_used = bool(_list_noise(source, _find_libraries(source, call)))
                yield from _check_seed(call, outside, _grade(source, call) if is_used else "warning")
        else:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(_names(target) & used for target in targets):
                yield from _check_seed(call, outside, _grade(source, call))


def _check_seed(node: ast.Call, scope: "_Scope", level: Level) -> Iterator[Note]:
    called = _name_called(node)
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    is_none = all(isinstance(value, ast.Constant) and value.value is None for value in values)
    if called not in _SEEDING or is_none:
        return
    origins = set().union(*(scope.trace(value) for value in values))
    head = f"line {node.lineno}: {called} is given"
    if "the private text" in origins:
        text = f"{head} something from the private text: its noise is then the same whenever the text is"
        mixed = "" if len(origins) == 1 else ", unless its other input is secret and always new"
        yield Note(level="warning" if mixed else level, rule=SEEDS[1], text=text + mixed, fix="a fresh seed")
    elif origins <= set(_GUESSED.values()):
        what = " and ".join(sorted(origins)) or "a constant"
        text = f"{head} {what}: its noise can be recomputed"
        yield Note(
            level=level, rule=SEEDS[0], text=text, fix="draw noise from the system's entropy, or take a seed"
        )


@dataclass(frozen=True)
class _Scope:
    """Where a value comes from: names are followed to what they are assigned."""

    source: _Source
    values: Mapping[str, Sequence[ast.expr]]
    parameters: frozenset[str]
    private: str

    def trace(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> set[str]:
        """Return the origins of a value: the private text, the clock, its process, or "other"."""
        if isinstance(node, ast.Name):
            return self._trace_name(node.id, seen)
        parts: list[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Call):
            name = self.source.name(node.func)
            guessed = {what for call, what in _GUESSED.items() if f".{name}".endswith(f".{call}")}
            if guessed:
                return guessed
            if name.partition(".")[0] in _PURE:
                parts.remove(node.func)
        return set().union(*(self.trace(part, seen) for part in parts))

    def _trace_name(self, name: str, seen: frozenset[str]) -> set[str]:
        if name == self.private:
            return {"the private text"}
        if name in seen or name in _PURE:
            return set()
        if name in self.parameters or name not in self.values:
            return {"other"}
        return set().union(*(self.trace(value, seen | {name}) for value in self.values[name]))


def _list_values(nodes: Any) -> dict[str, list[ast.expr]]:
    """Return what names are assigned; a name that something else sets too has no value that is known."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (name for target in targets for name in _names(target)):
                found.setdefault(name, []).append(node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            for name in _names(node.target):
                found.setdefault(name, []).append(node.iter)
        elif isinstance(node, ast.AugAssign):
            unknown = ast.Name("(what it was before)")
            for name in _names(node.target):
                found.setdefault(name, []).append(unknown)
    return found


def _list_parameters(tree: ast.AST) -> frozenset[str]:
    return frozenset(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))


def _name_called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _grade(source: _Source, seeding: ast.Call) -> Level:
    """Return how grave a guessed seed is: no error if the function has noise that does not come from it."""
    others = _list_noise(source) - _list_noise(source, _find_libraries(source, seeding))
    takes_seed = any(
        {"seed", "draw_key"} & _list_parameters(tree) & _names(tree) for tree, _ in source.functions
    )
    return "warning" if others or takes_seed else "error"


def _list_noise(source: _Source, libraries: Sequence[str] = ("",)) -> set[str]:
    """Return the calls of a function that draw noise of libraries, other than with a seed of its own."""
    calls = [node for tree, _ in source.functions for node in ast.walk(tree) if isinstance(node, ast.Call)]
    unseeded = [node for node in calls if _name_called(node) not in _SEEDING or not node.args + node.keywords]
    names = {source.name(node.func) for node in unseeded}
    return {name for name in names if name.startswith(_NOISE) and name.startswith(tuple(libraries))}


def _find_libraries(source: _Source, seeding: ast.Call) -> Sequence[str]:
    """Return the libraries whose own generators a call seeds; none if it makes another."""
    called = _name_called(seeding)
    if called not in _GLOBAL:
        return ()
    name = source.name(seeding.func)
    return ("random.", "numpy.", "torch.") if called == "set_seed" else (f"{name.partition('.')[0]}.",)


def _check_generation(node: ast.Call, tainted: set[str]) -> Iterator[Note]:
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    for key in sorted(given.keys() & _CAPS):
        if _names(given[key]) & tainted:
            text = (
                f"line {node.lineno}: {key} is made from the private text: unless it is the same for all "
                "texts, the output's length gives it away"
            )
            yield Note(level="warning", rule="length rule", text=text, fix=f"{key}: a public number")
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "generate"):
        return
    for key, value in given.items():
        note = check_setting(key, value.value) if isinstance(value, ast.Constant) else None
        if note is not None:
            yield Note(
                level=note.level, rule=note.rule, text=f"line {node.lineno}: {note.text}", fix=note.fix
            )
    if "do_sample" in given and "top_k" not in given and not any(k.arg is None for k in node.keywords):
        text = f"line {node.lineno}: generate without top_k: the library's default keeps the 50 likeliest"
        yield Note(level="warning", rule="top_k", text=text, fix="top_k=0")


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
            text = (
                f"line {getattr(node, 'lineno', 0)}: the private text is returned unchanged, unless noise "
                "alone decides when"
            )
            yield Note(
                level="warning", rule="copied text", text=text, fix="return an ordinary draw for every text"
            )
