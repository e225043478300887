"""A log that is being copied into a home: in a folder there until it is whole, so that nobody takes it for one."""

import shutil
from contextlib import closing
from pathlib import Path

from angelia.core.crash import crash_point
from angelia.core.errors import BadInput, StoreBusy
from angelia.store.media.durable import sync_folder
from angelia.store.sql.connections import connect_to_read
from angelia.store.sql.copy_folder import STAGED
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.faults import explained
from angelia.store.sql.tips import FILE as TIPS
from angelia.store.sql.tips import TipsJournal
from angelia.store.sql.wholeness import ends


class StagedFile:
    """See `store.log.copying.StagedLog`."""

    def __init__(self, home: Path, db: Database) -> None:
        self._home = home
        self.db = db

    @classmethod
    def open(cls, home: Path, filled: tuple[str, ...]) -> "StagedFile":
        """Begin one, or go on with what is there of one; `filled` names tables that are empty where there is no log.

        Raises:
            BadInput: there is a log in the home, or there was one.
            StoreError: it cannot be opened.
        """
        folder = home / STAGED
        with explained(home):
            if _holds_something(home / FILE, filled):
                raise BadInput(
                    f"There is a log in {home} already.",
                    "A log is copied to where there is none, so that none is lost.",
                    f"Move {FILE} and {TIPS} out of {home}, if you do not want what is in them any more.",
                )
            if not (home / FILE).exists() and not (folder / FILE).exists() and TipsJournal(home).read().newest:
                raise BadInput(
                    f"There was a log in {home}, and it is missing.",
                    then=f"Put {FILE} back; or move {TIPS} away, if you know where it went.",
                )
        return cls(home, Database.open_as_it_is(folder))

    async def finish(self) -> None:
        """See `store.log.copying.StagedLog`. The log is put there last; until then none is there."""
        folder = self._home / STAGED
        await self.db.write(lambda connection: self.db.tips.rewrite(ends(connection)))
        await self.db.checkpoint()
        self.db.close()
        with explained(self._home):
            if (folder / f"{FILE}-wal").exists():
                raise StoreBusy(f"Another program has {folder / FILE} open.", then="End it, and copy again.")
            for left in (FILE, f"{FILE}-wal", f"{FILE}-shm"):  # of a log that held nothing
                (self._home / left).unlink(missing_ok=True)
            (folder / TIPS).rename(self._home / TIPS)
            crash_point("copy.before_log")
            (folder / FILE).rename(self._home / FILE)
            sync_folder(self._home)
            shutil.rmtree(folder)


def _holds_something(path: Path, tables: tuple[str, ...]) -> bool:
    if not path.exists() or not path.stat().st_size:
        return False
    with closing(connect_to_read(path)) as connection:
        return any(connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()[0] for table in tables)  # noqa: S608
