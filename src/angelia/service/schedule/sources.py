"""What begins turns beside the clock, followed by whoever keeps time: mailboxes and folders."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.service.chats.open_channel import wait
from angelia.service.schedule.clockwork import LONGEST_SLEEP_S
from angelia.service.schedule.folders import Folders
from angelia.service.schedule.mailboxes import Mailboxes
from angelia.service.schedule.outside import OutsideServices

logger = logging.getLogger("angelia.schedule")

Follow = Callable[[str, asyncio.Event], Awaitable[None]]


class Sources:
    """Every mailbox and folder of the settings; each is followed by itself."""

    def __init__(self, services: OutsideServices) -> None:
        mailboxes, folders = Mailboxes(services), Folders(services)
        follow: list[tuple[str, Follow]] = [(name, mailboxes.follow) for name in services.mailboxes]
        follow += [(name, folders.follow) for name in services.folders]
        self._woken = [asyncio.Event() for _ in follow]
        self._tasks = [
            asyncio.create_task(_followed(name, one, woken))
            for (name, one), woken in zip(follow, self._woken, strict=True)
        ]

    def wake(self) -> None:
        """Schedules may have changed."""
        for woken in self._woken:
            woken.set()

    async def close(self) -> None:
        """Follow none any more; what comes is found at the next start."""
        await cancel_and_wait(*self._tasks)


async def _followed(name: str, follow: Follow, woken: asyncio.Event) -> None:
    while True:
        try:
            await follow(name, woken)
        except Exception:
            logger.exception("%s cannot be followed now, and is again in %g s", name, LONGEST_SLEEP_S)
        end_if_cancelled()
        await wait(None, LONGEST_SLEEP_S)
