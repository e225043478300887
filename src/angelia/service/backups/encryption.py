"""Bytes encrypted under a passphrase, in pieces that can neither be altered, swapped nor cut off unseen.

The file begins with `MAGIC` and 16 random bytes. The key is scrypt of the passphrase and those (RFC 7914; N 2^17, r 8,
p 1, which takes 128 MiB). Each piece of 1 MiB is sealed by AES-256-GCM under a nonce of 11 bytes that count the pieces
and one that is 1 for the last (the STREAM construction, https://eprint.iacr.org/2015/189), with the head as associated
data. A key is used for one file, so no nonce comes twice.
"""

import hashlib
import io
import os
from typing import TYPE_CHECKING, BinaryIO

from angelia.core.errors import BadInput, MissingPart

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"angelia backup, encrypted 1\n"
_SALT = 16
_PIECE = 1 << 20
_TAG = 16
_SCRYPT = {"n": 1 << 17, "r": 8, "p": 1, "maxmem": 1 << 28, "dklen": 32}


class EncryptingWriter(io.RawIOBase):
    """What is written goes encrypted into `target`; `close` writes the last piece, and leaves `target` open."""

    def __init__(self, target: BinaryIO, passphrase: str) -> None:
        """Raises MissingPart: the library that encrypts is not installed."""
        self._target = target
        self._held = bytearray()
        self._count = 0
        self._head = MAGIC + os.urandom(_SALT)
        self._cipher = _cipher(passphrase, self._head)
        target.write(self._head)

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: object) -> int:
        """Take it all."""
        taken = memoryview(data).cast("B")  # type: ignore[arg-type]  # any buffer, as RawIOBase has it
        self._held += taken
        while len(self._held) > _PIECE:  # the last piece is not known to be the last before the end
            self._seal(bytes(self._held[:_PIECE]), last=False)
            del self._held[:_PIECE]
        return len(taken)

    def close(self) -> None:
        """Write what is left as the last piece."""
        if not self.closed:
            self._seal(bytes(self._held), last=True)
        super().close()

    def _seal(self, piece: bytes, *, last: bool) -> None:
        self._target.write(self._cipher.encrypt(_nonce(self._count, last=last), piece, self._head))
        self._count += 1


class DecryptingReader(io.RawIOBase):
    """What `EncryptingWriter` wrote, as it was."""

    def __init__(self, source: BinaryIO, passphrase: str) -> None:
        """Raises MissingPart: the library that decrypts is not installed."""
        self._source = source
        self._count = 0
        self._open = b""
        self._head = source.read(len(MAGIC) + _SALT)
        self._cipher = _cipher(passphrase, self._head)
        self._next = source.read(_PIECE + _TAG)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: object) -> int:
        """As `RawIOBase.readinto`.

        Raises:
            BadInput: the passphrase is another, or the file was changed or cut off.
        """
        into = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # any buffer, as RawIOBase has it
        if not self._open and self._next:
            self._open = self._unseal()
        taken = self._open[: len(into)]
        into[: len(taken)] = taken
        self._open = self._open[len(taken) :]
        return len(taken)

    def _unseal(self) -> bytes:
        from cryptography.exceptions import InvalidTag

        piece, self._next = self._next, self._source.read(_PIECE + _TAG)
        try:
            opened = self._cipher.decrypt(_nonce(self._count, last=not self._next), piece, self._head)
        except InvalidTag as error:
            raise _refused(self._count) from error
        self._count += 1
        return opened


def is_encrypted(source: BinaryIO) -> bool:
    """Whether a file that was just opened is one of these; it is left at its beginning."""
    head = source.read(len(MAGIC))
    source.seek(0)
    return head == MAGIC


def _nonce(count: int, *, last: bool) -> bytes:
    return count.to_bytes(11) + bytes([last])


def _cipher(passphrase: str, head: bytes) -> "AESGCM":
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingPart("An encrypted backup", "encryption") from error
    return AESGCM(hashlib.scrypt(passphrase.encode(), salt=head[len(MAGIC) :], **_SCRYPT))


def _refused(count: int) -> BadInput:
    if not count:
        return BadInput("The backup cannot be decrypted.", "The passphrase is another one, or the file was changed.")
    return BadInput(f"The backup is not what was written, from {count} MB on.", "It was changed or cut off.")
