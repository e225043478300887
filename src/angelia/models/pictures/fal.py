"""Painters behind fal's queue (fal.ai/docs, "Queue" and "Model errors"): submitted, asked after, then brought.

The three URLs of the reply are followed as they are, at the queue itself alone: they leave out a part of the model's
name. A model with a sibling `/edit` is asked there once there are pictures to work on. What the runs of a model cost
stands in no reply.
"""

from typing import Any

import msgspec
from msgspec import Struct

from angelia.context.media_forms import Pixels
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
    TellProgress,
)
from angelia.models.pictures.requests import PaintRequest, PaintServer, decoded, most_of
from angelia.models.pictures.table_painter import TablePainter


class _FalQueued(Struct, frozen=True):
    status_url: str
    response_url: str
    cancel_url: str


class _FalStatus(Struct, frozen=True):
    status: str
    queue_position: int | None = None


class _FalPicture(Struct, frozen=True):
    url: str


class _FalResult(Struct, frozen=True):
    images: tuple[_FalPicture, ...] = ()
    image: _FalPicture | None = None
    has_nsfw_concepts: tuple[bool, ...] | None = None


def open_painter(context: PainterContext) -> Painter:
    """The painter of one model."""
    return FalPainter(context)


class FalPainter(TablePainter):
    """See `models.pictures.port.QueuedPainter`."""

    async def paint(self, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """Paint once; what was submitted is never submitted again.

        Raises:
            PaintFailed: there is no picture.
        """
        return await self.collect(await self.submit(wish), wish, fetch, tell)

    async def submit(self, wish: PaintWish) -> str:
        """See `QueuedPainter`; the job is the three URLs of the reply."""
        context, server = self._context, await self._reached()
        request = fal_request(context.model, wish)
        taken = await server.ask(request, most=most_of(1), seconds=context.seconds, connect=context.connect)
        return msgspec.json.encode(decoded(taken, _FalQueued)).decode()

    async def collect(self, job: str, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """See `QueuedPainter`."""
        context, server = self._context, await self._reached()
        running = FalJob(job_of(job, _FalQueued), server, context.connect, wish.count)
        await until_done(running, context.seconds * wish.count, tell)
        result = running.result
        found = result.images or ((result.image,) if result.image else ())
        cost = await context.price(PictureTokens(), len(found))
        if not found:
            raise PaintFailed(PaintTrouble.EMPTY, f"{self.name} answered without a picture", cost)
        painted = await brought([one.url for one in found], server, fetch, cost=cost, connect=context.connect)
        if not any(result.has_nsfw_concepts or ()):
            return painted
        note = f"{self.name} marks what it made as unsafe: a picture may be black."
        return PaintedPictures(painted.pictures, painted.cost, (*painted.notes, note))

    async def _reached(self) -> PaintServer:
        credential = await self._context.credential()
        headers = {"authorization": f"Key {credential.secret}"} if credential.secret else {}
        return PaintServer((await self._context.server()).client, headers, credential)


class FalJob:
    """See `models.pictures.jobs.QueuedJob`; `result` is there once it is done."""

    def __init__(self, queued: _FalQueued, server: PaintServer, connect: float, count: int) -> None:
        self._queued, self._server = queued, server
        self._connect, self._most = connect, most_of(count)
        self.result = _FalResult()
        for url in (queued.status_url, queued.response_url, queued.cancel_url):
            if not server.own(url):
                raise PaintFailed(PaintTrouble.FORBIDDEN_URL, f"its queue is at {one_line(url, 200)}", -1)

    async def look(self) -> str:
        """See `QueuedJob`. The result is fetched with the last look."""
        reply = await self._server.get(self._queued.status_url, most=self._most, connect=self._connect)
        if reply.status not in (200, 202):
            raise self._server.refusal(reply, -1)
        now = decoded(reply, _FalStatus)
        if now.status == "IN_QUEUE":
            return f"queued, {now.queue_position} before it" if now.queue_position else "queued"
        if now.status != "COMPLETED":
            return "is being painted"
        reply = await self._server.get(self._queued.response_url, most=self._most, connect=self._connect)
        if reply.status != 200:
            raise self._server.refusal(reply, -1)
        self.result = decoded(reply, _FalResult)
        return ""

    async def call_off(self) -> None:
        """See `QueuedJob`: what waits is removed, what runs is told to stop."""
        await self._server.send("PUT", PaintRequest(self._queued.cancel_url), connect=self._connect)


def fal_request(model: str, wish: PaintWish) -> PaintRequest:
    """A wish as the input of one run."""
    body: dict[str, Any] = {"prompt": wish.prompt, "num_images": wish.count}
    if isinstance(wish.size, Pixels):
        body["image_size"] = {"width": wish.size.width, "height": wish.size.height}
    elif not isinstance(wish.size, AnySize):
        body["aspect_ratio"] = size_text(wish.size)
    if wish.seed >= 0:
        body["seed"] = wish.seed
    if wish.pictures:
        body["image_urls"] = [data_url(one) for one in wish.pictures]
        model = model if model.endswith("/edit") else f"{model}/edit"
    return PaintRequest(model, body)
