"""What a server's tool gave back, as the parts of a result: words, pictures, recordings, files."""

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from angelia.core.content import CallStatus, Content, Text
from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.tools.blob_names import pointer
from angelia.tools.mcp.png import without_damaged_extras
from angelia.tools.port import BlobAccess, MediaAccess, ToolOutcome
from angelia.tools.shell.output import head_and_tail

if TYPE_CHECKING:
    import mcp_types as types

SHOWN = 20_000
"""Characters of a result that a model is shown; the whole is kept."""


class ResultContext(BlobAccess, MediaAccess, Protocol):
    """What a result uses of its call."""


async def outcome_of(result: "types.CallToolResult", context: ResultContext) -> ToolOutcome:
    """The result, in the order in which it came; media are stored and measured like every other."""
    parts = [await _part(block, context) for block in result.content]
    if result.structured_content is not None and not any(isinstance(part, Text) for part in parts):
        written = msgspec.json.format(msgspec.json.encode(result.structured_content), indent=1)
        parts.append(Text(clean(written.decode("utf-8", "replace"))))
    status = CallStatus.ERROR if result.is_error else CallStatus.OK
    if not parts:
        return ToolOutcome((Text("(The server gave back nothing.)"),), status)
    return await _shortened(tuple(parts), status, context)


async def read_outcome(
    contents: "Sequence[types.TextResourceContents | types.BlobResourceContents]",
    context: ResultContext,
    notes: Sequence[str],
) -> ToolOutcome:
    """What was read of a resource, with what else the model should know."""
    parts = [await _resource(one, context) for one in contents] or [Text("(There is nothing in it.)")]
    outcome = await _shortened(tuple(parts), CallStatus.OK, context)
    return replace(outcome, parts=(*outcome.parts, *(Text(f"[{note}]") for note in notes)))


async def _shortened(parts: tuple[Content, ...], status: CallStatus, context: ResultContext) -> ToolOutcome:
    """At most about SHOWN characters of it, with the way to the whole."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    if sum(map(len, texts)) <= SHOWN or not texts:
        return ToolOutcome(parts, status)
    full = await context.blobs.put("\n".join(texts).encode(), mime="text/plain")
    most = SHOWN // len(texts)
    where = pointer(full)
    shown = [Text(head_and_tail(part.text, most, pointer=where)) if isinstance(part, Text) else part for part in parts]
    return ToolOutcome(tuple(shown), status, full)


async def _part(block: "types.ContentBlock", context: ResultContext) -> Content:
    match block.type:
        case "text":
            return Text(clean(block.text))
        case "image" | "audio":
            return await _media(block.data, block.mime_type, block.type, context)
        case "resource_link":
            about = ", ".join(str(one) for one in (block.mime_type, block.description) if one)
            return Text(clean(f"{block.title or block.name}: {block.uri}" + (f" ({about})" if about else "")))
        case "resource":
            return await _resource(block.resource, context)


async def _resource(
    resource: "types.TextResourceContents | types.BlobResourceContents", context: ResultContext
) -> Content:
    if hasattr(resource, "text"):
        return Text(clean(f"{resource.uri}:\n{resource.text}"))
    name = str(resource.uri).rstrip("/").rpartition("/")[2]
    return await _media(resource.blob, resource.mime_type or "", name, context)


async def _media(data: str, mime: str, name: str, context: ResultContext) -> Content:
    """Something in base64; what cannot be opened is said in words."""
    try:
        decoded = without_damaged_extras(base64.b64decode(data, validate=True))
        return await context.to_media(decoded, clean(name))
    except (binascii.Error, ValueError) as error:
        why = f"it is not base64: {error}"
    except AngeliaError as error:
        why = str(error)
    return Text(f"[{one_line(clean(name), 60)}, {one_line(clean(mime), 60) or 'no type'}: {why}]")
