"""A desktop that draws into memory, and a hand on it: pointer and keys as an X server tells them (XTEST)."""

import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

KEYS = {
    "Escape": 9,
    "Tab": 23,
    "Enter": 36,
    "Control": 37,
    "w": 25,
    **dict(zip("qwertyuiop", range(24, 34), strict=True)),
}
"""Codes of an X server's own keyboard, as it is without settings: of a PC's, plus 8."""
_PRESS, _RELEASE, _BUTTON_PRESS, _BUTTON_RELEASE, _MOTION = 2, 3, 4, 5, 6
_ERROR, _ANSWER, _HEAD = 0, 1, 32


@contextmanager
def desktop() -> Iterator[str]:
    """An X server without a window manager; its name, as DISPLAY has it."""
    told, tells = os.pipe()
    argv = [
        shutil.which("Xvfb") or "Xvfb",
        "-displayfd",
        str(tells),
        "-screen",
        "0",
        "1400x1000x24",
        "-nolisten",
        "tcp",
    ]
    with subprocess.Popen(argv, pass_fds=(tells,), stderr=subprocess.DEVNULL) as server:
        os.close(tells)
        with os.fdopen(told) as said:
            name = f":{said.readline().strip()}"
        try:
            yield name
        finally:
            server.terminate()


class DesktopHand:
    """A client of the X server that presses what a person would. X11 protocol, version 11; XTEST, version 2.2."""

    def __init__(self, name: str) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(f"/tmp/.X11-unix/X{name.removeprefix(':')}")
        self._line.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
        status, length = struct.unpack("<BxxxxxH", self._read(8))
        setup = self._read(length * 4)
        assert status == _ANSWER, setup
        vendor, formats = struct.unpack_from("<H", setup, 16)[0], setup[21]
        (self._root,) = struct.unpack_from("<I", setup, 32 + (vendor + 3) // 4 * 4 + formats * 8)
        words = b"XTEST\0\0\0"
        _, there, self._xtest = struct.unpack_from("<BxxxxxxxBB", self._asked(struct.pack("<BxHHxx", 98, 4, 5) + words))
        assert there, "This X server knows no XTEST."

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def windows(self) -> list[tuple[int, int, int, int]]:
        """Place and size of each window that is shown, in pixels."""
        answer = self._asked(struct.pack("<BxHI", 15, 2, self._root))
        (count,) = struct.unpack_from("<H", answer, 16)
        found = []
        for window in struct.unpack_from(f"<{count}I", answer, _HEAD):
            with suppress(LookupError):  # it has gone meanwhile
                shown = self._asked(struct.pack("<BxHI", 3, 2, window))[26]
                x, y, width, height = struct.unpack_from("<hhHH", self._asked(struct.pack("<BxHI", 14, 2, window)), 12)
                if shown and width > 100:
                    found.append((x, y, width, height))
        return found

    def colour(self, x: int, y: int) -> int:
        """Of one pixel of the screen, as 0xRRGGBB."""
        answer = self._asked(struct.pack("<BBHIhhHHI", 73, 2, 5, self._root, x, y, 1, 1, 0xFFFFFFFF))
        return int(struct.unpack_from("<I", answer, _HEAD)[0]) & 0xFFFFFF

    def clicks(self, x: int, y: int) -> None:
        """Move there, press and let go."""
        self._does(_MOTION, 0, x, y)
        self._does(_BUTTON_PRESS, 1)
        self._does(_BUTTON_RELEASE, 1)

    def presses(self, *keys: str) -> None:
        """Keys that are held together."""
        for key in keys:
            self._does(_PRESS, KEYS[key])
        for key in reversed(keys):
            self._does(_RELEASE, KEYS[key])

    def _does(self, kind: int, detail: int, x: int = 0, y: int = 0) -> None:
        self._line.sendall(
            struct.pack("<BBHBBxxIIxxxxxxxxhhxxxxxxxx", self._xtest, 2, 9, kind, detail, 0, self._root, x, y)
        )
        self.windows()  # what was asked before is done when this is answered

    def _asked(self, request: bytes) -> bytes:
        self._line.sendall(request)
        while (head := self._read(_HEAD))[0] not in (_ERROR, _ANSWER):
            pass  # an event: nothing that we asked for
        if head[0] == _ERROR:
            raise LookupError(f"The X server refuses: {head.hex()}.")
        return head + self._read(struct.unpack_from("<I", head, 4)[0] * 4)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._line.recv(size - len(data))
            assert more, "The X server has gone."
            data += more
        return data
