"""Bytes that no entry refers to go after a day; everything else stays."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from angelia.browsers.chromium.shared_folders import SharedFolders
from angelia.core.content import Text
from angelia.core.days import DAY_MS
from angelia.core.errors import Fenced
from angelia.core.ids import wall_clock
from angelia.core.principal import OWNER
from angelia.faces.cli.daily_upkeep import LEFT, tidied
from angelia.service.app import App
from angelia.service.conversation.handed_out import KEPT_MS
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.places.places import SandboxPlaces
from angelia.service.settings.config import load
from angelia.store.port import StoreConnection
from angelia.store.sql.copy_folder import copies
from tests import nursery

pytestmark = pytest.mark.anyio
TWO_DAYS = 2 * 86_400


async def test_an_orphan_of_a_dead_life_goes_after_a_day_and_what_was_said_stays(tmp_path: Path) -> None:
    app = await App.open(load(tmp_path / "home", {}), {})
    (tmp_path / "work").mkdir()
    session = app.conversations.begin(door="terminal", workspace=tmp_path / "work")
    said = await app.intake.to_media(b"what was said", "said.txt")
    await session.say([Text("keep this"), said], address=TERMINAL)
    orphan = await app.blobs.put(b"what nobody refers to")
    young = await app.blobs.put(b"put just now")
    for ref in (said.blob, orphan):
        old = app.blobs.path(ref.sha256).stat().st_mtime - TWO_DAYS
        os.utime(app.blobs.path(ref.sha256), (old, old))
    await app.db.write(lambda connection: connection.execute("UPDATE born SET at = at - ?", (2 * TWO_DAYS,)))
    await app.key_value.put("last-sweep", str(wall_clock() - DAY_MS))
    assert await app.upkeep.tidy() == []
    there = [app.blobs.path(ref.sha256).exists() for ref in (said.blob, orphan, young)]
    assert there == [True, False, True]
    assert await app.blobs.trash() == [orphan.sha256]
    assert len(copies(app.loaded.home)) == 1
    assert await app.upkeep.tidy() == [], "once a day"
    await app.close()


async def test_what_is_left_in_its_midst_is_due_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = await App.open(load(tmp_path / "home", {}), {})
    (tmp_path / "work").mkdir()
    await app.conversations.begin(door="terminal", workspace=tmp_path / "work").say(
        [Text("keep this")], address=TERMINAL
    )

    async def endless(self: SandboxPlaces) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(SandboxPlaces, "tidied", endless)
        assert await tidied(app.upkeep) == [LEFT]
    swept: list[str] = []

    async def seen(self: SandboxPlaces) -> None:
        swept.append("places")

    monkeypatch.setattr(SandboxPlaces, "tidied", seen)
    assert await tidied(app.upkeep) == []
    assert swept == ["places"]
    assert await tidied(app.upkeep) == []
    assert swept == ["places"], "once a day"
    await app.close()


async def test_it_ends_when_it_is_cancelled_though_the_log_was_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = await App.open(load(tmp_path / "home", {}), {})
    (tmp_path / "work").mkdir()
    await app.conversations.begin(door="terminal", workspace=tmp_path / "work").say([Text("hi")], address=TERMINAL)
    began = asyncio.Event()

    async def endless(self: SandboxPlaces) -> None:
        began.set()
        await asyncio.Event().wait()

    def fenced(_: StoreConnection) -> NoReturn:
        raise Fenced("Another process has taken over from this one.")

    monkeypatch.setattr(SandboxPlaces, "tidied", endless)
    tidying = asyncio.create_task(app.upkeep.keep_tidy())
    await began.wait()
    app.db.require(fenced)
    tidying.cancel()
    await asyncio.wait([tidying], timeout=10)
    assert tidying.cancelled()
    app.db.require(None)
    await app.close()


async def test_what_browsers_of_killed_lives_left_goes_though_no_browser_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    in_use, left = SharedFolders(0), temporary / "angelia-browser-left"
    (left / "down").mkdir(parents=True)
    (left / "down/private.pdf").write_text("mine")
    there = {path.name for path in temporary.iterdir()} - {left.name}
    app = await App.open(load(tmp_path / "home", {}), {})
    assert await app.upkeep.tidy() == []
    assert {path.name for path in temporary.iterdir()} == there, "and what a browser has is left alone"
    in_use.close()
    await app.close()


async def test_a_log_that_is_not_whole_is_told_and_neither_copied_nor_swept_by(tmp_path: Path) -> None:
    now = [1_790_000_000_000]
    app = await App.open(load(tmp_path / "home", {}), {}, lambda: now[0])
    (tmp_path / "work").mkdir()
    session = app.conversations.begin(door="terminal", workspace=tmp_path / "work")
    await session.say([Text("keep this")], address=TERMINAL)
    assert await app.upkeep.tidy() == []
    (sound,) = copies(app.loaded.home)
    lose = "UPDATE entries SET body = x'7b7d' WHERE seq = 2"
    await app.db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
    await app.db.write(lambda connection: connection.execute(lose))
    now[0] += DAY_MS
    (told,) = await app.upkeep.tidy()
    assert f"Entry 2 of {session.conversation}" in told
    assert copies(app.loaded.home) == [sound]
    await app.close()


async def test_killed_before_the_daily_copies_forget_what_is_erased_they_forget_it_then(tmp_path: Path) -> None:
    app = await App.open(load(home := tmp_path / "home", {}), {})
    (tmp_path / "work").mkdir()
    session = app.conversations.begin(door="terminal", workspace=tmp_path / "work")
    await session.say([Text("xyzzyplugh")], address=TERMINAL)
    await app.upkeep.tidy()
    await app.close()
    (copy,) = copies(home)
    erasing = ["erase", str(home), session.conversation]
    await nursery.run_killed_at("erase.before_copies:1", erasing, dict(os.environ), entry="tests.store.child:main")
    app = await App.open(load(home, {}), {}, lambda: wall_clock() + DAY_MS)
    assert await app.transcript.conversations(OWNER) == []
    assert b"xyzzyplugh" in copy.read_bytes()
    assert await app.upkeep.tidy() == []
    assert b"xyzzyplugh" not in copy.read_bytes()
    await app.close()


async def test_a_conversation_that_was_handed_out_and_never_spoken_in_is_forgotten_after_a_month(
    tmp_path: Path,
) -> None:
    now = [1_790_000_000_000]
    app = await App.open(load(tmp_path / "home", {}), {}, lambda: now[0])
    (tmp_path / "work").mkdir()
    session = app.conversations.begin(door="acp", workspace=tmp_path / "work")
    assert session.unspoken
    await app.handed_out.keep(session.conversation, session.unspoken)
    now[0] += KEPT_MS - DAY_MS
    await app.upkeep.tidy()
    assert await app.handed_out.of(session.conversation) == session.unspoken
    for _ in range(2):
        now[0] += 2 * DAY_MS
        await app.upkeep.tidy()
    assert await app.handed_out.of(session.conversation) is None
    await app.close()
