"""A home out of a backup: written beside its place, looked through, and only then put there."""

import asyncio
import re
import shutil
from pathlib import Path

from angelia.core.crash import crash_point
from angelia.core.errors import BadInput
from angelia.core.ids import sortable_id
from angelia.service.backups.archive import ArchiveHead, unpack
from angelia.service.backups.backup import ShownSteps, require_whole
from angelia.store.media.durable import UNFINISHED, sync_folder
from angelia.store.sql.database import FILE as LOG
from angelia.store.sql.faults import explained

_IDLE = {"alive", "running", "lost+found"}
"""What a folder may hold in which no home is."""


async def restore(archive: Path, home: Path, passphrase: str, shown: ShownSteps) -> ArchiveHead:
    """Make `home` of a backup. It is there whole or, with a sentence, not at all: the log comes last.

    Raises:
        BadInput: something is in `home` already, or `archive` is no whole backup. Nothing was changed.
        StoreDamaged: what it holds is not in order. Nothing was changed.
        StoreFull, StoreReadOnly: it could not be written there.
    """
    with explained(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = sorted(path.name for path in home.iterdir() if path.name not in _IDLE and not _unfinished(path))
    if there:
        raise BadInput(
            f"{home} is not empty ({', '.join(there[:4])}{', …' if there[4:] else ''}).",
            "A backup is restored into an empty place, so that nothing of yours is overwritten.",
            f"Move it away (mv {home} {home}.old), or name another: ANGELIA_HOME=… angelia restore …",
        )
    beside = home / f"{UNFINISHED}{sortable_id()}"
    try:
        with shown.moving("restoring") as told, explained(home):
            head = await asyncio.to_thread(unpack, archive, beside, passphrase, told)
        with shown.working("looking it through"):
            await require_whole(beside)
        with explained(home):
            _moved_to(home, head, beside)
            for name in sorted(path.name for path in beside.iterdir()):
                if name not in _IDLE | {LOG}:
                    (beside / name).rename(home / name)
            crash_point("restore.before_log")
            (beside / LOG).rename(home / LOG)
            sync_folder(home)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return head


def _unfinished(path: Path) -> bool:
    return path.name.startswith(UNFINISHED)


def _moved_to(home: Path, head: ArchiveHead, restored: Path) -> None:
    """Let what the settings say of places in the old home hold for the new one."""
    old = Path(head.home)
    forms = [str(old)]
    if old.is_relative_to(head.person):
        forms.append(f"~/{old.relative_to(head.person)}")
    beginning = re.compile(rf"(?<![\w./~-])(?:{'|'.join(map(re.escape, forms))})(?=/)")
    for name in ("config.toml", "gateway.env"):
        path = restored / name
        if path.exists():
            path.write_text(beginning.sub(lambda _: str(home), path.read_text("utf-8")), "utf-8")
