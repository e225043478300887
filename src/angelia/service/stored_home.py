"""A home opened to be read: nothing in it is changed, nothing is run, and nobody need be able to write to it."""

import os

from msgspec import Struct

from angelia.service.blob_places import blobs_of, in_log, shared_name
from angelia.service.log_places import open_log_to_read
from angelia.service.settings.config import Loaded
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.sql.wholeness import lost
from angelia.store.tables.outbox import Outbox


class StoredHome(Struct, frozen=True):
    """What a home holds."""

    loaded: Loaded
    db: LogStore
    transcript: Transcript
    blobs: BlobStore
    outbox: Outbox

    @classmethod
    def open(cls, loaded: Loaded) -> "StoredHome":
        """Open it, whole or not.

        Raises:
            StoreError: it cannot be read; says why.
        """
        db = open_log_to_read(loaded, os.environ)
        blobs = blobs_of(loaded, os.environ, in_log(db), shared_name(loaded, db))
        return cls(loaded, db, Transcript(db), blobs, Outbox(db))

    async def lost(self) -> list[str]:
        """What its log had once and has no more, a sentence for each conversation; they are gone through only where the
        newest entry that is known of is not there, since there may be a hundred thousand.
        """
        end = self.db.tips.read_end()
        if end.newest is None or not await self.db.read(lambda connection: list(lost(connection, end))):
            return []
        tips = self.db.tips.read()
        return await self.db.read(lambda connection: list(lost(connection, tips)))
