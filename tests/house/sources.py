"""The project's own source, parsed once, and what a rule about it is."""

import ast
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source(Struct, frozen=True):
    """One file: `name` is its path from the project's root, `text` its content, `tree` its syntax."""

    name: str
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        """The path within the package: `core/ids.py`; the whole name for other files."""
        return self.name.removeprefix("src/angelia/")

    def functions(self) -> Sequence[tuple[str, Function]]:
        """Every function and method, with the dotted name by which an exception lists it."""
        return _functions(self.tree, self.place.removesuffix(".py").replace("/", "."))

    def at(self, node: ast.AST) -> str:
        """`file:line`, as an editor opens it."""
        return f"{self.name}:{getattr(node, 'lineno', 1)}"


@cache
def _functions(tree: ast.Module, prefix: str) -> Sequence[tuple[str, Function]]:
    found: list[tuple[str, Function]] = []
    left: list[tuple[ast.AST, str]] = [(tree, prefix)]
    while left:
        node, within = left.pop()
        if isinstance(node, Function | ast.ClassDef):
            within = f"{within}.{node.name}"
        if isinstance(node, Function):
            found.append((within, node))
        left += [(child, within) for child in _statements(node)][::-1]
    return found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those right within a statement: functions and imports are nowhere else, and expressions are most of a tree."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            yield from inner


def sources(*folders: str) -> tuple[Source, ...]:
    """Every Python file beneath these folders of the project, sorted."""
    return tuple(one for folder in folders for one in _beneath(folder))


@cache
def _beneath(folder: str) -> tuple[Source, ...]:
    """Parsed once in a process. Millions of nodes that nobody lets go are kept from the collector: each of its rounds
    would walk over all of them.
    """
    gc.disable()
    try:
        files = sorted((ROOT / folder).rglob("*.py"))
        return tuple(source(str(file.relative_to(ROOT)), file.read_text("utf-8")) for file in files)
    finally:
        gc.freeze()
        gc.enable()


def source(name: str, text: str) -> Source:
    """One file, parsed."""
    return Source(name, text, ast.parse(text, name))


class Rule(Struct, frozen=True):
    """A rule of the house: `broken` finds what breaks it, `then` says what to do, `example` is code that breaks it.

    `over` are the folders it holds for. `excepted` lists by name what may break it, each with the reason.
    """

    name: str
    over: tuple[str, ...]
    broken: Callable[[Source], Iterator[tuple[str, str]]]
    """Pairs of the name by which an exception would be listed, and the place to show."""
    then: str
    example: tuple[str, str]
    excepted: Mapping[str, str] = {}

    def found(self, source: Source) -> list[str]:
        """What breaks this rule in a file, exceptions aside. A folder excepts everything in it."""
        return [shown for name, shown in self.broken(source) if not self.excepts(name)]

    def excepts(self, name: str) -> bool:
        """Whether a name is on the list."""
        return any(covers(one, name) for one in self.excepted)


def covers(listed: str, name: str) -> bool:
    """Whether a listed exception (a name, or a folder that ends with a slash) covers a name."""
    return name == listed or (listed.endswith("/") and name.startswith(listed))


@cache
def imports(tree: ast.Module, *, only_when_loaded: bool) -> Sequence[tuple[str, ast.stmt]]:
    """Dotted names of what is imported: all of it, or only what is imported when the module itself is."""
    found: list[tuple[str, ast.stmt]] = []
    left: list[ast.AST] = [tree]
    while left:
        for node in _statements(left.pop()):
            if isinstance(node, ast.Import):
                found += [(alias.name, node) for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found += [(f"{node.module}.{alias.name}", node) for alias in node.names]
            elif not (only_when_loaded and (isinstance(node, Function) or _for_types_only(node))):
                left.append(node)
    return found


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def dotted(node: ast.AST) -> str:
    """`a.b.c` for an attribute or a name, else nothing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr) if before := dotted(value):
            return f"{before}.{attr}"
        case _:
            return ""


@cache
def nodes(tree: ast.AST) -> Sequence[ast.AST]:
    """All that a tree holds, itself included, in the order of `ast.walk` but for `Load` and its like: walked once,
    however many rules look at it.
    """
    found = [tree]
    for node in found:  # grows meanwhile
        for value in vars(node).values():
            if isinstance(value, list):
                found += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return found


@cache
def calls(tree: ast.AST) -> Sequence[tuple[str, ast.Call]]:
    """Every call of something that has a dotted name."""
    return [(name, node) for node in nodes(tree) if isinstance(node, ast.Call) and (name := dotted(node.func))]
