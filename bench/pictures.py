"""Rows about pictures: our own time around a painter's reply, beside the bare request."""

import asyncio
import io
import os
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

from angelia.http.client import open_server
from angelia.http.server import HttpServer
from angelia.models.pictures.context import PainterContext, PictureTokens
from angelia.models.pictures.port import PaintWish
from angelia.models.pictures.registry import open_painter
from angelia.models.pictures.table import painter_row
from angelia.models.port import Credential
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from angelia.store.media.processes import MediaProcesses
from angelia.testing.painters.checks import no_fetching
from angelia.testing.painters.server import ImagesServer, MadePictures
from bench.rows import Row, Yardstick, row
from bench.runs import Benchmark

TIMES = 15
SIZE = (1024, 1024)


def rows(bench: Benchmark) -> Iterator[Row]:
    """One picture as painters make them: 1024x1024, some 3 MB."""
    yield asyncio.run(around_a_reply(bench.place("pictures")))


async def around_a_reply(folder: Path) -> Row:
    """Asked, taken out of base64, decoded to its end in a process of its own, and stored durably; less the request."""
    picture, ours, bare = noise(), list[float](), list[float]()
    processes = MediaProcesses(ahead=True)  # as a home has them
    intake = Intake(BlobStore(folder), processes=processes)
    async with (
        ImagesServer(lambda request: MadePictures((picture + os.urandom(8),))) as brush,
        aclosing(await open_server(brush.base_url, {})) as opened,
    ):
        painter = open_painter(context_for(opened))
        for _ in range(TIMES + 1):
            start = time.perf_counter()
            await opened.client.post("images/generations", json={"model": "gpt-image-2", "prompt": "x", "n": 1})
            between = time.perf_counter()
            painted = await painter.paint(PaintWish("x"), no_fetching, lambda line: None)
            await intake.to_media(painted.pictures[0], "fox.png")
            bare.append(between - start)
            ours.append(time.perf_counter() - between)
    processes.close()
    above = [one - other for one, other in zip(ours[1:], bare[1:], strict=True)]  # the first start a process
    request = Yardstick("bare request", sorted(bare)[len(bare) // 2])
    return row("a picture of 3 MB: our time above the painter's reply", "ms", above, 0.4, yardstick=request)


def context_for(server: HttpServer) -> PainterContext:
    """What a painter of OpenAI's is opened with."""

    async def reached() -> HttpServer:
        return server

    async def credential() -> Credential:
        return Credential("bench", "key")

    async def price(tokens: PictureTokens, count: int) -> int:
        return 0

    return PainterContext(
        name="openai:gpt-image-2",
        model="gpt-image-2",
        row=painter_row("openai", "gpt-image-2"),
        server=reached,
        credential=credential,
        price=price,
        seconds=60.0,
        connect=5.0,
    )


def noise() -> bytes:
    """A picture that no codec makes small."""
    from PIL import Image

    file = io.BytesIO()
    Image.frombytes("RGB", SIZE, os.urandom(SIZE[0] * SIZE[1] * 3)).save(file, "PNG")
    return file.getvalue()
