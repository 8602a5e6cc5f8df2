"""Nobody asks which attack or estimator it is: a new one is a file, and nothing else is edited."""

import ast
import re
from pathlib import Path

import pytest

import tedaudit
from tedaudit.estimators import estimator_names
from tedaudit.plugins.registry import names

SOURCE = Path(tedaudit.__file__).parent
NAMES = {*names("attack"), *estimator_names()}
OTHERS = {
    "self.encoder": {"lexical"},  # an encoder of that name
    "self.reading": {"likelihood"},  # how the llm attack reads a judge
}
"""What may be compared with one of the names, because it is the name of something else."""
ENCODERS = {"models/encoders/sentence.py", "models/triples/vectors.py"}  # `name` is an encoder's


def strings_in(nodes):
    """Return every string in some parts of a syntax tree."""
    found = (part for node in nodes for part in ast.walk(node))
    return {part.value for part in found if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def questions_in(source, module=""):
    """Return where Python code asks for an attack or an estimator by its name."""
    allowed = OTHERS | ({"name": {"lexical"}} if module in ENCODERS else {})
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            other = set().union(*(allowed.get(ast.unparse(side), set()) for side in sides))
            asked = (strings_in(sides) & NAMES) - other
        elif isinstance(node, ast.MatchValue):
            asked = strings_in([node.value]) & NAMES
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
            asked = strings_in(key for key in node.value.keys if key is not None) & NAMES
        else:
            continue
        found += [f"{module}:{node.lineno} asks for {name}" for name in sorted(asked)]
    return found


def questions_in_script(source):
    """Return comparisons with the name of an attack or an estimator in JavaScript, on either side."""
    name = rf"""["'`](?:{"|".join(NAMES)})["'`]"""
    compared = rf"[!=]==?\s*{name}|{name}\s*[!=]==?|\bcase\s+{name}|\[[^\]]*{name}[^\]]*\]\.includes"
    return re.findall(compared, source)


def test_no_module_asks_for_an_attack_or_an_estimator_by_name():
    modules = {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert {"attacks/lexical.py", "results/measures.py"} <= set(modules)
    assert [told for module, text in sorted(modules.items()) for told in questions_in(text, module)] == []


def test_no_script_of_a_page_does_either():
    scripts = {path.name: path.read_text("utf-8") for path in SOURCE.rglob("*.js")}
    assert scripts
    assert {name: found for name, text in scripts.items() if (found := questions_in_script(text))} == {}


@pytest.mark.parametrize(
    "code",
    [
        'plan.estimator == "baseline"', '"likelihood" != attack.name', 'name in ("embedding", "internal")',
        'finding.attack == "llm"', 'self.encoder == "embedding"', 'name == "lexical"',
        "match attack:\n    case 'trained':\n        pass", '{"reduced": 1, "baseline": 2}[estimator]',
    ],
)  # fmt: skip
def test_the_check_finds_a_question_in_python(code):
    assert questions_in(code)


@pytest.mark.parametrize("code", ['f.method === "baseline"', "'llm' == f.attack", 'case "internal":'])
def test_the_check_finds_a_question_in_a_script(code):
    assert questions_in_script(code)


def test_the_check_leaves_the_names_of_other_things_alone():
    plain = 'self.encoder == "lexical"\nself.reading == "likelihood"\nfigures = ("internal", "effect")\n'
    assert questions_in(plain) == []
    assert questions_in('name == "lexical"', "models/encoders/sentence.py") == []
    assert questions_in('score == "log-likelihood"') == []
