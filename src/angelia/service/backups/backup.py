"""A backup: one file with all of a home, taken while others work, and restored once before it counts."""

import asyncio
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.crash import crash_point
from angelia.core.errors import StoreDamaged
from angelia.core.ids import sortable_id
from angelia.core.version import PACKAGE_VERSION
from angelia.service.backups.archive import ArchiveHead, pack, unpack
from angelia.service.backups.contents import copied_parts, copy_part
from angelia.service.files.transfers import Told
from angelia.service.settings.config_file import ConfigFile
from angelia.service.stored_home import StoredHome
from angelia.store.media.blobs import BlobStore
from angelia.store.media.durable import UNFINISHED, sync_folder
from angelia.store.sql import upkeep
from angelia.store.sql.database import FILE as LOG
from angelia.store.sql.database import Database
from angelia.store.sql.faults import explained

_NAME = re.compile(r"angelia-\d{8}T\d{6}Z\.tar\.gz(\.encrypted)?")


class ShownSteps(Protocol):
    """How a person sees what takes long: a step of which nothing is counted, and one of which the bytes are."""

    def working(self, what: str) -> AbstractContextManager[object]:
        """While it lasts."""

    def moving(self, name: str) -> AbstractContextManager[Told]:
        """While it lasts; told of the bytes."""


class BackupPlan(Struct, frozen=True):
    """Where to, with keys or without, under which passphrase (none: empty), how many are kept (0: all)."""

    folder: Path
    keys: bool = False
    passphrase: str = ""
    keep: int = 0


class MadeBackup(Struct, frozen=True):
    """The file, its bytes; the names of keys that are not in it; the older backups that went."""

    path: Path
    size: int
    left_out: tuple[str, ...]
    removed: tuple[Path, ...]


async def back_up(home: StoredHome, plan: BackupPlan, shown: ShownSteps) -> MadeBackup:
    """Make one. It gets its name only when it was restored into a temporary home and that is in order.

    Raises:
        StoreFull, StoreReadOnly: it could not be written there.
        NotFound, StoreDamaged: the home is not whole; says what to do. There is no backup then.
        MissingPart: it is to be encrypted, and the library is not installed.
    """
    with explained(plan.folder):
        plan.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    elsewhere = home.loaded.config.store
    if not elsewhere and not (home.loaded.home / LOG).exists():  # nothing was said yet: it is empty, and not missing
        Database.open(home.loaded.home).close()
    with _scratch(plan.folder) as scratch:
        plain, keys = copied_parts(home.loaded.home)
        with shown.working("copying the home"), explained(plan.folder):
            await upkeep.backup(home.db, home.blobs, scratch / "home")
            for name in [*plain, *(keys if plan.keys else ())]:
                await asyncio.to_thread(copy_part, home.loaded.home / name, scratch / "home" / name)
            if elsewhere:  # what is restored has its log in the home, and leaves the other one alone
                ConfigFile(scratch / "home").unset("store")
        crash_point("backup.copied")
        with shown.moving("writing the backup") as told, explained(plan.folder):
            file = await asyncio.to_thread(_packed, home, plan, scratch, told)
        crash_point("backup.packed")
        shutil.rmtree(scratch / "home")
        with shown.moving("restoring it to try") as told, explained(plan.folder):
            await asyncio.to_thread(unpack, file, scratch / "home", plan.passphrase, told)
        with shown.working("looking it through"):
            await require_whole(scratch / "home")
        target = plan.folder / _name(plan)
        with explained(plan.folder):
            crash_point("backup.before_rename")
            file.rename(target)
            sync_folder(plan.folder)
        crash_point("backup.after_rename")
    removed = tuple(_too_many(plan.folder, plan.keep))
    for old in removed:
        old.unlink(missing_ok=True)
    return MadeBackup(target, target.stat().st_size, tuple(() if plan.keys else keys), removed)


async def require_whole(home: Path) -> None:
    """Raises StoreDamaged: what was restored into a folder is not in order; says what is wrong."""
    with closing(Database.open(home)) as db:
        problems = await upkeep.verify(db, BlobStore(home))
    if problems:
        raise StoreDamaged(
            f"What was restored is not in order: {' '.join(problems[:3])}",
            then="`angelia store verify` says what is wrong with the home itself.",
        )


def _packed(home: StoredHome, plan: BackupPlan, scratch: Path, told: Told) -> Path:
    path = scratch / "backup"
    head = ArchiveHead(PACKAGE_VERSION, time.time_ns() // 1_000_000, str(home.loaded.home), str(Path.home()), plan.keys)
    head = replace(head, store=home.loaded.config.store)
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        pack(scratch / "home", file, head, plan.passphrase, told)
        file.flush()
        os.fsync(file.fileno())
    return path


def _name(plan: BackupPlan) -> str:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"angelia-{stamp}.tar.gz{'.encrypted' if plan.passphrase else ''}"


def _too_many(folder: Path, keep: int) -> Iterator[Path]:
    made = sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True)
    yield from made[keep:] if keep else ()


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder for what is not finished, gone on the way out; what killed lives left there goes a day later."""
    for left in folder.glob(f"{UNFINISHED}*"):
        if left.stat().st_mtime < time.time() - upkeep.DAY_S:  # else another process may be at it
            shutil.rmtree(left, ignore_errors=True)
    scratch = folder / f"{UNFINISHED}{sortable_id()}"
    with explained(folder):
        scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
