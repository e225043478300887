"""A process that is killed while a recording is listened to leaves it among the temporary files for nobody."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import pytest

from angelia.models.speech.command import configured
from angelia.service.app import App
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio

LISTEN = """
import asyncio, sys
from pathlib import Path
from angelia.models.speech.command import configured
asyncio.run(configured(sys.argv[1]).listen(Path(sys.argv[2]), "audio/ogg", ""))
"""


@pytest.fixture
async def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, after somebody was killed whose recording lies there."""
    (temporary := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (tmp_path / "said.ogg").write_bytes(b"what somebody said")
    os.mkfifo(begun := tmp_path / "begun")
    line = f"echo > {begun}; sleep 1000; : {{file}}"
    words = (sys.executable, "-P", "-c", LISTEN, line, str(tmp_path / "said.ogg"))
    process = await asyncio.create_subprocess_exec(*words, env={**os.environ, "TMPDIR": str(temporary)})
    await asyncio.to_thread(begun.read_text)
    process.kill()
    await process.wait()
    [folder] = temporary.iterdir()
    assert (folder / "recording.ogg").read_bytes() == b"what somebody said"
    return temporary


async def test_it_goes_when_the_next_one_is_listened_to(left: Path, tmp_path: Path) -> None:
    words = await configured("cat {file}").listen(tmp_path / "said.ogg", "audio/ogg", "")
    assert words.text == "what somebody said"
    assert not list(left.iterdir())


async def test_it_goes_with_the_daily_upkeep_though_nobody_is_listened_to(left: Path, tmp_path: Path) -> None:
    app = await App.open(load(tmp_path / "home", {}), {})
    assert await app.upkeep.tidy() == []
    assert not list(left.iterdir())
    await app.close()
