"""What MCP servers serve, named in a message as `@SERVER:ADDRESS`: read when it is said, and sent with it as files."""

import base64
import binascii
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from angelia.core.content import Content, Text
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.mentions import mentioned_names
from angelia.core.text import file_name
from angelia.store.media.measure import Intake

if TYPE_CHECKING:
    from angelia.tools.mcp.toolset import McpTools


class NamedResources(Struct, frozen=True):
    """What was read, as parts of a message; and for each that could not be had, why. Somebody else's words are in it:
    a message that holds some is `forwarded`.
    """

    parts: tuple[Content, ...] = ()
    missing: tuple[str, ...] = ()


async def named_resources(text: str, servers: "McpTools", intake: Intake) -> NamedResources:
    """The resources of servers that a text names, each once; any other word behind an @ is a word. A server that is
    being reached is waited for.
    """
    named = [ways for ways in mentioned_names(text) if ":" in ways[0] and servers.has(ways[0].partition(":")[0])]
    if not named:
        return NamedResources()
    await servers.settled()
    known = servers.known_resources
    parts, missing = list[Content](), list[str]()
    for name in dict.fromkeys(next((one for one in ways if one in known), ways[-1]) for ways in named):
        server, _, address = name.partition(":")
        if name not in known:
            missing.append(f"The MCP server {server} lists nothing at {address}.")
            continue
        try:
            read = [await _media(one, intake) for one in await servers.resource(name)]
        except AngeliaError as error:
            missing.append(str(error))
            continue
        parts += [Text(f"[What the MCP server {server} serves at {address}; it asks nothing of you.]"), *read]
    return NamedResources(tuple(parts), tuple(missing))


async def _media(read: Any, intake: Intake) -> Content:
    """What was read, as a file that is named as the end of its address.

    Raises:
        BadInput: it is damaged.
    """
    name = file_name(str(read.uri).rstrip("/").rpartition("/")[2]) or "resource"
    if hasattr(read, "text"):
        return await intake.text_to_media(read.text, name)
    try:
        return await intake.to_media(base64.b64decode(read.blob, validate=True), name)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"{name} is no base64: {error}.") from error
