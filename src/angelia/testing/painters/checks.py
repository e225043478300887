"""What every painter has to keep, as claims to run against your own."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from angelia.context.media_forms import Pixels
from angelia.models.pictures.fitting import fitting
from angelia.models.pictures.port import Painter, PaintFailed, PaintTrouble, PaintWish, SourcePicture
from angelia.testing.model.pictures import one_colour, true_mime


async def no_fetching(url: str) -> bytes:
    """For a painter that is to hand over its pictures itself."""
    raise PaintFailed(PaintTrouble.FORBIDDEN_URL, url)


async def check_painter(
    open_painter: Callable[[], Awaitable[Painter]],
    *,
    fetch: Callable[[str], Awaitable[bytes]] = no_fetching,
    cancel: bool = True,
) -> None:
    """Ask a painter for everything that it says it can do: each size, each shape, as many and from as many pictures.

    With `cancel`, one request is given up halfway. It may cost: give it a server of the test's own.

    Raises:
        AssertionError: what it does not keep, in a sentence.
    """
    painter = await open_painter()
    able = painter.able()
    assert painter.name.strip(), "a painter has a name, which person and model read"
    assert able == painter.able(), "what it can do is always the same"
    assert able.count >= 1, "it makes at least one picture"
    given = SourcePicture(one_colour("red"), "image/png", 64, 64)
    wish = PaintWish("A red square.", (given,) * able.least)
    wishes = [wish]
    wishes += [replace(wish, size=size) for size in (*able.sizes, *able.ratios)]
    wishes += [replace(wish, size=Pixels(512, 512))] if able.step and 512 % able.step == 0 else []
    wishes += [replace(wish, count=able.count)] if able.count > 1 else []
    wishes += [replace(wish, pictures=(given,) * able.pictures)] if able.pictures else []
    wishes += [replace(wish, pictures=(given,) * max(able.least, 1), mask=(given,))] if able.mask else []
    wishes += [replace(wish, transparent=True)] if able.transparent else []
    wishes += [replace(wish, seed=7)] if able.seed else []
    for one in wishes:
        await _paints(painter, fitting(one, able, painter.name), fetch)
    if cancel:
        await _is_given_up(painter, wish, fetch)


async def _paints(painter: Painter, wish: PaintWish, fetch: Callable[[str], Awaitable[bytes]]) -> None:
    painted = await painter.paint(wish, fetch, lambda line: None)
    assert painted.pictures, f"no picture, and no failure either: {wish.prompt}"
    assert painted.cost >= -1, "a cost is millionths of a dollar, or -1"
    for data in painted.pictures:
        assert true_mime(data).startswith("image/"), f"what came is no picture: it begins {data[:8]!r}"
    few = len(painted.pictures) != wish.count
    assert not few or painted.notes, f"{len(painted.pictures)} of {wish.count} came, and it says nothing of it"


async def _is_given_up(painter: Painter, wish: PaintWish, fetch: Callable[[str], Awaitable[bytes]]) -> None:
    task = asyncio.ensure_future(painter.paint(wish, fetch, lambda line: None))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return
    raise AssertionError("a request that is given up ends as given up")
