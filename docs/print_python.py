"""The page of what programs may use: every promised name with its parameters, fields and words."""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from textwrap import dedent
from types import ModuleType
from typing import get_args

from msgspec import Struct

import angelia
from docs.markdown import code, page, table
from docs.read_source import fields, members, words

MADE_BY_PROGRAMS = {"Agent", "BlockingAgent"}
"""What a program makes itself; the others it is given."""
MOST = 100
"""Characters of a line."""
_PLACE = re.compile(r"\b(?:angelia|msgspec|collections|pathlib|typing|concurrent)\.(?:\w+\.)*")


def python() -> str:
    """Every name of `angelia.__all__`."""
    return page(
        "Python",
        "What `import angelia` promises, printed from the code. How it is used, and for how long it stays as it is: "
        "[Use it from Python](../how-to/use-from-python.md).",
        *(part for name in angelia.__all__ for part in _name(name, getattr(angelia, name))),
    )


def _name(name: str, thing: object) -> Iterator[str]:
    yield f"## {name}"
    if isinstance(thing, ModuleType):
        yield words(thing)
        union = thing.Ending if name == "endings" else thing.Event
        rows = [(f"`{one.__name__}`", _fields(one), _first(one)) for one in get_args(union)]
        yield table(("name", "fields", "means"), rows)
    elif inspect.isclass(thing) and issubclass(thing, Struct):
        yield from (code(_call(name, _declared(thing)), "text"), _prose(thing))
    elif inspect.isclass(thing):
        yield from _class(name, thing)
    elif callable(thing):
        yield from (code(f"{name}{_signature(thing)}", "text"), _prose(thing))


def _class(name: str, thing: type) -> Iterator[str]:
    if name in MADE_BY_PROGRAMS:
        yield code(f"{name}{_signature(thing)}", "text")
    yield _prose(thing)
    if issubclass(thing, Enum):
        yield table(("value", "means"), [(f"`{value}`", " ".join(said.split())) for value, said in members(thing)])
        return
    for method, found in inspect.getmembers(thing):
        own = method in vars(thing) and not method.startswith("_")
        if own and isinstance(found, property):
            yield f"**`.{method}`** {_first(found)}"
        elif own and callable(found):
            yield f"### {name}.{method}"
            yield code(f"{_kind(found)}{method}{_signature(found, method=True)}", "text")
            yield _prose(found)


def _kind(found: object) -> str:
    """How it is used."""
    inner = inspect.unwrap(found)  # type: ignore[arg-type]  # a method
    if inspect.isgeneratorfunction(inner):
        return "with "
    if inspect.isasyncgenfunction(inner):
        return "async with "
    return "await " if inspect.iscoroutinefunction(inner) else ""


def _signature(found: object, *, method: bool = False) -> str:
    signature = inspect.signature(found)  # type: ignore[arg-type]  # a class or a function
    given: list[str] = []
    for one in signature.parameters.values():
        if method and one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        default = "" if one.default is one.empty else f" = {one.default!r}"
        given.append(f"{one.name}: {_type(one.annotation)}{default}")
    returned = signature.return_annotation
    gives = "" if returned in (None, signature.empty) else f" -> {_entered(_type(returned))}"
    return f"{_call('', given)}{gives}"


def _entered(kind: str) -> str:
    """What a `with` gives."""
    return re.sub(r"^(?:Async)?Iterator\[(.*)\]$", r"\1", kind)


def _call(name: str, given: list[str]) -> str:
    """On one line if it fits, else each on one of its own."""
    line = f"{name}({', '.join(given)})"
    return line if len(line) <= MOST else f"{name}(\n" + "".join(f"    {one},\n" for one in given) + ")"


def _type(annotation: object) -> str:
    return _PLACE.sub("", inspect.formatannotation(annotation)).replace("'", "")


def _declared(kind: type) -> list[str]:
    return [
        f"{one.name}: {one.type}{f' = {one.default}' if one.default else ''}".replace("e.", "") for one in fields(kind)
    ]


def _fields(kind: type) -> str:
    return ", ".join(f"`{one.name}`" for one in fields(kind))


def _first(thing: object) -> str:
    return " ".join(words(thing).partition("\n\n")[0].split())


def _prose(thing: object) -> str:
    """A docstring as Markdown: examples and lists of errors stand as they are written."""
    said = words(thing)
    parts = re.split(r"\n\n(?=Raises:|>>> |    )", said)
    return "\n\n".join([parts[0], *(code(dedent(part), "text") for part in parts[1:])])
