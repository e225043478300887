"""Copies of a workspace for helpers: made before one begins, compared when it has ended, and removed once that is told.

A copy lies beside our home, under its child's id, and is the workspace of a place of the child's own: what holds for
any workspace holds for it. What a command left in the source that would run by itself is taken back before, and nothing
of the kind that never stood there comes along. How a copy began is kept in our home. Each step leaves what the next
life needs: a copy is there whole or not at all, comparing changes nothing, and what belongs to no child that works is
removed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, BadInput, NotFound
from angelia.core.ids import CallId, ConversationId
from angelia.core.text import clean
from angelia.path_queries import exists, is_folder
from angelia.sandboxes.guard.brought import leave_out
from angelia.sandboxes.guard.guard import guard_of
from angelia.sandboxes.shared.private_folders import make_private
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.sandboxes.workspace import copies_folder, snapshots_folder
from angelia.service.delegation.changes import ChangedFile, CopyChanges
from angelia.service.delegation.conflicts import changed_since
from angelia.service.delegation.snapshots import ChangedPath, GitFailed, Snapshots
from angelia.store.log.transcript import Transcript

logger = logging.getLogger("angelia.service")

_MOST_KEPT = 50
"""Changed files that come one by one, beside the patch that has all of them."""
_LEFT, _LEFT_S = "left", 7 * 86_400
_LINK, _REPOSITORY = "120000", "160000"


class KeepsMedia(Protocol):
    """What takes bytes into the store; see `store.media.measure.Intake`."""

    def stream_to_media(self, chunks: AsyncIterator[bytes], name: str, *, limit: int = 0) -> Awaitable[Media]:
        """Keep what comes, as long as it is not too large."""
        ...


class CopyGone(AngeliaError):
    """Somebody else has removed a copy in which a helper worked."""


class WorkspaceCopies:
    """Those of one home."""

    def __init__(self, home: Path, most: int, keep: KeepsMedia) -> None:
        """`most` is the size in bytes of the largest folder that is copied."""
        self._home = home
        self._work, self._kept = copies_folder(home), snapshots_folder(home)
        self._most, self._keep = most, keep

    def folder(self, child: ConversationId) -> Path:
        """Where the copy of a child lies, or would."""
        return self._work / child

    async def made(self, child: ConversationId, source: Path) -> tuple[str, ...]:
        """See that a child has its copy; what is not in it, in sentences for the child.

        Raises:
            BadInput: the folder is too large.
            AccessRefused: what stands in it cannot be recorded.
            CopyGone: it had one, which was removed meanwhile.
            GitFailed: it cannot be made.
        """
        at, kept = self.folder(child), self._kept / child
        laid_out = kept / "laid-out"
        if not is_folder(at):
            if exists(laid_out):
                raise CopyGone(f"The copy in which it worked ({at}) is gone, and what it had changed there with it.")
            crash_point("copy.before")
            await asyncio.to_thread(remove_tree, kept)
            try:
                await self._make(source, kept, at)
            except OSError as error:
                raise GitFailed(f"The folder cannot be copied to {at}: {error.strerror}.") from error
            crash_point("copy.made")
        laid_out.touch()
        return tuple((kept / "missing").read_text("utf-8").splitlines())

    async def _make(self, source: Path, kept: Path, at: Path) -> None:
        make_private(self._kept, exist_ok=True)
        make_private(self._work, exist_ok=True)
        snapshots, unfinished = Snapshots(kept), at.with_suffix(".part")
        await asyncio.to_thread(remove_tree, unfinished)
        guard = guard_of(source, self._home)
        await asyncio.to_thread(guard.see)
        listed = await snapshots.listed(source)
        self._see_size(listed.size, len(listed.files))
        base = await snapshots.taken(source, listed)
        make_private(unfinished)
        await snapshots.lay_out(unfinished)
        notes = [f"{path} is a repository of its own, and is not in your copy." for path in listed.inner]
        if exists(source / ".git"):
            try:
                await snapshots.lay_out_history(source, unfinished)
            except GitFailed as error:
                logger.warning("a copy of %s is without its history: %s", source, error)
                notes.append("Your copy is without its Git history, which could not be read.")
        if left := await asyncio.to_thread(leave_out, unfinished, guard.ever_stood()):
            notes += [f"{clean(name)} is not in your copy: programs could run it by themselves." for name in left]
            base = await snapshots.taken(unfinished, await snapshots.listed(unfinished, base), base)
        (kept / "base").write_text(base)
        (kept / "missing").write_text("\n".join(notes), "utf-8")
        unfinished.rename(at)

    def _see_size(self, size: int, count: int) -> None:
        if size > self._most:
            raise BadInput(
                f"The folder holds {size / 1e6:,.0f} MB in {count:,} files, and {self._most / 1e6:,.0f} MB are copied "
                "at most (delegation.copy_bytes); what .gitignore names does not count.",
                "Nothing was copied.",
                'Delegate with workspace "same", or have what is large ignored.',
            )

    async def changes(self, child: ConversationId, name: str, source: Path) -> CopyChanges:
        """What a child of this name has changed, beside `source` as it is by now; nothing where no copy was made. It
        changes neither, and can be asked again until the copy is removed.

        Raises:
            BadInput: there is more by now than is compared.
            GitFailed: it cannot be compared.
            OSError: one of the two folders is gone.
        """
        at, kept = self.folder(child), self._kept / child
        if not is_folder(at) or not exists(kept / "base"):
            return CopyChanges()
        snapshots, base = Snapshots(kept), (kept / "base").read_text()
        listed = await snapshots.listed(at, base)
        self._see_size(listed.size, len(listed.files))
        now = await snapshots.taken(at, listed, base)
        changed = [one for one in await snapshots.changed(base, now) if one.mode != _REPOSITORY]
        if not changed:
            return CopyChanges()
        patch = await self._keep.stream_to_media(snapshots.patch(base, now), f"{name}.patch")
        conflicts = await asyncio.to_thread(changed_since, source, changed)
        files = [await self._file(snapshots, one) for one in changed[:_MOST_KEPT]]
        files += [ChangedFile(one.path, _how(one)) for one in changed[_MOST_KEPT:]]
        files = [replace(one, conflicts=one.path in conflicts) for one in files]
        notes = [f"{path} is a repository of its own: what is in it is not in the patch." for path in listed.inner]
        return CopyChanges(patch, tuple(files), tuple(notes), _within_repository(source))

    async def _file(self, snapshots: Snapshots, one: ChangedPath) -> ChangedFile:
        if not one.blob or one.mode == _LINK:
            return ChangedFile(one.path, _how(one))
        try:
            kept = await self._keep.stream_to_media(snapshots.content(one.blob), one.path.rpartition("/")[2])
        except BadInput as error:
            return ChangedFile(one.path, f"{_how(one)}, not kept by itself: {error.what}")
        return ChangedFile(one.path, _how(one), kept)

    async def remove(self, child: ConversationId, upto: float = 0.0) -> None:
        """Let a copy go; nothing happens where there is none, or where it was left, unless that was days before a
        moment (Unix seconds).
        """
        at, kept = self.folder(child), self._kept / child
        if (exists(at) or exists(kept)) and not _is_left(kept / _LEFT, upto):
            for tree in (at, at.with_suffix(".part"), kept):
                await asyncio.to_thread(remove_tree, tree)

    def leave(self, child: ConversationId) -> str:
        """Keep a copy that could not be compared for some days; where it lies."""
        (self._kept / child / _LEFT).touch()
        return str(self.folder(child))

    async def tidied(self, transcript: Transcript, upto: float) -> None:
        """Remove whatever belongs to no child that works: what a killed life left, what was deleted, and what was left
        days before a moment (Unix seconds).
        """
        found = {path.stem for folder in (self._work, self._kept) if is_folder(folder) for path in folder.iterdir()}
        for name in found:
            child = ConversationId(name)
            if await _is_over(transcript, child):
                await self.remove(child, upto)


async def _is_over(transcript: Transcript, child: ConversationId) -> bool:
    try:
        first = (await transcript.entries(child))[0].fact
        terms = first.child if isinstance(first, e.ConversationOpened) else None
        return terms is None or has_ended(await transcript.entries(terms.parent), CallId(terms.name))
    except NotFound:
        return True


def _is_left(marker: Path, upto: float) -> bool:
    try:
        return upto - marker.stat().st_mtime < _LEFT_S
    except FileNotFoundError:
        return False


def has_ended(log: Sequence[e.Entry], name: CallId) -> bool:
    """Whether the end of this child stands in its parent's log."""
    return any(isinstance(entry.fact, e.WorkEnded) and entry.fact.call == name for entry in log)


def _within_repository(folder: Path) -> bool:
    return not exists(folder / ".git") and any(exists(above / ".git") for above in folder.parents)


def _how(one: ChangedPath) -> str:
    what = "removed" if not one.mode else "new" if not one.was_mode else "changed"
    return f"{what}, a link" if one.mode == _LINK else what
