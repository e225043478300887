"""Messages encoded once: fragments of JSON that the next request joins instead of encoding again."""

import hashlib
from base64 import b64encode
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from angelia.context.request import (
    MessagePart,
    ModelRequest,
    OpenedBytes,
    OpenedText,
    OpenMedia,
    RequestMessage,
    Shown,
    ToolSpec,
)
from angelia.core.content import Media, ProviderBlock, Text, ToolCall
from angelia.core.errors import UNREADABLE, ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.profile import Profile

NOTHING = "(nothing)"
"""Stands where a wire refuses an empty text."""

encode = msgspec.json.encode

Encode = Callable[[RequestMessage, RequestMessage | None], Awaitable[bytes]]
"""Encodes one message; the second is the one before it. The result is JSON values joined by commas, or nothing."""


class Piece(NamedTuple):
    """A medium, opened."""

    media: Media
    opened: OpenedBytes


class Fragments:
    """One conversation's encoded messages, in order; dropped when the generation changes."""

    def __init__(self, encode_one: Encode) -> None:
        self._encode = encode_one
        self._generation = -1
        self._seqs: list[int] = []
        self._kept: list[bytes] = []

    async def of(self, request: ModelRequest) -> Sequence[bytes]:
        """One fragment per message; only what is new is encoded. The result is not yours to change."""
        messages = request.messages
        seqs = [message.seq for message in messages]
        if request.generation != self._generation or seqs[: len(self._seqs)] != self._seqs:
            self._generation = request.generation
            self._seqs = []
            self._kept = []
        for at in range(len(self._kept), len(messages)):
            self._kept.append(await self._encode(messages[at], messages[at - 1] if at else None))
            self._seqs.append(seqs[at])
        return self._kept


def joined(fragments: Iterable[bytes]) -> bytes:
    """The inside of a JSON array. Messages of which nothing is left to say take no place."""
    return b",".join(filter(None, fragments))


def leave_out(fields: Mapping[str, Any], without: Collection[str]) -> dict[str, Any]:
    """The fields of a request, except those that its provider refused."""
    return {name: value for name, value in fields.items() if name not in without}


def names_of(tools: Sequence[ToolSpec]) -> tuple[str, ...]:
    """The names of tools, in their order."""
    return tuple(tool.name for tool in tools)


def body_of(fields: Mapping[str, object], growing: str, fragments: Iterable[bytes]) -> bytes:
    """A whole request: its fields, and last the array that grows. The history is copied once."""
    pieces = [fragment for fragment in fragments if fragment] or [b""]
    pieces[0] = encode(fields)[:-1] + b',"' + growing.encode() + b'":[' + pieces[0]
    pieces[-1] += b"]}"
    return b",".join(pieces)


async def opened(parts: Iterable[MessagePart], open_media: OpenMedia) -> list[str | Piece]:
    """Words and opened media, in order; empty words are left out."""
    pieces: list[str | Piece] = []
    for part in parts:
        match part:
            case Text(text=text):
                pieces.append(text)
            case Shown(media=media):
                for one in await open_media(part):
                    match one:
                        case OpenedText(text=text):
                            pieces.append(text)
                        case OpenedBytes():
                            pieces.append(Piece(media, one))
            case _:
                pass
    return [piece for piece in pieces if not isinstance(piece, str) or piece.strip()]


def text_block(kind: str, text: str) -> bytes:
    """A block of words, as the wires with typed blocks write it."""
    return encode({"type": kind, "text": text})


def base64_of(piece: Piece) -> Raw:
    """The bytes as a JSON string; base64 needs no escapes."""
    return Raw(b'"' + b64encode(piece.opened.data) + b'"')


def data_url(piece: Piece) -> Raw:
    """The bytes as a `data:` URL in a JSON string."""
    return Raw(b'"data:' + piece.opened.mime.encode() + b";base64," + b64encode(piece.opened.data) + b'"')


def file_name(piece: Piece) -> str:
    """What the file is called; some vendors refuse a document without a name."""
    return piece.media.name or "document.pdf"


def no_way(wire: str, piece: Piece) -> ModelError:
    """The refusal of a medium that this wire has no form for, in the words of a provider's refusal."""
    said = f"{piece.opened.mime} has no form on the {wire} wire."
    return ModelError(Failure(FailureKind.MEDIA_REFUSED, said=said))


def arguments_of(call: ToolCall) -> bytes:
    """A call's arguments as a JSON object, whatever the model wrote.

    Some servers parse the arguments of earlier calls and refuse the whole request when they are not an object,
    so a call that was never valid goes back inside one, where the model can still read it.
    """
    written = call.arguments.strip().encode() or b"{}"
    try:
        valid = isinstance(msgspec.json.decode(written), dict)
    except UNREADABLE:
        valid = False
    return written if valid else encode({"invalid_arguments": call.arguments})


def own(native: ProviderBlock | None, message: RequestMessage, profile: Profile) -> bytes:
    """A native block's bytes if this profile's vendor made it, else nothing."""
    if native is None or native.maker != profile.vendor or message.maker != profile.vendor:
        return b""
    return bytes(native.raw)


def call_names(message: RequestMessage | None, profile: Profile) -> dict[str, str]:
    """What each call of an assistant's message is called on the wire, by our id.

    The vendor that made the message gets its own names back (unless they are missing or repeat), any other gets ours.
    """
    if message is None:
        return {}
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    theirs = [call.wire_id for call in calls]
    if message.maker == profile.vendor and all(theirs) and len(set(theirs)) == len(theirs):
        return {call.id: call.wire_id for call in calls}
    return {call.id: our_name(call.id, profile) for call in calls}


def our_name(call: str, profile: Profile) -> str:
    """Our id of a call in the form that the vendor takes.

    Mistral takes nine letters and digits: "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9".
    """
    if "nine_character_ids" not in profile.quirks:
        return call
    return hashlib.sha256(call.encode()).hexdigest()[:9]
