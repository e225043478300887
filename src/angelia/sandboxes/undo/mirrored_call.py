"""A sandbox elsewhere (another machine, a container's volume) as one tool call uses it: what it changes is kept before.

A file that is written through the port is copied before, and so are the files that a command is taken to change; what
else a command changes is not known. What was not copied is told with its result.
"""

import asyncio
import fnmatch
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from msgspec.structs import replace

from angelia.core.text import one_line
from angelia.sandboxes.port import Command, Exit, Running, Sandbox, SandboxError
from angelia.sandboxes.shared.wrapped import WrappedRunning, WrappedSandbox
from angelia.sandboxes.undo.call_journals import CallJournals
from angelia.sandboxes.undo.call_sandbox import keep_all, keep_at, keep_on_the_way
from angelia.sandboxes.undo.folders import joined
from angelia.sandboxes.undo.mirror import Mirror
from angelia.sandboxes.undo.step import StepJournal

_MOST_NAMED = 5
_GLOBS = frozenset("*?[")


class MirroredCall(WrappedSandbox):
    """See `sandboxes.port.Sandbox`."""

    def __init__(self, inner: Sandbox, call: str, journals: CallJournals, mirror_in: Callable[[str], Mirror]) -> None:
        """`mirror_in` gives the copies of the workspace at a path there."""
        super().__init__(inner)
        self._call, self._journals = call, journals
        self._mirror_in = mirror_in

    async def start(self, command: Command) -> Running:
        """See the port."""
        described = await self._inner.describe()
        paths = () if described.commands_by else self._journals.candidates(command, described.workspace)
        inside = [found for path in paths if (found := _inside(described.workspace, path)) is not None]
        named = [name for path in inside for name in await self._names(described.workspace, path)]
        if not named:
            return await self._inner.start(command)
        mirror = self._mirror_in(described.workspace)
        step, refused = await self._begun(mirror, named, keep_all)
        try:
            running = await self._inner.start(command)
        except BaseException:
            await asyncio.shield(self._ended(mirror, step, named))
            raise
        return _MirroredRunning(running, lambda: self._ended(mirror, step, named), refused)

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
        workspace = (await self._inner.describe()).workspace
        inside = _inside(workspace, path)
        mirror = self._mirror_in(workspace)
        step, _ = await self._begun(mirror, [inside], _keep_one) if inside else (None, {})
        try:
            await super().put(path, content, size=size, sha256=sha256, mode=mode, modified=modified)
        finally:
            await asyncio.shield(self._ended(mirror, step, [inside or ""]))

    async def _names(self, workspace: str, path: str) -> list[str]:
        """What a path stands for, where it may stand for several names of a folder."""
        folder, _, wanted = path.rpartition("/")
        if _GLOBS.isdisjoint(wanted):
            return [path]
        try:
            found = [entry.path async for entry in self._inner.list(f"{workspace}/{folder}".rstrip("/"))]
        except SandboxError:
            return []
        names = [one.rstrip("/").rpartition("/")[2] for one in found]
        return [joined(folder, name) for name in names if fnmatch.fnmatchcase(name, wanted)]

    async def _begun(
        self, mirror: Mirror, named: Sequence[str], keep: Callable[[StepJournal, Sequence[str]], None]
    ) -> tuple[StepJournal, Mapping[str, str]]:
        """The journal of what stands at these paths; what of it could not be copied, and why."""
        try:
            refused = await mirror.fetch(named)
        except SandboxError as error:
            refused = dict.fromkeys(named, str(error))

        def kept() -> StepJournal:
            step = self._journals.begin(self._call)
            try:
                for path, why in refused.items():
                    step.lost(path, why)
                keep(step, [path for path in named if path not in refused])
            except BaseException:
                step.end()
                raise
            return step

        return await asyncio.to_thread(kept), refused

    async def _ended(self, mirror: Mirror, step: StepJournal | None, named: Sequence[str]) -> tuple[str, ...]:
        if step is None:
            return ()
        try:
            await mirror.fetch(named)
        except SandboxError as error:  # the call did what it did
            for path in named:
                step.lost(path, f"what the call left could not be looked at: {one_line(str(error), 200)}")
        finally:
            changed = await asyncio.to_thread(step.end)
        self._journals.told(self._call, changed)
        return changed


class _MirroredRunning(WrappedRunning):
    """See `sandboxes.port.Running`; its end tells what was changed, and what could not be kept."""

    def __init__(self, inner: Running, ended: Callable[[], Awaitable[tuple[str, ...]]], refused: Mapping[str, str]):
        super().__init__(inner)
        self._ending, self._refused = ended, refused
        self._ended = asyncio.ensure_future(self._follow())
        self._ended.add_done_callback(lambda end: end.cancelled() or end.exception())

    async def wait(self) -> Exit:
        """See the port."""
        return await asyncio.shield(self._ended)

    async def _follow(self) -> Exit:
        changed: tuple[str, ...] = ()
        try:
            ended = await self._inner.wait()
        finally:
            changed = await asyncio.shield(self._ending())
        told = tuple(
            f"`{one_line(path or '.', 120)}` was not kept before, so that it cannot be taken back: {why}."
            for path, why in list(self._refused.items())[:_MOST_NAMED]
        )
        notes, notices = (*ended.notes, *told), (*ended.notices, *told)
        return replace(ended, changed=tuple(sorted({*ended.changed, *changed})), notes=notes, notices=notices)


def _inside(workspace: str, path: str) -> str | None:
    """A path relative to the workspace there; None where it leads elsewhere, by its words."""
    whole = posixpath.normpath(posixpath.join(workspace, path))
    if whole == workspace:
        return ""
    return whole[len(workspace) + 1 :] if whole.startswith(f"{workspace}/") else None


def _keep_one(step: StepJournal, paths: Sequence[str]) -> None:
    for path in paths:
        keep_on_the_way(step, path)
        keep_at(step, path)
