"""A call that a login does not allow sends its person to log in for it, and nobody else anywhere."""

import asyncio
import re
from pathlib import Path

import httpx2
import pytest

from angelia.core import entry as e
from angelia.core.principal import OWNER
from angelia.policy.verdict import LogInForServer, OfServer
from angelia.service.settings.secret_refs import SecretRefs
from angelia.service.settings.server_logins import ServerLogins
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.tools.asking import NotAsked, PersonReply, Said
from angelia.tools.mcp.call_person import CallPerson
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerRefused
from angelia.tools.mcp.server import Site, given
from tests.chats.town import BEN, town
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


async def test_in_a_guests_turn_the_owner_is_asked_and_the_guest_sees_no_address(tmp_path: Path) -> None:
    far, authority = FarEnd(), Authority()
    script = [call("garden__bloom", {}), say("It blooms.")]
    async with login_site(authority, "plant") as url, ModelServer(script) as model:
        kept = KeptLogins()
        await log_in_at(url, kept, visitor())
        ServerLogins(tmp_path / "home", SecretRefs({})).write("garden", kept.kept["s1"])
        sets = (f"mcp.servers.garden.url={url}", "mcp.servers.garden.allow=true", "mcp.patience=60")
        async with town(tmp_path, model, far, sets=sets) as life:
            await life.says("/status", chat="7")
            await life.answered(1, "7")
            await life.says("Does it bloom?", chat="8", sender=BEN)
            await far.when(lambda far: any("wants a login at 127.0.0.1" in text for text in far.texts("7")))
            await far.when(lambda far: any("That needs the owner's yes" in text for text in far.texts("8")))
            assert not any("code_challenge" in text for text in far.texts("8"))
            [question] = [text for text in far.texts("7") if "code_challenge" in text]
            [address] = re.findall(r"http\S+code_challenge=\S+", question)
            await life.says(f"/approve {await ended_at(address)}", chat="7")
            await far.when(lambda far: "It blooms." in far.texts("8"))
            [given] = [fact for fact in await life.facts("8") if isinstance(fact, e.ApprovalGiven)]
    assert given.by == OWNER
