"""The one connection that an account has, for a command that needs it: nobody else has it meanwhile, on no machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from angelia.core.errors import BadInput, Fenced
from angelia.service.chats.gateway import alone_in
from angelia.store.log.holdings import Holdings
from angelia.store.log.lease import HeldElsewhere
from angelia.store.port import LogStore
from angelia.store.tables.machines import channel_part

_WHY = "What is linked has one connection."


@asynccontextmanager
async def sole_connection(db: LogStore, home: Path, door: str) -> AsyncIterator[None]:
    """Have it until the block ends.

    Raises:
        BadInput: a gateway of this home runs, or another machine that shares the log serves the channel.
        StoreError: the log cannot be written.
    """
    holdings = Holdings(db)
    with alone_in(home, _WHY):
        try:
            await holdings.take(channel_part(door), db.presence.here)
        except HeldElsewhere as error:
            then = "`angelia cluster` says which machine that is; end its gateway first. Nothing was changed."
            raise BadInput(f"{error.holder} serves {door} now.", _WHY, then) from error
        keeping = asyncio.create_task(holdings.keep())
        try:
            yield
        finally:
            keeping.cancel()
            lost = await asyncio.gather(keeping, return_exceptions=True)
            if not isinstance(lost[0], Fenced):
                await holdings.release_all()
