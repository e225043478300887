"""The toolset of MCP servers: those of the settings, and those that somebody's program names for a conversation."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import BadInput, ConfigError, NotFound
from angelia.core.ids import CallId
from angelia.tools.mcp.connection_state import Connecting, Gone, Ready, Waiting
from angelia.tools.mcp.failures import ServerLost, ServerRefused, Unavailable
from angelia.tools.mcp.server import Server
from angelia.tools.mcp.servers import Servers, trouble
from angelia.tools.mcp.settings import ServerSettings
from angelia.tools.port import ConversationContext, Tool

if TYPE_CHECKING:
    import mcp_types as types

    from angelia.skills.served import ServedSkill
    from angelia.tools.mcp.connection import McpConnection
    from angelia.tools.mcp.served import ServedPrompt, ServedResource
    from angelia.tools.mcp.transports import Transports

WORTH_SAYING_S = 0.5
"""Seconds of waiting for servers after which the person is told what is waited for."""

Configure = Callable[[str, ServerSettings], Server]
"""A server as it stands in the settings; raises ConfigError where it cannot be used so."""


class McpTools:
    """See `tools.port.Toolset`; nothing is begun with it."""

    name = "MCP servers"

    def __init__(
        self,
        settings: Mapping[str, ServerSettings],
        configure: Configure,
        transports: "Callable[[], Transports]",
        patience: float,
        taken: Callable[[], Collection[str]],
    ) -> None:
        """A turn waits at most `patience` seconds for servers that still connect; `taken` are others' tools' names."""
        self._settings = settings
        self._patience = patience
        self._taken = taken
        self._conversation: ConversationContext | None = None
        self._faults: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._made_of: list[tuple[object, object]] = []
        self._tools: tuple[Tool, ...] = ()
        self._left_out: tuple[str, ...] = ()
        self.servers = Servers(transports)
        for name, server in settings.items():
            try:
                self.servers.add(configure(name, server))
            except ConfigError as error:
                self._faults[name] = f"The MCP server {name} cannot be used: {error}"

    def begin(self) -> None:
        """Reach the servers of the settings, in the background; a door calls this when it has time, a turn at last."""
        for name in self._settings:
            if connection := self.servers.get(name):
                connection.begin()

    async def pass_on(self, servers: Iterable[Server]) -> "tuple[McpConnection, ...]":
        """Take in what somebody's program names for this conversation, in place of what it named before.

        None of them is begun. One whose name is taken gets a number.
        """
        before = [one.server.name for one in self.servers.all if one.server.name not in self._settings]
        await self.servers.remove(before)
        return tuple([self.servers.add(self._renamed(server)) for server in servers])

    def _renamed(self, server: Server) -> Server:
        name, number = server.name, 1
        while self.servers.get(name):
            number += 1
            name = f"{server.name}_{number}"
        return Server(name, server.way, server.trust, server.seconds)

    # -- the port -----------------------------------------------------------------------------------------------

    async def open(self, conversation: ConversationContext) -> None:
        """See `Toolset`; no server is begun."""
        self._conversation = conversation

    def tools(self) -> Sequence[Tool]:
        """See `Toolset`; those that each server listed last."""
        made_of: list[tuple[object, object]] = [(one, one.tools) for one in self.servers.all if one.tools]
        made_of.append(("resources", resources := bool(self._with_resources())))
        if made_of != self._made_of:
            self._made_of = made_of
            readers = tuple(one for one in self._readers if one.name not in self._taken()) if resources else ()
            found, self._left_out = self.servers.tools((*self._taken(), *(one.name for one in readers)))
            self._tools = (*found, *readers)
        return self._tools

    @cached_property
    def _readers(self) -> tuple[Tool, ...]:
        from angelia.tools.mcp.resource_tools import FindResources, ReadResource

        return FindResources(self._with_resources), ReadResource(self._with_resources)

    def _with_resources(self) -> "list[McpConnection]":
        return [one for one in self.servers.all if one.offers.resources]

    def has(self, server: str) -> bool:
        """Whether a server of this name is one of the conversation's."""
        return server in self._settings or self.servers.get(server) is not None

    @property
    def known_resources(self) -> "dict[str, ServedResource]":
        """What the servers that were reached so far list to be read, by `SERVER:ADDRESS`; without templates."""
        return {
            f"{one.server.name}:{resource.uri}": resource
            for one in self.servers.all
            for resource in one.offers.resources
            if not resource.template
        }

    async def resource(self, name: str) -> "list[types.TextResourceContents | types.BlobResourceContents]":
        """What is served at an address, named `SERVER:ADDRESS`.

        Raises:
            Unavailable: the server cannot be reached, or waits for a yes.
            BadInput: it does not give it.
        """
        server, _, address = name.partition(":")
        try:
            return await self._named(server).contents(address)
        except (ServerRefused, ServerLost) as fault:
            raise BadInput(f"The MCP server {server} does not give {address}: {fault}.") from fault

    @property
    def known_prompts(self) -> "tuple[ServedPrompt, ...]":
        """What the servers that were reached so far offer; nobody waits for the others."""
        return tuple(prompt for one in self.servers.all for prompt in one.offers.prompts)

    async def prompts(self) -> "tuple[ServedPrompt, ...]":
        """What the servers offer to be chosen by a person, once each is reached or gone."""
        await self.settled()
        return self.known_prompts

    async def prompt(self, name: str, words: str) -> str:
        """The message that a prompt, named `SERVER:PROMPT`, comes to with the arguments in `words`.

        Raises:
            NotFound: there is none of this name; says which there are.
            BadInput: arguments are missing or wrong.
            AngeliaError: the server does not give it.
        """
        offered = await self.prompts()
        prompt = next((one for one in offered if f"{one.server}:{one.name}" == name), None)
        if prompt is None:
            known = ", ".join(f"/{one.server}:{one.name}" for one in offered) or "none"
            raise NotFound(f"There is no prompt /{name} here.", then=f"There are: {known}.")
        arguments = prompt.given(words)
        try:
            messages = await self._named(prompt.server).prompt(prompt.name, arguments)
        except (ServerRefused, ServerLost) as fault:
            raise BadInput(f"The MCP server {prompt.server} does not give it: {fault}.") from fault
        from angelia.tools.mcp.served import quoted_prompt

        return quoted_prompt(prompt, arguments, messages)

    def instructions(self) -> str:
        """See `Toolset`; what a server says of itself is data, and no instruction."""
        return ""

    @property
    def skills(self) -> "tuple[ServedSkill, ...]":
        """What the servers of the settings list of their skills; those of a program's servers have no name for good."""
        return tuple(skill for one in self.servers.all if one.server.name in self._settings for skill in one.skills)

    @property
    def reached(self) -> tuple[str, ...]:
        """The servers of the settings that have said what they list now."""
        ready = (one for one in self.servers.all if isinstance(one.state, Ready) and not one.skills_refused)
        return tuple(one.server.name for one in ready if one.server.name in self._settings)

    async def read(self, server: str, uri: str) -> bytes:
        """See `McpConnection.read`; a server that is not there is `Unavailable`."""
        return await self._named(server).read(uri)

    async def skill_at(self, server: str, uri: str) -> "ServedSkill | None":
        """See `McpConnection.skill_at`."""
        return await self._named(server).skill_at(uri)

    async def files_below(self, server: str, folder: str, most: int) -> list[str]:
        """See `McpConnection.files_below`."""
        return await self._named(server).files_below(folder, most)

    def _named(self, server: str) -> "McpConnection":
        if (connection := self.servers.get(server)) is None:
            raise Unavailable(f"There is no MCP server {server} here.")
        return connection

    async def settled(self) -> None:
        """Wait until each server can be called or is gone, as long as `patience` has it."""
        self.begin()
        if self._unsettled():
            await self._wait()

    async def ready(self) -> None:
        """Wait until each server can be called or is gone, as long as `patience` has it; what changed is told."""
        self.begin()
        for connection in self.servers.all:
            if isinstance(connection.state, Gone):
                connection.seek()
        try:
            if self._unsettled():
                await self._settled()
        finally:
            for sentence in self.news():
                self._opened.tell(sentence)

    async def _settled(self) -> None:
        telling = asyncio.get_running_loop().call_later(WORTH_SAYING_S, self._tell)
        try:
            await self._wait()
        finally:
            telling.cancel()

    async def _wait(self) -> None:
        settled = asyncio.ensure_future(self.servers.settled())
        try:
            await asyncio.wait({settled}, timeout=self._patience)
        finally:
            await cancel_and_wait(settled)

    @property
    def _opened(self) -> ConversationContext:
        assert self._conversation, "a toolset is opened before its first turn"
        return self._conversation

    def _unsettled(self) -> list[str]:
        return [one.server.name for one in self.servers.all if isinstance(one.state, Waiting | Connecting)]

    def _tell(self) -> None:
        self._opened.waiting(f"for {', '.join(self._unsettled())}: connecting, or waiting for a yes")

    def news(self) -> list[str]:
        """Sentences for person and model about servers that have become unusable, or usable again, since last asked."""
        self.tools()
        faults = {**self._faults, **{f"{number}": fault for number, fault in enumerate(self._left_out)}}
        for one in self.servers.all:
            if one.skills_refused:
                faults[f"skills {one.server.name}"] = (
                    f"The skills of the MCP server {one.server.name} cannot be had: {one.skills_refused}."
                )
            if one.offers_refused:
                faults[f"offers {one.server.name}"] = (
                    f"What the MCP server {one.server.name} serves to be read cannot be listed: {one.offers_refused}."
                )
        now = dict.fromkeys(faults.values(), "fault") | {one.server.name: _kind(one) for one in self.servers.all}
        sentences = {one.server.name: trouble(one) or _again(one) for one in self.servers.all}
        said = [sentences.get(about, about) for about, kind in now.items() if kind != self._told.get(about, "")]
        self._told = now
        return said

    async def end_work(self, call: CallId) -> bool:
        """See `EndsWork`: a task is taken back at its server."""
        return await self.servers.tasks.end(call)

    async def close(self) -> None:
        """Let every server go."""
        await self.servers.close()


def _kind(connection: "McpConnection") -> str:
    """What is told once; why exactly may change with every try."""
    return type(connection.state).__name__ if trouble(connection) else ""


def _again(connection: "McpConnection") -> str:
    return f"The MCP server {connection.server.name} is connected now; its tools can be called."
