"""SFTP's errors in the port's words."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncssh

from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import AccessRefused, NoSuchFile, OutOfSpace, SandboxError, Unreachable

_READ_ONLY = 1
"""`SSH_FXE_STATVFS_ST_RDONLY` (OpenSSH, PROTOCOL, section 4.3)."""


@contextmanager
def plain_words(path: str) -> Iterator[None]:
    """SFTP's errors in the port's words."""
    try:
        yield
    except (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection, asyncssh.ConnectionLost, ConnectionError) as error:
        raise Unreachable(f"The connection was cut while {shown(path)} was moved.", then="Try again.") from error
    except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath, asyncssh.SFTPNotADirectory) as error:
        raise NoSuchFile(f"There is no {shown(path)}.") from error
    except asyncssh.SFTPBadMessage as error:  # OpenSSH's word for a name that is too long
        raise NoSuchFile(f"{shown(path)} is no name that the other machine takes.") from error
    except (asyncssh.SFTPPermissionDenied, asyncssh.SFTPWriteProtect) as error:
        raise AccessRefused(f"{shown(path)}: permission denied.") from error
    except asyncssh.SFTPError as error:
        raise SandboxError(f"{shown(path)}: the other machine says {error.reason!r}.") from error


async def refusal(sftp: asyncssh.SFTPClient, folder: str, path: str) -> OutOfSpace | AccessRefused | None:
    """What "Failure" means for a write into `folder`: SFTP had no words for a full or a read-only disk before version
    5, so the file system is asked (`statvfs@openssh.com`). None where that explains nothing.
    """
    try:
        there = await sftp.statvfs(folder)
    except asyncssh.SFTPError:
        return None
    if there.flags & _READ_ONLY:
        return AccessRefused(f"{shown(path)} lies on a disk of the other machine that is read-only.")
    if there.bavail == 0:
        return OutOfSpace(f"The disk of the other machine is full; {shown(path)} was not changed.")
    return None
