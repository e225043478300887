"""A large file over SFTP comes whole from a server that takes every liberty the protocol gives it."""

import asyncio
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncssh
import pytest

from angelia.sandboxes.ssh.connection import Host, SshConnection
from angelia.sandboxes.ssh.large_files import LargeFile, open_large

pytestmark = pytest.mark.anyio

SAFETY_NET = 60.0
BLOCK = 100_000
VERSION, STATUS, HANDLE, DATA, ATTRS = 2, 101, 102, 103, 105


class Slovenly(asyncssh.SSHServerSession[bytes]):
    """Serves one file; gives half of what is asked for, and the file's beginning after what is asked for next."""

    _channel: "asyncssh.SSHServerChannel[bytes]"

    def __init__(self, content: bytes) -> None:
        self._content, self._asked, self._held = content, b"", b""

    def connection_made(self, chan: "asyncssh.SSHServerChannel[bytes]") -> None:
        """The session is open."""
        self._channel = chan

    def subsystem_requested(self, subsystem: str) -> bool:
        """Whether it is spoken here."""
        return subsystem == "sftp"

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Some of the requests."""
        self._asked += data
        while len(self._asked) >= 4 and len(self._asked) >= 4 + (length := struct.unpack_from(">I", self._asked)[0]):
            asked, self._asked = self._asked[4 : 4 + length], self._asked[4 + length :]
            kind, told = self._answer(asked)
            answer = struct.pack(">IB", len(told) + 5, kind) + asked[1:5] + told
            if kind == DATA and not struct.unpack(">Q", asked[-12:-4])[0]:
                self._held = answer
            else:
                self._channel.write(answer + self._held)
                self._held = b""

    def _answer(self, asked: bytes) -> tuple[int, bytes]:
        match asked[0]:
            case 1:  # SSH_FXP_INIT
                return VERSION, b""
            case 3:  # SSH_FXP_OPEN
                return HANDLE, struct.pack(">I", 1) + b"h"
            case 8:  # SSH_FXP_FSTAT
                return ATTRS, struct.pack(">IQIIIII", 0b1111, len(self._content), 0, 0, 0o100644, 0, 0)
            case _:
                at, size = struct.unpack(">QI", asked[-12:])
                some = self._content[at : at + (size + 1) // 2]
                return (DATA, struct.pack(">I", len(some)) + some) if some else (STATUS, struct.pack(">III", 1, 0, 0))


@asynccontextmanager
async def served(folder: Path, monkeypatch: pytest.MonkeyPatch, slovenly: bytes = b"") -> AsyncIterator[SshConnection]:
    """A link to a server of SFTP, a slovenly one of one file if that is given."""

    class Serving(asyncssh.SSHServer):
        def session_requested(self) -> "asyncssh.SSHServerSession[bytes]":
            return Slovenly(slovenly)

    key = asyncssh.generate_private_key("ssh-ed25519")
    serving = asyncssh.listen(
        "127.0.0.1",
        0,
        server_factory=Serving,
        server_host_keys=[key],
        authorized_client_keys=asyncssh.import_authorized_keys(key.export_public_key().decode()),
        sftp_factory=not slovenly,
        encoding=None,
    )
    async with serving as server, asyncio.timeout(SAFETY_NET):
        ssh = folder / ".ssh"
        ssh.mkdir(mode=0o700)
        key.write_private_key(ssh / "id_ed25519")
        (ssh / "known_hosts").write_bytes(b"[127.0.0.1]:%d " % server.get_port() + key.export_public_key())
        monkeypatch.setenv("HOME", str(folder))
        link = SshConnection(Host(f"127.0.0.1:{server.get_port()}"))
        link.hold()
        try:
            yield link
        finally:
            await link.let_go()


async def whole(file: LargeFile, size: int) -> bytes:
    """All that comes."""
    return b"".join([chunk async for chunk in file.blocks(size, BLOCK)])


@pytest.mark.parametrize("usual", [True, False])
async def test_short_answers_in_any_order_make_the_file(
    usual: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(30 * BLOCK + 7)
    (tmp_path / "file").write_bytes(content)
    serving = served(tmp_path, monkeypatch, b"" if usual else content)
    async with serving as link, await open_large(link, f"{tmp_path}/file") as file:
        assert (await file.stat()).size == len(content)
        assert await whole(file, len(content)) == content
        assert await whole(file, len(content) + 2 * BLOCK) == content, "it ends where the file does"


async def test_what_cannot_be_opened_is_refused_by_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(tmp_path, monkeypatch) as link:
        with pytest.raises(asyncssh.SFTPNoSuchFile):
            await open_large(link, f"{tmp_path}/nothing")
