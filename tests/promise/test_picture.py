"""The picture arrives: on the first turn, on later ones, after a kill, on every wire, as the very bytes given."""

from hashlib import sha256
from pathlib import Path

import pytest

from angelia.testing.model.answerers import name_the_colour
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.server import ModelServer
from tests.promise.lives import CHAT, WIRES, Place

pytestmark = pytest.mark.anyio

FIVE = (("red", "PNG"), ("green", "JPEG"), ("blue", "WEBP"), ("yellow", "GIF"), ("purple", "PNG"))


def picture(folder: Path, colour: str, form: str = "PNG") -> tuple[str, str]:
    """A picture in a file: its path and its hash."""
    data = one_colour(colour, form=form)
    file = folder / f"{colour}.{form.lower()}"
    file.write_bytes(data)
    return str(file), sha256(data).hexdigest()


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("wire", WIRES)
async def test_five_of_every_form_are_seen_on_the_first_turn_and_on_a_later_one(tmp_path: Path, wire: str) -> None:
    given = [picture(tmp_path, colour, form) for colour, form in FIVE]
    async with ModelServer(name_the_colour) as server:
        place = Place(tmp_path, server, wire=wire)
        first = await place.ask("What colours?", *(word for path, _ in given for word in ("--image", path)))
        for path, _ in given:
            Path(path).unlink()
        later = await place.ask("And the last one was?", "--continue")
        assert (first.status, first.stdout, later.status, later.stdout) == (0, "purple\n", 0, "purple\n")
        for request in server.requests:
            assert [(one.colour, one.sha256) for one in request.images] == [
                (colour, name) for (colour, _), (_, name) in zip(FIVE, given, strict=True)
            ]
        assert len(server.requests) == 2


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("point", ["say.committed:1", "append.before_commit:4"])
async def test_it_is_seen_after_a_kill(tmp_path: Path, wire: str, point: str) -> None:
    path, name = picture(tmp_path, "orange")
    async with ModelServer(name_the_colour) as server:
        place = Place(tmp_path, server, wire=wire)
        await place.ask("What colour?", "--image", path, at=point)
        Path(path).unlink()
        resumed = await place.ask("--continue")
        assert (resumed.status, resumed.stdout) == (0, "orange\n")
        assert {one.sha256 for request in server.requests for one in request.images} == {name}
        assert all(len(request.images) == 1 for request in server.requests)


async def test_the_server_would_notice_a_picture_that_does_not_arrive(tmp_path: Path) -> None:
    async with ModelServer(name_the_colour) as server:
        life = await Place(tmp_path, server, wire=CHAT).ask("What colour?")
    assert life.stdout == "IMAGE_NOT_RECEIVED\n"
