"""Several machines over one log and one bucket: one is the gateway, and another goes on where it is killed or hangs."""

import asyncio
import signal
from pathlib import Path

import pytest

from angelia.core.errors import Fenced
from angelia.store.log.holdings import Holdings
from angelia.store.log.lease import HeldElsewhere
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.tables.key_value import KeyValue
from angelia.testing.model.server import ModelServer
from angelia.testing.networks.telegram_server import TelegramServer
from tests.chats.gateway_lives import PATIENCE_S, tell
from tests.examples import TIMES
from tests.nursery import LivingChild, Nursery
from tests.store.postgres_server import PostgresServer
from tests.store.test_postgres_home import SharedStory

pytestmark = pytest.mark.anyio


class Machines:
    """Homes of their own over one log and one folder of files; `first` has the story of the chat."""

    def __init__(self, folder: Path, postgres: PostgresServer, model: ModelServer, network: TelegramServer) -> None:
        self._folder, self._model, self._network = folder, model, network
        self._log = postgres.fresh()
        (folder / "bucket").mkdir()
        self.first = self.add()

    def add(self) -> SharedStory:
        """One more."""
        number = len(list(self._folder.glob("machine-*")))
        story = SharedStory(self._folder / f"machine-{number}", self._model, self._network)
        story.keep_in(self._log)
        story.env = {**story.env, "ANGELIA_BLOBS": str(self._folder / "bucket")}
        return story

    async def begin(self, nursery: Nursery, story: SharedStory, at: str = "") -> LivingChild:
        """Its gateway, which is killed at the crash point `at`, if one is named."""
        place = story.folder / "life"
        place.mkdir()
        return await nursery.bear(["gateway"], story.env, place, at=at)


async def test_who_runs_on_another_machine_is_seen_to_live(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh()
    here, there = (PostgresDatabase.open(address, tmp_path / name) for name in ("here", "there"))
    name = here.presence.name("a driver")
    assert await there.read(lambda connection: there.presence.lives(connection, name))
    assert not await there.read(lambda connection: there.presence.lives(connection, "nobody.lock"))
    here.close()
    async with asyncio.timeout(PATIENCE_S):
        while await there.read(lambda connection: there.presence.lives(connection, name)):  # noqa: ASYNC110 - the server sees the end
            await asyncio.sleep(0.01)
    there.close()


async def test_who_was_replaced_writes_nothing(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh()
    here, there = (PostgresDatabase.open(address, tmp_path / name) for name in ("here", "there"))
    mine, theirs = Holdings(here), Holdings(there)
    await mine.take("clock", "one")
    await mine.take("channel telegram", "one")
    await KeyValue(here).put("written by", "here")
    with pytest.raises(HeldElsewhere, match="one is working"):
        await theirs.take("channel telegram", "two")
    await there.write(lambda connection: connection.execute("UPDATE leases SET expires = 0"))  # its time is over
    await theirs.take("channel telegram", "two")
    with pytest.raises(Fenced, match="taken over from this one: channel telegram"):
        await KeyValue(here).put("written by", "who hung")
    with pytest.raises(Fenced):
        await mine.keep()
    assert await KeyValue(there).get("written by") == "here"
    await theirs.release_all()
    await KeyValue(there).put("written by", "there, which holds nothing any more")
    await mine.release("channel telegram")
    await KeyValue(here).put("written by", "here, which has given up what it had lost")
    await theirs.take("channel telegram", "two")
    here.close()
    there.close()


@pytest.mark.parametrize("set_back", [0, 1, 2])
async def test_whatever_a_process_writes_renews_what_it_holds(
    postgres: PostgresServer, tmp_path: Path, set_back: int
) -> None:
    wall, steady, address = [1_000_000], [7_000], postgres.fresh()
    here = PostgresDatabase.open(address, tmp_path / "here", clock=lambda: wall[0])
    there = PostgresDatabase.open(address, tmp_path / "there")
    mine, theirs = Holdings(here, lambda: steady[0]), Holdings(there)
    await mine.take("clock", "one")
    await KeyValue(here).put("written by", "here, which renews it for the first time")
    await there.write(lambda connection: connection.execute("UPDATE leases SET expires = 0"))  # a renewal is late
    steady[0] += here.presence.ttl_ms
    wall[0] += here.presence.ttl_ms * (1 - set_back)
    await KeyValue(here).put("written by", "here, which has much to do")
    with pytest.raises(HeldElsewhere, match="one is working"):
        await theirs.take("clock", "two")
    here.close()
    there.close()


@pytest.mark.soak(every=2)
@pytest.mark.parametrize(
    "point",
    ["append.after_commit:9", "delivery.sent:1"]
    + [f"append.after_commit:{number}" for number in range(12, 40, 4) if TIMES],
)
async def test_where_a_machine_is_killed_another_goes_on(tmp_path: Path, postgres: PostgresServer, point: str) -> None:
    async with ModelServer(tell) as model, TelegramServer() as network, Nursery() as children:
        machines = Machines(tmp_path, postgres, model, network)
        killed = await machines.begin(children, machines.first, point)
        await killed.says("telegram: connected")
        other = await machines.begin(children, machines.add())
        await other.says("stands by", "telegram: connected")  # where all is slow the first one is killed before that
        await machines.first.begin()
        async with asyncio.timeout(PATIENCE_S):
            await network.when(lambda: machines.first.over)
        assert (await killed.ended()).status == -signal.SIGKILL
        assert await machines.first.broken() == []


@pytest.mark.soak
async def test_a_machine_that_was_stopped_past_its_lease_writes_nothing_when_it_wakes(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with ModelServer(tell) as model, TelegramServer() as network, Nursery() as children:
        machines = Machines(tmp_path, postgres, model, network)
        stopped = await machines.begin(children, machines.first)
        await stopped.says("telegram: connected")
        other = await machines.begin(children, machines.add())
        await other.says("stands by")
        stopped.kill(signal.SIGSTOP)
        await machines.first.begin()
        async with asyncio.timeout(PATIENCE_S):
            await network.when(lambda: machines.first.over)
        stopped.kill(signal.SIGCONT)
        run = await stopped.ended()
        assert run.status == 1
        assert "Another process has taken over from this one" in run.stderr
        assert "Traceback" not in run.stderr
        assert await machines.first.broken() == []


async def test_a_machine_that_is_ended_hands_over(tmp_path: Path, postgres: PostgresServer) -> None:
    async with ModelServer(tell) as model, TelegramServer() as network, Nursery() as children:
        machines = Machines(tmp_path, postgres, model, network)
        ended = await machines.begin(children, machines.first)
        await ended.says("telegram: connected")
        standing = await machines.begin(children, machines.add())
        await standing.says("stands by")
        ended.kill(signal.SIGTERM)
        assert (await ended.ended()).status == 0
        await standing.says("telegram: connected")
        standing.kill(signal.SIGTERM)
        assert (await standing.ended()).status == 0
