"""A sandbox whose workspace is a folder of this machine, with the guard over what its commands leave there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from angelia.path_queries import real_path
from angelia.sandboxes.port import Command, Exit, Reach, Running, Sandbox
from angelia.sandboxes.shared.leftovers import HasLeftovers
from angelia.sandboxes.shared.wrapped import WrappedRunning, WrappedSandbox
from angelia.sandboxes.terminal import HasShell, Terminal

if TYPE_CHECKING:
    from angelia.sandboxes.guard.guard import Guard

_SETTLES = 0.2
"""Seconds until what has run a command is gone, too."""
_TOLD_AFTER = 3
"""Looks: by then it is nothing that is just ending."""
LIVES_ON = "Something that a command left still runs in the sandbox; what it leaves in the workspace is looked at."


class GuardedSandbox(WrappedSandbox):
    """See `sandboxes.port.Sandbox`. Its commands' `Exit` says in `notes` what of theirs was taken back, or is told.

    A command that reaches OUTSIDE, and all where nothing is confined, act as the person, so nothing is taken back.
    Where something may get away from its command and live on (`HasLeftovers`), the guard looks until nothing does.
    """

    def __init__(self, inner: Sandbox, workspace: Path, home: Path, progress: Callable[[str], None]) -> None:
        """`home` is Angelia's own; `progress` is told what is found while a command still runs."""
        super().__init__(inner)
        self._progress = progress
        self._workspace, self._home = workspace.resolve(), home
        self._ends: set[asyncio.Task[Exit]] = set()
        self._leftovers = inner if isinstance(inner, HasLeftovers) else None
        self._heir = object()
        """Holds the guard after its commands, for what lives on."""
        self._handed = 0
        self._following: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._knows_place = self._leftovers is None

    @cached_property
    def _guard(self) -> "Guard":
        from angelia.sandboxes.guard.guard import guard_of  # many conversations run no command

        return guard_of(self._workspace, self._home)

    async def start(self, command: Command) -> Running:
        """See the port.

        Raises:
            AccessRefused: also if the workspace cannot be recorded.
        """
        if command.reach is Reach.OUTSIDE or not (await self._inner.describe()).confined:
            return await self._inner.start(command)
        holder = await self._enter()
        try:
            inner = await self._inner.start(command)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(self._guard.leave, holder))
            raise
        running = GuardedRunning(inner, self._guard, lambda: self._left(holder), self._progress)
        self._ends.add(running.end)
        running.end.add_done_callback(self._ended)
        return running

    async def put(
        self,
        path: str,
        content: AsyncIterator[bytes],
        *,
        size: int,
        sha256: str,
        mode: int = 0o644,
        modified: float | None = None,
    ) -> None:
        """See the port. What is put there was judged before, so it stands while commands run."""
        await super().put(path, content, size=size, sha256=sha256, mode=mode, modified=modified)
        await asyncio.to_thread(self._guard.accept, real_path(self._workspace / path), sha256)

    async def close(self) -> None:
        """End what still runs, and look over what it left. Idempotent."""
        await self._inner.close()
        await asyncio.gather(*self._ends, return_exceptions=True)
        self._closed.set()
        if self._following is not None:
            await self._following

    async def _enter(self) -> object:
        holder = object()
        enter = self._guard.enter
        if self._leftovers is not None and not self._knows_place:
            if await self._leftovers.lives_on():  # found, and not made: something of an earlier life may be there
                enter = self._guard.enter_among
            self._knows_place = True
        entering = asyncio.ensure_future(asyncio.to_thread(enter, holder))
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            await asyncio.wait([entering])
            await asyncio.to_thread(self._guard.leave, holder)
            raise
        return holder

    def _ended(self, end: asyncio.Task[Exit]) -> None:
        self._ends.discard(end)
        self._follow_leftovers()

    def _left(self, holder: object) -> tuple[str, ...]:
        """A command has ended; what was found. Something of it may live on. From any thread."""
        if self._leftovers is None:
            return self._guard.leave(holder)
        self._handed += 1
        return self._guard.hand_on(holder, self._heir)

    def _follow_leftovers(self) -> None:
        if self._leftovers is not None and (self._following is None or self._following.done()):
            self._following = asyncio.create_task(self._until_quiet(self._leftovers))

    async def _until_quiet(self, place: HasLeftovers) -> None:
        """Look on for as long as something lives there."""
        handed, looks = -1, 0
        while handed != self._handed:  # a command may end while we let go of the guard
            await self._pause(_SETTLES)
            handed = self._handed
            while await place.lives_on():
                looks = 0 if self._ends else looks + 1
                if looks == _TOLD_AFTER:
                    self._progress(LIVES_ON)
                for note in await asyncio.to_thread(self._guard.glance):
                    self._progress(note)
                await self._pause(self._guard.PAUSE)
            self._guard.tell_later(await asyncio.to_thread(self._guard.leave, self._heir))

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), seconds)


class GuardedSandboxWithShell(GuardedSandbox):
    """One that can give a person a shell; what is found is written to their terminal when it has ended."""

    async def shell(self, terminal: Terminal) -> int:
        """See `sandboxes.terminal.HasShell`."""
        inner = cast("HasShell", self._inner)
        if not (await self._inner.describe()).confined:
            return await inner.shell(terminal)
        holder = await self._enter()
        try:
            return await inner.shell(terminal)
        finally:
            for note in await asyncio.shield(asyncio.to_thread(self._left, holder)):
                terminal.write(f"\r\n{note}\r\n".encode())
            self._follow_leftovers()


class GuardedRunning(WrappedRunning):
    """See `sandboxes.port.Running`. Its end is its command's, once the workspace was looked over."""

    def __init__(
        self, inner: Running, guard: "Guard", leave: Callable[[], tuple[str, ...]], progress: Callable[[str], None]
    ) -> None:
        """Its command has entered the guard; `leave` leaves it, and is called in a thread."""
        super().__init__(inner)
        self._guard = guard
        self._leave = leave
        self._progress = progress
        self._killed = False
        self.end: asyncio.Task[Exit] = asyncio.create_task(self._follow())
        self.end.add_done_callback(lambda end: end.cancelled() or end.exception())

    async def wait(self) -> Exit:
        """See the port."""
        return await asyncio.shield(self.end)

    async def kill(self) -> None:
        """See the port. Whoever kills may not wait for its end to be told: what is found is told with the next, too."""
        self._killed = True
        await self._inner.kill()

    async def _follow(self) -> Exit:
        ending = asyncio.ensure_future(self._inner.wait())
        ended: Exit | None = None
        try:
            while not ending.done():
                await asyncio.wait([ending], timeout=self._guard.PAUSE)
                if not ending.done():
                    for note in await asyncio.to_thread(self._guard.glance):
                        self._progress(note)
            ended = ending.result()
        finally:
            notes = await asyncio.shield(asyncio.to_thread(self._leave))
            if ended is None or self._killed:
                self._guard.tell_later(notes)
        return replace(ended, notes=(*ended.notes, *notes), notices=notes)


def guarded(inner: Sandbox, workspace: Path, home: Path, progress: Callable[[str], None]) -> Sandbox:
    """A sandbox with a guard, and with a shell if it has one."""
    kind = GuardedSandboxWithShell if isinstance(inner, HasShell) else GuardedSandbox
    return kind(inner, workspace, home, progress)
