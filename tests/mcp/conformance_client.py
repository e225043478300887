"""Our connection as a client of the conformance kit: it is asked to call every tool that a site lists.

Where the site wants a login, somebody logs in who goes wherever they are sent.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.errors import AngeliaError
from angelia.policy.egress import judge_address, judge_url, ranges_named
from angelia.policy.verdict import AnswerServer, LogInForServer, OfServer
from angelia.service.skills.served import ServedSkills
from angelia.skills.served import UnverifiedSkill
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.seen_skills import SeenSkills
from angelia.tools.asking import PersonReply, Said
from angelia.tools.mcp.call_person import CallPerson
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.logging_in import log_in
from angelia.tools.mcp.logins import RegisteredClient
from angelia.tools.mcp.server import Site, given
from angelia.tools.mcp.servers import trouble
from angelia.tools.web.fetcher import Fetcher
from tests.mcp.login_site import KeptLogins, ended_at, visitor
from tests.mcp.reached import only, reached

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The one that the kit's authorization servers know."""


async def first_of_all(effect: OfServer) -> PersonReply:
    """Somebody who takes whatever is offered first (what goes without saying), and goes wherever they are sent."""
    if isinstance(effect, LogInForServer):
        return Said(await ended_at(effect.url))
    return Said(effect.choices[0]) if isinstance(effect, AnswerServer) and effect.choices else Said("")


def unheard(_: str) -> None:
    """Nobody is told."""


PERSON = CallPerson(first_of_all, unheard)

VALUES: dict[str, Any] = {"string": "x", "integer": 3, "number": 3, "boolean": True, "array": [], "object": {}}


def arguments_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Something for each property that the schema names."""
    properties = schema.get("properties") or {}
    return {name: VALUES.get(str((shape or {}).get("type", "string"))) for name, shape in properties.items()}


def calls(tools: Any, context: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What the kit wants called, or every tool with something; who wants a schema back gets that of the tool before."""
    if wanted := context.get("toolCalls"):
        return [(one["name"], one.get("arguments") or {}) for one in wanted]
    schemas = {tool.name: tool.input_schema for tool in tools}
    focal: dict[str, Any] = next((schema for schema in schemas.values() if "$defs" in schema), {})
    echoed = {name: {"schema": focal} if "schema" in (schema.get("properties") or {}) else arguments_of(schema)
              for name, schema in schemas.items()}  # fmt: skip
    return list(echoed.items())


class Asked(Struct, frozen=True):
    """What the kit wants: a site to be called, in which of its scenarios, and what that needs."""

    url: str
    scenario: str
    context: dict[str, Any]


async def look_at_skills(server: McpConnection, folder: Path) -> list[str]:
    """Read each skill that the site lists, as somebody does who looks at it; what is wrong with them."""
    values, faults = KeyValue(db := Database.open(folder)), []
    try:
        for listed in server.skills:
            try:
                await ServedSkills(values, SeenSkills(values), folder).read(listed, lambda _, uri: server.read(uri))
            except UnverifiedSkill as fault:
                faults.append(str(fault))
    finally:
        db.close()
    return faults


async def logged_in(asked: Asked, logins: KeptLogins) -> None:
    """Log in where the scenario is about that.

    Raises:
        AngeliaError: it came to nothing.
    """
    own = asked.context.get("client_id", "")
    client = RegisteredClient(own, asked.context.get("client_secret", ""), "" if own else DOCUMENT)
    fetcher = Fetcher(judge_url, lambda address: judge_address(address, ranges_named(asked.url)))
    await log_in("s1", Site(asked.url, given({})), fetcher, dict(os.environ), (logins, visitor(), client))


async def call_all(asked: Asked) -> tuple[int, list[str]]:
    """Reach the site, and call what it has; the status of a process, and what is to be read of it."""
    logins, said = KeptLogins(), list[str]()
    if asked.scenario.startswith("auth/"):
        try:
            await logged_in(asked, logins)
        except AngeliaError as error:
            return 1, [str(error)]
    with tempfile.TemporaryDirectory() as folder:
        async with reached(Path(folder), Site(asked.url, given({})), seconds=60, logins=logins) as (servers, _):
            server = only(servers)
            if why := trouble(server):
                return 1, [why]
            if asked.scenario.startswith("sep-2640-client-verify"):
                said += await look_at_skills(server, Path(folder))
            for name, arguments in calls(server.tools, asked.context):
                try:
                    said.append(f"{name} {await server.call(name, arguments, unheard, PERSON)}")
                except (ServerRefused, ServerLost, AngeliaError) as error:
                    said.append(f"{name} {error!r}")
    return 0, said


@asynccontextmanager
async def client_at(path: Path) -> AsyncIterator[str]:
    """The command that the kit starts as a client, as long as this is awake; each is one life of a connection.

    The kit ends clients as it likes, one that has not asked yet too: no connection is left to the garbage collector.
    """
    answering = set[asyncio.Task[None]]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if line := await reader.readline():
                code, said = await call_all(msgspec.json.decode(line, type=Asked))
                writer.write("\n".join([str(code), *said]).encode())
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(task := asyncio.create_task(answer(reader, writer)))
        task.add_done_callback(answering.discard)

    async with await asyncio.start_unix_server(connected, path):
        yield f"{sys.executable} -S -E {Path(__file__).with_name('conformance_call.py')} {path}"
    for task in tuple(answering):
        task.cancel()
    await asyncio.gather(*answering, return_exceptions=True)
