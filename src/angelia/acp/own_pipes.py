"""Our own stdin and stdout as the pipes of the program that started us."""

import asyncio
import os
import stat
import sys
from typing import Any

from angelia.acp.lines import LineWriter


async def own_pipes() -> tuple[asyncio.StreamReader, LineWriter] | None:
    """Both ways to it; whatever else prints to stdout from here on goes to stderr. None where one of them is a file
    or a device such as /dev/null, at which nobody can wait.
    """
    if not all(map(_can_be_waited_at, (0, 1))):
        return None
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    _, writer = await loop.connect_write_pipe(LineWriter, _private_stdout())
    return reader, writer


def _can_be_waited_at(fd: int) -> bool:
    """What asyncio registers without a word and then fails at, later and unseen, is told apart here."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


def _private_stdout() -> Any:
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "wb", buffering=0)
