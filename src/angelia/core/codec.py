"""Facts to JSON and back, versioned; what is unknown is refused by name, never skipped."""

from collections.abc import Iterable
from functools import cache

import msgspec

from angelia.core.entry import AnyFact, Entry
from angelia.core.errors import CodecError

VERSION = 1
"""The version of what `encode` writes. A reader refuses a higher one and migrates a lower one."""

_encoder = msgspec.json.Encoder()


@cache
def _decoder() -> msgspec.json.Decoder[AnyFact]:
    """It looks at every kind of fact there is, which a conversation that begins needs none of."""
    return msgspec.json.Decoder(AnyFact)


def encode(fact: AnyFact) -> bytes:
    """One fact as compact JSON. A provider's native block stands in it byte for byte."""
    return _encoder.encode(fact)


def decode(data: bytes, *, version: int = VERSION, where: str = "") -> AnyFact:
    """The fact that `encode` wrote.

    Raises:
        CodecError: a newer version wrote it, its kind or a field is unknown, or it is damaged.
    """
    if version != VERSION:
        raise CodecError(
            f"{where or 'An entry'} was written in format {version}, and this Angelia reads format {VERSION}.",
            then="Update Angelia; nothing has been changed.",
        )
    try:
        return _decoder().decode(data)
    except msgspec.MsgspecError as error:
        raise CodecError(
            f"{where or 'An entry'} cannot be read: {error}.",
            why="A newer version may have written it, or it is damaged.",
            then="`angelia store verify` says which; nothing has been changed.",
        ) from error


def kind_of(fact: AnyFact) -> str:
    """The name under which a fact is stored: its class name."""
    return type(fact).__name__


def to_json_line(entry: Entry) -> bytes:
    """An entry as one JSON line, as `ask --json` and `export --format jsonl` print it."""
    return _encoder.encode({"seq": entry.seq, "at": entry.at, "fact": entry.fact})


def from_json_lines(lines: Iterable[bytes]) -> list[Entry]:
    """Read what `to_json_line` wrote.

    Raises:
        CodecError: a line cannot be read; names its number.
    """
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except msgspec.MsgspecError as error:
            raise CodecError(f"Line {number} cannot be read: {error}.") from error
    return entries
