"""A call that a login does not allow sends its person to log in for it, and nobody else anywhere."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from angelia.policy.verdict import LogInForServer, OfServer
from angelia.tools.asking import NotAsked, PersonReply, Said
from angelia.tools.mcp.call_person import CallPerson
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerRefused
from angelia.tools.mcp.server import Site, given
from tests.mcp.login_site import Authority, KeptLogins, ended_at, login_site, visitor
from tests.mcp.reached import only, reached
from tests.mcp.test_logins import log_in_at

pytestmark = pytest.mark.anyio


class Person:
    """Answers what a test wants, and remembers what was asked."""

    def __init__(self, *replies: str | PersonReply) -> None:
        self._replies = iter(replies)
        self.asked: list[LogInForServer] = []

    async def ask(self, effect: OfServer) -> PersonReply:
        """Log in, and paste where that ended; or say something else."""
        assert isinstance(effect, LogInForServer)
        self.asked.append(effect)
        reply = next(self._replies)
        if reply == "browse":  # in a browser of this machine, which comes back by itself
            async with httpx2.AsyncClient(trust_env=False) as browser:
                await browser.get(await ended_at(effect.url))
            await asyncio.Event().wait()
        if isinstance(reply, str):
            return Said(await ended_at(effect.url) if reply == "paste" else reply)
        return reply


async def bloom(connection: McpConnection, person: Person) -> str:
    """What the tool of the site says."""
    result = await connection.call("bloom", {}, lambda _: None, CallPerson(person.ask, lambda _: None))
    return "".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize("how", ["browse", "paste"])
async def test_a_login_is_widened_in_the_middle_of_a_call_and_kept(tmp_path: Path, how: str) -> None:
    logins, person = KeptLogins(), Person(how)
    async with login_site(Authority(), "plant") as url:
        await log_in_at(url, logins, visitor())
        before = logins.kept["s1"]
        async with reached(tmp_path, Site(url, given({})), logins=logins) as (servers, _):
            assert await bloom(only(servers), person) == "it blooms"
            assert await bloom(only(servers), person) == "it blooms"
    assert [one.scope for one in person.asked] == ["plant"], "once is enough"
    assert person.asked[0].url.startswith(url.removesuffix("mcp"))
    assert logins.kept["s1"].tokens != before.tokens


async def test_what_is_no_such_address_is_said_and_asked_again(tmp_path: Path) -> None:
    logins, person = KeptLogins(), Person("I did it", "paste")
    async with login_site(Authority(), "plant") as url:
        await log_in_at(url, logins, visitor())
        async with reached(tmp_path, Site(url, given({})), logins=logins) as (servers, _):
            assert await bloom(only(servers), person) == "it blooms"
    assert [one.fault for one in person.asked] == ["", "There is no code in this address."]


@pytest.mark.parametrize("reply", ["Do not log in", NotAsked("Nobody is here.")])
async def test_who_does_not_log_in_keeps_the_login_and_the_call_is_told_as_refused(
    tmp_path: Path, reply: str | PersonReply
) -> None:
    logins, person = KeptLogins(), Person(reply)
    async with login_site(Authority(), "plant") as url:
        await log_in_at(url, logins, visitor())
        before = logins.kept["s1"]
        async with reached(tmp_path, Site(url, given({})), logins=logins) as (servers, _):
            with pytest.raises(ServerRefused, match="s1 wants another login for this call, and there is none"):
                await bloom(only(servers), person)
    assert logins.kept["s1"] == before
