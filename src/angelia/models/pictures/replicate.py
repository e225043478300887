"""Painters behind Replicate's predictions (replicate.com/docs/reference/http): created, asked after, then brought.

Each model has an input schema of its own; what is known of one stands in the table, whose `dialect` is the name of the
field for pictures: `input_image` takes one, `input_images` and `image_input` a list. What a run costs stands in no
reply.
"""

from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.failure import FailureKind
from angelia.core.text import one_line
from angelia.models.pictures.context import PainterContext, PictureTokens
from angelia.models.pictures.fitting import size_text
from angelia.models.pictures.jobs import job_of, until_done
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
from angelia.models.wires.failures import of_stream
from angelia.models.wires.wire import bearer

_MOST_IN_REQUEST = 700_000
"""Bytes of a picture that goes along as a data URL; these are for less than 1 MB ("Input files"), and grow by a third.
What is larger is handed over before, as a file that is gone after a day."""

_UNSAFE = "nsfw"
"""Models say so in words of their own, such as "NSFW content detected"."""


class _ReplicateUrls(Struct, frozen=True):
    get: str = ""
    cancel: str = ""


class _Prediction(Struct, frozen=True):
    status: str
    urls: _ReplicateUrls = _ReplicateUrls()
    output: str | tuple[str, ...] | None = None
    error: str | None = None


class _ReplicateFile(Struct, frozen=True):
    urls: _ReplicateUrls


def open_painter(context: PainterContext) -> Painter:
    """The painter of one model."""
    return ReplicatePainter(context)


class ReplicatePainter(TablePainter):
    """See `models.pictures.port.QueuedPainter`."""

    async def paint(self, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """Paint once; a prediction is never created again.

        Raises:
            PaintFailed: there is no picture.
        """
        return await self.collect(await self.submit(wish), wish, fetch, tell)

    async def submit(self, wish: PaintWish) -> str:
        """See `QueuedPainter`; the job is the URLs of the prediction."""
        context, server = self._context, await self._reached()
        urls = [await self._reachable(one, number, server) for number, one in enumerate(wish.pictures, 1)]
        request = replicate_request(context.model, context.row.dialect, wish, urls)
        created = await server.ask(request, most=most_of(wish.count), seconds=context.seconds, connect=context.connect)
        return msgspec.json.encode(decoded(created, _Prediction).urls).decode()

    async def collect(self, job: str, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """See `QueuedPainter`. What was made is kept there for an hour."""
        context, server = self._context, await self._reached()
        running = ReplicateJob(job_of(job, _ReplicateUrls), server, context.connect, wish.count)
        await until_done(running, context.seconds * wish.count, tell)
        output = running.output
        found = [output] if isinstance(output, str) else list(output or ())
        cost = await context.price(PictureTokens(), len(found))
        if not found:
            raise PaintFailed(PaintTrouble.EMPTY, f"{self.name} answered without a picture", cost)
        return await brought(found, server, fetch, cost=cost, connect=context.connect)

    async def _reached(self) -> PaintServer:
        credential = await self._context.credential()
        return PaintServer((await self._context.server()).client, bearer(credential), credential)

    async def _reachable(self, picture: SourcePicture, number: int, server: PaintServer) -> str:
        """A URL of a picture: one that holds it, or one of Replicate's own."""
        if len(picture.data) <= _MOST_IN_REQUEST:
            return data_url(picture)
        file = UploadedFile("content", f"picture-{number}", picture.data, picture.mime)
        reply = await server.send("POST", PaintRequest("files", files=[file]), connect=self._context.connect)
        if not 200 <= reply.status < 300:
            raise server.refusal(reply)
        return decoded(reply, _ReplicateFile, 0).urls.get


class ReplicateJob:
    """See `models.pictures.jobs.QueuedJob`; `output` is there once it is done."""

    def __init__(self, urls: _ReplicateUrls, server: PaintServer, connect: float, count: int) -> None:
        self._urls, self._server = urls, server
        self.output: str | tuple[str, ...] | None = None
        self._connect, self._most = connect, most_of(count)
        for url in (self._urls.get, self._urls.cancel):
            if not server.own(url):
                raise PaintFailed(PaintTrouble.FORBIDDEN_URL, f"its prediction is at {one_line(url, 200)}", -1)

    async def look(self) -> str:
        """See `QueuedJob`."""
        reply = await self._server.get(self._urls.get, most=self._most, connect=self._connect)
        if reply.status != 200:
            raise self._server.refusal(reply, -1)
        now = decoded(reply, _Prediction)
        match now.status:
            case "succeeded":
                self.output = now.output
                return ""
            case "failed" | "canceled" | "aborted":
                raise _failed(now.status, now.error or "")
            case "starting":
                return "queued"
            case _:
                return "is being painted"

    async def call_off(self) -> None:
        """See `QueuedJob`."""
        await self._server.send("POST", PaintRequest(self._urls.cancel), connect=self._connect)


def _failed(status: str, error: str) -> PaintFailed:
    said = one_line(error, 300) or f"the prediction was {status}"
    refused = _UNSAFE in error.lower() or of_stream(error.encode(), 0).kind is FailureKind.REFUSAL
    return PaintFailed(PaintTrouble.REFUSED if refused else PaintTrouble.FAILED_THERE, said, -1)


def replicate_request(model: str, field: str, wish: PaintWish, urls: list[str]) -> PaintRequest:
    """A wish as one prediction; `field` is where the model takes pictures, and `urls` are theirs."""
    given: dict[str, Any] = {"prompt": wish.prompt}
    if not isinstance(wish.size, AnySize):
        given["aspect_ratio"] = size_text(wish.size)
    if wish.seed >= 0:
        given["seed"] = wish.seed
    if wish.count > 1:
        given["num_outputs"] = wish.count
    if urls:
        given[field] = urls[0] if field == "input_image" else urls
    return PaintRequest("predictions", {"version": model, "input": given})
