"""One name, one meaning, in the whole package."""

import ast
from collections import defaultdict

from tests.house.sources import Source, source, sources

EXCEPTIONS: dict[str, str] = {}
"""Names that may stand for two things, each with the reason."""


def public_classes(*files: Source) -> dict[str, list[str]]:
    """Where each public class name is defined at the top of a module."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file.name)
    return found


def twice(*files: Source) -> dict[str, list[str]]:
    """The names that are defined more than once."""
    return {name: places for name, places in public_classes(*files).items() if len(places) > 1}


def test_a_public_class_name_is_defined_once_in_the_package() -> None:
    found = twice(*sources("src"))
    assert {name: places for name, places in found.items() if name not in EXCEPTIONS} == {}


def test_every_exception_is_still_needed() -> None:
    assert EXCEPTIONS.keys() <= twice(*sources("src")).keys()


def test_a_second_definition_is_found() -> None:
    assert twice(source("src/a.py", "class Link: ..."), source("src/b.py", "class Link: ...\nclass _Own: ...")) == {
        "Link": ["src/a.py", "src/b.py"]
    }
