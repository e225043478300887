"""What keeping time costs: from an instant to its request on the wire, and ten thousand schedules that are not due."""

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from angelia.core import entry as e
from angelia.core.ids import new_conversation
from angelia.core.timing import Cron
from angelia.policy.situation import Mode
from angelia.service.app import App
from angelia.service.schedule.clockwork import LONGEST_SLEEP_S, Clockwork
from angelia.service.schedule.keep_time import keep_time
from angelia.service.schedule.service import wish_in
from angelia.service.settings.config import load
from angelia.store.tables.schedules import Occurrence, StoredSchedule
from bench.rows import Row, row
from bench.runs import Benchmark
from bench.startup import model_environment
from bench.tap import Tap

_MANY = 10_000
_LOOKS = 200
_A_MINUTE = round(60 / LONGEST_SLEEP_S)


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """Lateness awake, and rest."""
    with Tap(url) as tap:
        late = asyncio.run(_lateness(bench.place("clock"), tap, bench.times))
    yield row("from an instant to its request on the wire", "ms", late, 0.05)
    loaded, rest = asyncio.run(_rest(bench.place("many clocks")))
    yield row(f"{_MANY:,} schedules, read at a start", "ms", loaded)
    yield row(f"{_MANY:,} schedules of which none is due, CPU a minute", "ms", rest, 0.001)


async def _opened(folder: Path, url: str) -> App:
    env = model_environment(url, folder)
    (folder / "workspace").mkdir()
    return await App.open(
        load(folder / "angelia", env, ["model=openai-chat:scripted", f"policy.mode={Mode.EDIT}"]), env
    )


async def _lateness(folder: Path, tap: Tap, count: int) -> list[float]:
    """Seconds; the first turn, which loads what turns need, is left out."""
    app = await _opened(folder, tap.url)
    session = app.conversations.begin(door="terminal", workspace=folder / "workspace")
    keeping = asyncio.create_task(keep_time(app.clock_services, None))
    late = []
    for _ in range(count + 1):
        due, known = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2), len(tap.arrived)
        at = time.perf_counter() + due.timestamp() - time.time()
        await app.schedule_service.add(wish_in(session, e.Address("terminal"), due.isoformat(), "Good morning."))
        while len(tap.arrived) == known:  # noqa: ASYNC110 - the tap is a thread
            await asyncio.sleep(0.01)
        late.append(tap.arrived[known] - at)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await app.close()
    return late[1:]


async def _rest(folder: Path) -> tuple[float, float]:
    """Seconds to know all schedules, and of CPU in a minute in which nothing is due."""
    app = await _opened(folder, "http://127.0.0.1:9")

    async def schedule(number: int) -> None:
        said = e.Scheduled(Cron(f"{number % 60} 0 1 1 *"), "Europe/Berlin", "Rest.", app.clock(), e.Address("terminal"))
        await app.transcript.append(new_conversation(), [e.ConversationOpened("schedule", "/"), said])

    for start in range(0, _MANY, 500):
        await asyncio.gather(*(schedule(number) for number in range(start, start + 500)))

    async def drive(_: Occurrence, __: StoredSchedule | None) -> None:
        return

    clockwork = Clockwork(app.clock_services.clockwork, drive)
    before = time.perf_counter()
    await clockwork.look()
    loaded, cpu = time.perf_counter() - before, time.process_time()
    for _ in range(_LOOKS):
        await clockwork.look()
    rest = (time.process_time() - cpu) / _LOOKS * _A_MINUTE
    await app.close()
    return loaded, rest
