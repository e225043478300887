"""Logging in at a site by OAuth: kept, refreshed, bound to the site, and told when it has ended."""

import asyncio
import os
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from angelia.core.errors import AngeliaError, BadInput, ConfigError
from angelia.faces.cli.browser_login import browser_person
from angelia.policy.egress import judge_address, judge_url
from angelia.policy.verdict import Trust
from angelia.service.settings.secret_refs import SecretRefs
from angelia.service.settings.server_logins import ServerLogins
from angelia.tools.mcp.callback import returned_in
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.connection_state import Ready
from angelia.tools.mcp.logging_in import log_in
from angelia.tools.mcp.logins import LoginPerson, LoginRefused, RegisteredClient, Returned, StoredLogin
from angelia.tools.mcp.oauth import new_login, stored_login
from angelia.tools.mcp.server import Site, given
from angelia.tools.mcp.servers import trouble
from angelia.tools.mcp.web import logged_in
from angelia.tools.web.fetcher import Fetcher
from tests.mcp.login_site import Authority, KeptLogins, login_site, visitor
from tests.mcp.reached import only, reached

pytestmark = pytest.mark.anyio

HERE = Fetcher(judge_url, lambda address: judge_address(address, ("127.0.0.0/8",)))


async def log_in_at(url: str, logins: KeptLogins, person: LoginPerson) -> int:
    """As `angelia mcp login` does."""
    return await log_in("s1", Site(url, given({})), HERE, dict(os.environ), (logins, person, RegisteredClient()))


async def bloom(connection: McpConnection) -> str:
    """What its tool says, or why there is none."""
    if not isinstance(connection.state, Ready):
        return trouble(connection)
    result = await connection.call("bloom", {}, lambda _: None)
    return " ".join(block.text for block in result.content if block.type == "text")


async def test_a_login_is_kept_and_the_next_connection_needs_none(tmp_path: Path) -> None:
    logins = KeptLogins()
    async with login_site(Authority()) as url:
        assert await log_in_at(url, logins, visitor()) == 1
        async with reached(tmp_path, Site(url, given({})), logins=logins) as (servers, _):
            assert await bloom(only(servers)) == "it blooms"


async def test_without_a_login_the_command_for_one_is_told(tmp_path: Path) -> None:
    async with (
        login_site(Authority()) as url,
        reached(tmp_path, Site(url, given({})), logins=KeptLogins()) as (servers, _),
    ):
        assert "it wants a login (HTTP 401): `angelia mcp login s1`" in await bloom(only(servers))


async def test_what_has_expired_is_refreshed_by_itself_also_after_a_restart(tmp_path: Path) -> None:
    logins, authority = KeptLogins(), Authority()
    async with login_site(authority) as url:
        await log_in_at(url, logins, visitor())
        before = logins.kept["s1"] = replace(logins.kept["s1"], expires=1.0)
        authority.access.clear()
        async with reached(tmp_path, Site(url, given({})), logins=logins) as (servers, _):
            assert await bloom(only(servers)) == "it blooms"
    assert logins.kept["s1"].tokens != before.tokens
    assert logins.kept["s1"].expires > 1.0


async def test_connections_of_two_lives_refresh_a_login_once(tmp_path: Path) -> None:
    kept, authority = KeptLogins(), Authority()
    async with login_site(authority) as url:
        await log_in_at(url, kept, visitor())
        one, other = (ServerLogins(tmp_path / "home", SecretRefs({})) for _ in range(2))
        one.write("s1", replace(kept.kept["s1"], expires=1.0))
        authority.access.clear()
        both = [stored_login("s1", url, logins) for logins in (one, other)]
        async with httpx2.AsyncClient() as client:
            came = await asyncio.gather(*(client.post(url, json={}, auth=auth) for auth in both))
    assert 401 not in [one.status_code for one in came]
    assert len(authority.access) == 1


async def test_what_fails_without_a_word_is_not_told_as_the_answer_before_it() -> None:
    """The site's last one was 201: it has registered us."""

    async def returned() -> Returned:
        raise httpx2.ReadTimeout("")

    async with login_site(Authority()) as url:
        with pytest.raises(LoginRefused, match="There is no login at s1: ReadTimeout"):
            await log_in_at(url, KeptLogins(), replace(visitor(), returned=returned))


async def test_a_login_that_was_revoked_is_told_and_nobody_is_sent_anywhere(tmp_path: Path) -> None:
    logins, authority = KeptLogins(), Authority()
    async with login_site(authority) as url:
        await log_in_at(url, logins, visitor())
        authority.access.clear()
        authority.refresh.clear()
        logins.kept["s1"] = replace(logins.kept["s1"], expires=1.0)
        async with reached(tmp_path, Site(url, given({})), logins=logins) as (servers, _):
            assert "The login at s1 has ended" in await bloom(only(servers))
    assert not authority.codes


async def test_a_login_counts_at_its_own_address_alone_and_for_nobody_elses_server(tmp_path: Path) -> None:
    logins = KeptLogins()
    async with login_site(Authority()) as url:
        await log_in_at(url, logins, visitor())
        own = logins.kept["s1"]
        async with reached(tmp_path, Site(url, given({})), logins=logins, trust=Trust.PASSED) as (servers, _):
            assert "wants a login" in await bloom(only(servers))
        logins.kept["s1"] = replace(own, url=f"{url}2")
        async with reached(tmp_path, Site(url, given({})), logins=logins) as (servers, _):
            assert "wants a login" in await bloom(only(servers))


@pytest.mark.parametrize("changed", [{"state": "another"}, {"iss": "https://evil.example"}, {"code": "guessed"}])
async def test_what_comes_back_from_elsewhere_is_no_login(changed: dict[str, str]) -> None:
    logins = KeptLogins()
    async with login_site(Authority()) as url:
        with pytest.raises(AngeliaError, match="There is no login at s1"):
            await log_in_at(url, logins, visitor(**changed))
    assert not logins.kept


def test_the_file_of_a_login_is_its_owners_alone_and_its_tokens_are_secrets(tmp_path: Path) -> None:
    refs = SecretRefs({})
    logins = ServerLogins(tmp_path, refs)
    login = StoredLogin("https://a.example/mcp", '{"access_token":"t0k3n"}', '{"client_id":"me","client_secret":"s3c"}')
    logins.write("my server", login)
    assert logins.read("my server") == login
    assert refs.known() == {"t0k3n", "s3c"}
    assert logins.read("my_server") is None
    path = logins.path("my server")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="Others could read"):
        logins.read("my server")
    assert logins.forget("my server")
    assert not logins.forget("my server")


async def test_the_browser_comes_back_to_this_machine_and_nothing_else_that_knocks_is_a_login() -> None:
    logins = KeptLogins()
    async with login_site(Authority()) as url, browser_person(opens=False) as waiting:

        async def browse(address: str) -> None:
            async with httpx2.AsyncClient(trust_env=False) as browser:
                stray = await browser.get(waiting.redirect.replace("/callback", "/favicon.ico"))
                there = await browser.get(address)
                back = await browser.get(there.headers["location"])
            assert (stray.status_code, back.status_code) == (404, 200)
            assert "close this page" in back.text

        assert await log_in_at(url, logins, LoginPerson(waiting.redirect, browse, waiting.returned)) == 1
    assert logins.kept["s1"].url == url


async def test_who_says_no_in_the_browser_is_told_so() -> None:
    with pytest.raises(LoginRefused, match="access_denied"):
        returned_in("http://127.0.0.1:9/callback?error=access_denied&state=x")
    with pytest.raises(BadInput, match="no code"):
        returned_in("http://127.0.0.1:9/callback")


async def test_where_the_login_leads_is_judged_unless_it_is_the_site_itself(tmp_path: Path) -> None:
    closed = Fetcher(judge_url, lambda address: judge_address(address, ()))
    asked: list[str] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        metadata = 'Bearer resource_metadata="http://127.0.0.2:9/metadata"'
        return httpx2.Response(401, headers={"www-authenticate": metadata})

    site = "http://127.0.0.1:9/mcp"
    auth = new_login("s1", site, KeptLogins(), visitor(), RegisteredClient())
    client = await logged_in(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)), site, closed, auth)
    with pytest.raises(AngeliaError, match=r"127\.0\.0\.2"):
        await client.get(site)
    await client.aclose()
    assert asked == [site]
