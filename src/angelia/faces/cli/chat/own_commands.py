"""Commands that the person runs in the conversation themselves (`!ls`), beside whatever else goes on."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import AngeliaError, BadInput


def own_command(text: str) -> str:
    """The command that a typed text gives; empty for a message.

    >>> own_command("!ls -la"), own_command("Watch out!")
    ('ls -la', '')

    Raises:
        BadInput: there is none behind the mark.
    """
    if text.rstrip() == "!":
        raise BadInput(
            "An exclamation mark alone runs nothing.",
            "Nothing was sent to the model.",
            "A command line behind it is run here, such as !ls. A space before it makes it a message.",
        )
    return text[1:].strip() if text.startswith("!") else ""


class OwnCommands:
    """Those that run now. Nobody waits for them; `warn` says why one was not run."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, run: Coroutine[Any, Any, None]) -> None:
        """Run one."""
        task = asyncio.create_task(self._run(run))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, run: Coroutine[Any, Any, None]) -> None:
        try:
            await run
        except AngeliaError as error:
            self._warn(str(error))

    async def stop(self) -> bool:
        """End those that run, and wait until the log says so; False when none does."""
        running = tuple(self._running)
        await cancel_and_wait(*running)
        return bool(running)
