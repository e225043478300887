"""The JSON schema of a tool's arguments, as few bytes as say the same."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.errors import ConfigError
from angelia.tools.port import Schema

_EMPTY_DEFAULTS: tuple[object, ...] = ("", False, (), 0, 0.0)
"""Defaults that go without saying. Compared by identity of type too, since 0 == False."""


_UNSAID: tuple[tuple[str, object], ...] = (("minLength", 1), ("required", []))


def shown_schema(arguments: type[Struct] | Schema) -> msgspec.Raw:
    """What a model is shown of the arguments of a tool."""
    return arguments.shown if isinstance(arguments, Schema) else compact_schema(arguments)


@lru_cache(maxsize=512)
def compact_schema(arguments: type[Struct]) -> msgspec.Raw:
    """The schema of `arguments` without `$ref`, titles, docstrings and defaults that go without saying.

    The same type gives the same bytes in every process: fields stand in the order of their definition. It is made once
    for a type: every conversation, helpers included, shows the same tools.

    >>> class Wave(Struct):
    ...     at: str
    >>> bytes(compact_schema(Wave)).decode()
    '{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}'

    Raises:
        ConfigError: the type refers to itself, or holds something that JSON has no schema for.
    """
    try:
        whole = msgspec.json.schema(arguments)
    except TypeError as error:
        raise ConfigError(f"{arguments.__name__} cannot be the arguments of a tool: {error}.") from error
    return msgspec.Raw(msgspec.json.encode(_inline(whole, whole.get("$defs", {}), ())))


def _inline(node: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in inside:
            raise ConfigError(f"{name} refers to itself, and a tool's arguments must be a finite shape.")
        target = {key: value for key, value in definitions[name].items() if key not in {"title", "description"}}
        return _inline(
            target | {key: value for key, value in node.items() if key != "$ref"}, definitions, (*inside, name)
        )
    return _typed({key: _child(key, value, definitions, inside) for key, value in node.items() if _says(key, value)})


def _child(key: str, value: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if key == "properties":
        return {name: _inline(schema, definitions, inside) for name, schema in value.items()}
    return value if key in {"default", "enum"} else _inline(value, definitions, inside)


def _says(key: str, value: Any) -> bool:
    """Whether a model needs it: a default that goes without saying, and that a text holds something, it does not."""
    if key == "default":
        return not any(type(value) is type(empty) and value == empty for empty in _EMPTY_DEFAULTS)
    return key not in {"title", "$defs"} and (key, value) not in _UNSAID


def _typed(node: dict[str, Any]) -> dict[str, Any]:
    """An `enum` of words says that it is a string: some providers ask for the type. Several of them are one."""
    choices = node.get("anyOf", [])
    if choices and all(choice.keys() == {"type", "enum"} for choice in choices):
        listed = {"type": "string", "enum": [word for choice in choices for word in choice["enum"]]}
        return listed | {key: value for key, value in node.items() if key != "anyOf"}
    words = node.get("enum")
    if words and "type" not in node and all(isinstance(word, str) for word in words):
        return {"type": "string"} | node
    return node
