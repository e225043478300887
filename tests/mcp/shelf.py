"""A server made with the official Python library, that serves resources and prompts beside a tool that adds some."""

import sys
from typing import Literal

from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

from angelia.testing.model.pictures import one_colour

server = MCPServer("shelf")


@server.resource("shelf://beds/north", title="The north bed", mime_type="text/plain")
def north() -> str:
    """What grows there."""
    return "Carrots, since April."


@server.resource("shelf://picture", mime_type="image/png")
def picture() -> bytes:
    """How it looks."""
    return one_colour("green")


@server.resource("shelf://beds/{name}/notes")
def notes(name: str) -> str:
    """What was written down of a bed."""
    return f"The {name} bed was watered."


@server.prompt()
def plan(bed: str, season: str = "spring") -> str:
    """Plan a bed."""
    return f"Plan the {bed} bed for {season}.\nSee https://shelf.example/plan."


class Seed(BaseModel):
    """What is to be sown."""

    bed: Literal["north", "south"]
    depth: int


@server.tool()
async def sow(ctx: Context) -> str:
    """Sows what its caller's person says."""
    asked = await ctx.elicit("What shall I sow?", Seed)
    return f"{asked.action}: {asked.data}" if isinstance(asked, AcceptedElicitation) else asked.action


@server.tool()
async def build(ctx: Context, name: str) -> str:
    """Adds a shelf."""

    @server.resource(f"shelf://{name}")
    def added() -> str:
        return name

    @server.prompt(name=name)
    def asked() -> str:
        return name

    await ctx.session.send_resource_list_changed()  # on connections of before 2026-07-28
    await ctx.session.send_prompt_list_changed()
    await ctx.notify_resources_changed()
    await ctx.notify_prompts_changed()
    return "built"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["http", port]:
            server.run("streamable-http", host="127.0.0.1", port=int(port))
        case _:
            server.run("stdio")
