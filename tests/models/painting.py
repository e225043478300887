"""A painter of the Images wire, opened before a server of the test's own."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from angelia.http.client import open_server
from angelia.http.server import HttpServer
from angelia.models.pictures.context import PainterContext, PictureTokens
from angelia.models.pictures.port import Painter
from angelia.models.pictures.registry import open_painter
from angelia.models.pictures.table import painter_row
from angelia.models.port import Credential

KEY = "key-of-the-tests"


async def by_the_thousand(tokens: PictureTokens, count: int) -> int:
    """A price that shows what was counted: a millionth for each token, a thousand for each picture."""
    return tokens.output or 1000 * count


@asynccontextmanager
async def painter_at(
    base_url: str, kind: str = "openai", model: str = "gpt-image-2", *, seconds: float = 20.0, workflow: str = ""
) -> AsyncIterator[Painter]:
    """A painter that is asked at `base_url`."""
    async with aclosing(await open_server(base_url, {})) as opened:

        async def server() -> HttpServer:
            return opened

        async def credential() -> Credential:
            return Credential("test", KEY)

        row = painter_row(kind, model)
        yield open_painter(
            PainterContext(
                name=f"{kind}:{model}",
                model=model,
                row=row,
                server=server,
                credential=credential,
                price=by_the_thousand,
                seconds=seconds,
                connect=5.0,
                workflow=workflow,
            )
        )
