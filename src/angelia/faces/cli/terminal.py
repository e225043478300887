"""The person's own terminal, handed over to a shell: each key goes through as it is pressed."""

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_CHUNK = 64 * 1024


class RawTerminal:
    """See `sandboxes.terminal.Terminal`. `raw_terminal` makes one, and puts everything back."""

    def __init__(self) -> None:
        self._keys: asyncio.Queue[bytes] = asyncio.Queue()
        self._act: Callable[[], None] = lambda: None

    @property
    def kind(self) -> str:
        """What it says it is."""
        return os.environ.get("TERM", "dumb")

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns now."""
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        return rows, columns

    async def read(self) -> bytes:
        """What was typed; nothing when the terminal is gone."""
        return await self._keys.get()

    def write(self, data: bytes) -> None:
        """Show it at once."""
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def on_resize(self, act: Callable[[], None]) -> None:
        """Call `act` whenever the window was resized."""
        self._act = act

    def pressed(self) -> None:
        """Something was typed."""
        self._keys.put_nowait(os.read(sys.stdin.fileno(), _CHUNK))

    def resized(self) -> None:
        """The window was resized."""
        self._act()


@contextmanager
def raw_terminal() -> Iterator[RawTerminal]:
    """Take the terminal over, and leave it as it was found."""
    handle, loop, terminal = sys.stdin.fileno(), asyncio.get_running_loop(), RawTerminal()
    before = termios.tcgetattr(handle)
    tty.setraw(handle, termios.TCSADRAIN)  # what was typed ahead stays
    loop.add_reader(handle, terminal.pressed)
    loop.add_signal_handler(signal.SIGWINCH, terminal.resized)
    try:
        yield terminal
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
        loop.remove_reader(handle)
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
