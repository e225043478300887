"""The picture arrives: every form, on every wire, streamed or not, on the first turn and on the twentieth."""

import io
import random
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image

from angelia.testing.model.answerers import instant, name_the_colour
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, at_once
from tests.acp.editor import Editor, first
from tests.acp.remote import Remote
from tests.acp.test_blocks import image
from tests.promise.lives import WIRES, Place

pytestmark = pytest.mark.anyio

ASKED = "Reply with ONLY the dominant colour word of the image. If you received no image, reply IMAGE_NOT_RECEIVED."
FORMS = [("red", "PNG"), ("green", "JPEG"), ("blue", "WEBP"), ("yellow", "GIF"), ("purple", "PNG")]
PICTURES = [one_colour(colour, form=form) for colour, form in FORMS]
BLOCKS = [image(data, f"image/{form.lower()}") for data, (_, form) in zip(PICTURES, FORMS, strict=True)]


def not_streamed(request: ReceivedRequest) -> Speak:
    """The same answer, in one piece."""
    return at_once(name_the_colour(request))


@pytest.mark.parametrize("answer", [name_the_colour, not_streamed], ids=["streamed", "at once"])
@pytest.mark.parametrize("wire", WIRES)
async def test_each_form_alone_is_named_streamed_or_not(tmp_path: Path, wire: str, answer: object) -> None:
    async with ModelServer(answer) as server:  # type: ignore[arg-type]  # a function of a request
        place = first(server, tmp_path, wire=wire)
        async with Editor(place) as editor:
            await editor.hello()
            for block, (colour, _) in zip(BLOCKS[:4], FORMS, strict=False):
                session = await editor.new()
                assert await editor.prompt(session, ASKED, block) == "end_turn"
                assert editor.text(session) == colour


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("wire", WIRES)
async def test_five_at_once_are_seen_on_the_first_turn_and_on_the_twentieth(tmp_path: Path, wire: str) -> None:
    async with ModelServer(name_the_colour) as server:
        place = first(server, tmp_path, wire=wire)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            assert await editor.prompt(session, ASKED, *BLOCKS) == "end_turn"
            for _ in range(19):
                assert await editor.prompt(session, "And now?") == "end_turn"
            assert editor.text() == "purple" * 20
        for request in server.requests:
            assert [one.sha256 for one in request.images] == [sha256(data).hexdigest() for data in PICTURES]
        assert len(server.requests) == 20


async def test_without_one_the_server_says_so(tmp_path: Path) -> None:
    async with ModelServer(name_the_colour) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        await editor.prompt(await editor.new(), ASKED)
        assert editor.text() == "IMAGE_NOT_RECEIVED"


async def test_five_megabytes_add_less_than_ten_kilobytes_to_the_database_and_are_held_once(tmp_path: Path) -> None:
    picture = noise(5_000_000)
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        session, sizes = "", []
        for blocks in (["First."], [image(picture)], [image(picture)]):
            async with Remote(place) as editor:
                await editor.hello()
                session = session or await editor.new()
                await editor.load(session)
                await editor.prompt(session, *blocks)
            sizes.append(on_disk(place))
        held = [file for file in (place.home / "blobs").rglob("*") if file.is_file() and file.stat().st_size > 4e6]
    assert [file.stat().st_size for file in held] == [len(picture)]
    each = (sizes[-1] - sizes[0]) / 2  # the file grows by whole pages
    assert each < 10_000
    assert [len(request.images) for request in server.requests] == [0, 1, 2]


def on_disk(place: Place) -> int:
    """Bytes of the database file, once what waits beside it is in it."""
    file = place.home / "angelia.db"
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return file.stat().st_size


def noise(size: int) -> bytes:
    """A picture that does not compress, of about this many bytes."""
    side = int((size / 3) ** 0.5)
    picture = Image.frombytes("RGB", (side, side), random.Random(1).randbytes(side * side * 3))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
