"""The fake Telegram in a process of its own, for tests that sit at a terminal and wait there."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from angelia.testing.networks.telegram_server import TOKEN

ID = "7001"
"""The id of the friend who writes there."""


class TelegramProcess:
    """Its address and the bot's token; what a friend says, and what arrives at them."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.url = self._line()
        assert self._line().endswith(TOKEN)
        self.token = TOKEN

    def hears(self, words: str) -> None:
        """A friend writes to the bot in private."""
        assert self._process.stdin
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()

    def shows(self, words: str) -> dict[str, Any]:
        """Wait for a message, not a draft, with these words in it."""
        while True:
            arrived: dict[str, Any] = json.loads(self._line())
            if words in arrived.get("text", "") and arrived["method"] == "sendMessage":
                return arrived

    def _line(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the fake Telegram has ended"
        return line.strip()


@contextmanager
def telegram_process() -> Iterator[TelegramProcess]:
    """The fake for the length of a `with`."""
    argv = [sys.executable, "-m", "angelia.testing.networks.telegram_server"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield TelegramProcess(process)
        finally:
            process.kill()
