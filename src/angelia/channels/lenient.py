"""Objects as networks tell them: what is null is as good as absent."""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def read(data: bytes, kind: type[T]) -> T:
    """JSON as an object of that kind.

    Raises:
        msgspec.MsgspecError: it is none.
    """
    return msgspec.convert(_without_nulls(msgspec.json.decode(data)), kind)


def within(told: object, *path: str, default: T) -> T:
    """What stands at a path of keys, if it is there and of the type of `default`.

    >>> within({"info": {"size": 7}}, "info", "size", default=-1), within({"info": 5}, "info", "size", default=-1)
    (7, -1)
    """
    for key in path:
        told = told.get(key) if isinstance(told, dict) else None
    return told if isinstance(told, type(default)) else default


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nulls(one) for key, one in value.items() if one is not None}
        case list():
            return [_without_nulls(one) for one in value if one is not None]
        case _:
            return value
