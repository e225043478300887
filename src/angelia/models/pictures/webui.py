"""Painters behind the API of Stable Diffusion's web interface: AUTOMATIC1111's, Forge's, stable-diffusion.cpp's.

`/sdapi/v1/txt2img` and `/sdapi/v1/img2img`, one picture at a time: of several, some of these servers put a sheet of all
before them (stable-diffusion.cpp, examples/server/api.md, "Stable Diffusion WebUI API").
"""

from base64 import b64encode
from typing import Any

from msgspec import Struct

from angelia.context.media_forms import Pixels
from angelia.models.pictures.context import PainterContext, PictureTokens
from angelia.models.pictures.picture_urls import from_base64
from angelia.models.pictures.port import (
    FetchPicture,
    PaintedPictures,
    Painter,
    PaintFailed,
    PaintTrouble,
    PaintWish,
    TellProgress,
)
from angelia.models.pictures.requests import PaintRequest, PaintServer, decoded, most_of
from angelia.models.pictures.table_painter import TablePainter
from angelia.models.wires.wire import bearer


class _WebuiReply(Struct, frozen=True):
    images: tuple[str, ...] | None = None


def open_painter(context: PainterContext) -> Painter:
    """The painter of one server, with whichever model it has loaded."""
    return WebuiPainter(context)


class WebuiPainter(TablePainter):
    """See `models.pictures.port.Painter`."""

    async def paint(self, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """Paint once.

        Raises:
            PaintFailed: there is no picture.
        """
        context = self._context
        credential = await context.credential()
        server = PaintServer((await context.server()).client, bearer(credential), credential)
        request = webui_request(wish)
        reply = await server.ask(request, most=most_of(1), seconds=context.seconds, connect=context.connect)
        images = decoded(reply, _WebuiReply, 0).images
        if not images:
            raise PaintFailed(PaintTrouble.EMPTY, f"{self.name} answered without a picture")
        return PaintedPictures((from_base64(images[0]),), await context.price(PictureTokens(), 1))


def webui_request(wish: PaintWish) -> PaintRequest:
    """A wish as these servers take it; without a size it is the server's own, or that of the picture given."""
    body: dict[str, Any] = {"prompt": wish.prompt, "batch_size": 1, "seed": wish.seed}
    sized = [wish.size] if isinstance(wish.size, Pixels) else [Pixels(one.width, one.height) for one in wish.pictures]
    body |= {"width": sized[0].width, "height": sized[0].height} if sized and sized[0].width else {}
    if not wish.pictures:
        return PaintRequest("sdapi/v1/txt2img", body)
    given = [b64encode(one.data).decode() for one in wish.pictures]
    return PaintRequest("sdapi/v1/img2img", {**body, "init_images": given})
