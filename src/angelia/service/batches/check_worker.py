"""The process in which checks in Python run, one after the other: whatever they do, they do it to it alone.

    python -P -m angelia.service.batches.check_worker SOCKET LIFE FILE

`SOCKET` and `LIFE` are descriptors: over the first it is told of tasks and asks for what a check wants; when the second
ends, whoever started it is gone, and so is it, with all that it has started.
"""

import asyncio
import importlib.util
import inspect
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from angelia.service.batches.check_context import CheckContext, MissingFile, SandboxLost
from angelia.service.batches.check_frames import CheckQuestions, NobodyThere, receive, send

_MOST_WORDS = 10_000


def main() -> None:
    """Serve until nobody wants anything more."""
    wire, life, file = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    asyncio.run(_serve(wire, file))


def _end_with(life: int) -> None:
    os.read(life, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)


async def _serve(wire: int, file: Path) -> None:
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=wire))
    check: Callable[[CheckContext], Any] | None = None
    while True:
        try:
            told = await receive(reader)
        except NobodyThere:
            return
        questions = CheckQuestions(reader, writer)
        try:
            check = check or _loaded(file)
            said = check(CheckContext(told, questions))
            came: dict[str, object] = {"said": _plain(await said if inspect.isawaitable(said) else said)}
        except (AssertionError, MissingFile) as error:
            came = {"said": [False, _words(error, file)]}
        except SandboxLost as error:
            came = {"lost": str(error)}
        except BaseException as error:  # noqa: BLE001 - a check is anybody's code, and its end is told
            came = {"crashed": _words(error, file)}
        await questions.end()
        await send(writer, came)


def _loaded(file: Path) -> Callable[[CheckContext], Any]:
    """The function `check` of a file; what lies beside the file can be imported."""
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location("check", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, "check", None)
    if not callable(found):
        raise TypeError(f"{file} has no function check(context)")
    checked: Callable[[CheckContext], Any] = found
    return checked


def _plain(said: object) -> object:
    """A value that can be sent; another one by what it looks like."""
    if isinstance(said, tuple | list) and len(said) == 2:
        return [_plain(said[0]), _sendable(str(said[1]))]
    if isinstance(said, str):
        return _sendable(said)
    plain = isinstance(said, bool | float | None) or (isinstance(said, int) and abs(said) < 1 << 63)
    return said if plain else {"shown": _sendable(repr(said))[:200]}


def _words(error: BaseException, file: Path) -> str:
    """What was raised, and where in the check."""
    rows = [row.lineno for row in traceback.extract_tb(error.__traceback__) if row.filename == str(file)]
    where = f"line {rows[-1]}: " if rows else ""
    name = type(error).__name__
    said = str(error)
    return _sendable(where + (said if isinstance(error, MissingFile) else f"{name}: {said}" if said else name))


def _sendable(words: str) -> str:
    """No longer than anybody reads, and without what UTF-8 does not have."""
    return words[:_MOST_WORDS].encode(errors="replace").decode()


if __name__ == "__main__":
    main()
