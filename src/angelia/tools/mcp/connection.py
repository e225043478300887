"""One connection to one server: opened beside everything else, found again when it breaks, and shut."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.policy.verdict import Trust
from angelia.tools.mcp.call_person import NOBODY, CallPerson
from angelia.tools.mcp.connection_state import Connecting, Gone, Ready, State, Waiting
from angelia.tools.mcp.failures import AnswerLost, ServerLost, ServerRefused, Unavailable, by_status, in_words, leaf
from angelia.tools.mcp.listing_pace import ListingPace
from angelia.tools.mcp.logins import LoginEnded, LoginRefused, Returned
from angelia.tools.mcp.running_calls import RunningCalls
from angelia.tools.mcp.served import Offers
from angelia.tools.mcp.server import Server, Site
from angelia.tools.mcp.task_look import TaskLook
from angelia.tools.mcp.transports import Transports, TransportTrace, part, roots_of, way_to

if TYPE_CHECKING:
    import mcp_types as types

    from angelia.skills.served import ServedSkill

HELLO_S = 60.0
"""How long a server may take to start and to list its tools: a runner may have to download it first."""

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try; after the last one it rests until somebody wants the server."""

LEAVE_S = 5.0
"""Seconds in which a server hears that we go."""

STEADY_S = 60.0
"""A connection that held this long was well: what breaks it is a first failure again."""

_LOGIN = (401, 403)


_T = TypeVar("_T")
Show = Callable[[str], None]


class McpConnection:
    """A server that is kept at hand once `begin` was called. `changed` is called after every change of what it is.

    `tools` and `skills` are what the server listed last: they stay while the connection is sought again. Of a skill no
    file is read before somebody wants it. `skills_refused` is why it did not list those that it says it has, and
    `offers_refused` the same of `offers`, its resources and prompts.
    """

    def __init__(self, server: Server, transports: Transports, changed: Callable[[], None]) -> None:
        self.server = server
        self.state: State = Waiting()
        self.tools: tuple[types.Tool, ...] = ()
        self.skills: tuple[ServedSkill, ...] = ()
        self.skills_refused = ""
        self.offers = Offers()
        self.offers_refused = ""
        self._asked_for: dict[str, ServedSkill | None] = {}
        self._unanswered: set[str] = set()
        self._transports, self._changed = transports, changed
        self._moved = asyncio.Event()
        self._wanted, self._stale = asyncio.Event(), asyncio.Event()
        self._leaving = asyncio.Event()
        self._living: asyncio.Task[None] | None = None
        self._unwanted = ""
        self._running = RunningCalls(server.name, server.seconds)
        self._noticed = TransportTrace(self._running.answered, self._stale.set)

    # -- what others do -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Reach it from now on, in the background; again after it was refused."""
        if self._living is None:
            self._move(Connecting())
            self._living = asyncio.create_task(self._live())

    def refuse(self, why: str) -> None:
        """It is not to be used."""
        self._move(Gone(why))

    def seek(self) -> None:
        """If it broke, try again at once; one that was never there is tried on the side, and nobody waits for it."""
        self._wanted.set()
        if self.tools:
            self._revive()

    def _revive(self) -> None:
        self._wanted.set()
        if isinstance(self.state, Gone) and self._living:
            self._move(Connecting())

    async def settled(self) -> None:
        """Wait until it is neither to be asked about nor being reached."""
        while isinstance(self.state, Waiting | Connecting):
            await self._moved.wait()

    async def call(
        self, tool: str, arguments: dict[str, Any], show: Show, person: CallPerson = NOBODY
    ) -> "types.CallToolResult":
        """Call a tool, once; what waits for the connection waits at most as long as that may take.

        What the server asks meanwhile is put to the person.

        Raises:
            Unavailable: it cannot be reached; nothing was sent.
            ServerRefused: it answered with an error.
            ServerLost: it went away, or was silent for too long; the call may or may not have taken effect.
            TaskTaken: it has taken the call on as a task.
        """
        return await self._by(lambda ready: self._called(ready, tool, arguments, show, person))

    async def read(self, uri: str) -> bytes:
        """The bytes of a file of one of its skills.

        Raises:
            Unavailable: it cannot be reached.
            ServerRefused: it does not serve that.
            ServerLost: it went away meanwhile, or was silent for too long.
        """
        from angelia.tools.mcp.client import file_at

        return await self._asked(lambda client: file_at(client, uri))

    async def skill_at(self, uri: str) -> "ServedSkill | None":
        """The skill at an address that the server need not list; None where it serves none there. It is asked once,
        until it is reached anew or lists anew.

        Raises:
            Unavailable, ServerRefused, ServerLost: as `read`.
        """
        from angelia.skills.served import skill_that_was_named
        from angelia.tools.mcp.skills import skill_at

        if uri in self._unanswered:
            raise ServerLost("did not say what it serves there")
        if uri not in self._asked_for:
            try:
                said = await self._asked(lambda client: skill_at(client, uri))
            except (ServerLost, ServerRefused):
                self._unanswered.add(uri)  # or every turn would wait for it once more
                raise
            self._asked_for[uri] = skill_that_was_named(self.server.name, uri, said)
        return self._asked_for[uri]

    async def files_below(self, folder: str, most: int) -> list[str]:
        """The addresses of files in a folder of the server's, as far as it can be asked for them.

        Raises:
            Unavailable, ServerRefused, ServerLost: as `read`.
        """
        from angelia.tools.mcp.skills import files_below

        return await self._asked(lambda client: files_below(client, folder, most))

    async def contents(self, uri: str, person: CallPerson = NOBODY) -> "list[Any]":
        """What the server serves at an address, for the model; what it asks meanwhile is put to the person.

        Raises:
            Unavailable, ServerRefused, ServerLost: as `read`.
        """
        from angelia.tools.mcp.client import contents_at

        return await self._asked(lambda client: contents_at(client, uri), person)

    async def prompt(self, name: str, arguments: dict[str, str]) -> "list[types.PromptMessage]":
        """The messages of one of its prompts.

        Raises:
            Unavailable, ServerRefused, ServerLost: as `read`.
        """
        from angelia.tools.mcp.client import prompt_at

        return await self._asked(lambda client: prompt_at(client, name, arguments))

    async def look_at_task(self, task: str, person: CallPerson) -> TaskLook:
        """How a task of the server stands; what the server asks meanwhile is put to the person.

        Raises:
            Unavailable, ServerRefused, ServerLost: as `read`.
        """
        from angelia.tools.mcp.tasks import task_at

        return await self._asked(lambda client: task_at(client, task, self._running.heard_of_own), person)

    async def asked_of(self, person: CallPerson, params: "types.ElicitRequestParams") -> "types.ElicitResult":
        """What a person answers to what a task asks."""
        from angelia.tools.mcp.elicitation import elicited

        answer, note = await elicited(self.server.name, params, person.ask)
        if note:
            person.note(note)
        return answer

    async def answer_task(self, task: str, answers: "dict[str, types.ElicitResult]") -> None:
        """Hand in what a task has asked.

        Raises:
            Unavailable, ServerRefused, ServerLost: as `read`.
        """
        from angelia.tools.mcp.tasks import answer_task

        await self._asked(lambda client: answer_task(client, task, answers))

    async def cancel_task(self, task: str) -> None:
        """Say that a task is not wanted any more; whether it ends is the server's affair.

        Raises:
            Unavailable, ServerRefused, ServerLost: as `read`.
        """
        from angelia.tools.mcp.tasks import cancel_task

        await self._asked(lambda client: cancel_task(client, task))

    async def _by(self, ask: Callable[[Ready], Awaitable[_T]]) -> _T:
        """What comes of asking it, now that it is there."""
        ready = await self._usable()
        try:
            return await ask(ready)
        except ExceptionGroup as failed:  # in a group of the library's: what asking a person came to
            if not isinstance(leaf(failed), ServerLost):
                raise leaf(failed) from None
            raise ServerLost(await self._end_of(ready)) from None
        except ServerRefused as refused:
            if not refused.gone:
                raise
        await self._end_of(ready)  # it was started anew since: it has forgotten us, and did nothing
        return await ask(await self._usable())

    async def _asked(self, ask: Callable[[Any], Awaitable[_T]], person: CallPerson = NOBODY) -> _T:
        return await self._by(lambda ready: self._answered(ready, ask, person))

    async def _answered(self, ready: Ready, ask: Callable[[Any], Awaitable[_T]], person: CallPerson) -> _T:
        try:
            async with self._running.begun(person) as running:
                return await ask(ready.client)
        except TimeoutError:
            raise ServerLost(f"gave no sign for {self.server.seconds:g} s") from None
        except ServerRefused as refused:
            raise by_status(refused, running.status) from None

    async def close(self) -> None:
        """Let go of it, and end it if it is a program. What is being called is lost."""
        if self._living:
            self._leaving.set()
            if isinstance(self.state, Ready):  # it hears that we go; what is cancelled cannot bound its clean-up
                await asyncio.wait({self._living}, timeout=LEAVE_S)
            await cancel_and_wait(self._living)
            self._living = None
            self._leaving = asyncio.Event()
        self._move(Gone("the conversation was left"))

    # -- one call -----------------------------------------------------------------------------------------------

    async def _usable(self) -> Ready:
        self._revive()
        try:
            async with asyncio.timeout(HELLO_S):
                await self.settled()
        except TimeoutError:
            raise Unavailable(f"The MCP server {self.server.name} is still connecting; try again later.") from None
        match self.state:
            case Ready():
                return self.state
            case Gone(why=why):
                raise Unavailable(
                    f"The MCP server {self.server.name} cannot be used: {why}.", "Nothing was sent to it."
                )
            case _:
                raise Unavailable(f"The MCP server {self.server.name} waits for the person's yes.")

    async def _called(
        self, ready: Ready, tool: str, arguments: dict[str, Any], show: Show, person: CallPerson
    ) -> "types.CallToolResult":
        from angelia.tools.mcp.client import call_tool, listed_as

        named = listed_as(tool, self.tools)
        try:
            async with self._running.begun(person) as running:

                async def heard(progress: float, total: float | None, message: str | None) -> None:
                    self._running.heard_of(running)
                    share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
                    show(" ".join(part for part in (share, one_line(clean(message or ""), 200)) if part) + "\n")

                return await call_tool(ready.client, named, arguments, heard, partial(self._elicit, ready.over))
        except TimeoutError:
            raise ServerLost(f"gave no sign for {self.server.seconds:g} s and was told to stop") from None
        except ServerRefused as refused:
            raise by_status(refused, running.status) from None
        except AnswerLost:
            self._stale.set()  # what it lists tells whether it is still there
            raise
        except ServerLost:
            why = await self._end_of(ready)
            if unwanted := self._unwanted:  # it had refused the call for want of the login
                self._unwanted = ""
                raise ServerRefused(unwanted, gone=False) from None
            raise ServerLost(why) from None

    async def _elicit(self, over: asyncio.Event, params: Any) -> Any:
        """Put what the server asks to the person, for the call that it asks in; before 2026-07-28 it does not say in
        which, and the last one counts. While a person is asked, nobody waits for the server.

        Raises:
            ServerLost: the connection is `over`, and nobody needs to answer any more.
        """
        with self._running.asking() as person:
            asking = asyncio.create_task(self.asked_of(person, params))
            gone = asyncio.create_task(over.wait())
            try:
                await asyncio.wait({asking, gone}, return_when=asyncio.FIRST_COMPLETED)
                if over.is_set():
                    raise ServerLost("went away")
                return asking.result()
            finally:
                await cancel_and_wait(asking, gone)

    async def _log_in(self, address: str, redirect: str) -> Returned:
        """See `LogInAgain`: somebody logs in again who waits for a call, and nobody else is sent anywhere."""
        from angelia.tools.mcp.wider_login import logged_in_again

        with self._running.asking() as person:
            if person is NOBODY:
                name = self.server.name
                raise LoginEnded(f"The login at {name} has ended.", then=f"`angelia mcp login {name}` renews it.")
            try:
                return await logged_in_again(self.server.name, address, redirect, person.ask)
            except LoginRefused as refused:
                self._unwanted = str(refused)
                raise

    async def _end_of(self, ready: Ready) -> str:
        """How it went away, once that is known."""
        ready.over.set()
        while self.state is ready:
            await self._moved.wait()
        why = self.state.why if isinstance(self.state, Gone) else ""
        return f"went away while this ran ({why})" if why else "went away while this ran"

    # -- its life -----------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        failures = 0
        while not self._leaving.is_set():
            began = time.monotonic()
            self._move(Connecting())
            self._noticed = TransportTrace(self._running.answered, self._stale.set)
            try:
                await self._converse()
                why = "it has ended"
            except Exception as error:  # noqa: BLE001 - whatever a server or the library does is told, and tried again
                why = self._why(error)
            if self._leaving.is_set():
                return
            failures = 1 if time.monotonic() - began > STEADY_S else failures + 1
            self._wanted.clear()
            last = self._noticed.complaint
            self._move(Gone(self._transports.redact(f"{why}; it last said: {last}" if last else why)))
            await self._pause(failures)

    async def _pause(self, failures: int) -> None:
        seconds = PAUSES[failures - 1] if failures <= len(PAUSES) else None
        try:
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        except TimeoutError:
            return

    async def _converse(self) -> None:
        """Say hello, list the tools, and stay until the other side has gone."""
        module = await part("client")
        over = asyncio.Event()
        way = await way_to(self.server, self._transports, self._noticed, self._log_in)
        roots = await roots_of(self.server, self._transports)
        newest_first = isinstance(self.server.way, Site) and self.server.way.transport == "http"
        hooks = module.Hooks(self._stale.set, over.set, roots, newest_first, partial(self._elicit, over))
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(HELLO_S):
                client = await stack.enter_async_context(module.talking(way, hooks))
                await self._list(client)
            self._stale.clear()
            self._move(Ready(client, over))
            pace = ListingPace()
            while await _first(over, self._leaving, self._stale) is self._stale:
                if await _happens_within(pace.pause(), over, self._leaving):
                    break
                self._stale.clear()
                await self._list_anew(client, over)
                self._changed()
                pace.listed()

    async def _list_anew(self, client: Any, over: asyncio.Event) -> None:
        """List what has changed. No call ends for want of that: a server that does not answer while it works, or
        refuses, is asked again when nothing runs.
        """
        try:
            async with asyncio.timeout(HELLO_S):
                await self._list(client)
        except Exception:
            if self._running.idle.is_set():
                raise
            if await _first(over, self._leaving, self._running.idle) is self._running.idle:
                self._stale.set()

    async def _list(self, client: Any) -> None:
        from angelia.tools.mcp.client import offers_at, tools_of
        from angelia.tools.mcp.skills import skills_of

        self.tools = await tools_of(client)
        self.offers_refused = ""
        try:
            self.offers = await offers_at(client, self.server.name)
        except ServerRefused as refused:
            self.offers, self.offers_refused = Offers(), one_line(refused.said, 200)
        self.skills_refused, listed = "", []
        self._asked_for.clear()
        self._unanswered.clear()
        try:
            listed = await skills_of(client)
        except ServerRefused as refused:
            self.skills_refused = one_line(refused.said, 200)
        if listed:
            from angelia.skills.served import served_skills

            self.skills = served_skills(self.server.name, listed)
        else:
            self.skills = ()

    def _why(self, error: Exception) -> str:
        status = self._noticed.status
        if isinstance(leaf(error), AngeliaError):
            return in_words(error)
        if status in _LOGIN:
            own = self.server.trust is not Trust.PASSED
            how = f"`angelia mcp login {self.server.name}`, or " if own else ""
            return f"it wants a login (HTTP {status}): {how}put it into the server's headers"
        if status >= 400:
            return f"it answered with HTTP {status}"
        return in_words(error)

    def _move(self, state: State) -> None:
        self.state = state
        self._moved.set()
        self._moved = asyncio.Event()
        self._changed()


async def _happens_within(seconds: float, *events: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await _first(*events)
    except TimeoutError:
        return False
    return True


async def _first(*events: asyncio.Event) -> asyncio.Event:
    """Wait until one of these has happened; the first of them in this order, if several have."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return next(event for event in events if event.is_set())
