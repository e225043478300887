"""Angelia's command line whose clean-up takes for ever, and says when it has begun: a sandbox that does not answer."""

import asyncio
import os
import sys

from angelia.__main__ import main as angelia
from angelia.service.app import App
from angelia.service.conversation.conversations import Conversations

BEGUN = "it is cleaned up"


async def for_ever(*_: object) -> None:
    """What ends something."""
    os.write(sys.stderr.fileno(), BEGUN.encode())
    await asyncio.Event().wait()


def main() -> None:
    """Run it; the home is never closed."""
    App.close = for_ever  # type: ignore[assignment, method-assign]  # it takes whatever they take
    angelia()


def leaving() -> None:
    """Run it; no conversation is ever left."""
    Conversations.leave = for_ever  # type: ignore[assignment, method-assign]  # it takes whatever they take
    angelia()


if __name__ == "__main__":
    main()
