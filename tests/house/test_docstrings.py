"""What a docstring says is raised is an exception that there is."""

import ast
import builtins
import re
from collections.abc import Iterator

from tests.house.sources import Source, dotted, nodes, source, sources

_RAISES = re.compile(r"^Raises:\n((?: +.*\n?|\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w[\w.]*(?:, \w[\w.]*)*)(?: and [a-z ]+)?:", re.MULTILINE)

FOREIGN = {
    "CancelledError": "asyncio",
    "DatabaseError": "sqlite3",
    "DecodeError": "msgspec",
    "Error": "sqlite3 and psycopg",
    "MCPError": "mcp",
    "MsgspecError": "msgspec",
    "SFTPError": "asyncssh",
    "ValidationError": "msgspec",
}
"""Exceptions of libraries, each with whose it is."""


def exceptions(*files: Source) -> set[str]:
    """The names of the exceptions that these files define, and of those that there always are."""
    known = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)}
    known |= FOREIGN.keys()
    classes = [node for file in files for node in nodes(file.tree) if isinstance(node, ast.ClassDef)]
    bases = {node.name: {dotted(base).rpartition(".")[2] for base in node.bases} for node in classes}
    while more := {name for name, above in bases.items() if name not in known and above & known}:
        known |= more
    return known


def named(file: Source) -> Iterator[tuple[str, str]]:
    """Each name that a docstring of this file lists under `Raises:`, with its place."""
    for node in nodes(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for section in _RAISES.findall(ast.get_docstring(node) or ""):
                for entry in _ENTRY.findall(section):
                    yield from ((name.rpartition(".")[2], file.at(node)) for name in entry.split(", "))


def unknown(*files: Source) -> list[str]:
    """Names under `Raises:` that are no exception, each with its place."""
    known = exceptions(*files)
    return [f"{place}: {name}" for file in files for name, place in named(file) if name not in known]


def test_what_a_docstring_says_is_raised_is_an_exception() -> None:
    assert unknown(*sources("src")) == []


def test_a_name_that_is_none_is_found() -> None:
    said = 'def f():\n    """Do.\n\n    Raises:\n        {}: never.\n    """\n'
    found = {}
    for names in ("Mine", "OSError, Mine", "Mine and its kinds", "sqlite3.Error", "Gone", "Fact", "OSError, Gone"):
        text = f"class Mine(Exception): ...\nclass Fact: ...\n{said.format(names)}"
        found[names] = [one.rpartition(" ")[2] for one in unknown(source("src/a.py", text))]
    assert {names: bad for names, bad in found.items() if bad} == {
        "Gone": ["Gone"],
        "Fact": ["Fact"],
        "OSError, Gone": ["Gone"],
    }
