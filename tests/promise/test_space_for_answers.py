"""On a disk that is nearly full no model is asked: its answer would be paid for, and might not be stored."""

import asyncio
from pathlib import Path

import pytest

from angelia.testing.model.answerers import instant
from angelia.testing.model.server import ModelServer
from tests.promise.lives import PYTHON, Place

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]


async def ask_on_a_disk_of(size: int, place: Place) -> tuple[int, str, str]:
    """Ask with a home on a tmpfs of so many bytes: status, output, and errors."""
    place.home.mkdir(exist_ok=True)
    disk = ("bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", str(place.home))
    asking = await asyncio.create_subprocess_exec(
        *(*disk, *PYTHON, *place.argv("Good morning.")),
        env=place.env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, told = await asking.communicate()
    return asking.returncode or 0, said.decode(), told.decode()


async def test_a_model_is_asked_only_where_there_is_room_for_its_answer(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = Place(tmp_path, server)
        status, said, told = await ask_on_a_disk_of(6_000_000, place)
        assert (status != 0, said, len(server.requests)) == (True, "", 0)
        assert "is nearly full" in told
        assert "no model was asked" in told
        status, said, told = await ask_on_a_disk_of(24_000_000, place)
        assert (status, len(server.requests)) == (0, 1), told
        assert said
