"""Rows about a conversation in which each message brings a picture: what all of its requests send."""

import asyncio
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from PIL import Image

from angelia.core.content import Text
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from bench.rounds import cached_share
from bench.rows import Row, row
from bench.runs import Benchmark
from bench.startup import model_environment
from bench.tap import Tap

PICTURES = 100
_SIZE = 480, 360


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """One conversation in this process."""
    count = min(PICTURES, bench.rounds)
    with Tap(url) as tap:
        given = asyncio.run(_converse(bench.place("picture history"), tap.url, count))
        sent = sum(len(body) for body in tap.bodies)
        name = f"{count} messages with a picture each, {given / count / 1000:,.0f} kB"
        yield row(f"{name}: sent altogether", "MB", sent)
        yield row("    of it a prefix of the request before", "%", cached_share(tap.bodies))
        yield row("    the largest request", "MB", max(len(body) for body in tap.bodies))


async def _converse(folder: Path, url: str, count: int) -> int:
    """Bytes of all pictures."""
    (workspace := folder / "workspace").mkdir()
    env, given = model_environment(url, folder), 0
    app = await App.open(load(folder / "angelia", env), env)
    session = app.conversations.begin(door="terminal", workspace=workspace)
    await app.conversations.employ(session, "openai-chat:gpt-4o", approvers=nobody)
    for number in range(count):
        data = _picture()
        given += len(data)
        media = await app.intake.to_media(data, f"{number}.jpg")
        await session.say([Text("What is this?"), media], address=TERMINAL)
        await session.settled()
    await app.close()
    return given


def _picture() -> bytes:
    """A JPEG that is like no other."""
    file = BytesIO()
    Image.effect_noise(_SIZE, 60).save(file, "JPEG", quality=85)
    return file.getvalue()
