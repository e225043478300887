"""One file that holds a folder: a gzipped tar that says first what it is and last the checksum of all that is in it.

`tar xzf` opens it, and `sha256sum --check files.sha256` checks it. Encrypted it is `encryption.py` around that.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

import msgspec
from msgspec import Struct

from angelia.core.errors import UNREADABLE, BadInput
from angelia.service.backups.contents import files_of
from angelia.service.backups.encryption import DecryptingReader, EncryptingWriter, is_encrypted
from angelia.service.files.transfers import Told, TransferProgress

HEAD = "backup.json"
SUMS = "files.sha256"
_FORMAT = 1
_LEVEL = 3
"""Of gzip: pictures do not get smaller, and text nearly as small as at 9, five times as fast."""
_CHUNK = 1 << 20


class ArchiveHead(Struct, frozen=True):
    """What an archive says of itself: who made it when (Unix milliseconds), of which home and whose, how many bytes.

    `keys` says whether keys and tokens are in it; `store` is where the log lay, empty for the home, in which it always
    lies in a backup.
    """

    angelia: str
    made_at: int
    home: str
    person: str
    keys: bool
    size: int = 0
    format: int = _FORMAT
    store: str = ""


def pack(folder: Path, into: BinaryIO, head: ArchiveHead, passphrase: str, told: Told) -> None:
    """Write all of `folder` into an open file, encrypted if there is a passphrase.

    Raises:
        MissingPart: the library that encrypts is not installed.
        OSError: the file could not be written.
    """
    found = [(name, path) for name, path in files_of(folder) if not path.is_symlink()]
    links = [(name, path) for name, path in files_of(folder) if path.is_symlink()]
    head = msgspec.structs.replace(head, size=sum(path.stat().st_size for _, path in found))
    progress = TransferProgress(head.size, told)
    sums = ""
    with (
        _sealed(into, passphrase) as sealed,
        gzip.GzipFile(fileobj=sealed, mode="wb", compresslevel=_LEVEL) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, HEAD, io.BytesIO(msgspec.json.encode(head)), 0o600)
        for name, path in found:
            with path.open("rb") as file:
                sums += f"{_add(tar, name, file, path.stat().st_mode & 0o777, progress)}  {name}\n"
        for name, path in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, str(path.readlink())
            tar.addfile(entry)
        _add(tar, SUMS, io.BytesIO(sums.encode("utf-8", "surrogateescape")), 0o600)
    progress.over()


@contextmanager
def _sealed(into: BinaryIO, passphrase: str) -> Iterator[BinaryIO]:
    if not passphrase:
        yield into
        return
    with EncryptingWriter(into, passphrase) as writer:
        yield cast("BinaryIO", writer)


def _add(tar: tarfile.TarFile, name: str, file: BinaryIO, mode: int, progress: TransferProgress | None = None) -> str:
    """Add an open file; returns its checksum."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = file.seek(0, io.SEEK_END), mode
    file.seek(0)
    read = _Hashed(file, progress)
    tar.addfile(entry, cast("BinaryIO", read))
    return read.sha256.hexdigest()


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, file: BinaryIO, progress: TransferProgress | None) -> None:
        self._file = file
        self._progress = progress
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._file.read(size)
        self.sha256.update(data)
        if self._progress:
            self._progress.moved(len(data))
        return data


def unpack(archive: Path, into: Path, passphrase: str, told: Told) -> ArchiveHead:
    """Write all that an archive holds into a new folder, every file checked; says what the archive says of itself.

    Raises:
        BadInput: it is no archive of ours, one of a newer version, encrypted under another passphrase, or not whole.
        MissingPart: the library that decrypts is not installed.
        OSError: the folder could not be written.
    """
    into.mkdir(mode=0o700)
    try:
        with _opened(archive, passphrase) as source, tarfile.open(fileobj=source, mode="r|") as tar:
            return _unpack(tar, into, archive, told)
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadInput(f"{archive} is no backup, or not a whole one: {error}.", then="Take another one.") from error


@contextmanager
def _opened(archive: Path, passphrase: str) -> Iterator[gzip.GzipFile]:
    try:
        file = archive.open("rb")
    except OSError as error:
        raise BadInput(f"{archive} cannot be read: {error.strerror}.") from error
    with file:
        inner: BinaryIO = file
        if is_encrypted(file):
            if not passphrase:
                raise BadInput(f"{archive} is encrypted.", then="Give its passphrase: --passphrase.")
            inner = cast("BinaryIO", io.BufferedReader(DecryptingReader(file, passphrase), _CHUNK))
        with gzip.GzipFile(fileobj=inner, mode="rb") as unzipped:
            yield unzipped


def _unpack(tar: tarfile.TarFile, into: Path, archive: Path, told: Told) -> ArchiveHead:
    entries = iter(tar)
    head = _head(tar, next(entries, None), archive)
    progress = TransferProgress(head.size, told)
    found, said, links = "", None, list[tuple[Path, str]]()
    for entry in entries:
        target = into / _safe(entry.name, archive)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if entry.issym():
            links.append((target, entry.linkname))
        elif (content := tar.extractfile(entry)) is not None:
            if entry.name == SUMS:
                said = content.read().decode("utf-8", "surrogateescape")
                continue
            found += f"{_written(content, target, entry.mode, progress)}  {entry.name}\n"
    for target, name in links:  # last, so that nothing is written through one
        target.symlink_to(name)
    if found != said:
        raise BadInput(f"{archive} does not hold what was put into it.", then="Take another one.")
    progress.over()
    return head


def _head(tar: tarfile.TarFile, entry: tarfile.TarInfo | None, archive: Path) -> ArchiveHead:
    content = tar.extractfile(entry) if entry is not None and entry.name == HEAD else None
    try:
        head = msgspec.json.decode(content.read() if content else b"", type=ArchiveHead)
    except UNREADABLE as error:
        raise BadInput(f"{archive} is no backup of Angelia's.") from error
    if head.format != _FORMAT:
        raise BadInput(
            f"{archive} was made by Angelia {head.angelia} in format {head.format}, and this one reads {_FORMAT}.",
            then="Restore it with a newer Angelia.",
        )
    return head


def _safe(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise BadInput(f"{archive} names a file outside the home: {name!r}.", then="Nothing was restored; look at it.")
    return path


def _written(content: "io.BufferedIOBase | object", target: Path, mode: int, progress: TransferProgress) -> str:
    digest = hashlib.sha256()
    with target.open("xb") as file:
        while piece := cast("BinaryIO", content).read(_CHUNK):
            digest.update(piece)
            file.write(piece)
            progress.moved(len(piece))
    target.chmod(mode & 0o700 | 0o400)
    return digest.hexdigest()
