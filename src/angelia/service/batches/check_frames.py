"""What goes between us and the process of a check: MessagePack values, each behind its length in four bytes."""

import asyncio
from typing import Any

import msgspec

MOST_BYTES = 256_000_000
"""Of one value: files that are read into a check's memory are smaller."""


async def send(writer: asyncio.StreamWriter, value: object) -> None:
    """Send a value whole.

    Raises:
        OSError: nobody is at the other end any more.
    """
    data = msgspec.msgpack.encode(value)
    writer.write(len(data).to_bytes(4, "big") + data)
    await writer.drain()


async def receive(reader: asyncio.StreamReader) -> Any:
    """The next value.

    Raises:
        EOFError: the other end is gone.
        ValueError: what came is no such value.
    """
    size = int.from_bytes(await reader.readexactly(4), "big")
    if size > MOST_BYTES:
        raise ValueError(f"a value of {size} bytes")
    return msgspec.msgpack.decode(await reader.readexactly(size))
