"""What a gateway holds after a month, in memory and of open files, by a clock of its own."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender
from angelia.channels.settings import ChannelSettings
from angelia.core.entry import Address
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.settings.config import load
from angelia.testing.channels.recording_channel import FarEnd, RecordingChannel
from bench.idle import resident
from bench.rows import Row, row
from bench.runs import ROOT, Benchmark, python, run
from bench.startup import model_environment

EARLY, LATE = 3, 30
"""The days that are compared."""
CHATS = 4
_HOUR_MS = 3_600_000


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """A process that hears something each hour, and begins anew in every chat each day."""
    folder = bench.place("soak")
    found = json.loads(
        run(python("-m", "bench.soak", str(folder)), env=model_environment(url, folder), cwd=ROOT).stdout
    )
    (memory, files), (memory_late, files_late) = found
    yield row(f"chat: memory on day {LATE} against day {EARLY}", "x", memory_late / memory, 1.1)
    yield row(f"chat: open files on day {LATE} against day {EARLY}", "x", files_late / files, 1.0)


class _Month:
    """A clock that goes on an hour with each message."""

    now = 1_750_000_000_000

    def __call__(self) -> int:
        return self.now


async def _measure(folder: Path) -> list[tuple[int, int]]:
    env, clock, far = dict(os.environ), _Month(), FarEnd()
    app = await App.open(load(folder / "angelia", env, (), {"model": "openai-chat:scripted"}), env, clock)
    gateway, channel = Gateway(app.chat_services), RecordingChannel(far)
    gateway.begin([OpenChannel(channel, ChannelSettings(owners=("1",)))])
    found: list[tuple[int, int]] = []
    for hour in range(LATE * 24):
        clock.now += _HOUR_MS
        words = "/new" if hour % 24 < CHATS else f"it is hour {hour}"
        where = Address("chat", str(hour % CHATS))
        far.messages.clear()  # the network's memory, not ours
        far.calls.clear()
        await channel.bring(Envelope(where, f"h{hour}", IncomingSender("1", "Ann"), IncomingMessage(words)))
        await far.when(lambda far: any(not one.text.endswith("…") for one in far.messages.values()))
        if hour + 1 in (EARLY * 24, LATE * 24):
            found.append((resident(), len(list(Path("/proc/self/fd").iterdir()))))
    await gateway.close()
    await app.close()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_measure(Path(sys.argv[1])))))
    sys.stdout.flush()
    os._exit(0)
