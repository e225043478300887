"""What channels are sent over AES-GCM connections, decrypted where it lies and handed to them.

asyncssh copies each packet nine times and makes thirty calls for it; without these a large file takes two thirds of
the processor time. Here only plain data for an open channel is taken (RFC 4254, section 5.2, in packets of RFC 5647).
All other packets, and whatever is out of order, asyncssh is given as they came; it knows what is to be done about them.
This leans on names that asyncssh does not promise, so another release of it reads everything by itself.
"""
# ruff: noqa: SLF001

import struct

import asyncssh
from asyncssh.encryption import GCMEncryption
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KNOWN = "2.24."
"""The release of asyncssh that is as is said above."""
PIECE = 64 * 1024
"""Bytes that asyncssh is given at once. It takes packets of 32 KiB off the front of what it holds and copies the rest
each time: with the 256 KiB that a loop reads at once, other ciphers cost a quarter more processor time.
"""

_LENGTH = 4
"""Bytes that say how long a packet is, and are not encrypted."""
_TAG = 16
"""Bytes behind a packet that vouch for it and its length."""
_HEAD = struct.Struct(">BBII")
"""The length of the padding, the kind, the channel and the length of its data."""
_DATA = 94


class FastPath(asyncssh.SSHClient):
    """Stands before a connection, as its client; `taken` counts the packets that it spared it."""

    _connection: asyncssh.SSHClientConnection

    def __init__(self) -> None:
        self.taken = 0
        self._begun = b""
        self._encryption: GCMEncryption | None = None
        self._key = AESGCM(bytes(16))

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """The connection is there; it calls nobody else before bytes come."""
        self._connection = conn
        self._read = conn.data_received
        knows = asyncssh.__version__.startswith(KNOWN)
        conn.data_received = self._received if knows else self._in_pieces  # type: ignore[method-assign]

    def _received(self, data: bytes, datatype: int | None = None) -> None:
        """More of what the other side sends; a packet goes on in the next data, and so may its length."""
        self._read(b"")  # a sign of life, which puts off the next question for one
        data, self._begun = self._begun + data, b""
        view, at = memoryview(data), 0
        while at < len(data):
            length = int.from_bytes(view[at : at + _LENGTH])
            if not self._stands_between_packets() or length > self._connection._max_recv_pktlen:
                self._in_pieces(data[at:])
                return
            end = at + _LENGTH + length + _TAG
            if end > len(data):
                self._begun = data[at:]
                return
            if self._take(view[at : at + _LENGTH], view[at + _LENGTH : end]):
                self.taken += 1
            else:
                self._read(data[at:end])
            at = end

    def _in_pieces(self, data: bytes, datatype: int | None = None) -> None:
        for begin in range(0, len(data), PIECE):
            self._read(data[begin : begin + PIECE])

    def _stands_between_packets(self) -> bool:
        """Whether the next byte is a packet's first, in our cipher; otherwise it is for asyncssh alone."""
        its = self._connection
        if its._inpbuf or its._recv_handler != its._recv_pkthdr or its._decompressor is not None:
            return False
        if isinstance(its._recv_encryption, GCMEncryption) and its._recv_encryption is not self._encryption:
            self._encryption = its._recv_encryption
            self._key = AESGCM(self._encryption._cipher._key)
        return its._recv_encryption is self._encryption is not None

    def _take(self, length: memoryview, sealed: memoryview) -> bool:
        """Hand on the data of a packet, unless asyncssh has to see it; nothing has changed then."""
        assert self._encryption is not None
        its, cipher = self._connection, self._encryption._cipher
        try:
            packet = self._key.decrypt(cipher._iv, sealed, length)
            padding, kind, number, size = _HEAD.unpack_from(packet)
        except (InvalidTag, struct.error):
            return False
        channel = its._channels.get(number)
        if kind != _DATA or channel is None or len(packet) != _HEAD.size + size + padding:
            return False
        if channel._recv_state != "open" or size > channel._recv_window:
            return False
        cipher._update_iv()
        its._recv_seq = (its._recv_seq + 1) & 0xFFFFFFFF
        channel._accept_data(packet[_HEAD.size : _HEAD.size + size])
        return True
