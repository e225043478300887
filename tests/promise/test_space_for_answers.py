"""On a disk that is nearly full no model is asked: its answer would be paid for, and might not be stored."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from angelia.testing.model.answerers import instant
from angelia.testing.model.server import ModelServer
from tests.promise.lives import PYTHON, Place

pytestmark = pytest.mark.anyio


async def ask_within(bounds: Sequence[str], place: Place) -> tuple[int, str, str]:
    """Ask, begun by this command: status, output, and errors."""
    asking = await asyncio.create_subprocess_exec(
        *(*bounds, *PYTHON, *place.argv("Good morning.")),
        env=place.env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, told = await asking.communicate()
    return asking.returncode or 0, said.decode(), told.decode()


def disk_of(size: int, place: Place) -> Sequence[str]:
    """With a home on a tmpfs of so many bytes."""
    place.home.mkdir(exist_ok=True)
    return ("bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", str(place.home))


def files_of(blocks: int) -> Sequence[str]:
    """Where no file may have more than so many blocks, of 512 or 1024 bytes."""
    return ("sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh")


@pytest.mark.real("bwrap")
async def test_a_model_is_asked_only_where_there_is_room_for_its_answer(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = Place(tmp_path, server)
        status, said, told = await ask_within(disk_of(6_000_000, place), place)
        assert (status != 0, said, len(server.requests)) == (True, "", 0)
        assert "is nearly full" in told
        assert "no model was asked" in told
        status, said, told = await ask_within(disk_of(24_000_000, place), place)
        assert (status, len(server.requests)) == (0, 1), told
        assert said


async def test_a_model_is_asked_only_where_files_may_become_as_large(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = Place(tmp_path, server)
        status, said, told = await ask_within(files_of(4_000), place)
        assert (status != 0, said, len(server.requests)) == (True, "", 0)
        assert "may not grow beyond" in told
        assert "no model was asked" in told
        status, said, told = await ask_within(files_of(40_000), place)
        assert (status, len(server.requests)) == (0, 1), told
        assert said
