"""Machines on a network are killed, or lose it, while many people write: every message comes to one end of its own."""

import asyncio
import os
import random
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from angelia.store.port import StoreConnection
from angelia.testing.crash import Run
from angelia.testing.model.server import ModelServer
from angelia.testing.networks.telegram_server import TelegramServer
from tests import nursery
from tests.chats.gateway_lives import PATIENCE_S
from tests.examples import TIMES
from tests.nursery import LivingChild, Nursery
from tests.store.cluster_kit import Cluster, heard, holders
from tests.store.cluster_storm import Storm, private_chats
from tests.store.machine_network import Machine, MachineNetwork, can_be_made, machine_network
from tests.store.postgres_server import PostgresServer, postgres_server

pytestmark = [pytest.mark.anyio, pytest.mark.real("postgres")]

SEED = 20_261_126
DOORS = ("bird", "cat", "dog", "elk")
MACHINES, CHATS_EACH, KILLS, PAUSE_S = (4, 500, 20, 30.0) if TIMES else (3, 10, 2, 0.0)
CHATS_FEW, ENDS = 6, 30
HOST = "127.0.0.1"


@pytest.fixture
def network() -> Iterator[MachineNetwork]:
    """Machines of their own where cables can be laid, as in CI; elsewhere they share this one."""
    if not can_be_made():
        assert not os.environ.get("CI"), "CI must be able to make network namespaces"
        yield MachineNetwork(HOST, ())
        return
    with machine_network(MACHINES) as made:
        yield made


@pytest.fixture
def server(network: MachineNetwork) -> Iterator[PostgresServer]:
    """One that the machines reach over their network."""
    with postgres_server(host=network.host) as server:
        yield server


async def began(stack: AsyncExitStack, folder: Path, server: PostgresServer, network: MachineNetwork) -> Cluster:
    """A cluster of no machine yet, for as long as the stack."""
    model = await stack.enter_async_context(ModelServer(heard, host=network.host))
    networks = {door: await stack.enter_async_context(TelegramServer(host=network.host)) for door in DOORS}
    cluster = Cluster(folder, server, model, networks)
    stack.callback(cluster.close)
    cluster.apart = network.machines
    return cluster


@pytest.mark.real("netns")
async def test_the_sessions_of_a_machine_that_is_cut_off_end_and_it_is_replaced(
    tmp_path: Path, server: PostgresServer, network: MachineNetwork
) -> None:
    async with AsyncExitStack() as stack:
        cluster, children = await began(stack, tmp_path, server, network), await stack.enter_async_context(Nursery())
        for _ in range(2):
            await cluster.add(children)
        await cluster.until(lambda state: len(set(holders(state).values())) == 2)
        network.machines[0].pull()
        sessions = partial(_sessions_from, address=network.machines[0].address)
        async with asyncio.timeout(PATIENCE_S):
            while await cluster.store.read(sessions):  # noqa: ASYNC110 - the server tells
                await asyncio.sleep(0.02)
        state = await cluster.until(lambda state: len(holders(state)) == len(DOORS) + 1)
        assert set(holders(state).values()) == {network.machines[1].name}
        network.machines[0].plug_in()
        cut_off = await cluster.lives[0].ended()
        assert cut_off.status == 1
        assert "Another process has taken over from this one" in cut_off.stderr


def _sessions_from(connection: StoreConnection, *, address: str) -> int:
    query = "SELECT count(*) FROM pg_stat_activity WHERE client_addr = CAST(? AS inet)"
    return int(connection.execute(query, (address,)).fetchone()[0])


def _dispositions(connection: StoreConnection) -> dict[str, int]:
    """By what came in: how many have it, and how many there are in all."""
    rows = connection.execute(
        "SELECT kind, count(*) FROM entries WHERE kind IN ('UserSaid', 'CommandGiven', 'TurnedAway', 'SetAside')"
        " GROUP BY kind"
    ).fetchall()
    return {**dict(rows), "in all": connection.execute("SELECT count(*) FROM inbox").fetchone()[0]}


@pytest.mark.soak
async def test_machines_are_killed_while_many_people_write_and_each_message_has_one_end(
    tmp_path: Path,
    server: PostgresServer,
    network: MachineNetwork,
) -> None:
    async with AsyncExitStack() as stack:
        stack.enter_context(private_chats(CHATS_EACH))
        cluster, children = await began(stack, tmp_path, server, network), await stack.enter_async_context(Nursery())
        alive = [await cluster.add(children) for _ in range(MACHINES)]
        storm, chance = Storm(cluster, CHATS_EACH), random.Random(SEED)
        storm.begin()
        await storm.everybody_was_answered()
        for kill in range(KILLS):
            if not PAUSE_S:
                await storm.everybody_was_answered()
            await asyncio.sleep(PAUSE_S)  # in the large size others are killed while answers are still owed
            await cluster.until(lambda state: len(set(holders(state).values())) == MACHINES)
            number = chance.randrange(MACHINES)
            await storm.kill(number, alive[number], "cut off" if kill % 2 and network.machines else "killed")
            alive[number] = await cluster.add(children, number=number + 1)
        await storm.everybody_was_answered()
        await storm.end()
        assert cluster.doubled() == []
        stops, said = len(DOORS), sum(map(len, cluster.said.values()))
        ends = {"UserSaid": said - stops, "CommandGiven": stops, "in all": said}
        assert await cluster.store.read(_dispositions) == ends
        verified = await nursery.run(("store", "verify"), cluster.environ(1))
        assert "is in order" in verified.stdout, verified.stdout + verified.stderr
        assert not any(life.status.done() for life in alive)


@pytest.mark.soak
async def test_machines_that_are_told_to_end_do_so_whatever_is_away_then(
    tmp_path: Path, server: PostgresServer, network: MachineNetwork
) -> None:
    async with AsyncExitStack() as stack:
        stack.enter_context(private_chats(CHATS_FEW))
        cluster, children = await began(stack, tmp_path, server, network), await stack.enter_async_context(Nursery())
        alive = [await cluster.add(children) for _ in range(3)]
        storm, chance = Storm(cluster, CHATS_FEW), random.Random(SEED)
        storm.begin()
        await storm.everybody_was_answered()
        for end in range(ENDS):
            await cluster.until(lambda state: len(set(holders(state).values())) == len(alive))
            number = chance.randrange(len(alive))
            ended = await _ended(alive[number], network.machines[number], server, chance)
            was_replaced = "Another process has taken over" in ended.stderr
            assert ended.status == was_replaced, (end, ended)
            alive[number] = await cluster.add(children, number=number + 1)
            await storm.everybody_was_answered()
        await storm.end()
        assert cluster.doubled() == []


async def _ended(life: LivingChild, machine: Machine, server: PostgresServer, chance: random.Random) -> Run:
    """Tell a machine to end while it is cut off, or the server is away, or right after; or while all is well."""
    away = chance.choice(["nothing", "network", "network", "server"])
    before, after, is_back_first = chance.uniform(0, 9), chance.uniform(0, 3), chance.random() < 0.5
    if away == "network":
        machine.pull()
    elif away == "server":
        server.kill()
    await asyncio.sleep(before)
    if not is_back_first:
        life.kill(signal.SIGTERM)
        await asyncio.sleep(after)
    if away == "network":
        machine.plug_in()
    elif away == "server":
        server.start()
    if is_back_first:
        await asyncio.sleep(after)
        life.kill(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE_S):
        return await life.ended()
