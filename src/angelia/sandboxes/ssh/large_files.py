"""One large file, read over an SFTP session of its own, whose blocks are handed on as they come.

asyncssh's own client copies each block three times and makes a task of it, which takes a third of the processor time of
a transfer. Here a block stays the pieces in which it came (draft-ietf-secsh-filexfer-02, sections 3 to 7).
"""

import asyncio
import struct
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncssh

from angelia.sandboxes.ssh.connection import SshConnection

LARGE = 8 * 1024 * 1024
"""Bytes from which on a session of its own pays; about one MB moves in the time in which it is opened."""
AHEAD = 24
"""Blocks on their way at once: 6 MB, half more than the window."""
TOGETHER = 4
"""Blocks handed on at once: 1 MB, so that whoever writes them has few turns to take."""
WINDOW = 4 * 1024 * 1024
"""Bytes that the other side may send before we have said that some were taken."""

_INIT, _VERSION, _OPEN, _READ, _FSTAT = 1, 2, 3, 5, 8
_STATUS, _DATA = 101, 103
_SPOKEN = 3
"""The protocol's version."""
_TO_READ = 1
_AT_THE_END = 1
_ALL_FACTS = 0b1111
_HEAD = struct.Struct(">IBI")
"""The length of what follows the length, the kind, and the request's number."""
_COUNT = struct.Struct(">I")
_LONGEST = 256 * 1024
"""Bytes of an answer that is no data (OpenSSH's limit for any)."""
_REFUSALS = {2: asyncssh.SFTPNoSuchFile, 3: asyncssh.SFTPPermissionDenied}


class _Block:
    """What is asked for at once: `left` bytes of it have not come, and begin at `at`."""

    def __init__(self, at: int, left: int) -> None:
        self.at, self.left = at, left
        self.pieces: list[bytes] = []
        self.over = False


class LargeFile(asyncssh.SSHClientSession[bytes]):
    """A file that is open to be read; `open_large` makes one. Its context closes it."""

    _channel: "asyncssh.SSHClientChannel[bytes]"

    def __init__(self) -> None:
        self._handle = b""
        self._number = 0
        self._answers: dict[int, asyncio.Future[bytes]] = {}
        self._blocks: dict[int, _Block] = {}
        self._head = b""
        self._coming: _Block | None = None
        self._rest = 0
        self._changed = asyncio.Event()
        self._failed: asyncssh.SFTPError | None = None

    async def __aenter__(self) -> "LargeFile":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it. Idempotent."""
        self._channel.close()

    async def open(self, path: bytes) -> None:
        """Open it.

        Raises:
            asyncssh.SFTPError: the other side says no.
        """
        await self._ask(_INIT, 0, b"")
        path = _COUNT.pack(len(path)) + path
        self._handle = await self._ask(_OPEN, self._next(), path + struct.pack(">II", _TO_READ, 0))

    async def stat(self) -> asyncssh.SFTPAttrs:
        """Size, owner, mode and time of what was opened."""
        told = await self._ask(_FSTAT, self._next(), self._handle)
        if len(told) < 32 or told[3] & _ALL_FACTS != _ALL_FACTS:
            raise asyncssh.SFTPBadMessage("the size, owner, mode or time of a file is not told")
        size, uid, gid, mode, _, modified = struct.unpack_from(">QIIIII", told, 4)
        return asyncssh.SFTPAttrs(size=size, uid=uid, gid=gid, permissions=mode, mtime=modified)

    async def blocks(self, size: int, block: int) -> AsyncIterator[bytes]:
        """The first `size` bytes in order, fewer if it ends before; `block` is what the server gives at once."""
        waiting: deque[_Block] = deque()
        at = 0
        while waiting or at < size:
            if len(waiting) <= AHEAD - TOGETHER:  # several in one packet
                begins = range(at, size, block)[: AHEAD - len(waiting)]
                fresh = [_Block(begin, min(block, size - begin)) for begin in begins]
                self._request(fresh)
                waiting.extend(fresh)
                at += block * len(fresh)
            first = [waiting.popleft() for _ in range(min(TOGETHER, len(waiting)))]
            while not all(one.over for one in first):
                if self._failed is not None:
                    raise self._failed
                self._changed.clear()
                await self._changed.wait()
            whole = next((index for index, one in enumerate(first) if one.left), len(first))
            yield b"".join([piece for one in first[: whole + 1] for piece in one.pieces])
            if whole < len(first):
                return

    def connection_made(self, chan: "asyncssh.SSHClientChannel[bytes]") -> None:
        """The session is open."""
        self._channel = chan

    def connection_lost(self, exc: Exception | None) -> None:
        """The session is over, in whatever way."""
        self._fail(asyncssh.SFTPConnectionLost("the session ended"))

    def data_received(self, data: bytes, datatype: Any) -> None:
        """More of the answers; an answer goes on in the next data, and so may its head."""
        if datatype is not None or self._failed is not None:
            return
        if self._coming is not None:
            if len(data) <= self._rest:
                self._take(self._coming, data)
                return
            begin = self._rest
            self._take(self._coming, data[:begin])
            data = data[begin:]
        data, at = self._head + data, 0
        while (end := self._answer(data, at)) > at:
            at = end
        self._head = data[at:]

    def _answer(self, data: bytes, at: int) -> int:
        """Take in the answer that begins at `at`; where it ends, or `at` itself while too little of it is there."""
        if len(data) - at < _HEAD.size:
            return at
        length, kind, number = map(int, _HEAD.unpack_from(data, at))
        begin, end = at + _HEAD.size, at + _COUNT.size + length
        if kind == _DATA:
            begin += _COUNT.size  # which says no more than the answer's own length
            block = self._blocks.get(number)
            if block is None or not begin <= end <= begin + block.left:
                self._fail(asyncssh.SFTPBadMessage("other data came than was asked for"))
            elif len(data) >= begin:
                del self._blocks[number]
                self._rest = end - begin
                self._take(block, data[begin:end])
                return min(end, len(data))
            return at
        if length > _LONGEST:
            self._fail(asyncssh.SFTPBadMessage("an answer is too long"))
        if self._failed is not None or len(data) < end:
            return at
        self._settle(kind, 0 if kind == _VERSION else number, data[begin:end])
        return end

    def _take(self, block: _Block, piece: bytes) -> None:
        """Some of a block, or nothing at the file's end; a server may give less than it was asked for (section 6.4)."""
        block.pieces.append(piece)
        block.at += len(piece)
        block.left -= len(piece)
        self._rest -= len(piece)
        self._coming = block if self._rest else None
        if not self._rest and block.left and piece:
            self._request([block])
        elif not self._rest:
            block.over = True
            self._changed.set()

    def _settle(self, kind: int, number: int, told: bytes) -> None:
        block, answer = self._blocks.pop(number, None), self._answers.pop(number, None)
        refused = _refusal(told) if kind == _STATUS else None
        if block is not None and refused is not None and refused.code == _AT_THE_END:
            block.over = True
            self._changed.set()
        elif answer is None:
            self._fail(refused or asyncssh.SFTPBadMessage("an answer came that was not asked for"))
        elif not answer.done() and refused is not None:
            answer.set_exception(refused)
        elif not answer.done():
            answer.set_result(told)

    async def _ask(self, kind: int, number: int, told: bytes) -> bytes:
        """What is answered to a request; the first has a version in the number's place."""
        if self._failed is not None:
            raise self._failed
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._channel.write(_HEAD.pack(len(told) + 5, kind, number or _SPOKEN) + told)
        return await answer

    def _request(self, blocks: Sequence[_Block]) -> None:
        requests = []
        for block in blocks:
            number = self._next()
            self._blocks[number] = block
            head = _HEAD.pack(len(self._handle) + 17, _READ, number)
            requests.append(head + self._handle + struct.pack(">QI", block.at, block.left))
        if requests:
            self._channel.write(b"".join(requests))

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _fail(self, error: asyncssh.SFTPError) -> None:
        self._failed = self._failed or error
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(self._failed)
        self._changed.set()


def _refusal(told: bytes) -> asyncssh.SFTPError:
    if len(told) < 2 * _COUNT.size:
        return asyncssh.SFTPBadMessage("a refusal is cut off")
    code, length = struct.unpack_from(">II", told)
    reason = told[8 : 8 + length].decode(errors="replace")
    return _REFUSALS[code](reason) if code in _REFUSALS else asyncssh.SFTPError(code, reason)


async def open_large(link: SshConnection, path: str) -> LargeFile:
    """Open a file in a session of its own.

    Raises:
        asyncssh.SFTPError: the other side says no.
        AccessRefused, Unreachable: there is no connection.
    """

    async def begin(connection: asyncssh.SSHClientConnection) -> LargeFile:
        file = LargeFile()
        await connection.create_session(lambda: file, subsystem="sftp", encoding=None, window=WINDOW)
        return file

    file = await link.use(begin)
    try:
        await file.open(path.encode(errors="surrogateescape"))
    except BaseException:
        file.close()
        raise
    return file
