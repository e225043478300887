"""Names of what this conversation holds: `blob:ab12cd34` for stored bytes, `call:c12_0` for a call's result."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from angelia.core.content import BlobRef, Content, Media, Text
from angelia.core.entry import DeliveryQueued, Entry, Opening, ToolFinished, WorkEnded
from angelia.core.errors import NotFound

PREFIX = "blob:"
CALL_PREFIX = "call:"
SHOWN = 12
"""Digits of a hash that we write; at least 8 are read."""

_ID = r"[0-9a-f]{8,64}"


class KnownBlob(Struct, frozen=True):
    """One blob of this conversation: where it came from, and the medium it belongs to when it is one."""

    ref: BlobRef
    name: str
    media: Media | None = None


def pointer(ref: BlobRef) -> str:
    """How a model names a blob.

    >>> pointer(BlobRef("ab12cd34" * 8, 1, "text/plain"))
    'blob:ab12cd34ab12'
    """
    return f"{PREFIX}{ref.sha256[:SHOWN]}"


def is_pointer(path: str) -> bool:
    """Whether `path` names a blob and not a file."""
    return path.startswith(PREFIX)


def names_result(path: str) -> bool:
    """Whether `path` names a call's result and not a file."""
    return path.startswith(CALL_PREFIX)


def result_text(entries: Sequence[Entry], name: str) -> str:
    """The text of a call's result as it was given, however the view shows it by now.

    Raises:
        NotFound: no call of that name has ended in this conversation.
    """
    wanted = name.removeprefix(CALL_PREFIX)
    for entry in reversed(entries):
        if isinstance(entry.fact, ToolFinished) and entry.fact.call == wanted:
            return "\n".join(part.text for part in entry.fact.parts if isinstance(part, Text))
    raise NotFound(f"No call {wanted!r} has ended in this conversation.", then="Copy its name from where it was shown.")


def find_blob(entries: Sequence[Entry], name: str) -> KnownBlob:
    """The blob that `name` (`blob:ab12cd34`, or the digits alone) means, among those that this log speaks of.

    Raises:
        NotFound: fewer than 8 digits, no such blob in this conversation, or more than one.
    """
    wanted = name.removeprefix(PREFIX).strip().lower()
    if not re.fullmatch(_ID, wanted):
        raise NotFound(f"{name!r} is not a name of stored bytes.", why="It takes 8 or more hex digits, like ab12cd34.")
    found = {known.ref.sha256: known for known in known_blobs(entries) if known.ref.sha256.startswith(wanted)}
    if not found:
        raise NotFound(f"{name} is unknown in this conversation.", then="Copy the digits from where it was shown.")
    if len(found) > 1:
        raise NotFound(f"{name} is ambiguous: {', '.join(sorted(found))}.", then="Give more digits.")
    return next(iter(found.values()))


def known_blobs(entries: Sequence[Entry]) -> Iterator[KnownBlob]:
    """Every blob that people or tools brought into this log, oldest first."""
    for entry in entries:
        match entry.fact:
            case Opening(parts=parts) | DeliveryQueued(parts=parts):
                yield from _of(parts)
            case ToolFinished(parts=parts, full=full, call=call) | WorkEnded(parts=parts, full=full, call=call):
                yield from _of(parts)
                if full is not None:
                    yield KnownBlob(full, f"output of {call}")
            case _:
                continue


def _of(parts: Sequence[Content]) -> Iterator[KnownBlob]:
    for part in parts:
        if isinstance(part, Media):
            yield KnownBlob(part.blob, part.name, part)
