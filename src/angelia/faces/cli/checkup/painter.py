"""Looks at the painter: whether one is configured, and what it can be asked for; asking it would cost."""

from collections.abc import AsyncIterator

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.service.app import App


async def look_at_painter(app: App) -> AsyncIterator[CheckResult]:
    """What it can be asked for, where there is one; how to get one, where there is none."""
    if not app.painter.configured:
        yield absent("painter", "nobody is configured who makes pictures", app.painter.how_to_get_one)
        return
    from angelia.models.pictures.fitting import in_words

    try:
        painter = await app.painter.open()
    except AngeliaError as error:
        yield broken("painter", error.what, error.then or error.why)
        return
    yield well("painter", f"{painter.name}: {in_words(painter.able())} (not asked: it would cost)")
