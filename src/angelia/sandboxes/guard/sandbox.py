"""A sandbox whose workspace is a folder of this machine, with the guard over what its commands leave there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from angelia.sandboxes.guard.guard import PAUSE, Guard, guard_of
from angelia.sandboxes.port import Command, Exit, Reach, Running, Sandbox
from angelia.sandboxes.shared.wrapped import WrappedRunning, WrappedSandbox
from angelia.sandboxes.terminal import HasShell, Terminal


class GuardedSandbox(WrappedSandbox):
    """See `sandboxes.port.Sandbox`. Its commands' `Exit` says in `notes` what of theirs was taken back, or is told.

    A command that reaches OUTSIDE, and all where nothing is confined, act as the person, so nothing is taken back.
    """

    def __init__(self, inner: Sandbox, workspace: Path, home: Path, progress: Callable[[str], None]) -> None:
        """`home` is Angelia's own; `progress` is told what is found while a command still runs."""
        super().__init__(inner)
        self._progress = progress
        self._workspace = workspace.resolve()
        self._guard = guard_of(workspace, home)
        self._ends: set[asyncio.Task[Exit]] = set()

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
        running = GuardedRunning(inner, self._guard, holder, self._progress)
        self._ends.add(running.end)
        running.end.add_done_callback(self._ends.discard)
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
        await asyncio.to_thread(self._guard.accept, str((self._workspace / path).resolve()), sha256)

    async def close(self) -> None:
        """End what still runs, and look over what it left. Idempotent."""
        await self._inner.close()
        await asyncio.gather(*self._ends, return_exceptions=True)

    async def _enter(self) -> object:
        holder = object()
        entering = asyncio.ensure_future(asyncio.to_thread(self._guard.enter, holder))
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            await asyncio.wait([entering])
            await asyncio.to_thread(self._guard.leave, holder)
            raise
        return holder


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
            for note in await asyncio.shield(asyncio.to_thread(self._guard.leave, holder)):
                terminal.write(f"\r\n{note}\r\n".encode())


class GuardedRunning(WrappedRunning):
    """See `sandboxes.port.Running`. Its end is its command's, once the workspace was looked over."""

    def __init__(self, inner: Running, guard: Guard, holder: object, progress: Callable[[str], None]) -> None:
        """`holder` has entered the guard, and leaves it at the end."""
        super().__init__(inner)
        self._guard = guard
        self._holder = holder
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
                await asyncio.wait([ending], timeout=PAUSE)
                if not ending.done():
                    for note in await asyncio.to_thread(self._guard.glance):
                        self._progress(note)
            ended = ending.result()
        finally:
            notes = await asyncio.shield(asyncio.to_thread(self._guard.leave, self._holder))
            if ended is None or self._killed:
                self._guard.tell_later(notes)
        return replace(ended, notes=(*ended.notes, *notes), notices=notes)


def guarded(inner: Sandbox, workspace: Path, home: Path, progress: Callable[[str], None]) -> Sandbox:
    """A sandbox with a guard, and with a shell if it has one."""
    kind = GuardedSandboxWithShell if isinstance(inner, HasShell) else GuardedSandbox
    return kind(inner, workspace, home, progress)
