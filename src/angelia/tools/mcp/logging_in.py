"""Logs a person in at a site: it is reached as for its tools, and asks for what it wants."""

from collections.abc import Mapping
from typing import Any

from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.http.client import http_client
from angelia.tools.mcp.failures import in_words, leaf
from angelia.tools.mcp.logins import LoginPerson, LoginRefused, RegisteredClient, SiteLogins
from angelia.tools.mcp.server import Site
from angelia.tools.mcp.transports import TransportTrace, part
from angelia.tools.web.fetcher import Fetcher


async def log_in(
    name: str,
    site: Site,
    fetcher: Fetcher,
    environ: Mapping[str, str],
    login: tuple[SiteLogins, LoginPerson, RegisteredClient],
) -> int:
    """Reach a site with a new login, which is kept with the tokens that it brings; how many tools there are then.

    Raises:
        LoginRefused: it came to nothing; says why. A login that was there before is kept.
        ConfigError, MissingPart: as `way_to`.
    """
    logins, person, client = login
    web, oauth, protocol = await part("web"), await part("oauth"), await part("client")
    headers, noticed = await site.headers(), TransportTrace()
    auth = oauth.new_login(name, site.url, logins, person, client)

    async def connected() -> Any:
        return await web.logged_in(await http_client(site.url, environ), site.url, fetcher, auth)

    hooks = protocol.Hooks(lambda: None, lambda: None, newest_first=True)
    tools: int | None = None
    try:
        async with protocol.talking(lambda: web.site(site, connected, headers, noticed), hooks) as reached:
            tools = len(await protocol.tools_of(reached))
    except Exception as error:
        if tools is not None:  # a reply that came while we hung up; the login is kept, and worked
            return tools
        found = leaf(error)
        if isinstance(found, AngeliaError):
            raise found from error
        refused = noticed.status >= 400 and not str(found)
        why = f"it answered with HTTP {noticed.status}" if refused else in_words(error)
        raise LoginRefused(
            f"There is no login at {name}: {one_line(clean(why), 300)}.",
            then="Nothing was changed. Does the site know programs by an id (--client-id)?",
        ) from error
    return tools
