"""Painters behind `/images/generations` and `/images/edits`: OpenAI's, and what speaks like it.

The dialects differ in what a size is called, how pictures are handed over and what comes back:

* `openai` (OpenAI reference, "Images"): pixels; edits are forms with `image[]` and `mask`; base64, always.
* `xai` (docs.x.ai, "Image Generation"): `aspect_ratio`; edits are JSON with data URLs; a URL unless base64 is asked.
* `sdcpp` (stable-diffusion.cpp, examples/server/api.md): as OpenAI; the seed stands in the prompt, marked.
* `localai` (localai.io, "Image generation"): as OpenAI, no edits; one picture as `file` in base64.
* `compatible`: what all of them take.
"""

from base64 import b64encode
from math import ceil

import msgspec
from msgspec import Struct

from angelia.core.text import one_line
from angelia.models.pictures.context import PainterContext, PictureTokens
from angelia.models.pictures.fitting import size_text
from angelia.models.pictures.picture_urls import brought, data_url
from angelia.models.pictures.port import (
    AnySize,
    FetchPicture,
    PaintedPictures,
    Painter,
    PaintFailed,
    PaintTrouble,
    PaintWish,
    SourcePicture,
    TellProgress,
)
from angelia.models.pictures.requests import PaintRequest, PaintServer, UploadedFile, decoded, most_of
from angelia.models.pictures.table_painter import TablePainter
from angelia.models.wires.wire import bearer

_TICKS_PER_MILLIONTH = 10_000
"""xAI counts in ticks, 10,000,000,000 to the US dollar (xAI reference, `usage.cost_in_usd_ticks`)."""


class _Picture(Struct, frozen=True):
    b64_json: str | None = None
    url: str | None = None
    revised_prompt: str | None = None


class _PictureTokens(Struct, frozen=True):
    image_tokens: int = 0


class _PictureUsage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _PictureTokens | None = None
    output_tokens_details: _PictureTokens | None = None
    cost_in_usd_ticks: int | None = None


class _PicturesReply(Struct, frozen=True):
    data: tuple[_Picture, ...] | None = None
    block_reason: str | None = None
    usage: _PictureUsage | None = None


def open_painter(context: PainterContext) -> Painter:
    """The painter of one model."""
    return ImagesPainter(context)


class ImagesPainter(TablePainter):
    """See `models.pictures.port.Painter`."""

    async def paint(self, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """Paint once; URLs are followed at once, those of the server itself by its own connection.

        Raises:
            PaintFailed: there is no picture.
        """
        context = self._context
        credential = await context.credential()
        client = (await context.server()).client
        server = PaintServer(client, bearer(credential), credential)
        request = request_for(context.row.dialect, context.model, wish)
        seconds = context.seconds * wish.count
        reply = await server.ask(request, most=most_of(wish.count), seconds=seconds, connect=context.connect)
        if reply.status == 202:
            raise PaintFailed(PaintTrouble.QUEUED, f"{self.name} answered that it is queued (HTTP 202)", -1)
        said = decoded(reply, _PicturesReply)
        found = said.data or ()
        cost = await self._cost(said.usage, len(found))
        if not found and said.block_reason:  # xAI's filter, which answers 200
            raise PaintFailed(PaintTrouble.REFUSED, one_line(said.block_reason, 300), cost)
        if not found:
            raise PaintFailed(PaintTrouble.EMPTY, f"{self.name} answered without a picture", cost)
        brought_back = await brought([_url(one) for one in found], server, fetch, cost=cost, connect=context.connect)
        revised = dict.fromkeys(one_line(one.revised_prompt, 300) for one in found if one.revised_prompt)
        words = tuple(f"It was painted from other words: “{said}”" for said in revised)
        return msgspec.structs.replace(brought_back, notes=(*brought_back.notes, *words))

    async def _cost(self, usage: _PictureUsage | None, count: int) -> int:
        if usage is None:
            return await self._context.price(PictureTokens(), count)
        if usage.cost_in_usd_ticks is not None:
            return ceil(usage.cost_in_usd_ticks / _TICKS_PER_MILLIONTH)
        shown, made = usage.input_tokens_details, usage.output_tokens_details
        tokens = PictureTokens(
            usage.input_tokens,
            shown.image_tokens if shown else 0,
            usage.output_tokens,
            made.image_tokens if made else usage.output_tokens,
        )
        return await self._context.price(tokens, count)


def _url(picture: _Picture) -> str:
    if picture.b64_json and not picture.b64_json.startswith("data:"):  # xAI writes it as a data URL
        return f"data:;base64,{picture.b64_json}"
    return picture.b64_json or picture.url or ""


def request_for(dialect: str, model: str, wish: PaintWish) -> PaintRequest:
    """The one request that a wish comes to."""
    match dialect:
        case "xai":
            return _xai(model, wish)
        case "localai":
            return _localai(model, wish)
        case "sdcpp":
            return _openai("", _with_seed(wish), {"output_format": "png"})
        case "compatible":
            return _openai(model, wish, {"response_format": "b64_json"})
        case _:
            return _openai(
                model, wish, {"background": "transparent", "output_format": "png"} if wish.transparent else {}
            )


def _openai(model: str, wish: PaintWish, more: dict[str, str]) -> PaintRequest:
    named = {"model": model} if model else {}
    sized = {} if isinstance(wish.size, AnySize) else {"size": size_text(wish.size)}
    if not wish.pictures:
        body = {**named, "prompt": wish.prompt, "n": wish.count, **sized, **more}
        return PaintRequest("images/generations", body)
    fields = {**named, "prompt": wish.prompt, "n": str(wish.count), **sized, **more}
    files = [UploadedFile("image[]", _file_name(one, number), one.data, one.mime) for number, one in _numbered(wish)]
    files += [UploadedFile("mask", "mask.png", one.data, one.mime) for one in wish.mask]
    return PaintRequest("images/edits", fields=fields, files=files)


def _with_seed(wish: PaintWish) -> PaintWish:
    """stable-diffusion.cpp takes its own parameters from marks in the prompt, and from nobody else's words."""
    words = wish.prompt.replace("<sd_cpp_extra_args>", "").replace("</sd_cpp_extra_args>", "")
    if wish.seed >= 0:
        extra = msgspec.json.encode({"seed": wish.seed}).decode()
        words = f"{words} <sd_cpp_extra_args>{extra}</sd_cpp_extra_args>"
    return msgspec.structs.replace(wish, prompt=words)


def _xai(model: str, wish: PaintWish) -> PaintRequest:
    body: dict[str, object] = {"model": model, "prompt": wish.prompt, "n": wish.count, "response_format": "b64_json"}
    if not isinstance(wish.size, AnySize):
        body["aspect_ratio"] = size_text(wish.size)
    pictures = [{"type": "image_url", "url": data_url(one)} for one in wish.pictures]
    if not pictures:
        return PaintRequest("images/generations", body)
    return PaintRequest("images/edits", {**body, **({"images": pictures} if pictures[1:] else {"image": pictures[0]})})


def _localai(model: str, wish: PaintWish) -> PaintRequest:
    request = _openai(model, msgspec.structs.replace(wish, pictures=()), {"response_format": "b64_json"})
    body = dict(request.body)
    if wish.seed >= 0:
        body["seed"] = wish.seed
    for one in wish.pictures:
        body["file"] = b64encode(one.data).decode()
    return PaintRequest(request.path, body)


def _numbered(wish: PaintWish) -> list[tuple[int, SourcePicture]]:
    return list(enumerate(wish.pictures, 1))


def _file_name(picture: SourcePicture, number: int) -> str:
    ending = picture.mime.rpartition("/")[2].partition(";")[0] or "png"
    return f"picture-{number}.{'jpg' if ending == 'jpeg' else ending}"
