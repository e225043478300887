"""What goes on as long as its process, whatever fails meanwhile: an error that ended it would be met by nobody.

The clock, the daily upkeep, the table on a terminal run beside all else, and nobody waits for them. Their tasks are
only looked at when the process ends: until then a reminder would not come, and nothing would say why.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from angelia.cancellation import end_if_cancelled
from angelia.core.errors import AngeliaError

logger = logging.getLogger(__name__)

AGAIN_S = 5.0
_WELL_S = 60.0
"""What ran so long was well again, and is told as stopped though it stops as it did before."""


async def keep_running(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Until it has ended by itself; after an error it is begun again. Each error is logged under the name `what`, with
    where it came from if it is a fault of ours, and once as long as it stays the same one.
    """
    told = ""
    while True:
        begun = time.monotonic()
        try:
            return await work()
        except Exception as error:
            end_if_cancelled()
            if repr(error) != told or time.monotonic() - begun > _WELL_S:
                told = repr(error)
                fault = None if isinstance(error, AngeliaError) else error
                logger.warning("%s stopped, and is tried again each %g s: %s", what, AGAIN_S, error, exc_info=fault)
        await asyncio.sleep(AGAIN_S)
