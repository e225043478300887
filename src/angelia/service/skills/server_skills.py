"""Skills of the MCP servers in the settings: listed as they were told last, read once their person looks."""

from collections.abc import AsyncIterator, Callable, Sequence, Set
from contextlib import asynccontextmanager

from msgspec.structs import replace

from angelia.core.errors import BadInput, NotFound
from angelia.core.principal import OWNER
from angelia.core.unambiguous import unambiguous_line
from angelia.policy.approvers import nobody
from angelia.sandboxes.port import SandboxError
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.mcp_tools import ConversationServers, McpSources
from angelia.service.conversation.session import Session
from angelia.service.skills.seen import JudgedSkill, Skills
from angelia.service.skills.served import ServedSkills, as_found
from angelia.skills.find import FoundSkill
from angelia.skills.places import SkillOwner
from angelia.skills.served import ServedSkill, UnverifiedSkill
from angelia.tools.discovery import MakeToolset
from angelia.tools.mcp.failures import ServerLost, ServerRefused, Unavailable
from angelia.tools.mcp.servers import trouble
from angelia.tools.registry import Registry, made

Tell = Callable[[str], None]
"""Where it is said what could not be had, in sentences."""


class ServersOfSettings:
    """Each server for itself, outside of any talk. `begin` begins a conversation in which nothing is said."""

    def __init__(
        self,
        conversations: Conversations,
        sources: McpSources,
        toolsets: Sequence[MakeToolset],
        begin: Callable[[], Session],
    ) -> None:
        self._conversations = conversations
        self._sources, self._toolsets = sources, toolsets
        self._begin = begin

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that there are."""
        return tuple(self._sources.settings.servers)

    @asynccontextmanager
    async def reached(self, name: str) -> AsyncIterator[ConversationServers]:
        """One of them, once it can be called or is gone.

        Raises:
            SandboxError: it runs in the sandbox, and that cannot be had.
        """
        session = self._begin()
        settings = self._sources.settings.servers[name]
        only = replace(self._sources, settings=replace(self._sources.settings, servers={name: settings}))
        servers = self._conversations.servers(session, only, lambda: Registry.of(made(self._toolsets)[0]).names)
        try:
            if settings.where == "sandbox":
                self._conversations.open_workplace(session, approvers=nobody)
            servers.begin()
            await servers.servers.settled()
            yield servers
        finally:
            await servers.close()
            await self._conversations.leave(session)


class ServerSkills:
    """What these servers serve, and how the owner of the home stands to it."""

    def __init__(self, servers: ServersOfSettings, served: ServedSkills, skills: Skills) -> None:
        self._servers = servers
        self._served, self._skills = served, skills

    async def listed(self) -> list[JudgedSkill]:
        """What they listed when they were reached last; no file is read."""
        return await self._skills.judge(OWNER, as_found(await self._served.listed_last(self._servers.names)))

    async def read(self, wanted: Sequence[JudgedSkill], tell: Tell) -> list[JudgedSkill]:
        """These as their servers list them now, with their files; what is not to be had, or is not what is listed, is
        told and left out.
        """
        by_server: dict[str, set[str]] = {}
        for one in wanted:
            by_server.setdefault(one.skill.path.partition(":")[0], set()).add(one.skill.path)
        return [found for server, names in by_server.items() for found in await self._read(server, names, tell)]

    async def named(self, name: str, tell: Tell) -> JudgedSkill:
        """The one of this name or identity, such as `linear:refunds`, with its files, as its server lists it now.

        Raises:
            NotFound: there is no such server, or it does not list this, or what it brings is not what it lists; why is
                told.
            BadInput: it cannot be used.
        """
        server = name.partition(":")[0]
        if server not in self._servers.names:
            raise NotFound(
                f"There is no MCP server {unambiguous_line(server)!r} in the settings, which would serve this skill.",
                then="`angelia skills list` shows those that there are.",
            )
        found = await self._read(server, {name}, tell)
        if not found:
            raise NotFound(
                f"No skill {unambiguous_line(name)!r} can be had of the server {server} now; nothing was changed.",
                then=f"`angelia mcp test {server}` lists what it has; one that it does not list goes by its address.",
            )
        if not found[0].skill.usable:
            raise BadInput(f"The skill {found[0].skill.name} cannot be used: {found[0].skill.findings[0].in_words()}.")
        return found[0]

    async def _read(self, server: str, names: Set[str], tell: Tell) -> list[JudgedSkill]:
        try:
            async with self._servers.reached(server) as reached:
                if (connection := reached.servers.get(server)) and (why := trouble(connection)):
                    tell(why)
                found = [await self._with_files(reached, one, tell) for one in await self._of_these(reached, names)]
                return [judged for one in found if one for judged in await self._skills.judge(OWNER, [one])]
        except (SandboxError, Unavailable, ServerRefused, ServerLost) as error:
            tell(f"The skills of {server} cannot be looked at now: {error}")
            return []

    async def _of_these(self, reached: ConversationServers, names: Set[str]) -> list[ServedSkill]:
        """Those of these names or identities; one that is not listed is asked for by its address."""
        there = await self._served.there(reached)
        found = [one for one in there if one.identity in names or one.name in names]
        for name in names - {called for one in found for called in (one.identity, one.name)}:
            server, _, uri = name.partition(":")
            if "://" in uri and (named := await reached.skill_at(server, uri)):
                found.append(named)
        return found

    async def _with_files(self, reached: ConversationServers, one: ServedSkill, tell: Tell) -> FoundSkill | None:
        if one.fault:
            return FoundSkill(one.shown(), SkillOwner.SERVER)
        try:
            return FoundSkill(await self._served.look_at(one, reached), SkillOwner.SERVER)
        except UnverifiedSkill as fault:
            tell(fault.text)
        except (Unavailable, ServerRefused, ServerLost) as fault:
            tell(f"The skill {one.name} cannot be looked at now: {fault}")
        return None
