"""A site whose tools ask their caller's person something, in the way of the protocol that is spoken.

Before 2026-07-28 it sends a request in the middle of the call; since then the call comes back with what is wanted.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import mcp_types as types
import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Era = Literal["old", "new"]

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "bed": {"type": "string", "title": "Bed", "enum": ["n", "s"], "enumNames": ["North", "South"]},
        "depth": {"type": "integer", "title": "Depth", "description": "In centimetres.", "minimum": 1, "maximum": 30},
        "again": {"type": "boolean", "title": "Every year", "default": True},
    },
    "required": ["bed", "depth"],
}
ADDRESS = "https://bank.example/pay?order=7"


def listed(name: str) -> types.Tool:
    """A tool without arguments."""
    return types.Tool(name=name, input_schema={"type": "object"})


class Asking:
    """What it heard, in order; `paid` says whether somebody has been at its address."""

    def __init__(self) -> None:
        self.heard: list[types.ElicitResult] = []
        self.server: Server[Any] = Server("garden", on_list_tools=self._list, on_call_tool=self._call)

    async def _list(self, _: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[listed(name) for name in ("plant", "pay", "refuse")])

    async def _call(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name == "refuse":
            return await self._refuse()
        wanted: types.ElicitRequestFormParams | types.ElicitRequestURLParams = (
            types.ElicitRequestFormParams(message="Where to?", requested_schema=FORM)
            if params.name == "plant"
            else types.ElicitRequestURLParams(message="Pay first.", url=ADDRESS, elicitation_id="e1")
        )
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            answers = params.input_responses or {}
            if "where" not in answers:
                if isinstance(wanted, types.ElicitRequestURLParams):
                    wanted = wanted.model_copy(update={"elicitation_id": None})
                asking: types.InputRequests = {"where": types.ElicitRequest(params=wanted)}
                return types.InputRequiredResult(input_requests=asking, request_state="s1")
            answer = answers["where"]
            assert isinstance(answer, types.ElicitResult)
        elif isinstance(wanted, types.ElicitRequestFormParams):
            answer = await context.session.elicit_form(wanted.message, FORM, context.request_id)
        else:
            answer = await context.session.elicit_url(wanted.message, ADDRESS, "e1", context.request_id)
        self.heard.append(answer)
        return types.CallToolResult(content=[types.TextContent(text=f"{answer.action}: {answer.content}")])

    async def _refuse(self) -> types.CallToolResult:
        """Refuse until its address was shown, once."""
        if not self.heard:
            self.heard.append(types.ElicitResult(action="accept"))
            raise UrlElicitationRequiredError(
                [types.ElicitRequestURLParams(message="Pay first.", url=ADDRESS, elicitation_id="e1")]
            )
        return types.CallToolResult(content=[types.TextContent(text="paid")])


async def _only_new(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    if ctx.method == "initialize":
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


async def _only_old(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    if ctx.method == "server/discover":
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


@asynccontextmanager
async def at_a_site(
    server: Server[Any], era: Era, before: Callable[[Any], Any] = lambda app: app, **how: Any
) -> AsyncIterator[str]:
    """The address of a server, which knows one of the protocols alone; `before` is what stands before it, and `how` is
    what its app is made with.
    """
    server.middleware.append(_only_new if era == "new" else _only_old)
    async with served(before(server.streamable_http_app(**how))) as site:
        yield f"{site}/mcp"


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """The origin of a site."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        web = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        serving = asyncio.create_task(web.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            web.should_exit = web.force_exit = True
            await serving
