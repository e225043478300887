"""What another process does with blobs that lie elsewhere: `tests.objects.child:main HOME ADDRESS`, by the environment.

It stores a file, then says in the log that it is there; each line on stdout is an acknowledgement.
"""

import asyncio
import os
import sys
from pathlib import Path

from angelia.core.content import Media, MediaKind
from angelia.core.entry import UserSaid
from angelia.core.ids import ConversationId
from angelia.service.blob_places import in_log
from angelia.store.log.transcript import Transcript
from angelia.store.media.cached_blobs import CachedBlobs
from angelia.store.objects.registry import open_objects
from angelia.store.sql.database import Database

NAME = ConversationId("c1")
SIZE = 300_000


def main() -> int:
    home, address = sys.argv[1:]
    db = Database.open(Path(home))
    blobs = CachedBlobs(db.home, open_objects(address, os.environ), 1_000_000, in_log(db))
    asyncio.run(_named(db, blobs))
    db.close()
    return 0


async def _named(db: Database, blobs: CachedBlobs) -> None:
    ref = await blobs.put(b"x" * SIZE)
    sys.stdout.write("stored\n")
    sys.stdout.flush()
    await Transcript(db, blobs).append(NAME, [UserSaid((Media(ref, MediaKind.DOCUMENT, "x"),))])
    sys.stdout.write("named\n")
    sys.stdout.flush()
