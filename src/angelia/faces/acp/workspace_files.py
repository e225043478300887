"""Files of the workspace that a prompt names by their place: what lies elsewhere is left to tools and their policy.

The person names them, so no policy is asked; but no link leads out of the workspace, also none that is put there now.
"""

import asyncio
import os
import stat
from pathlib import Path

from msgspec import Struct

from angelia.core.errors import AngeliaError
from angelia.sandboxes.local.safe_open import AllowedRoot, AllowedRoots, open_place


class WorkspaceFiles(Struct, frozen=True):
    """Beneath `workspace`, on this machine, of at most `limit` bytes. `state` is the home's folder for what runs."""

    workspace: str
    state: Path
    limit: int

    async def content(self, path: str) -> bytes:
        """The bytes of an ordinary file; empty where it is none, too large, elsewhere, or may not be read."""
        if not path.startswith("/") or not self.workspace.startswith("/"):
            return b""
        return await asyncio.to_thread(self._content, path)

    def _content(self, path: str) -> bytes:
        roots = AllowedRoots((AllowedRoot(self.workspace, Path(self.workspace)),), self.state)
        try:
            with open_place(roots, path, follow=True) as place:
                handle = os.open(
                    place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place.folder
                )
            with open(handle, "rb") as file:  # noqa: PTH123 - a descriptor
                found = os.fstat(handle)
                fits = stat.S_ISREG(found.st_mode) and found.st_size <= self.limit
                return file.read(self.limit) if fits else b""
        except (OSError, AngeliaError):
            return b""
