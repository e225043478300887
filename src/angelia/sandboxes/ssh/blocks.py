"""The blocks of one file over SFTP, several on their way at once, so that distance does not make a transfer slow."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import cast

import asyncssh

from angelia.cancellation import cancel_and_wait

BLOCK = 255 * 1024
"""Bytes of one block at most: what OpenSSH takes (`limits@openssh.com`)."""
AHEAD = 16
"""Blocks on their way at once: 4 MB, twice the window of the channel."""
_TOGETHER = 4
"""Blocks handed on at once if they are there: 1 MB, so that whoever writes them has few turns to take."""


async def read_blocks(file: "asyncssh.SFTPClientFile", size: int, block: int) -> AsyncIterator[bytes]:
    """The first `size` bytes in order, fewer if the file ends before; `file` is opened with a `block_size` of 0."""
    asked: deque[asyncio.Task[bytes]] = deque()
    at = 0
    try:
        while asked or at < size:
            while at < size and len(asked) < AHEAD:
                asked.append(asyncio.ensure_future(_whole(file, at, min(block, size - at))))
                at += block
            data = [await asked[0]]
            asked.popleft()
            while asked and asked[0].done() and len(data) < _TOGETHER:
                data.append(asked.popleft().result())
            if not data[0]:
                break
            yield b"".join(data)
    finally:
        await cancel_and_wait(*asked)


async def _whole(file: "asyncssh.SFTPClientFile", at: int, count: int) -> bytes:
    """One block; a server may give less than it was asked for (draft-ietf-secsh-filexfer-02, section 6.4)."""
    data = b""
    while len(data) < count:
        more = cast("bytes", await file.read(count - len(data), at + len(data)))  # no encoding was asked for
        if not more:
            break
        data += more
    return data


class BlockWriter:
    """Writes a file from its start; leave nothing unfinished: call `finished` or `abandoned`."""

    def __init__(self, file: "asyncssh.SFTPClientFile", block: int) -> None:
        """`file` is opened with a `block_size` of 0; `block` is what the server takes at once, in bytes."""
        self._file, self._block = file, block
        self._sent: deque[asyncio.Task[int]] = deque()
        self._at = 0

    async def write(self, data: bytes) -> None:
        """Send what comes next; returns when more may be on the way."""
        for begin in range(0, len(data), self._block):
            while len(self._sent) >= AHEAD:
                await self._sent[0]
                self._sent.popleft()
            piece = data[begin : begin + self._block]
            self._sent.append(asyncio.ensure_future(self._file.write(piece, self._at)))
            self._at += len(piece)

    async def finished(self) -> None:
        """Wait until all has been written over there."""
        while self._sent:
            await self._sent[0]
            self._sent.popleft()

    async def abandoned(self) -> None:
        """Wait for nothing that is still on its way."""
        await cancel_and_wait(*self._sent)
