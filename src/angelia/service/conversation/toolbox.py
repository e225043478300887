"""What one conversation can call: its toolsets, opened with it and closed with it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING

from angelia.cancellation import cancel_and_wait
from angelia.context.prompt.facts import ToolsetInstructions
from angelia.core import entry as e
from angelia.core.ids import CallId
from angelia.core.text import clean
from angelia.deadline import within
from angelia.engine import machine as m
from angelia.service.conversation.mcp_tools import ConversationServers
from angelia.service.conversation.prompt import ConversationPrompt, notice_of
from angelia.service.conversation.runner import TurnDriver
from angelia.store.log.lease import Lease
from angelia.tools.discovery import MakeToolset
from angelia.tools.port import ConversationContext, EndsWork, Tool, Toolset
from angelia.tools.program.handed_over import offered_tools
from angelia.tools.registry import Registry, made

if TYPE_CHECKING:
    from angelia.browsers.chromium.browser import ChromiumBrowser
    from angelia.service.conversation.session import Session

logger = logging.getLogger("angelia.service")


PATIENCE_S = 30.0
"""Seconds that a toolset may take to open, and to close."""


class Toolbox:
    """A conversation's toolsets, those of its servers last; nothing is begun with it.

    A toolset that fails loses its tools, model and person are told, and everything else goes on.
    """

    def __init__(
        self,
        makers: Iterable[MakeToolset],
        servers: Callable[[Callable[[], Collection[str]]], ConversationServers],
        stopped: Callable[[], Awaitable[None]],
        may_call: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`servers` makes theirs, given the names of the other tools. `stopped` waits until the turn is to stop.

        What this conversation may not call is not among its tools.
        """
        others, faults = made(makers)
        self.servers = servers(lambda: Registry.of(one for one in self._usable if one is not self.servers).names)
        self._usable: tuple[Toolset, ...] = (*others, self.servers)
        self._all = self._usable
        self._stopped = stopped
        self._may_call = may_call
        self._opened = False
        self._told = list(faults)
        self._faults: tuple[str, ...] = ()
        self._made_of: list[tuple[Tool, ...]] | None = None
        self._registry = Registry(())

    def names_besides(self, toolset: str) -> tuple[str, ...]:
        """The names of the tools that are neither this toolset's nor a server's: those stand back behind any other."""
        others = (one for one in self._usable if one is not self.servers and one.name != toolset)
        return Registry.of(others).names

    async def open(self, conversation: ConversationContext) -> None:
        """Open every toolset, once."""
        if not self._opened:
            self._opened = True
            await asyncio.gather(*(self._safely(one, partial(self._open, one, conversation)) for one in self._usable))

    def tell(self, sentence: str) -> None:
        """Have model and person told something at the beginning of the next turn."""
        self._told.append(sentence)

    @property
    def registry(self) -> Registry:
        """The tools that can be called now; the same object for as long as they are the same."""
        made_of = [_tools_of(one) for one in self._usable]
        if made_of != self._made_of:
            self._made_of = made_of
            self._registry = Registry.of(self._usable).where(self._may_call)
        return self._registry

    async def end_work(self, call: CallId) -> bool:
        """End what a call began that goes on behind it; False where nothing of it runs here."""
        for one in self._all:
            if isinstance(one, EndsWork) and await one.end_work(call):
                return True
        return False

    @property
    def browser(self) -> "ChromiumBrowser | None":
        """The conversation's browser, for whoever watches it; None where it has none."""
        from angelia.tools.browser.toolset import BrowserTools  # loaded where tools are

        return next((one.browser for one in self._all if isinstance(one, BrowserTools)), None)

    def instructions(self) -> tuple[ToolsetInstructions, ...]:
        """What the system prompt says of them."""
        found = []
        for one in self._usable:
            try:
                text = clean(one.instructions()).strip()
            except Exception as error:  # noqa: BLE001 - third-party code may raise anything; it is told, not hidden
                self._fail(one, error)
                continue
            if text:
                found.append(ToolsetInstructions(clean(one.name), text))
        return tuple(found)

    async def ready(self) -> None:
        """Wait until every toolset is ready for a turn, not longer than the person likes."""
        ready = asyncio.create_task(self._all_ready())
        stopped = asyncio.create_task(self._wait_for_stop())
        try:
            await asyncio.wait({ready, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(ready, stopped)

    def news(self) -> list[str]:
        """Sentences for person and model about tools, each once."""
        now = self.registry.faults
        left_out = [fault for fault in now if fault not in self._faults]
        self._faults = now
        said, self._told = [*self._told, *left_out], []
        return said

    async def close(self) -> None:
        """Close every toolset; a failure of one is in the log file, and the others are closed all the same."""
        for one in reversed(self._all):
            try:
                await within(PATIENCE_S, one.close())
            except Exception:
                logger.exception("the toolset %s could not be closed", one.name)

    async def _all_ready(self) -> None:
        await asyncio.gather(*(self._safely(one, one.ready) for one in self._usable))

    async def _wait_for_stop(self) -> None:
        await self._stopped()

    async def _open(self, toolset: Toolset, conversation: ConversationContext) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await toolset.open(conversation)
        except TimeoutError:
            raise TimeoutError(f"it was not open after {PATIENCE_S:g} seconds") from None

    async def _safely(self, toolset: Toolset, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()  # made here: one that is cancelled before it begins leaves nothing that nobody awaited
        except Exception as error:  # noqa: BLE001 - third-party code may raise anything; it is told, not hidden
            self._fail(toolset, error)

    def _fail(self, toolset: Toolset, error: Exception) -> None:
        logger.warning("the toolset %s failed", toolset.name, exc_info=error)
        self._usable = tuple(one for one in self._usable if one is not toolset)
        self.tell(f"The tools of {toolset.name} cannot be used: {type(error).__name__}: {error}")


def _tools_of(toolset: Toolset) -> tuple[Tool, ...]:
    try:
        return tuple(toolset.tools())
    except Exception:  # noqa: BLE001 - `Registry.of` meets the same, and says so
        return ()


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
        self.at_rest: Callable[[], None] = lambda: None
        self.turned: Callable[[], Awaitable[None]] | None = None
        """What is told of messages before they are read, and of endings."""
        self._session = session
        self._box = box
        self._prompt = prompt
        self._make = make
        self._driver = first
        self._made_with, self._made_of = box.registry, prompt.facts
        self._begun: tuple[int, e.ToolsOffered | None] = (0, None)

    def resting(self) -> m.Rest | None:
        """See `TurnDriver`."""
        return self._driver.resting()

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> m.Rest:
        """See `TurnDriver`. What cannot be called in this turn is said before its first request."""
        opened = self._session.turn.opened
        offers = offered_tools(self._session.log.entries) if self._session.door == e.API else None
        if opened and (opened, offers) != self._begun:
            self._begun = opened, offers
            await self._renew(lease)
        if self.turned:
            await self.turned()
        rest = await self._driver.drive(lease, spent_today)
        if self.turned:
            await self.turned()
        if not self._session.turn.opened:
            self.at_rest()
        return rest

    async def _renew(self, lease: Lease) -> None:
        await self._box.ready()
        registry = self._box.registry
        facts = await self._prompt.look()
        told = await self._prompt.news()
        said = [e.SystemSaid(words) for words in (*self._box.news(), *told)]
        notices = notice_of(self._session, [*told, *self._prompt.unseen_skills()])
        if facts_told := [*said, *notices, *self._prompt.shown_notes()]:
            await self._session.log.append(*facts_told, lease=lease)
        if registry is not self._made_with or facts != self._made_of:
            self._made_with, self._made_of = registry, facts
            self._driver = await self._make(self._made_with)
