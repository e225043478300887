"""What one conversation can call: Angelia's own tools, and those of its servers as they are at the moment."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core import entry as e
from angelia.core.errors import ConfigError
from angelia.engine import machine as m
from angelia.engine.live import Resting
from angelia.policy.egress import judge_address, judge_url
from angelia.sandboxes.local.process_ledger import Life
from angelia.service.conversation.prompt import ConversationPrompt, notice_of
from angelia.service.conversation.runner import TurnDriver
from angelia.service.conversation.servers import configured
from angelia.store.log.lease import Lease
from angelia.tools.mcp.connection import Connecting, Gone, McpConnection, Waiting
from angelia.tools.mcp.server import Server
from angelia.tools.mcp.servers import Servers, trouble
from angelia.tools.mcp.settings import ServerSettings
from angelia.tools.mcp.transports import Transports
from angelia.tools.registry import Registry
from angelia.tools.web.fetcher import Fetcher

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

WORTH_SAYING_S = 0.5
"""Seconds of waiting for servers after which the person is told what is waited for."""


class Toolbox:
    """A conversation's own view of the tools; nothing is begun with it."""

    def __init__(self, app: "App", session: "Session", settings: Mapping[str, ServerSettings]) -> None:
        self._app = app
        self._session = session
        self._settings = settings
        self._life: Life | None = None
        self._faults: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._own = app.registry
        self._registry: tuple[list[tuple[object, object]], Registry] = ([], app.registry)
        self.servers = Servers(self._transports())
        for name, server in settings.items():
            try:
                self.servers.add(configured(name, server, app.secret_refs))
            except ConfigError as error:
                self._faults[name] = f"The MCP server {name} cannot be used: {error}"

    def begin(self) -> None:
        """Reach the servers of the settings, in the background; a door calls this when it has time, a turn at last."""
        for name in self._settings:
            if connection := self.servers.get(name):
                connection.begin()

    def _transports(self) -> Transports:
        app, session = self._app, self._session
        ranges = app.loaded.config.policy.allow_ranges
        folder = session.workspace if session.sandbox == "local" else str(Path.home())

        def life() -> Life:
            self._life = self._life or Life(app.running)
            return self._life

        def fetcher(named: tuple[str, ...]) -> Fetcher:
            return Fetcher(judge_url, lambda address: judge_address(address, (*ranges, *named)))

        return Transports(life, folder, app.environ, fetcher, app.redaction.text, lambda: app.sandbox_of(session))

    async def pass_on(self, servers: Iterable[Server]) -> tuple[McpConnection, ...]:
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

    @property
    def registry(self) -> Registry:
        """The tools that can be called now; the same object for as long as they are the same."""
        made_of: list[tuple[object, object]] = [(one, one.tools) for one in self.servers.all if one.tools]
        if made_of != self._registry[0]:
            tools, faults = self.servers.tools(self._own.names)
            self._registry = (made_of, self._own.joined(tools, faults) if made_of else self._own)
        return self._registry[1]

    async def ready(self) -> None:
        """Wait until each server can be called or is gone; not longer than the settings say, or the person likes."""
        self.begin()
        for connection in self.servers.all:
            if isinstance(connection.state, Gone):
                connection.seek()
        if not self._unsettled():
            return
        patience, loop = self._app.loaded.config.mcp.patience, asyncio.get_running_loop()
        telling = loop.call_later(WORTH_SAYING_S, self._tell, self._app.clock() + int(patience * 1000))
        settled = asyncio.ensure_future(self.servers.settled())
        stopped = asyncio.ensure_future(self._session.wait(lambda: bool(self._session.turn.cancelled_at)))
        try:
            await asyncio.wait({settled, stopped}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            telling.cancel()
            settled.cancel()
            stopped.cancel()
            await asyncio.gather(settled, stopped, return_exceptions=True)

    def _unsettled(self) -> list[str]:
        return [one.server.name for one in self.servers.all if isinstance(one.state, Waiting | Connecting)]

    def _tell(self, until: int) -> None:
        names = ", ".join(self._unsettled())
        self._session.live.emit(Resting(until, f"for {names}: connecting, or waiting for a yes"))

    def news(self) -> list[str]:
        """Sentences for person and model about servers that have become unusable, or usable again, since last asked."""
        faults = {**self._faults, **{f"{number}": fault for number, fault in enumerate(self._left_out())}}
        now = dict.fromkeys(faults.values(), "fault") | {one.server.name: _kind(one) for one in self.servers.all}
        sentences = {one.server.name: trouble(one) or _again(one) for one in self.servers.all}
        said = [sentences.get(about, about) for about, kind in now.items() if kind != self._told.get(about, "")]
        self._told = now
        return said

    def _left_out(self) -> tuple[str, ...]:
        return self.registry.faults[len(self._own.faults) :]

    async def close(self) -> None:
        """Let every server go."""
        await self.servers.close()
        if self._life:
            await asyncio.to_thread(self._life.close)


def _kind(connection: McpConnection) -> str:
    """What is told once; why exactly may change with every try."""
    return type(connection.state).__name__ if trouble(connection) else ""


def _again(connection: McpConnection) -> str:
    return f"The MCP server {connection.server.name} is connected now; its tools can be called."


class RenewingDriver:
    """A driver that is made anew at the beginning of a turn, where tools or prompt have changed since."""

    def __init__(
        self,
        session: "Session",
        box: Toolbox,
        prompt: ConversationPrompt,
        make: Callable[[Registry], Awaitable[TurnDriver]],
        first: TurnDriver,
    ) -> None:
        """`first` was made with the registry that `box` has now, and with the facts of `prompt`."""
        self._session = session
        self._box = box
        self._prompt = prompt
        self._make = make
        self._driver = first
        self._made_with, self._made_of = box.registry, prompt.facts
        self._begun = 0

    def resting(self) -> m.Rest | None:
        """See `TurnDriver`."""
        return self._driver.resting()

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> m.Rest:
        """See `TurnDriver`. What cannot be called in this turn is said before its first request."""
        opened = self._session.turn.opened
        if opened and opened != self._begun:
            self._begun = opened
            await self._renew(lease)
        return await self._driver.drive(lease, spent_today)

    async def _renew(self, lease: Lease) -> None:
        await self._box.ready()
        facts = await self._prompt.look()
        told = await self._prompt.news()
        if news := [*self._box.news(), *told]:
            said = [e.SystemSaid(words) for words in news]
            await self._session.log.append(*said, *notice_of(self._session, told), lease=lease)
        if self._box.registry is not self._made_with or facts != self._made_of:
            self._made_with, self._made_of = self._box.registry, facts
            self._driver = await self._make(self._made_with)
