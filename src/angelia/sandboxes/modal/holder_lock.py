"""Who of this home holds a sandbox at Modal: a lock that the kernel takes back from the dead (flock(2))."""

import asyncio
import fcntl
import os
from pathlib import Path


class Hold:
    """One holder's part in the lock of a conversation's `folder`."""

    def __init__(self, folder: Path) -> None:
        self._path, self._handle = folder / "held", -1

    async def take(self) -> None:
        """Hold it, with others who do; waits for one who is alone with it. May be repeated."""
        if self._handle < 0:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            await self.share()

    async def alone(self) -> bool:
        """Whether nobody else holds it; if so, nobody will until it is shared or released."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await self.share()  # the try has cost us our part
            return False
        return True

    async def share(self) -> None:
        """Hold it with others."""
        await asyncio.to_thread(fcntl.flock, self._handle, fcntl.LOCK_SH)

    def release(self) -> None:
        """Hold it no more."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_held(folder: Path) -> bool:
    """Whether anybody holds it."""
    try:
        handle = os.open(folder / "held", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
