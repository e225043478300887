"""Several gateways over one log: each channel and the clock is one machine's, and another's where that is lost."""

import asyncio
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core import codec
from angelia.core.content import Text
from angelia.core.entry import UserSaid
from angelia.core.ids import ConversationId
from angelia.store.log.holdings import Holdings
from angelia.store.log.transcript import Transcript
from angelia.store.port import StoreConnection
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.tables.machines import ClusterState, Machines, channel_part, machine_lease
from angelia.store.tables.schedules import Schedules
from angelia.testing.model.server import ModelServer
from angelia.testing.networks.telegram_server import TOKEN_VARIABLE, TelegramServer
from tests import nursery
from tests.chats.gateway_lives import PATIENCE_S
from tests.nursery import Nursery
from tests.store.cluster_kit import Cluster, heard, holders
from tests.store.leases import acquire
from tests.store.postgres_server import PostgresServer, postgres_server

pytestmark = pytest.mark.anyio

DOORS = ("bird", "cat", "dog")
GONE_ON = "turns are gone on with"


@asynccontextmanager
async def cluster_of(
    folder: Path, postgres: PostgresServer, doors: tuple[str, ...] = DOORS
) -> AsyncIterator[tuple[Cluster, Nursery]]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelServer(heard))
        networks = {door: await stack.enter_async_context(TelegramServer()) for door in doors}
        children = await stack.enter_async_context(Nursery())
        cluster = Cluster(folder, postgres, model, networks)
        stack.callback(cluster.close)
        yield cluster, children


def shared_by_two(state: ClusterState) -> bool:
    """Whether there are two machines, and each has as many parts as the other."""
    counts = Counter(holders(state).values())
    return len(counts) == 2 and len(set(counts.values())) == 1


async def angelia(cluster: Cluster, *words: str) -> str:
    """What a command says that is given on the first machine."""
    run = await nursery.run(words, cluster.environ(1))
    assert (run.status, run.stderr) == (0, ""), run.stdout + run.stderr
    return run.stdout


async def test_machines_share_the_channels_and_one_that_is_killed_is_replaced(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with cluster_of(tmp_path, postgres) as (cluster, children):
        await cluster.add(children)
        first = await cluster.until(lambda state: len(holders(state)) == 4)
        assert len(set(holders(first).values())) == 1
        await cluster.add(children)
        state = await cluster.until(shared_by_two)
        one, two = (machine.name for machine in state.machines)
        for door in DOORS:
            await cluster.say(door, f"Hello before.{door}")
        await cluster.all_answered()
        told = await angelia(cluster, "cluster")
        assert all(door in told for door in (*DOORS, "clock", one, two)), told
        cluster.lives[1].kill(signal.SIGKILL)
        for door in DOORS:
            await cluster.say(door, f"Hello after.{door}")
        await cluster.all_answered()
        assert set(holders(await cluster.until(lambda state: len(holders(state)) == 4)).values()) == {one}
        assert cluster.doubled() == []


async def until(holds: Callable[[], bool]) -> None:
    """Return once something is true of what processes write."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - processes tell
            await asyncio.sleep(0.02)


@pytest.mark.soak
async def test_a_turn_that_another_machine_began_in_a_chat_of_this_one_is_gone_on_with_when_that_one_dies(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with cluster_of(tmp_path, postgres, ("bird",)) as (cluster, children):
        first = await cluster.add(children)
        await cluster.say("bird", "Hello first")
        await cluster.all_answered()
        first.kill(signal.SIGKILL)
        await first.ended()
        log = cluster.folder / "machine-1" / "home" / "angelia.log"
        looked = log.read_text().count(GONE_ON)
        await cluster.add(children, number=1)
        await until(lambda: log.read_text().count(GONE_ON) > looked)
        ghost = PostgresDatabase.open(cluster.log, tmp_path / "ghost")
        holdings = Holdings(ghost)
        await holdings.take(machine_lease("ghost"), ghost.presence.here)
        await holdings.take(channel_part("cat"), "ghost")
        await Machines(ghost).tell("ghost", "1", frozenset({channel_part("cat")}), 0)
        await until(lambda: "cat: ghost has it" in (cluster.folder / "life-2" / "out").read_text())
        conversation, said = await cluster.store.read(_last_said)
        await acquire(ghost, conversation, "telegram")
        await Transcript(ghost).append(conversation, [replace(said, parts=(Text("Hello ghost"),), key="ghost")])
        cluster.said["bird"].append("ghost")
        ghost.close()
        await cluster.all_answered()
        assert cluster.doubled() == []


def _last_said(connection: StoreConnection) -> tuple[ConversationId, UserSaid]:
    query = "SELECT conversation, body FROM entries WHERE kind = 'UserSaid' ORDER BY id DESC LIMIT 1"
    conversation, body = connection.execute(query).fetchone()
    fact = codec.decode(body)
    assert isinstance(fact, UserSaid)
    return ConversationId(conversation), fact


@pytest.mark.soak
async def test_a_machine_that_is_drained_finishes_its_turns_and_nobody_is_told(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with cluster_of(tmp_path, postgres, ("bird",)) as (cluster, children):
        await cluster.add(children)
        await cluster.until(lambda state: len(holders(state)) == 2)
        await cluster.say("bird", "Hello first")
        await cluster.all_answered()
        await cluster.add(children)
        state = await cluster.until(shared_by_two)
        begun = len(cluster.model.requests)
        await cluster.say("bird", "Think slowly about second")
        await cluster.model.when(lambda model: len(model.requests) > begun)
        drained = holders(state)["bird"]
        told = await angelia(cluster, "cluster", "drain", drained)
        assert f"{drained} is drained" in told
        after = await cluster.machines.state()
        assert drained not in holders(after).values()
        assert len(holders(after)) == 2
        await cluster.all_answered()
        assert len(cluster.model.requests) == begun + 1  # the turn ended where it was begun
        await cluster.say("bird", "Hello third")
        await cluster.all_answered()
        assert cluster.doubled() == []
        assert {text.split("heard")[0] for text in cluster.texts("bird")} == {""}
        refused = await nursery.run(("cluster", "drain", holders(after)["bird"]), cluster.environ(1))
        assert refused.status != 0
        assert "Nobody else could take" in refused.stderr
        unknown = await nursery.run(("cluster", "drain", "nowhere"), cluster.environ(1))
        assert "There is no machine 'nowhere'" in unknown.stderr
        await angelia(cluster, "cluster", "undrain", drained)
        await cluster.until(shared_by_two)


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("point", ["cluster.taken:1", "cluster.taken:2", "cluster.before_release:1"])
async def test_a_machine_that_is_killed_while_it_takes_or_hands_over_costs_nothing(
    tmp_path: Path, postgres: PostgresServer, point: str
) -> None:
    async with cluster_of(tmp_path, postgres) as (cluster, children):
        killed = await cluster.add(children, at=point)
        await cluster.until(lambda state: len(holders(state)) == 4 or killed.status.done())
        await cluster.add(children)
        for door in DOORS:
            await cluster.say(door, f"Hello there.{door}")
        await cluster.all_answered()
        assert (await killed.ended()).status == -signal.SIGKILL
        for door in DOORS:
            await cluster.say(door, f"Hello again.{door}")
        await cluster.all_answered()
        assert cluster.doubled() == []


async def test_what_one_machine_schedules_and_another_begins_is_answered_by_who_has_the_chat(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with cluster_of(tmp_path, postgres, ("bird",)) as (cluster, children):
        await cluster.add(children)
        await cluster.until(lambda state: len(holders(state)) == 2)
        await cluster.say("bird", "Hello first")
        await cluster.all_answered()
        await cluster.add(children)
        await cluster.until(shared_by_two)
        cluster.said["bird"].append("scheduled")
        (work := tmp_path / "work").mkdir()
        there = ("-C", str(work), "--to", "bird", "--yes")
        await angelia(cluster, "schedule", "add", "in 1 second", "Be scheduled", *there)
        await cluster.all_answered()
        await cluster.until(lambda state: len(holders(state)) == 2)
        assert cluster.doubled() == []
        [once] = await Schedules(cluster.store).changed(0)
        assert [one.ending for one in await Schedules(cluster.store).history(once.id, 9)] == ["Answered"]


@pytest.mark.soak
async def test_a_database_that_is_restarted_moves_nothing(tmp_path: Path) -> None:
    with postgres_server() as server:
        async with cluster_of(tmp_path, server) as (cluster, children):
            for _ in range(2):
                await cluster.add(children)
            before = holders(await cluster.until(shared_by_two))
            server.kill()
            server.start()
            for door in DOORS:
                await cluster.say(door, f"Hello after.{door}")
            await cluster.all_answered()
            assert holders(await cluster.until(shared_by_two)) == before
            assert not any(life.status.done() for life in cluster.lives)
            assert cluster.doubled() == []


async def test_a_channel_that_does_not_let_one_in_goes_to_a_machine_that_it_does(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with cluster_of(tmp_path, postgres, ("bird",)) as (cluster, children):
        cluster.more = {TOKEN_VARIABLE: "654321:AAWrongTokenThatNobodyEverIssued_9999"}
        await cluster.add(children)
        await cluster.until(lambda state: "bird" in holders(state))
        cluster.more = {}
        await cluster.add(children)
        await cluster.say("bird", "Hello there")
        await cluster.all_answered()
        assert not cluster.lives[0].status.done()


@pytest.mark.soak
async def test_a_chat_goes_on_where_its_folder_is_not_and_the_model_is_told(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with cluster_of(tmp_path, postgres, ("bird",)) as (cluster, children):
        await cluster.add(children)
        await cluster.until(lambda state: len(holders(state)) == 2)
        await cluster.say("bird", "Hello first")
        await cluster.all_answered()
        assert "another machine" not in str(cluster.model.requests[-1].heard)
        await cluster.add(children)
        await cluster.until(shared_by_two)
        cluster.lives[0].kill(signal.SIGKILL)
        await cluster.lives[0].ended()
        shutil.rmtree(tmp_path / "machine-1")
        for words in ("Hello second", "Hello third"):
            await cluster.say("bird", words)
            await cluster.all_answered()
        assert str(cluster.model.requests[-1].heard).count("served by another machine now") == 1
