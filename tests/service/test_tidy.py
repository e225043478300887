"""Bytes that no entry refers to go after a day; everything else stays."""

import os
from pathlib import Path

import pytest

from angelia.core.content import Text
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio
TWO_DAYS = 2 * 86_400


async def test_an_orphan_of_a_dead_life_goes_after_a_day_and_what_was_said_stays(tmp_path: Path) -> None:
    app = await App.open(load(tmp_path / "home", {}), {})
    (tmp_path / "work").mkdir()
    session = app.begin(door="terminal", workspace=tmp_path / "work")
    said = await app.intake.to_media(b"what was said", "said.txt")
    await session.say([Text("keep this"), said], address=TERMINAL)
    orphan = await app.blobs.put(b"what nobody refers to")
    young = await app.blobs.put(b"put just now")
    for ref in (said.blob, orphan):
        old = app.blobs.path(ref.sha256).stat().st_mtime - TWO_DAYS
        os.utime(app.blobs.path(ref.sha256), (old, old))
    await app.tidy()
    there = [app.blobs.path(ref.sha256).exists() for ref in (said.blob, orphan, young)]
    assert there == [True, False, True]
    await app.close()
