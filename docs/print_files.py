"""The page that lists every module with its one idea."""

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from docs.markdown import page
from docs.read_source import SOURCE


def files() -> str:
    """Every module of the package, by folder, with the first line of its docstring."""
    modules = sorted(SOURCE.rglob("*.py"), key=lambda path: (path.parent.relative_to(SOURCE).parts, path.name))
    return page(
        "Files",
        "Every module and the one idea it holds: the first line of its docstring. What the folders are to each other "
        "is in [ARCHITECTURE](../../ARCHITECTURE.md).",
        *(line for folder, found in groupby(modules, key=lambda path: path.parent) for line in _table(folder, found)),
    )


def _table(folder: Path, modules: Iterator[Path]) -> Iterator[str]:
    name = folder.relative_to(SOURCE).as_posix()
    found = list(modules)
    idea = "".join(_idea(path) for path in found if path.name == "__init__.py")
    rows = [f"| `{path.name}` | {_idea(path)} |" for path in found if path.name != "__init__.py"]
    if rows:
        yield f"## `{'angelia' if name == '.' else name}/`"
        yield idea
        yield "\n".join(["| file | |", "| --- | --- |", *rows])


def _idea(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return said.partition("\n")[0].replace("|", "\\|")
