"""A picture that a painter only names by its URL, fetched at once and under the egress rules."""

from collections.abc import Awaitable, Callable

from angelia.core.errors import AngeliaError, PolicyDenied
from angelia.core.text import one_line
from angelia.models.pictures.port import PaintFailed, PaintTrouble
from angelia.tools.port import Fetched
from angelia.tools.web.fetcher import FetchTooLarge


async def fetched_picture(url: str, fetch: Callable[[str], Awaitable[Fetched]]) -> bytes:
    """The bytes there. What a painter says is nobody's order: it reaches no address that a page could not.

    Raises:
        PaintFailed: FORBIDDEN_URL, TOO_LARGE or DEAD_URL.
    """
    try:
        fetched = await fetch(url)
    except PolicyDenied as error:
        raise PaintFailed(PaintTrouble.FORBIDDEN_URL, f"its picture is at {one_line(str(error), 300)}") from error
    except FetchTooLarge as error:
        raise PaintFailed(PaintTrouble.TOO_LARGE, one_line(str(error), 300)) from error
    except AngeliaError as error:
        raise PaintFailed(PaintTrouble.DEAD_URL, one_line(str(error), 300)) from error
    if fetched.status != 200:
        raise PaintFailed(PaintTrouble.DEAD_URL, f"{one_line(url, 200)} answers with HTTP {fetched.status}")
    return fetched.body
