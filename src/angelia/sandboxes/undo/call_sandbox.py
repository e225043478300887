"""A sandbox as one tool call uses it: what the call changes in a workspace of this machine is kept before.

A file that is written through the port is kept whatever sandbox it is. What a command changes is kept by the sandbox
itself where that can be (`Description.keeps_changes`); elsewhere the files are copied that the command is taken to
change, up to a bound, and what else it changes is not known.

What stands is looked at by the guard before it is kept: what another command left just now is not what stood there.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from angelia.sandboxes.guard.guard import Guard
from angelia.sandboxes.port import Command, Exit, Reach, Running, Sandbox
from angelia.sandboxes.shared.wrapped import WrappedRunning, WrappedSandbox
from angelia.sandboxes.undo.call_journals import CallJournals
from angelia.sandboxes.undo.folders import TooManyEntries, entries_below, joined, open_parent
from angelia.sandboxes.undo.states import FileState, FolderState, NothingThere, look_at
from angelia.sandboxes.undo.step import CannotKeep, StepJournal

MOST_FILES, MOST_BYTES = 2_000, 100_000_000
"""What is copied before a command that cannot be watched: some 0.3 s."""


class CallSandbox(WrappedSandbox):
    """See `sandboxes.port.Sandbox`."""

    def __init__(self, inner: Sandbox, workspace: Path, call: str, journals: CallJournals, guard: Guard) -> None:
        """`guard` is the workspace's."""
        super().__init__(inner)
        self._workspace, self._guard = workspace, guard
        self._call, self._journals = call, journals

    async def start(self, command: Command) -> Running:
        """See the port.

        Raises:
            AccessRefused: also if what stands in the workspace cannot be recorded.
        """
        described = await self._inner.describe()
        kept_by_it = described.keeps_changes and command.reach is not Reach.OUTSIDE
        paths = () if kept_by_it or described.commands_by else self._journals.candidates(command, str(self._workspace))
        step = await asyncio.to_thread(self._copied, paths) if paths else None
        try:
            running = await self._inner.start(replace(command, conversation=self._journals.conversation))
        except BaseException:
            if step is not None:
                await asyncio.shield(asyncio.to_thread(step.end))
            raise
        return _CallRunning(running, step, lambda changed: self._journals.told(self._call, changed))

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
        """See the port."""
        step = await asyncio.to_thread(self._kept, path)
        try:
            await super().put(path, content, size=size, sha256=sha256, mode=mode, modified=modified)
        finally:
            if step is not None:
                self._journals.told(self._call, await asyncio.shield(asyncio.to_thread(step.end)))

    def _kept(self, path: str) -> StepJournal | None:
        """A journal that holds the file at `path`, and the folders on its way that are not there."""
        inside = inside_of(self._workspace, path)
        if not inside:
            return None
        self._guard.see()
        step = self._journals.begin(self._call)
        try:
            keep_on_the_way(step, inside)
            keep_at(step, inside)
        except BaseException:
            step.end()
            raise
        return step

    def _copied(self, paths: Sequence[str]) -> StepJournal | None:
        named = [inside for path in paths if (inside := inside_of(self._workspace, path)) is not None]
        if not named:
            return None
        self._guard.see()
        step = self._journals.begin(self._call)
        try:
            keep_all(step, named)
        except BaseException:
            step.end()
            raise
        return step


class _CallRunning(WrappedRunning):
    """See `sandboxes.port.Running`; its end tells what was changed."""

    def __init__(self, inner: Running, step: StepJournal | None, told: Callable[[tuple[str, ...]], None]) -> None:
        super().__init__(inner)
        self._step, self._told = step, told
        self._ended = asyncio.ensure_future(self._follow())
        self._ended.add_done_callback(lambda end: end.cancelled() or end.exception())

    async def wait(self) -> Exit:
        """See the port."""
        return await asyncio.shield(self._ended)

    async def _follow(self) -> Exit:
        own: tuple[str, ...] = ()
        try:
            ended = await self._inner.wait()
        finally:
            if self._step is not None:
                own = await asyncio.shield(asyncio.to_thread(self._step.end))
        changed = tuple(sorted({*ended.changed, *own}))
        self._told(changed)
        return replace(ended, changed=changed)


def inside_of(workspace: Path, path: str) -> str | None:
    """A path relative to the workspace; None where it leads elsewhere, by its words."""
    whole = os.path.normpath(os.path.join(workspace, path))  # noqa: PTH118 - words alone, links are not followed
    if whole == str(workspace):
        return ""
    return whole[len(str(workspace)) + 1 :] if whole.startswith(f"{workspace}/") else None


def keep_on_the_way(step: StepJournal, path: str) -> None:
    """Write down the folders above a path that are not there."""
    above = ""
    for name in path.split("/")[:-1]:
        above = joined(above, name)
        try:
            with open_parent(step.root, above) as (folder, last):
                if not isinstance(look_at(folder, last), FolderState):
                    step.note(above, folder, last)
        except OSError:
            step.note_as(above, NothingThere())


def keep_at(step: StepJournal, path: str) -> None:
    """Keep the file at a path, or write down that there is none."""
    try:
        with open_parent(step.root, path) as (folder, name):
            if isinstance(step.note(path, folder, name), FileState):
                _keep_content(step, path, folder, name)
    except OSError:
        step.note_as(path, NothingThere())


def _keep_content(step: StepJournal, path: str, folder: int, name: str) -> None:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            step.keep(handle)
        finally:
            os.close(handle)
    except CannotKeep as error:
        step.lost(path, str(error))
    except OSError as error:
        step.lost(path, error.strerror or str(error))


def keep_all(step: StepJournal, paths: Sequence[str]) -> None:
    """Files, and whole folders, up to the bounds; beyond them no more is kept, and that is written down."""
    files, held = 0, 0
    for path in paths:
        try:
            for inside, folder, name in _entries(step, path):
                try:
                    state = step.note(inside, folder, name)
                except CannotKeep:
                    continue  # its name cannot be written down
                if not isinstance(state, FileState):
                    continue
                files, held = files + 1, held + state.size
                if files > MOST_FILES or held > MOST_BYTES:
                    step.lost(inside, "more than is copied before a command that is not watched")
                else:
                    _keep_content(step, inside, folder, name)
        except TooManyEntries:
            step.lost(path, "its folder holds more than is copied before a command that is not watched")
        except OSError:
            step.note_as(path, NothingThere())


def _entries(step: StepJournal, path: str) -> Iterator[tuple[str, int, str]]:
    if not path:
        yield from entries_below(step.root, ".", "", MOST_FILES)
        return
    with open_parent(step.root, path) as (folder, name):
        yield path, folder, name
        if isinstance(look_at(folder, name), FolderState):
            yield from entries_below(folder, name, path, MOST_FILES)
