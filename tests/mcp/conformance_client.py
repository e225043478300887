"""What the conformance kit starts as a client: our connection, asked to call every tool that a site lists.

The kit gives the site's address as the last argument, names its scenario in the environment, and hands what that
needs in as JSON. Where the site wants a login, somebody logs in who goes wherever they are sent.

    conformance client --requirements 2026-07-28 --command "python -m tests.mcp.conformance_client"
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from angelia.core.errors import AngeliaError
from angelia.policy.egress import judge_address, judge_url, ranges_named
from angelia.policy.verdict import AnswerServer, VisitForServer
from angelia.service.skills.served import ServedSkills
from angelia.skills.served import UnverifiedSkill
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.seen_skills import SeenSkills
from angelia.tools.asking import PersonReply, Said
from angelia.tools.mcp.connection import CallPerson, McpConnection
from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.logging_in import log_in
from angelia.tools.mcp.logins import RegisteredClient
from angelia.tools.mcp.server import Site, given
from angelia.tools.mcp.servers import trouble
from angelia.tools.web.fetcher import Fetcher
from tests.mcp.login_site import KeptLogins, visitor
from tests.mcp.reached import only, reached

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The one that the kit's authorization servers know."""


async def first_of_all(effect: AnswerServer | VisitForServer) -> PersonReply:
    """Somebody who takes whatever is offered first (what goes without saying), and goes wherever they are sent."""
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


async def look_at_skills(server: McpConnection, folder: Path) -> None:
    """Read each skill that the site lists, as somebody does who looks at it."""
    values = KeyValue(db := Database.open(folder))
    try:
        for listed in server.skills:
            try:
                await ServedSkills(values, SeenSkills(values), folder).read(listed, lambda _, uri: server.read(uri))
            except UnverifiedSkill as fault:
                print(fault, file=sys.stderr)
    finally:
        db.close()


async def main(url: str) -> int:
    """Reach the site, and call what it has."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    logins = KeptLogins()
    if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/"):
        own = context.get("client_id", "")
        client = RegisteredClient(own, context.get("client_secret", ""), "" if own else DOCUMENT)
        fetcher = Fetcher(judge_url, lambda address: judge_address(address, ranges_named(url)))
        try:
            await log_in("s1", Site(url, given({})), fetcher, dict(os.environ), (logins, visitor(), client))
        except AngeliaError as error:
            print(error, file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as folder:
        async with reached(Path(folder), Site(url, given({})), seconds=10, logins=logins) as (servers, _):
            server = only(servers)
            if why := trouble(server):
                print(why, file=sys.stderr)
                return 1
            if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("sep-2640-client-verify"):
                await look_at_skills(server, Path(folder))
            for name, arguments in calls(server.tools, context):
                try:
                    print(name, await server.call(name, arguments, lambda _: None, PERSON))
                except (ServerRefused, ServerLost, AngeliaError) as error:
                    print(name, repr(error), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
