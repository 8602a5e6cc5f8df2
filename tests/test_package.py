"""The package as a whole: what importing it costs, which libraries it uses where, what is in the wheel."""

import ast
import importlib
import pickle
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

import tedaudit
from tedaudit.plugins.batches import Draws, Observations, Rewrites
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Draw
from tedaudit.runs.bench import Bench, GuessChunk, RewriteChunk
from tedaudit.seeding import key_words

SOURCE = Path(tedaudit.__file__).parent
PROJECT = SOURCE.parents[1]
TABLES = ("polars", "pydantic", "typer", "rich", "yaml")
LOADED_BY_HELP = {
    "tedaudit", "tedaudit.errors", "tedaudit.models", "tedaudit.models.judges",
    "tedaudit.models.judges.serving", "tedaudit.paths", "tedaudit.plugins", "tedaudit.plugins.extras",
    "tedaudit.results", "tedaudit.results.verdict", "tedaudit.text", "tedaudit.text.plain_data",
    "tedaudit.version",
}  # fmt: skip
SLOW_OF_PYTHON = {"asyncio", "concurrent", "http", "multiprocessing", "sqlite3", "ssl", "unittest", "xml"}

# Run first in a process, it makes the modules for tables, specs and terminals impossible to import.
BLOCK = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {TABLES!r}:
            raise ModuleNotFoundError(f"{{name}} is not on this machine", name=name)
sys.meta_path.insert(0, Block())
"""


def python(script, *arguments):
    """Run a script in a fresh process and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def list_loaded(*arguments):
    """Return the modules that a fresh Python loads: what a start costs, whatever else the machine does."""
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in told[1:]}  # the first one is the heading


def test_importing_the_package_loads_nothing_but_what_it_says_of_types():
    beyond = list_loaded("-c", "import tedaudit") - list_loaded("-c", "import importlib, typing")
    assert beyond == {"tedaudit"}


def test_help_loads_little_more_than_the_library_of_the_command_line():
    """Of our own modules only those that define commands, and those few."""
    library = list_loaded("-c", "import typer, typer.rich_utils, rich.markdown")
    beyond = list_loaded("-m", "tedaudit", "--help") - library
    ours = {name for name in beyond if name.partition(".")[0] == "tedaudit"}
    assert {name for name in ours if not within(name, "cli")} <= LOADED_BY_HELP
    others = {name.partition(".")[0] for name in beyond - ours}
    assert others - sys.stdlib_module_names <= {"typer", "rich"}
    assert not others & SLOW_OF_PYTHON
    assert len(beyond - ours) < 60


def test_importing_the_package_changes_nothing_around_it(tmp_path):
    script = (
        "import os, random, sys, warnings\n"
        "import numpy, polars  # which do change something\n"
        "def state():\n"
        "    return dict(os.environ), random.getstate(), warnings.filters[:], sys.path[:], os.getcwd()\n"
        "before = state()\n"
        "import tedaudit, tedaudit.api, tedaudit.cli, tedaudit.runs.bench\n"
        "assert before == state()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", tedaudit.__all__)
def test_every_public_name_is_there(name):
    found = getattr(tedaudit, name)
    assert found is getattr(importlib.import_module(tedaudit._HOME_OF[name]), name)
    assert getattr(found, "__name__", name) == name  # a constant has none
    assert name in dir(tedaudit)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'tedaudit' has no attribute 'audti'"):
        tedaudit.audti  # noqa: B018


def test_the_names_for_type_checkers_are_the_names_that_are_loaded():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    told = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("tedaudit") for alias in node.names}  # fmt: skip
    assert told == set(tedaudit.__all__) == set(tedaudit._HOME_OF)


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    """One chunk of each kind of work, as files."""
    folder = tmp_path_factory.mktemp("chunks")
    texts = ("my sister called about the rent", "the doctor asked for two tickets", "nobody forgot the dog")
    draws = [Draw(text, epsilon, 17 * n + 5) for n, text in enumerate(texts) for epsilon in (1.0, 8.0)]
    seen = Observations(Rewrites.from_texts(["the doctor", "a dog"]), texts, None, key_words([1, 2]))
    work = {
        "rewrite": RewriteChunk(Reference("mechanism", "word-rr", {"slots": 6}), Draws.of(draws)),
        "guess": GuessChunk(Reference("attack", "lexical"), seen),
    }
    for name, chunk in work.items():
        (folder / name).write_bytes(pickle.dumps(chunk))
    return folder, work


@pytest.mark.parametrize("kind", ["rewrite", "guess"])
def test_a_chunk_is_done_on_a_machine_without_tables_specs_and_terminals(kind, chunks):
    folder, work = chunks
    script = BLOCK + (
        "import pathlib, pickle\n"
        "from tedaudit.runs.bench import Bench\n"
        "chunk = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps(Bench().perform(chunk)))\n"
    )
    python(script, folder / kind, folder / f"{kind}.done")
    found = pickle.loads((folder / f"{kind}.done").read_bytes())
    assert found == Bench().perform(work[kind])
    if kind == "guess":
        assert found[0].scores.argmax() == 1


def test_plugins_and_bench_can_be_imported_without_tables_specs_and_terminals():
    script = BLOCK + (
        "import importlib, pkgutil\n"
        "for package in ('mechanisms', 'attacks', 'models', 'estimators'):\n"
        "    folder = importlib.import_module(f'tedaudit.{package}')\n"
        "    for module in pkgutil.iter_modules(folder.__path__):\n"
        "        print(importlib.import_module(f'tedaudit.{package}.{module.name}').__name__)\n"
        "print(importlib.import_module('tedaudit.runs.bench').__name__)\n"
        f"assert not {{name.partition('.')[0] for name in sys.modules}} & set({TABLES!r})\n"
    )
    imported = python(script).split()
    assert {"tedaudit.runs.bench", "tedaudit.mechanisms.recorded", "tedaudit.attacks.embedding"} <= set(
        imported
    )


def test_the_block_really_blocks():
    with pytest.raises(AssertionError, match="polars is not on this machine"):
        python(BLOCK + "import polars")


@cache
def modules():
    """Return every module of the package by name, with its syntax tree."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if path.is_relative_to(SOURCE)]
    named = {}
    for path in paths:
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text("utf-8"))
    return named


def for_type_checkers(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(tree, *, inside_functions=True):
    """Yield the modules that are imported; what only type checkers see is left out."""
    for node in ast.iter_child_nodes(tree):
        if for_type_checkers(node):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not inside_functions:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else node.module for name in names)
        else:
            yield from imports(node, inside_functions=inside_functions)


def ours(name):
    """Return which of our own modules a module imports, wherever it does so."""
    return {found for found in imports(modules()[name]) if found.partition(".")[0] == "tedaudit"}


def within(name, *places):
    return any(name == f"tedaudit.{place}" or name.startswith(f"tedaudit.{place}.") for place in places)


def test_mathematics_is_usable_alone():
    for name in modules():
        if within(name, "estimators"):
            known = ("estimators", "errors", "plugins.values", "text.plain_data")
            assert all(within(found, *known) for found in ours(name)), name
            others = {found.partition(".")[0] for found in imports(modules()[name])} - {"tedaudit"}
            assert others <= {"numpy", "scipy", *sys.stdlib_module_names}, name


def test_what_mathematics_tells_of_itself_needs_nothing_of_ours():
    assert ours("tedaudit.text") == ours("tedaudit.text.plain_data") == set()


def test_only_the_outer_modules_import_libraries_for_tables_specs_and_terminals():
    outer = (
        "runs.directory",
        "runs.files",
        "runs.guesses",
        "runs.held_parts",
        "runs.rewrites",
        "runs.shapes",
        "runs.table_folder",
        "runs.spec",
        "cli",
        "corpora",
        "reports",
        "studies.utility",
        "paper",
    )
    for name, tree in modules().items():
        anywhere = {found.partition(".")[0] for found in imports(tree)} & set(TABLES)
        at_import = {f.partition(".")[0] for f in imports(tree, inside_functions=False)} & set(TABLES)
        if within(name, "text"):
            assert not at_import
        elif not within(name, *outer):
            assert not anywhere, name


def test_model_libraries_are_imported_where_they_are_needed_and_not_before():
    heavy = {"torch", "transformers", "sentence_transformers", "sklearn", "datasets", "matplotlib", "plotly"}
    for name, tree in modules().items():
        at_import = {found.partition(".")[0] for found in imports(tree, inside_functions=False)}
        assert not at_import & heavy, name


def test_the_search_for_imports_sees_lazy_ones_and_not_those_for_type_checkers():
    tree = ast.parse(
        "import a\nif TYPE_CHECKING:\n    import b\n"
        "try:\n    from c.d import e\nexcept ImportError:\n    pass\n"
        "class K:\n    def f(self):\n        import g\n"
    )
    assert set(imports(tree)) == {"a", "c.d", "g"}
    assert set(imports(tree, inside_functions=False)) == {"a", "c.d"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from this checkout as a release is."""
    pytest.importorskip("hatchling")
    if not (PROJECT / "pyproject.toml").is_file():
        pytest.skip("the tests do not run from a checkout")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(build, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
        metadata = next(archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
        scripts = next(archive.read(name).decode() for name in names if name.endswith("entry_points.txt"))
    return names, metadata, scripts


def test_the_wheel_holds_every_module_the_types_and_the_words(wheel):
    names = set(wheel[0])
    wanted = {path.relative_to(SOURCE.parent).as_posix() for path in SOURCE.rglob("*.py")}
    assert wanted <= names
    assert "tedaudit/py.typed" in names
    assert "tedaudit/mechanisms/public_words.txt" in names
    assert "tedaudit/corpora/demo.csv.gz" in names
    assets = {
        path.relative_to(SOURCE.parent).as_posix() for path in (SOURCE / "reports" / "assets").iterdir()
    }
    assert assets
    assert assets <= names
    assert not [name for name in names if not name.startswith(("tedaudit/", "tedaudit-"))]


def test_the_wheel_has_the_version_of_the_package_and_its_command(wheel):
    _, metadata, scripts = wheel
    assert f"\nVersion: {tedaudit.__version__}\n" in metadata
    assert "tedaudit = tedaudit.cli:main" in scripts


def test_every_library_that_is_imported_is_declared(wheel):
    declared = {
        line.split(":")[1].strip() for line in wheel[1].splitlines() if line.startswith("Requires-Dist")
    }
    named = {"".join(c if c.isalnum() or c in "-_" else " " for c in one).split()[0] for one in declared}
    called = {"yaml": "pyyaml", "sklearn": "scikit-learn"}
    # pyarrow if a file needs it, pandas if somebody asks for its frames, pytest loads its own plugin, Triton
    # comes with torch if there is a GPU
    optional = {"pyarrow", "pandas", "compression", "pytest", "triton"}
    for name, tree in modules().items():
        if "._scripts." in name:  # these run in another environment
            continue
        others = {found.partition(".")[0] for found in imports(tree)} - {"tedaudit", *sys.stdlib_module_names}
        assert {called.get(one, one.replace("_", "-")) for one in others} <= named | optional, name


def test_every_module_says_what_it_is_for():
    for name, tree in modules().items():
        assert ast.get_docstring(tree), name
        assert importlib.util.find_spec(name), name


def test_no_file_names_a_place_on_the_machine_it_was_written_on():
    for path in SOURCE.rglob("*.py"):
        for place in (PROJECT, Path.home()):
            assert f"{place}/" not in path.read_text("utf-8"), path
