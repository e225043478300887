"""What goes between us and the process of a check: MessagePack values, each behind its length in four bytes."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from angelia.cancellation import cancel_and_wait

MOST_BYTES = 256_000_000
"""Of one value: files that are read into a check's memory are smaller."""

GIVEN_UP = "given_up"
"""What a check asks for when it waits no more for what it asked for before. That has its one reply all the same."""


class NobodyThere(Exception):
    """The other end is gone, or sends what is no value."""


async def send(writer: asyncio.StreamWriter, value: object) -> None:
    """Send a value whole.

    Raises:
        NobodyThere: nobody reads it.
    """
    data = msgspec.msgpack.encode(value)
    writer.write(len(data).to_bytes(4, "big") + data)
    try:
        await writer.drain()
    except OSError as error:
        raise NobodyThere(str(error)) from error


async def receive(reader: asyncio.StreamReader) -> Any:
    """The next value.

    Raises:
        NobodyThere: none comes.
    """
    try:
        size = int.from_bytes(await reader.readexactly(4), "big")
        if size > MOST_BYTES:
            raise NobodyThere(f"a value of {size} bytes")
        return msgspec.msgpack.decode(await reader.readexactly(size))
    except (EOFError, OSError, msgspec.DecodeError) as error:
        raise NobodyThere(str(error)) from error


class CheckQuestions:
    """What a check asks for, one after the other; each reply is of its own question, also where one is given up."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._turn = asyncio.Lock()
        self._asking: set[asyncio.Future[Any]] = set()
        self._over = False

    async def ask(self, question: Mapping[str, object]) -> Any:
        """The reply to it.

        Raises:
            NobodyThere: there is none, or the check is over.
        """
        asking = asyncio.ensure_future(self._ask(question))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return await asking

    async def _ask(self, question: Mapping[str, object]) -> Any:
        async with self._turn:
            if self._over:
                raise NobodyThere("the check is over")
            await send(self._writer, question)
            replying = asyncio.ensure_future(receive(self._reader))
            try:
                return await asyncio.shield(replying)
            except asyncio.CancelledError:
                await send(self._writer, {"ask": GIVEN_UP})
                await asyncio.wait([replying])  # or whoever asks next would have it
                raise

    async def end(self) -> None:
        """The check is over: what it left unanswered is given up."""
        self._over = True
        await cancel_and_wait(*self._asking)
