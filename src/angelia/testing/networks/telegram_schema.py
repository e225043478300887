"""The Bot API's published names and types, against which every request and every update of the fake is checked."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct


class BotApiError(Exception):
    """An answer that is no result: the API's `error_code`, `description` and `parameters`."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        self.code = code
        self.description = description
        self.parameters = parameters
        super().__init__(description)


class _Facts(Struct, frozen=True):
    source: str
    methods: dict[str, dict[str, str]]
    types: dict[str, dict[str, str]]


_FACTS = msgspec.json.decode((files("angelia.testing.networks") / "telegram_api.json").read_bytes(), type=_Facts)
_PLAIN: dict[str, tuple[type, ...]] = {"Integer": (int,), "Float": (int, float), "String": (str,), "Boolean": (bool,)}
_UNIONS = {
    "ReactionType": ("ReactionTypeEmoji", "ReactionTypeCustomEmoji", "ReactionTypePaid"),
    "MaybeInaccessibleMessage": ("Message", "InaccessibleMessage"),
}

METHODS = frozenset(_FACTS.methods)


def arguments(method: str, said: Mapping[str, str], uploaded: Mapping[str, object]) -> dict[str, Any]:
    """The parameters of a call by their types.

    Raises:
        BotApiError: one is missing, unknown, or of another type. The real server overlooks unknown ones.
    """
    wanted = _FACTS.methods[method]
    for name in said:
        if name not in wanted:
            raise BotApiError(400, f"Bad Request: {method} has no parameter {name}")
    found: dict[str, Any] = {}
    for name, kind in wanted.items():
        if name in said:
            found[name] = _read(kind.lstrip("!"), said[name], f"{method}.{name}")
        elif kind.startswith("!") and not (name in uploaded and "InputFile" in kind):
            raise BotApiError(400, f"Bad Request: parameter {name} is required")
    return found


def check(kind: str, value: Any, where: str = "") -> None:
    """See that a value is of one of the API's types.

    Raises:
        BotApiError: it is not; says where.
    """
    where = where or kind
    if kind.startswith("Array of "):
        _expect(isinstance(value, list), f"{where} is no array")
        for at, one in enumerate(value):
            check(kind.removeprefix("Array of "), one, f"{where}[{at}]")
    elif len(kinds := _UNIONS.get(kind) or tuple(re.split(r" or |, | and ", kind))) > 1:
        _expect(any(_fits(one, value) for one in kinds), f"{where} is none of {', '.join(kinds)}")
    elif kind == "True":
        _expect(value is True, f"{where} is not True")
    elif kind in _PLAIN:
        _expect(isinstance(value, _PLAIN[kind]) and (kind == "Boolean") == isinstance(value, bool), f"{where}: {kind}")
    elif kind in _FACTS.types:
        _check_object(_FACTS.types[kind], value, where)


def _check_object(wanted: Mapping[str, str], value: Any, where: str) -> None:
    _expect(isinstance(value, dict), f"{where} is no object")
    for name, inner in value.items():
        _expect(name in wanted, f"{where} has no field {name}")
        check(wanted[name].lstrip("!"), inner, f"{where}.{name}")
    for name, kind in wanted.items():
        _expect(name in value or not kind.startswith("!"), f"{where} lacks {name}")


def _fits(kind: str, value: Any) -> bool:
    try:
        check(kind, value)
    except BotApiError:
        return False
    return True


def _read(kind: str, text: str, where: str) -> Any:
    """A parameter as it is written in a form: words as they are, everything else as JSON."""
    if "String" in kind.split(" or "):
        return text
    try:
        value = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise BotApiError(400, f"Bad Request: can't parse {where}: {error}") from error
    check(kind, value, where)
    return value


def _expect(true: bool, otherwise: str) -> None:
    if not true:
        raise BotApiError(400, f"Bad Request: {otherwise}")
