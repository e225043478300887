"""Another process with the same store: `python -P -m angelia.testing.stores.child WHAT MODULE:FUNCTION ARGUMENT …`.

Each line on stdout says what has been acknowledged, right after it was; a line on stdin lets it go on.
"""

import asyncio
import sys
from importlib import import_module
from pathlib import Path

from angelia.core.content import Text
from angelia.core.entry import UserSaid
from angelia.core.errors import Fenced
from angelia.core.ids import ConversationId
from angelia.store.log import lease as leases
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore


def main() -> None:
    """Do what the command line says."""
    what, opening, argument, *rest = sys.argv[1:]
    sys.path.append(str(Path.cwd()))  # a module of whoever brings a store may lie where they are
    module, _, name = opening.partition(":")
    store: LogStore = getattr(import_module(module), name)(argument)
    asyncio.run({"append": _append, "hold": _hold}[what](store, ConversationId(rest[0]), rest[1]))
    store.close()


def _acknowledge(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _append(store: LogStore, conversation: ConversationId, name: str) -> None:
    """Append messages that are numbered, side by side, for ever."""
    transcript = Transcript(store)

    async def one(writer: int) -> None:
        number = 0
        while True:
            number += 1
            said = f"{name} {writer} {number}"
            await transcript.append(conversation, [UserSaid((Text(said),))])
            _acknowledge(said)

    await asyncio.gather(*(one(writer) for writer in range(4)))


async def _hold(store: LogStore, conversation: ConversationId, ttl_ms: str) -> None:
    """Take the lease, wait for a line, append under it."""
    lease, _ = await leases.acquire(store, conversation, "the child", lambda _: None, ttl_ms=int(ttl_ms))
    _acknowledge(f"held {lease.epoch}")
    await asyncio.to_thread(sys.stdin.readline)
    try:
        await Transcript(store).append(conversation, [UserSaid((Text("late"),))], lease=lease)
        _acknowledge("appended")
    except Fenced:
        _acknowledge("fenced")


if __name__ == "__main__":
    main()
