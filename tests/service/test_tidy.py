"""Bytes that no entry refers to go after a day; everything else stays."""

import os
from pathlib import Path

import pytest

from angelia.core.content import Text
from angelia.service.assemble import House
from angelia.service.config import load
from angelia.service.delivery import TERMINAL

pytestmark = pytest.mark.anyio
TWO_DAYS = 2 * 86_400


async def test_an_orphan_of_a_dead_life_goes_after_a_day_and_what_was_said_stays(tmp_path: Path) -> None:
    house = await House.open(load(tmp_path / "home", {}), {})
    (tmp_path / "work").mkdir()
    session = house.begin(door="terminal", workspace=tmp_path / "work")
    said = await house.intake.to_media(b"what was said", "said.txt")
    await session.say([Text("keep this"), said], address=TERMINAL)
    orphan = await house.blobs.put(b"what nobody refers to")
    young = await house.blobs.put(b"put just now")
    for ref in (said.blob, orphan):
        old = house.blobs.path(ref.sha256).stat().st_mtime - TWO_DAYS
        os.utime(house.blobs.path(ref.sha256), (old, old))
    await house.tidy()
    there = [house.blobs.path(ref.sha256).exists() for ref in (said.blob, orphan, young)]
    assert there == [True, False, True]
    await house.close()
