"""Skills that Angelia serves to other programs (SEP-2640): those that its person has said yes to, as they saw them."""

import base64
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from angelia.core.principal import OWNER
from angelia.faces.mcp.asks import Asks
from angelia.faces.mcp.server import AngeliaMcpServer
from angelia.faces.mcp.tools import offered
from angelia.skills.served import ServedSkill, served_skills, verified
from angelia.skills.skill import read_skill
from angelia.testing.model.server import ModelServer
from angelia.tools.mcp.skills import skill_at, skills_of
from mcp import Client
from tests.mcp.serving import Caller, served
from tests.python.conftest import AskModelAt, at, program
from tests.python.programs import Program
from tests.skills.folders import write_skill

pytestmark = pytest.mark.anyio
__all__ = ["at", "program"]


async def read(client: Client, skill: ServedSkill) -> dict[str, bytes]:
    """Every file that is listed, as a client reads it."""
    found = {}
    for file in skill.files:
        [content] = (await client.read_resource(file.uri)).contents
        if isinstance(content, types.TextResourceContents):
            found[file.path] = content.text.encode()
        else:
            found[file.path] = base64.b64decode(content.blob)
    return found


async def listed(caller: Caller) -> tuple[ServedSkill, ...]:
    """What our own client makes of the list."""
    return served_skills("angelia", await skills_of(caller.client))


async def test_what_its_person_has_seen_is_served_to_the_byte_and_nothing_else(
    program: Program, at: AskModelAt
) -> None:
    skills = program.work / ".agents" / "skills"
    tea = write_skill(skills, more="metadata:\n  beds: 7", files={"scripts/boil it.sh": "#!/bin/sh\necho hot\n"})
    (tea / "leaf.bin").write_bytes(b"\x00\xff")
    write_skill(skills, "unseen")
    skill = read_skill(tea)
    async with ModelServer([]) as model:
        at(model)
        async with served(program) as caller:
            assert await listed(caller) == ()
            await caller.app.skills.pin(OWNER, skill)
            [found] = await listed(caller)
            assert found.uri == "skill://tea/SKILL.md"
            assert {one.path for one in found.files} == {"SKILL.md", "scripts/boil it.sh", "leaf.bin"}
            same = verified(found, await read(caller.client, found))
            assert [(one.path, one.data) for one in same.content.files] == [
                (one.path, one.data) for one in skill.content.files
            ]
            assert (await skill_at(caller.client, found.uri))["uri"] == found.uri
            assert await skill_at(caller.client, "skill://unseen/SKILL.md") is None
            for address in ("skill://unseen/SKILL.md", "skill://tea/../unseen/SKILL.md", "file:///etc/passwd"):
                with pytest.raises(MCPError):
                    await caller.client.read_resource(address)
        async with served(program, "legacy") as caller:  # which knows no extensions
            assert [one.uri for one in (await caller.client.list_resources()).resources] == [found.uri]
            assert (await read(caller.client, found))["leaf.bin"] == b"\x00\xff"
        async with served(program) as caller:
            (tea / "scripts" / "boil it.sh").write_text("#!/bin/sh\necho else\n")
            assert await listed(caller) == (), "it is another than the one that was seen"
            with pytest.raises(MCPError):
                await caller.client.read_resource(found.uri)


async def test_who_is_offered_some_tools_alone_is_served_no_skills(program: Program, at: AskModelAt) -> None:
    async with ModelServer([]) as model:
        at(model)
        async with served(program) as caller:
            asks = Asks(caller.app, program.work)
            library: Any = AngeliaMcpServer(caller.app, asks, offered("receipts")).library
            async with Client(library, cache=None) as client:
                assert "io.modelcontextprotocol/skills" not in (client.server_capabilities.extensions or {})
                with pytest.raises(MCPError):
                    await client.list_resources()
            await asks.close()
