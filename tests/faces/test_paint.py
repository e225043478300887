"""`angelia paint` as scripts use it, and what doctor says of the painter."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Event, Thread

import pytest
from PIL import Image

from angelia.testing.model.pictures import one_colour
from angelia.testing.painters.server import Answer, ImagesServer, MadePictures, PaintRefusal
from tests.faces.angelia import Ended, Place

RED, BLUE = one_colour("red"), one_colour("blue")


@contextmanager
def brush(answer: Answer) -> Iterator[ImagesServer]:
    """A painter on a thread of its own, since `Place.run` waits for the whole of a process."""
    server, ready = ImagesServer(answer), Event()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await over.wait()

    thread = Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "work").mkdir()
    return Place(tmp_path / "home", tmp_path / "work")


def paint(place: Place, server: ImagesServer, *words: str) -> Ended:
    return place.run("paint", *words, SET, OPENAI_BASE_URL=server.base_url)


SET = "--set=painter.model=openai:gpt-image-2"


def test_a_script_gets_a_file_its_name_on_stdout_and_the_cost_on_stderr(place: Place) -> None:
    with brush(lambda request: MadePictures((RED, BLUE))) as server:
        ended = paint(place, server, "Two squares.", "-o", "a.png", "--count", "2", "--size", "64x64")
    assert (ended.code, ended.out) == (0, "a.png\na-2.png\n"), ended.err
    assert ended.err == "cost: $0.0601\n"
    assert [(place.work / name).read_bytes() for name in ("a.png", "a-2.png")] == [RED, BLUE]
    assert server.requests[0].fields == {"model": "gpt-image-2", "prompt": "Two squares.", "n": 2, "size": "64x64"}


def test_a_picture_is_changed_as_it_lies_there(place: Place) -> None:
    (place.work / "in.png").write_bytes(RED)
    with brush(lambda request: MadePictures((BLUE,))) as server:
        ended = paint(place, server, "Blue.", "--picture", "in.png", "-o", "out.png")
    assert ended.code == 0, ended.err
    assert [one.data for one in server.requests[0].pictures] == [RED]
    assert (place.work / "out.png").read_bytes() == BLUE


def test_that_nothing_shines_through_is_seen_in_what_came_and_told(place: Place) -> None:
    clear = png(Image.new("RGBA", (8, 8), (0, 0, 0, 0)))
    with brush(lambda request: MadePictures((clear, RED))) as server:
        ended = paint(place, server, "A leaf.", "-o", "a.png", "--count", "2", "--transparent")
    assert ended.code == 0
    assert "Note: a-2.png has no transparent part; asked for was a transparent background." in ended.err
    assert "a.png has no" not in ended.err
    assert server.requests[0].fields["background"] == "transparent"


def png(image: Image.Image) -> bytes:
    written = BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def test_what_is_there_is_not_written_over_and_nothing_is_paid(place: Place) -> None:
    (place.work / "a.png").write_bytes(RED)
    with brush(lambda request: MadePictures((BLUE,))) as server:
        ended = paint(place, server, "Blue.", "-o", "a.png")
        assert server.requests == []
    assert (ended.code, ended.out) == (2, "")
    assert "a.png exists already; nothing was asked and nothing paid." in ended.err


def test_what_fails_is_a_sentence_and_a_code(place: Place) -> None:
    with brush(lambda request: PaintRefusal(400, "Rejected by the safety system.")) as server:
        refused = paint(place, server, "A fox.", "-o", "a.png")
        cannot = paint(place, server, "A fox.", "-o", "a.png", "--seed", "3")
        assert len(server.requests) == 1
    assert refused.code == 1
    assert refused.err == (
        "angelia: refused: Rejected by the safety system (HTTP 400). "
        "Word it differently, or tell the person that this provider declines it.\n"
    )
    assert cannot.code == 2
    assert "openai:gpt-image-2 takes no seed." in cannot.err
    assert not (place.work / "a.png").exists()


def test_without_a_painter_it_says_how_to_get_one(place: Place) -> None:
    ended = place.run("paint", "A fox.", "-o", "a.png")
    assert ended.code == 1
    assert ended.err.startswith("angelia: Nobody is configured who makes pictures. To have one, set painter.model = ")


def test_doctor_says_what_the_painter_can_or_how_to_get_one(place: Place) -> None:
    without = place.run("doctor", "--offline").out
    assert "painter              nobody is configured who makes pictures" in without
    assert "none can be embedded" in without
    there = place.run("doctor", "--offline", SET).out
    assert "✔ painter              openai:gpt-image-2: any size up to 3840 pixels a side, 10 at once" in there
    wrong = place.run("doctor", "--offline", "--set=painter.model=brush:x")
    assert "The setting `painter.model` is 'brush:x', which is no painter." in wrong.out
    assert wrong.code == 1
    keyless = place.run("doctor", "--offline", "--set=painter.model=xai:grok-imagine-image")
    assert "There is no key for the painter xai:grok-imagine-image." in keyless.out
    assert "Set XAI_API_KEY" in keyless.out
