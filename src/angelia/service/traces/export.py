"""Traces are sent while a gateway runs: what has ended since the place up to which the log was told.

The place is kept in the log's own store and moves when a collector has taken what is before it. So a collector that is
away gets everything when it is back, and a kill repeats at most what was under way, under the same ids.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from angelia.cancellation import end_if_cancelled
from angelia.core.errors import StoreError
from angelia.http.client import open_server
from angelia.http.errors import HttpError
from angelia.http.server import HttpServer
from angelia.service.traces.otlp import HEADERS, export_request
from angelia.service.traces.spans import TraceSpan
from angelia.store.log.closed_turns import ClosedTurn, closed_turns, log_end
from angelia.store.port import LogStore
from angelia.store.tables.key_value import KeyValue

_PATH = "v1/traces"
"""Where a collector takes traces, below its address."""
_UPTO = "traces-upto"
"""Under this name the place of the log is remembered up to which its turns were told."""
_MOST = 50
"""Turns in one request."""
_LOOK_S = 2.0
_LONGEST_S = 60.0
"""Seconds between two looks: the fewest, and the most while nobody takes them."""
_PATIENCE_S = 10.0
_REFUSED = (400, 413)
"""Statuses by which a collector says of the traces that it will never take them; for all others it is asked again."""

Told = Callable[[ClosedTurn], Iterable[TraceSpan]]
"""The spans of a turn: `spans_of`, or with what was said."""

logger = logging.getLogger("angelia.traces")


class TraceExport:
    """What one gateway sends to the collector at `address`, with these headers: what is `told` of each turn."""

    def __init__(self, db: LogStore, key_value: KeyValue, address: str, headers: Mapping[str, str], told: Told) -> None:
        self._db, self._key_value = db, key_value
        self._told = told
        self._address = address
        self._headers = {**HEADERS, **headers}
        self._away = False

    async def begin(self) -> None:
        """The first time, what ends from now on is sent; later, what has ended since it was sent last.

        Raises:
            StoreError: the log cannot be written.
        """
        if not await self._key_value.get(_UPTO):
            await self._key_value.replace(_UPTO, "", str(await self._db.read(log_end)))

    async def follow(self) -> None:
        """Send what ends, until cancelled."""
        server: HttpServer | None = None
        pause = _LOOK_S
        try:
            while True:
                try:
                    server = server or await open_server(self._address)
                    while await self.send(server):
                        pause = _LOOK_S
                except (HttpError, StoreError, TimeoutError) as error:
                    self._tell_away(str(error) or "It did not answer in time.")
                    pause = min(2 * pause, _LONGEST_S)
                end_if_cancelled()
                await asyncio.sleep(pause)
        finally:
            if server:
                await server.aclose()

    async def send(self, server: HttpServer) -> bool:
        """Send what has ended since the last time, a request at most; whether there may be more.

        Raises:
            HttpError, TimeoutError: nobody took it, so it is sent again.
            StoreError: the log cannot be read.
        """
        known = await self._key_value.get(_UPTO)
        turns = await self._db.read(lambda connection: closed_turns(connection, int(known), _MOST))
        if not turns:
            return False
        for turn in turns:
            if turn.damaged:
                logger.warning("no trace is sent of a turn of %s: %s", turn.conversation, turn.damaged)
        if whole := [turn for turn in turns if not turn.damaged]:
            await self._post(server, whole)
        await self._key_value.replace(_UPTO, known, str(turns[-1].place))
        return True

    async def _post(self, server: HttpServer, turns: list[ClosedTurn]) -> None:
        body = export_request(span for turn in turns for span in self._told(turn))
        async with asyncio.timeout(_PATIENCE_S):
            reply = await server.post(_PATH, self._headers, body, _PATIENCE_S)
            try:
                said = (await reply.read())[:200].decode("utf-8", "replace")
            finally:
                await reply.aclose()
        if reply.status in _REFUSED:
            logger.warning("the collector refuses the traces of %d turns (%d): %s", len(turns), reply.status, said)
        elif not reply.is_success:
            raise HttpError(f"It answered {reply.status}: {said}")
        if self._away:
            self._away = False
            logger.warning("traces are taken again, from where they were")

    def _tell_away(self, why: str) -> None:
        if not self._away:
            self._away = True
            logger.warning("traces cannot be sent, and are when it is possible: %s", why)
