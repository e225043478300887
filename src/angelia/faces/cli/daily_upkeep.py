"""The home's daily upkeep on the way out of a command."""

import asyncio
import signal
from typing import TYPE_CHECKING

from angelia.faces.cli.progress import working

if TYPE_CHECKING:
    from angelia.service.upkeep import Upkeep

LEFT = "the daily upkeep is left for the next time"


async def tidied(upkeep: "Upkeep") -> list[str]:
    """What a person has to know of it. With a large log it takes minutes, which is said; Ctrl-C leaves it for the next
    command.
    """
    loop, work = asyncio.get_running_loop(), asyncio.ensure_future(upkeep.tidy())
    loop.add_signal_handler(signal.SIGINT, work.cancel)
    try:
        with working("looking after the log, once a day; Ctrl-C leaves it for the next time"):
            await asyncio.wait([work])
    finally:
        loop.remove_signal_handler(signal.SIGINT)
    return [LEFT] if work.cancelled() else work.result()
