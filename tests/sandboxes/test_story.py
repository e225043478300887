"""The story of the photo and the PDF with a real container: what arrives are the bytes that were made in it."""

from pathlib import Path

import pytest

from tests.chats.test_gateway_crashes import killed_at_each
from tests.examples import some
from tests.nursery import Nursery

from .daemon import IMAGE, Daemon

pytestmark = [pytest.mark.anyio, pytest.mark.real("docker")]

POINTS = (
    "file.placed:1",
    *(f"tool.{when}:{call}" for call in (1, 2) for when in ("before_start", "started", "ran", "finished")),
    *(f"blob.{when}_rename:5" for when in ("before", "after")),
    "delivery.sent:1",
)
"""Where the container is worked in, and where what was made in it leaves it and arrives. The other points pass whether
or not there is a container (`tests/chats/test_gateway_crashes.py`). `make soak` takes all of them.
"""


@pytest.mark.soak
async def test_killed_anywhere_around_its_container_the_story_comes_to_its_end(tmp_path: Path, docker: Daemon) -> None:
    spec = f'spec = "docker:{IMAGE}"\n[sandbox.docker]\nsocket = "{docker.socket}"\nworkspace = "tmpfs"'
    before, points = docker.containers(), some(POINTS, 3)
    try:
        async with Nursery() as nursery:
            found = await killed_at_each(points, tmp_path, nursery, spec)
    finally:  # a container whose process was killed waits for its conversation to go on, with what is in it
        for left in set(docker.containers()) - set(before):
            docker.docker("rm", "--force", left)
    assert found == {point: [] for point in points}
