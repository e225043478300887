"""A shell completes names of what there is: settings, conversations, schedules, channels, servers, secrets."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from angelia.core.content import Text
from angelia.core.entry import Address, ConversationOpened
from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.service.app import App
from angelia.service.schedule.service import ScheduleWish
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio

SETTINGS = """
[channels.home]
kind = "irc"
[mcp.servers.files]
command = ["files-server"]
"""


async def completed(home: Path, *words: str) -> dict[str, str]:
    """What a shell is offered for the last of these words, each with what it is."""
    env = {**os.environ, "ANGELIA_HOME": str(home), "_ANGELIA_COMPLETE": "zsh_complete"}
    env |= {"COMP_WORDS": " ".join(["angelia", *words]), "COMP_CWORD": str(len(words))}
    return await _offered(env)


async def _offered(env: Mapping[str, str]) -> dict[str, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "angelia", env=dict(env), stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate()
    assert err == b""
    lines = out.decode().strip().splitlines()
    return dict(zip(lines[1::3], lines[2::3], strict=True))


async def test_what_there_is_is_offered_with_what_it_is(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(SETTINGS)
    app = await App.open(load(home, {}), {})
    session = app.conversations.begin(door="terminal", workspace=work)
    await session.say([Text("Plan the garden.")], address=Address("terminal"))
    opening = ConversationOpened("schedule", str(work), "local", OWNER)
    await app.schedule_service.add(
        ScheduleWish("every day at 8:00", "The weather?", OWNER, opening, Address("terminal"))
    )
    await app.close()

    assert (await completed(home, "show", ""))[short(session.conversation)] == "Plan the garden."
    assert list((await completed(home, "schedule", "pause", "")).values()) == ["The weather?"]
    assert list(await completed(home, "config", "set", "policy.mo")) == ["policy.mode"]
    assert await completed(home, "channels", "remove", "") == {"home": "irc"}
    assert list(await completed(home, "mcp", "remove", "f")) == ["files"]
    assert list(await completed(home, "channels", "add", "tele")) == ["telegram"]


async def test_where_there_is_no_home_nothing_is_offered_and_none_is_made(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert await completed(home, "show", "") == {}
    assert await completed(home, "schedule", "pause", "") == {}
    assert not home.exists()


async def test_settings_that_cannot_be_read_say_nothing_there(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    (home / "config.toml").write_text("this is no TOML")
    assert await completed(home, "config", "set", "policy") == {}
