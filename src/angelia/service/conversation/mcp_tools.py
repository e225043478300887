"""The MCP servers of a conversation, given what it takes to reach them."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.beginning import empty_folder
from angelia.core.errors import BadInput
from angelia.policy.egress import judge_address, judge_url, ranges_named
from angelia.sandboxes.local.process_ledger import Life
from angelia.sandboxes.port import Sandbox
from angelia.service.settings.secret_refs import SecretRefs
from angelia.service.settings.server_logins import ServerLogins
from angelia.tools.mcp.settings import McpSettings, ServerSettings
from angelia.tools.mcp.toolset import McpTools

if TYPE_CHECKING:
    from angelia.tools.mcp.logins import LoginPerson, RegisteredClient
    from angelia.tools.mcp.server import Server
    from angelia.tools.mcp.transports import Transports
    from angelia.tools.web.fetcher import Fetcher


class McpSources(Struct, frozen=True):
    """What every conversation's servers are made of. `state` has the records of what runs; `ranges` are addresses that
    the settings open beside the public ones; `logins` are those of the person.
    """

    settings: McpSettings
    secret_refs: SecretRefs
    environ: Mapping[str, str]
    redact: Callable[[str], str]
    home: Path
    state: Path
    ranges: tuple[str, ...]
    logins: ServerLogins


class ConversationServers(McpTools):
    """The toolset of one conversation's servers, with the record of the programs that it starts."""

    def __init__(
        self,
        sources: McpSources,
        folder: str,
        sandbox: Callable[[], Sandbox],
        taken: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`folder` and `sandbox` are as in `Transports`."""
        self._life: Life | None = None
        self._state = sources.state
        empty = partial(empty_folder, sources.home)

        def configure(name: str, settings: ServerSettings) -> "Server":
            from angelia.service.conversation.servers import configured

            return configured(name, settings, sources.secret_refs)

        def fetcher(named: tuple[str, ...]) -> "Fetcher":
            from angelia.tools.web.fetcher import Fetcher

            return Fetcher(judge_url, lambda address: judge_address(address, (*sources.ranges, *named)))

        def transports() -> "Transports":
            from angelia.tools.mcp.transports import Transports

            return Transports(
                self._programs, folder, empty, sources.environ, fetcher, sources.redact, sandbox, sources.logins
            )

        super().__init__(
            sources.settings.servers,
            configure,
            transports,
            sources.settings.patience,
            taken,
        )

    def _programs(self) -> Life:
        self._life = self._life or Life(self._state)
        return self._life

    async def close(self) -> None:
        """See `Toolset`."""
        await super().close()
        if self._life:
            await asyncio.to_thread(self._life.close)


async def logged_in_at(sources: McpSources, name: str, person: "LoginPerson", client: "RegisteredClient") -> int:
    """Log a person in at a server of the settings; how many tools it has then.

    Raises:
        BadInput: there is no such server, or it is no site.
        LoginRefused, ConfigError, MissingPart: as `log_in`.
    """
    settings = sources.settings.servers.get(name)
    if settings is None:
        known = ", ".join(sources.settings.servers) or "none; `angelia mcp add` adds one"
        raise BadInput(f"There is no server {name!r} in the settings.", then=f"There are: {known}.")
    from angelia.service.conversation.servers import configured
    from angelia.tools.mcp.server import Site

    way = configured(name, settings, sources.secret_refs).way
    if not isinstance(way, Site) or way.transport != "http":
        raise BadInput(f"{name} is no site with streamable HTTP: there is nothing to log in at.")
    from angelia.tools.mcp.logging_in import log_in
    from angelia.tools.web.fetcher import Fetcher

    ranges = (*sources.ranges, *ranges_named(way.url))
    fetcher = Fetcher(judge_url, lambda address: judge_address(address, ranges))
    return await log_in(name, way, fetcher, sources.environ, (sources.logins, person, client))
