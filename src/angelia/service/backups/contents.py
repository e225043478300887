"""What of a home goes into a backup: all but what is made again by itself, and keys only where that is asked for.

The store's own part (log, tips, blobs) is copied by the store. Of the rest only what is listed here is known to hold no
secret; whatever else lies in a home, such as `gateway.env`, a token or a linked device, counts as a key.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from angelia.beginning import FOLDER as EMPTY
from angelia.sandboxes.guard.originals import FOLDER as GUARDED
from angelia.sandboxes.undo.store import FOLDER as UNDO
from angelia.sandboxes.undo.store import MIRRORS
from angelia.service.chats.gateway_state import FILE as GATEWAY
from angelia.skills.served import FOLDER as SERVED
from angelia.store.media.blobs import FOLDER as BLOBS
from angelia.store.media.blobs import TRASH
from angelia.store.media.cached_blobs import CLAIMS
from angelia.store.media.durable import UNFINISHED
from angelia.store.port import UNSTORED
from angelia.store.sql.copy_folder import FOLDER as COPIES
from angelia.store.sql.copy_folder import STAGED
from angelia.store.sql.database import FILE as LOG
from angelia.store.sql.tips import FILE as TIPS

BY_THE_STORE = {LOG, f"{LOG}-wal", f"{LOG}-shm", TIPS, BLOBS}
MADE_AGAIN = {"alive", "running", "renditions", "models", "models.json", "angelia.log", GATEWAY, COPIES, TRASH, GUARDED}
MADE_AGAIN |= {EMPTY, MIRRORS, SERVED, STAGED}
PLAIN = {CLAIMS, "config.toml", "history", "outbox", "quarantine", "skills", UNDO, UNSTORED}


def copied_parts(home: Path) -> tuple[list[str], list[str]]:
    """The names in a home that are copied beside the store: those without secrets, and keys."""
    names = sorted(entry.name for entry in home.iterdir() if _holds(entry))
    ours = [name for name in names if name not in BY_THE_STORE | MADE_AGAIN and not _passing(name)]
    return [name for name in ours if name in PLAIN], [name for name in ours if name not in PLAIN]


def _holds(entry: Path) -> bool:
    """Whether it holds anything; a socket or a pipe, such as the one by which a clock is woken, does not."""
    return entry.is_symlink() or entry.is_file() or entry.is_dir()


def _passing(name: str) -> bool:
    """What is not finished, locks, and what a migration of the log put aside."""
    return name.startswith((UNFINISHED, f"{LOG}.v")) or name.endswith(".lock")


def copy_part(source: Path, target: Path) -> None:
    """Copy a file, or a folder with all that it holds; links stay links, and what vanishes meanwhile is left out."""
    with suppress(FileNotFoundError):
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_dir():
            target.mkdir(mode=0o700)
            for entry in sorted(source.iterdir()):
                copy_part(entry, target / entry.name)
        elif source.is_file():
            shutil.copyfile(source, target)
            target.chmod(source.stat().st_mode & 0o700 | 0o400)


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """Everything beneath a folder but folders, by its path with `/`, in a fixed order."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        linked = [name for name in folders if Path(root, name).is_symlink()]
        for name in sorted([*names, *linked]):
            path = Path(root, name)
            yield path.relative_to(folder).as_posix(), path
