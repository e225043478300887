"""Reads classes out of the source: their words, their fields, and what stands under each member of an enum."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

from msgspec import Struct

SOURCE = Path(__file__).parents[1] / "src" / "angelia"


class Field(Struct, frozen=True):
    """One field of a value: its type as it is written, and its default, empty where it must be given."""

    name: str
    type: str
    default: str


def words(thing: object) -> str:
    """A docstring as Markdown."""
    return inspect.getdoc(thing) or ""


def fields(kind: type) -> list[Field]:
    """The fields of a value in their order, inherited ones first."""
    found: dict[str, Field] = {}
    for one in reversed(kind.__mro__):
        if not one.__module__.startswith("angelia"):
            continue
        for node in _class_node(one).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                default = ast.unparse(node.value) if node.value else ""
                found[node.target.id] = Field(node.target.id, ast.unparse(node.annotation), default)
    return list(found.values())


def members(kind: type) -> list[tuple[str, str]]:
    """The values of an enum of words, each with what stands under it."""
    found: list[tuple[str, str]] = []
    body = _class_node(kind).body
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found.append((str(node.value.value), _string(after)))
    return found


def calls_of(function: str) -> Iterator[tuple[str, str, str]]:
    """Where a function is called with a fixed word: the word, the file, and the function around it."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if f"{function}(" not in text:
            continue
        place = path.relative_to(SOURCE).as_posix()
        for around in ast.walk(ast.parse(text)):
            if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(around):
                    match node:
                        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=word), *_]) if name == function:
                            yield str(word), place, around.name


def _string(node: ast.AST) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""


@cache
def _class_node(kind: type) -> ast.ClassDef:
    node = ast.parse(dedent(inspect.getsource(kind))).body[0]
    assert isinstance(node, ast.ClassDef)
    return node
