"""What channels are sent past asyncssh's packet reader is what asyncssh would have given them."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle

import asyncssh
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from angelia.sandboxes.ssh.fastpath import FastPath

pytestmark = pytest.mark.anyio

SAFETY_NET = 60.0
CONTENT = os.urandom(3_000_007)
KEY = asyncssh.generate_private_key("ssh-ed25519")
GCM = "aes256-gcm@openssh.com"
Process = asyncssh.SSHServerProcess[bytes]


class Reader(asyncssh.SSHClientSession[bytes]):
    """Keeps what comes until the session is over, or leaves it lying."""

    def __init__(self, *, reads: bool = True) -> None:
        self.came, self.over = b"", asyncio.Event()
        self.error: Exception | None = None
        self._reads = reads

    def connection_made(self, chan: "asyncssh.SSHClientChannel[bytes]") -> None:
        """The session is open."""
        if not self._reads:
            chan.pause_reading()

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Some of it."""
        assert type(data) is bytes
        self.came += data

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self.error = exc
        self.over.set()


async def say_it(process: Process) -> None:
    """All of it, and some words beside it."""
    process.stderr.write(b"beside it")
    process.stdout.write(CONTENT)
    await process.stdout.drain()
    process.exit(0)


async def say_more_than_there_is_room(process: Process) -> None:
    """The same, whatever the other side said how much it takes."""
    process.channel._send_window = 1 << 40
    await say_it(process)


@asynccontextmanager
async def connected(
    say: Callable[[Process], object] = say_it, cipher: str = GCM, rekeyed: int = 1 << 30, **how: object
) -> AsyncIterator[asyncssh.SSHClientConnection]:
    """A connection to a server whose every session has `say` run, and which changes keys after so many bytes."""
    keys = asyncssh.import_authorized_keys(KEY.export_public_key().decode())
    serving = asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[KEY],
        authorized_client_keys=keys,
        process_factory=say,
        rekey_bytes=rekeyed,
        line_editor=False,
        encoding=None,
    )
    async with asyncio.timeout(SAFETY_NET), serving as server:
        place = {
            "port": server.get_port(),
            "client_keys": [KEY],
            "known_hosts": None,
            "config": None,
            "agent_path": None,
        }
        connecting = asyncssh.connect(
            "127.0.0.1", client_factory=FastPath, encryption_algs=[cipher], username="she", **(place | how)
        )
        async with connecting as connection:
            yield connection


async def read(connection: asyncssh.SSHClientConnection) -> Reader:
    """What one session says, to its end."""
    reader = Reader()
    await connection.create_session(lambda: reader, "go", encoding=None, window=1 << 20)
    await reader.over.wait()
    return reader


def taken(connection: asyncssh.SSHClientConnection) -> int:
    """Packets that asyncssh was spared."""
    assert isinstance(connection._owner, FastPath)
    return connection._owner.taken


def bend(connection: asyncssh.SSHClientConnection, how: Callable[[bytes], Iterator[bytes]]) -> None:
    """Let something happen to what comes before the connection has it."""
    straight = connection.data_received

    def bent(data: bytes, datatype: int | None = None) -> None:
        for piece in how(data):
            straight(piece, datatype)

    connection.data_received = bent  # type: ignore[method-assign]


def ends_of(connection: asyncssh.SSHClientConnection) -> list[Exception | None]:
    """Why the connection will have ended."""
    ends: list[Exception | None] = []
    assert connection._owner is not None
    connection._owner.connection_lost = ends.append  # type: ignore[assignment, method-assign]
    return ends


async def test_the_release_that_is_installed_is_one_whose_insides_are_known() -> None:
    async with connected() as connection:
        reader = await read(connection)
        assert len(reader.came) == len(CONTENT) + len(b"beside it")
        assert taken(connection) * 32 * 1024 >= len(CONTENT), "all that is no news of the channel"


async def test_another_release_reads_all_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncssh, "__version__", "2.25.0")
    async with connected() as connection:
        assert CONTENT in (await read(connection)).came
        assert taken(connection) == 0


@given(st.lists(st.integers(1, 70_000) | st.integers(1, 40), min_size=1, max_size=8))
@settings(max_examples=15, deadline=None)
async def test_packets_come_in_pieces_of_any_size(sizes: Sequence[int]) -> None:
    sizes_again = cycle([*sizes, 4096])

    def cut(data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            size = next(sizes_again)
            yield data[at : at + size]
            at += size

    async with connected() as connection:
        bend(connection, cut)
        assert CONTENT in (await read(connection)).came
        assert taken(connection)


@pytest.mark.parametrize("cipher", [GCM, "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr"])
async def test_keys_that_change_in_the_middle_are_the_right_ones(cipher: str) -> None:
    async with connected(cipher=cipher, rekeyed=200_000) as connection:
        readers = await asyncio.gather(*(read(connection) for _ in range(3)))
        assert all(CONTENT in reader.came for reader in readers)
        assert bool(taken(connection)) == ("gcm" in cipher)


async def test_what_is_compressed_is_left_to_asyncssh() -> None:
    async with connected(compression_algs=["zlib@openssh.com"]) as connection:
        assert CONTENT in (await read(connection)).came
        assert taken(connection) == 0


async def test_a_bit_that_is_turned_over_ends_the_connection_before_anybody_reads_it() -> None:
    before = 0

    def turn(data: bytes) -> Iterator[bytes]:
        nonlocal before
        at = 1_500_000 - before
        before += len(data)
        yield data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] if 0 <= at < len(data) else data

    async with connected() as connection:
        bend(connection, turn)
        reader = await read(connection)
        assert isinstance(reader.error, asyncssh.MACError)
        said = reader.came.replace(b"beside it", b"")
        assert len(said) < 1_500_000
        assert CONTENT.startswith(said)


async def test_more_than_there_is_room_for_ends_the_connection() -> None:
    async with connected(say_more_than_there_is_room) as connection:
        ends = ends_of(connection)
        await connection.create_session(lambda: Reader(reads=False), "go", encoding=None, window=1 << 20)
        await connection.wait_closed()
    assert isinstance(ends[0], asyncssh.ProtocolError)


async def test_a_packet_that_is_said_to_be_huge_ends_the_connection_at_once() -> None:
    def lengthen(data: bytes) -> Iterator[bytes]:
        yield b"\x7f" + data[1:]

    async with connected() as connection:
        ends = ends_of(connection)
        bend(connection, lengthen)
        with pytest.raises(asyncssh.ChannelOpenError):
            await read(connection)
        await connection.wait_closed()
    assert isinstance(ends[0], asyncssh.ProtocolError)
