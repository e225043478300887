"""What the readers of all wires do alike: decode one message of a server, and refuse what cannot be read."""

import time
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Raw

from angelia.core.content import ProviderBlock, ReplyPart, ToolCall
from angelia.core.entry import StopReason
from angelia.core.errors import UNREADABLE, ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.text import clean
from angelia.models.wires.failures import of_stream

T = TypeVar("T")
_NOTHING = (Raw(), Raw(b"null"))


def read(decoder: "msgspec.json.Decoder[T]", data: bytes) -> T:
    """Decode one message of a server.

    Raises:
        ModelError: STREAM_CUT; it is not what the wire speaks, so nothing after it can be trusted.
    """
    try:
        return decoder.decode(data)
    except UNREADABLE:
        pass  # half of a surrogate pair, or bytes that are not UTF-8: small servers cut characters in two
    import json

    try:
        whole = json.loads(data.decode(errors="replace"))
        return decoder.decode(clean(json.dumps(whole, ensure_ascii=False)).encode())
    except UNREADABLE as error:
        said = f"The server sent something that is not of this wire ({error}): {clean(data[:200].decode('latin-1'))}"
        raise ModelError(Failure(FailureKind.STREAM_CUT, said=said)) from error


def refuse(error: bytes) -> NoReturn:
    """Raise the failure that an error inside a stream tells of."""
    raise ModelError(of_stream(error, time.time()))


def given(raw: Raw) -> bool:
    """Whether a field was there and not null."""
    return raw not in _NOTHING


def native(maker: str, raw: bytes) -> ProviderBlock:
    """A native block that owns its bytes."""
    return ProviderBlock(maker, Raw(bytes(raw)))


def settled(stop: StopReason, parts: tuple[ReplyPart, ...]) -> StopReason:
    """An ordinary end in the one way we say it: some imitators say `stop` after calls, or `tool_calls` without any."""
    if stop not in {StopReason.END, StopReason.TOOL_CALLS}:
        return stop
    return StopReason.TOOL_CALLS if any(isinstance(part, ToolCall) for part in parts) else StopReason.END
