"""MCP servers that a client names for a session: each is judged, asked about once where that is needed, and begun."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.acp.faults import Fault
from angelia.cancellation import cancel_and_wait
from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.counts import counted
from angelia.core.days import DAY_MS
from angelia.core.errors import AngeliaError
from angelia.core.ids import CallId, sortable_id
from angelia.core.principal import OWNER
from angelia.core.text import one_line
from angelia.engine.question import digest
from angelia.faces.acp import calls
from angelia.faces.acp import incoming as i
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import questions as q
from angelia.faces.acp.session_sender import Client
from angelia.policy.verdict import Allow, Ask, Deny, Trust
from angelia.service.settings.secret_refs import SecretRefs
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.connection_state import Ready
from angelia.tools.mcp.server import Server, ServerProgram, Site
from angelia.tools.mcp.servers import trouble

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

logger = logging.getLogger("angelia.acp")


class Introductions:
    """The servers of one session. `tell` sends updates to the client."""

    def __init__(
        self, app: "App", session: "Session", client: Client, tell: Callable[[Iterable[o.Update]], None]
    ) -> None:
        self._app = app
        self._session = session
        self._client = client
        self._tell = tell
        self._strangers: tuple[McpConnection, ...] = ()
        self._left_out = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def take(self, given: Any) -> None:
        """Know them before the first turn is driven; those that were named before are let go. Nothing is begun."""
        await self.close()
        usable, self._left_out = sorted_out(given)
        servers = [server_of(one, self._app.secret_refs) for one in usable]
        self._strangers = await self._app.conversations.toolbox(self._session).servers.pass_on(servers)

    def begin(self) -> None:
        """Judge and begin each of them, in the background: nobody waits for another one. Those of the settings too.

        Of those that cannot be read the person is told.
        """
        self._say(self._left_out)
        self._left_out = ""
        self._app.conversations.toolbox(self._session).servers.begin()
        for connection in self._strangers:
            task = asyncio.create_task(self._introduce(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._strangers = ()

    async def close(self) -> None:
        """Take back what is being asked."""
        await cancel_and_wait(*self._tasks)

    async def _introduce(self, connection: McpConnection) -> None:
        try:
            match await self._app.conversations.judged(self._session, connection.server.effect()):
                case Allow():
                    connection.begin()
                case Deny(reason=reason):
                    connection.refuse(reason.rstrip("."))
                case Ask() as ask:
                    await self._ask(connection, ask)
                    return
        except AngeliaError as error:
            logger.warning("%s: %s", self._session.conversation, error)
            connection.refuse(str(error).rstrip("."))
        await connection.settled()
        self._say(trouble(connection))

    def _say(self, words: str) -> None:
        if words:
            self._tell([o.AgentChunk(o.AcpWords(f"{words}\n\n"), f"s{sortable_id()}")])

    async def _ask(self, connection: McpConnection, ask: Ask) -> None:
        """One question, as one tool call of the client's; its yes is recorded like every other."""
        call = ToolCall(CallId(f"server_{sortable_id()}"), f"MCP server {connection.server.name}", "{}")
        question, whole = map(self._app.redaction.text, (ask.question, connection.server.shown))
        asked = e.ApprovalAsked(
            call.id, question, digest(call), why=ask.reason, pattern=ask.pattern, whole=whole, approvers=ask.approvers
        )
        self._tell([calls.made(call, self._session.workspace)])
        match await self._answer(asked, call):
            case q.AcpYes(scope=scope, days=days):
                until = self._app.clock() + days * DAY_MS if days else 0
                await self._session.record(asked, e.ApprovalGiven(call.id, asked.digest, OWNER, scope, until))
                connection.begin()
                self._tell([o.CallChanged(call.id, status="in_progress")])
            case q.AcpNo(why=why):
                connection.refuse(why or "the person said no")
        await connection.settled()
        status = "completed" if isinstance(connection.state, Ready) else "failed"
        words = trouble(connection) or f"Connected: {counted(len(connection.tools), 'tool')}."
        self._tell([o.CallChanged(call.id, status=status, content=(o.AcpShown(o.AcpWords(words)),))])

    async def _answer(self, asked: e.ApprovalAsked, call: ToolCall) -> q.Meant:
        request = q.permission(asked, call, self._session.conversation, self._session.workspace)
        try:
            return q.decided(asked, await self._client.peer.ask("session/request_permission", request, i.Permission))
        except Fault as fault:
            return q.AcpNo(f"the editor could not put the question: {fault.message}".rstrip("."))


def sorted_out(given: Any) -> tuple[list[i.McpServer], str]:
    """What a client calls its servers: those that can be used, and what is wrong with the others, for the person.

    >>> sorted_out([{"type": "acp", "name": "notes"}])
    ([], 'The MCP server notes cannot be used: it has neither a command nor a URL.')
    """
    if not isinstance(given, list):
        return [], "The editor's MCP servers cannot be used: they are not a list." if given else ""
    usable, wrong = [], []
    for one in given:
        try:
            usable.append(msgspec.convert(one, i.McpServer))
        except msgspec.ValidationError as error:
            name = one_line(str(one.get("name", "")), 50) if isinstance(one, dict) else ""
            wrong.append(f"The MCP server {name or 'without a name'} cannot be used: {error}.")
    return usable, "\n".join(wrong)


def server_of(given: i.McpServer, secret_refs: SecretRefs) -> Server:
    """A server as a client names it; what it hands over in secret is known to the redactor from here on."""
    if given.url:
        headers = {pair.name: pair.value for pair in given.headers}
        way: ServerProgram | Site = Site(
            given.url, secret_refs.handed(headers), tuple(sorted(headers)), "sse" if given.type == "sse" else "http"
        )
    else:
        env = {pair.name: pair.value for pair in given.env}
        way = ServerProgram((given.command, *given.args), secret_refs.handed(env), tuple(sorted(env)))
    return Server(given.name, way, Trust.PASSED)
