"""Finds every blob that a fact refers to, in fields of today and of tomorrow; asks which the log refers to."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import Struct

from angelia.core.content import BlobRef
from angelia.store.port import StoreConnection


def blobs_in(value: object) -> Iterator[BlobRef]:
    """Each `BlobRef` inside `value`, in the order of the fields, repeats included.

    Only fields whose declared type leads to a `BlobRef` are looked into: most facts cost nothing.

    >>> ref = BlobRef("ab12", 3, "text/plain")
    >>> from angelia.core.content import Media, MediaKind, Text
    >>> list(blobs_in((Media(ref, MediaKind.DOCUMENT), Text("words")))) == [ref]
    True
    """
    if isinstance(value, BlobRef):
        yield value
    elif isinstance(value, Struct):
        for name in _leading_fields(type(value)):
            yield from blobs_in(getattr(value, name))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from blobs_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from blobs_in(item)


def referred_among(connection: StoreConnection, names: Sequence[str]) -> set[str]:
    """Which of these blobs some conversation refers to."""
    query = "SELECT 1 FROM blob_refs WHERE sha256 = ? LIMIT 1"
    return {sha256 for sha256 in names if connection.execute(query, (sha256,)).fetchone()}


@cache
def _leading_fields(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name, field in _fields(kind) if _leads(field, frozenset({kind})))


@cache
def _fields(kind: type[Struct]) -> tuple[tuple[str, object], ...]:
    return tuple((field.name, field.type) for field in msgspec.structs.fields(kind))


def _leads(kind: object, above: frozenset[object]) -> bool:
    """Whether a value of this type may hold a blob. `above` are the types that are being looked into already."""
    if kind in (Any, object):
        return True
    if arguments := get_args(kind):
        return any(_leads(argument, above) for argument in arguments)
    if not isinstance(kind, type) or not issubclass(kind, Struct) or kind in above:
        return False
    if issubclass(kind, BlobRef):
        return True
    return any(_leads(field, above | {kind}) for _, field in _fields(kind))
