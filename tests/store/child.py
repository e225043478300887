"""What another process does to a home: `python -m tests.store.child WHAT HOME CONVERSATION [ARGUMENT]`.

Each line on stdout says what has been acknowledged, right after it was.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

from angelia.core.errors import AngeliaError, Fenced
from angelia.core.ids import CommandKey, ConversationId, wall_clock
from angelia.core.principal import OWNER
from angelia.service.conversation.forks import fork_conversation
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.copies import copy_daily
from angelia.store.sql.database import Database
from tests.store.leases import acquire
from tests.store.words import said


def main(arguments: list[str] | None = None) -> int:
    what, home, conversation, *rest = arguments if arguments is not None else sys.argv[1:]
    try:
        db = Database.open_to_read(Path(home)) if what == "look" else Database.open(Path(home), patience_s=60)
        asyncio.run(DOES[what](db, ConversationId(conversation), *rest))
        db.close()
    except AngeliaError as error:
        acknowledge(f"{type(error).__name__}: {error}")
        return 1
    return 0


def acknowledge(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def append(db: Database, conversation: ConversationId, count: str) -> None:
    """Append numbered messages one by one; with a count of 0, for ever."""
    transcript = Transcript(db)
    number = 0
    while number != int(count) or count == "0":
        number += 1
        entries = await transcript.append(conversation, [said(f"number {number}")])
        acknowledge(str(entries[0].seq))


async def append_together(db: Database, conversation: ConversationId, count: str) -> None:
    """Append numbered messages side by side."""
    transcript = Transcript(db)

    async def one(number: int) -> None:
        await transcript.append(conversation, [said(f"number {number}", key=f"{number}")])
        acknowledge(str(number))

    await asyncio.gather(*(one(number) for number in range(int(count))))


async def erase(db: Database, conversation: ConversationId) -> None:
    """Erase it."""
    await Transcript(db).erase(conversation, BlobStore(db.home))
    acknowledge("erased")


async def fork(db: Database, conversation: ConversationId, key: str) -> None:
    """Begin a conversation with its past, under a key."""
    acknowledge(await fork_conversation(Transcript(db), conversation, 0, wall_clock, asked=CommandKey("web", key)))


async def copy(db: Database, _: ConversationId) -> None:
    """Put today's copy aside."""
    await copy_daily(db, 1_790_000_000_000)
    acknowledge("copied")


async def look(db: Database, conversation: ConversationId) -> None:
    """Read what there is, in a home that may not be written."""
    transcript, blobs = Transcript(db), BlobStore(db.home)
    acknowledge(f"{len(await transcript.conversations(OWNER))} conversation")
    acknowledge(f"{len((await search(db, OWNER, 'needle')).hits)} found")
    acknowledge(" ".join(await upkeep.verify(db, blobs)) or "in order")
    acknowledge(f"{len(await transcript.entries(conversation))} entries")


async def put(db: Database, _: ConversationId, megabytes: str) -> None:
    """Store one blob."""
    acknowledge((await BlobStore(db.home).put(b"x" * int(float(megabytes) * 1e6))).sha256)


async def hold(db: Database, conversation: ConversationId, ttl_ms: str) -> None:
    """Take the lease, wait for a line, append under it."""
    lease = await acquire(db, conversation, "the child", ttl_ms=int(ttl_ms))
    acknowledge(f"held {lease.epoch}")
    await asyncio.to_thread(sys.stdin.readline)
    try:
        await Transcript(db).append(conversation, [said("late")], lease=lease)
        acknowledge("appended")
    except Fenced:
        acknowledge("fenced")


async def resume(db: Database, conversation: ConversationId) -> None:
    """Take the lease, or say who has it; keep it until the end of stdin."""
    lease = await acquire(db, conversation, "a resumer")
    acknowledge(f"held {lease.epoch}")
    await asyncio.to_thread(sys.stdin.read)


DOES: dict[str, Callable[..., Coroutine[None, None, None]]] = {
    "append": append,
    "append_together": append_together,
    "put": put,
    "erase": erase,
    "fork": fork,
    "copy": copy,
    "look": look,
    "hold": hold,
    "resume": resume,
}

if __name__ == "__main__":
    sys.exit(main())
