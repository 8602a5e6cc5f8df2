"""YAML that anybody may have written: one reason in one line if it cannot be read, whatever is in it."""

from itertools import chain
from typing import Any

import yaml

from tedaudit.errors import shorten

LONGEST = 10_000_000  # characters of a document
_MOST_VALUES = 100_000  # in a document, those that aliases repeat included


def load_yaml(text: str) -> Any:
    """Return what some YAML holds; a `ValueError` says in one line what is wrong with it, and where."""
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_expansion(node)
        return loader.construct_document(node)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except yaml.YAMLError as error:
        raise ValueError(_explain(error)) from error
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """Refuses a duplicate key, and says where a value is that cannot be read."""

    def __init__(self, text: str) -> None:
        try:
            super().__init__(text)
        except yaml.YAMLError as error:
            raise ValueError(_explain(error)) from error

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Return the mapping after checking its keys: otherwise the last one would win in silence."""
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"duplicate key '{key.value}'"
                raise yaml.composer.ComposerError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Return a node's value; a date without a month or a number without an end is named."""
        try:
            return super().construct_object(node, deep)
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception as error:  # whatever the type of a value raises on what is written
            kind = str(node.tag).rpartition(":")[2]
            written = shorten(str(node.value), 40) if isinstance(node, yaml.ScalarNode) else "this"
            problem = f"'{written}' cannot be read as a value of type {kind}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error


def _refuse_expansion(root: Any) -> None:
    """Refuse a document that contains itself, or that aliases make far larger than it is written."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        known = sizes.get(id(node))
        if known is None:
            sizes[id(node)] = -1  # under way
            known = 1
            if not isinstance(node, yaml.ScalarNode):
                parts = node.value if isinstance(node, yaml.SequenceNode) else chain(*node.value)
                known += sum(size(part) for part in parts)
            sizes[id(node)] = known
        if known < 0 or known > _MOST_VALUES:
            problem = "an alias that contains itself" if known < 0 else f"more than {_MOST_VALUES:,} values"
            raise yaml.composer.ComposerError(None, None, problem, node.start_mark)
        return known

    size(root)


def _explain(error: Exception) -> str:
    """Return what is wrong with some YAML, and where, in one line."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return where + str(getattr(error, "problem", None) or error).splitlines()[0]
