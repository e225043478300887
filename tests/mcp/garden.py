"""A server of the Model Context Protocol for tests: it keeps a garden, and can misbehave when it is told to."""

import asyncio
import base64
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import mcp_types as types
from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel

from angelia.testing.model.pictures import one_colour

server = MCPServer("garden")
FOLDER = Path(os.environ.get("GARDEN", "."))


class Bed(BaseModel):
    """One bed."""

    name: str
    plants: int


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
def echo(words: str, times: Annotated[int, "How often."] = 1) -> str:
    """Says it again."""
    return " ".join([words] * times)


@server.tool(structured_output=False)
def picture(colour: str) -> Image:
    """A picture of one colour."""
    return Image(data=one_colour(colour), format="png")


@server.tool()
def bed(name: Literal["north", "south"]) -> Bed:
    """What grows in a bed."""
    return Bed(name=name, plants=len(name))


@server.tool()
def note(line: str) -> str:
    """Writes a line down, and counts how many there are."""
    with (FOLDER / "notes").open("a") as notes:
        notes.write(f"{line}\n")
    return str(len((FOLDER / "notes").read_text().splitlines()))


@server.tool()
async def water(ctx: Context, steps: int) -> str:
    """Takes its time and tells how far it is."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"bed {step}")
    return "watered"


@server.tool()
async def wait(line: str) -> str:
    """Writes a line down and then never answers; it writes another one when it is told to stop."""
    note(line)
    try:
        await asyncio.Event().wait()
    except BaseException:
        note(f"{line} stopped")
        raise
    return ""


@server.tool()
def die(line: str) -> str:
    """Writes a line down and ends without an answer."""
    note(line)
    os._exit(3)


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("nothing grows here")


@server.tool()
def secret() -> str:
    """Tells what it was given."""
    return os.environ.get("GARDEN_TOKEN", "nothing")


@server.tool()
async def plant(ctx: Context, name: str) -> str:
    """Brings a tool of that name."""
    server.add_tool(lambda: f"a {name}", name=name, description=f"Tells of the {name}.")
    await ctx.session.send_tool_list_changed()  # on connections of before 2026-07-28
    await ctx.notify_tools_changed()
    return "planted"


@server.tool()
def many(count: int) -> list[Any]:
    """Mixed things."""
    return [types.TextContent(type="text", text="x" * count), base64.b64encode(b"y").decode()]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["http", port]:
            server.run("streamable-http", host="127.0.0.1", port=int(port))
        case ["sse", port]:
            server.run("sse", host="127.0.0.1", port=int(port))
        case _:
            server.run("stdio")
