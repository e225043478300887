"""Unfinished files on another machine, remembered on this one, so that what a death leaves there is removed."""

import logging
import posixpath
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import asyncssh

from angelia.sandboxes.local.process_folder import of_dead_processes
from angelia.sandboxes.local.process_ledger import DRAFT, Life, drafts_of
from angelia.sandboxes.shared.tree_removal import remove_tree

_LOST = (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection)

logger = logging.getLogger("angelia.sandboxes")


class Drafts:
    """Those of one sandbox. Each is on this machine's disk before it is made over there."""

    def __init__(self, state: Path, host: str) -> None:
        """`state` takes the records; those of one `host` lie together."""
        self._folder = state / "far" / sha256(host.encode(errors="surrogateescape")).hexdigest()[:16]
        self._there: set[str] = set()
        self._life: Life | None = None

    def begin(self, folder: str, name: str) -> str:
        """The way to a new one in `folder`, which will be there from now on, as far as we know.

        Raises:
            AccessRefused: it cannot be recorded.
        """
        draft = f"{folder}/{DRAFT}{name}"
        if self._life is None:
            self._life = Life(self._folder)
        self._life.note_draft(Path(draft))
        self._there.add(draft)
        return draft

    def ended(self, draft: str) -> None:
        """It has its own name now, or is removed."""
        self._there.discard(draft)
        if self._life is not None and not self._there:
            self._life.forget_drafts()

    async def remove(self, sftp: asyncssh.SFTPClient, draft: str) -> None:
        """Remove it, and forget it if that could be done or there is none."""
        with suppress(asyncssh.SFTPNoSuchFile):
            await sftp.remove(draft)
        self.ended(draft)

    async def sweep(self, sftp: asyncssh.SFTPClient) -> None:
        """Remove what a cut has left of our own, and what processes have left that are dead."""
        for draft in tuple(self._there):
            await self.remove(sftp, draft)
        for folder in of_dead_processes(self._folder):
            await _remove_all(sftp, drafts_of(folder))
            remove_tree(folder)

    def close(self) -> None:
        """Forget all; what could not be removed is left to whoever connects next."""
        if self._life is not None and not self._there:
            self._life.close()
        elif self._life is not None:
            self._life.leave()
        self._life = None


async def _remove_all(sftp: asyncssh.SFTPClient, drafts: Iterable[Path]) -> None:
    """What cannot be removed is said in the log, and stays: trying again would not mend it."""
    for draft in drafts:
        try:
            await sftp.remove(posixpath.normpath(str(draft)))
        except _LOST:
            raise
        except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
            continue
        except asyncssh.SFTPError as error:
            logger.warning("an unfinished file stays on the other machine, %s: %s", draft, error.reason)
