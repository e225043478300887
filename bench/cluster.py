"""Rows about a log in PostgreSQL that machines share: appends and turns beside SQLite's, how soon one is replaced."""

import asyncio
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from tests.nursery import Nursery
from tests.store.cluster_kit import Cluster, heard, holders
from tests.store.cluster_storm import Storm, private_chats
from tests.store.postgres_server import PostgresServer, postgres_server, programs

from angelia.core import codec
from angelia.core.entry import ConversationOpened
from angelia.core.ids import new_conversation
from angelia.store.log.holdings import Holdings
from angelia.store.log.transcript import Transcript
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.sql.database import Database
from angelia.store.tables.machines import ClusterState
from angelia.testing.model.server import ModelServer
from angelia.testing.networks.telegram_server import TelegramServer
from bench import turns_on_postgres
from bench.rows import Row, Target, Yardstick, row
from bench.runs import Benchmark
from bench.store import asked

ALONE, TOGETHER, WRITERS, TURNS = 500, 8_000, 16, 3
_HELD = ("machine one", "clock", "channel a", "channel b")
"""What a gateway holds: each of its transactions looks whether it has it still."""


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """Every measurement, one after the other; the server is on this machine, too, and writes to its disk."""
    if programs() is None:
        yield Row("append in PostgreSQL, one by one", "ms", note="PostgreSQL is not installed")
        return
    with postgres_server(durable=True) as server:
        folder = bench.place("cluster")
        yield from asyncio.run(_appends(folder, server))
        yield from turns_on_postgres.rows(bench, url, (server.fresh(), server.fresh()))
        yield asyncio.run(_replaced(folder, server, bench.times))
        yield from asyncio.run(_in_a_storm(folder / "storm", server, bench.times))


async def _appends(folder: Path, server: PostgresServer) -> list[Row]:
    here, there = Database.open(folder / "here"), PostgresDatabase.open(server.fresh(), folder / "there")
    holdings = Holdings(there)
    for name in _HELD:
        await holdings.take(name, "one")
    logs, opened = (Transcript(here), Transcript(there)), ConversationOpened("terminal", "/")
    took: tuple[list[float], list[float]] = ([], [])
    conversation = new_conversation()
    for log in logs:
        await log.append(conversation, [opened])
    for _ in range(ALONE):
        for log, times in zip(logs, took, strict=True):
            start = time.perf_counter()
            await log.append(conversation, [asked()])
            times.append(time.perf_counter() - start)
    rates: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(TURNS):
        for log, rate in zip(logs, rates, strict=False):
            rate.append(await _rate(log))
        rates[2].append(await asyncio.to_thread(_raw, server.fresh()))
    here.close()
    there.close()
    bare = statistics.median(took[0])
    return [
        row("append in PostgreSQL, one by one", "ms", took[1], 2 * bare, yardstick=Yardstick("SQLite", bare)),
        Row(
            f"appends in PostgreSQL, {WRITERS} at once",
            "/s",
            tuple(rates[1]),
            Yardstick("SQLite", statistics.median(rates[0])),
            Target(least=5_000),
        ),
        Row(
            f"the same, beside psycopg on {WRITERS} connections",
            "x",
            tuple(ours / bare for _, ours, bare in zip(*rates, strict=True)),
            target=Target(least=0.5),
        ),
    ]


async def _rate(log: Transcript) -> float:
    conversations = [new_conversation() for _ in range(WRITERS)]
    for one in conversations:
        await log.append(one, [ConversationOpened("terminal", "/")])

    async def live(at: int) -> None:
        for _ in range(TOGETHER // WRITERS):
            await log.append(conversations[at], [asked()])

    start = time.perf_counter()
    await asyncio.gather(*(live(at) for at in range(WRITERS)))
    return TOGETHER / (time.perf_counter() - start)


def _raw(address: str) -> float:
    """Appends a second of connections that do nothing but a fenced one of one statement, again and again."""
    import psycopg

    tables = (
        "CREATE TABLE bare_leases (c int PRIMARY KEY, epoch int);"
        f"INSERT INTO bare_leases SELECT c, 1 FROM generate_series(0, {WRITERS - 1}) AS c;"
        "CREATE TABLE bare_entries (id bigserial PRIMARY KEY, c int, seq int, body bytea, UNIQUE (c, seq))"
    )
    append = (
        "WITH held AS (SELECT 1 FROM bare_leases WHERE c = %s AND epoch = 1 FOR SHARE)"
        " INSERT INTO bare_entries (c, seq, body) SELECT %s, %s, %s FROM held"
    )
    body = codec.encode(asked())

    def live(at: int) -> None:
        with psycopg.connect(address, autocommit=True, prepare_threshold=1) as connection:
            begin.wait()
            for seq in range(TOGETHER // WRITERS):
                connection.execute(append, (at, at, seq, body))

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(tables)
    begin = threading.Barrier(WRITERS + 1)
    writing = [threading.Thread(target=live, args=(at,)) for at in range(WRITERS)]
    for thread in writing:
        thread.start()
    begin.wait()
    start = time.perf_counter()
    for thread in writing:
        thread.join()
    return TOGETHER / (time.perf_counter() - start)


async def _replaced(folder: Path, server: PostgresServer, times: int) -> Row:
    """From the SIGKILL of the gateway that has a channel to the moment in which another one has it."""
    took = []
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelServer(heard))
        network = await stack.enter_async_context(TelegramServer())
        children = await stack.enter_async_context(Nursery())
        (folder / "machines").mkdir()
        cluster = Cluster(folder / "machines", server, model, {"bird": network})
        stack.callback(cluster.close)
        lives = {}
        for _ in range(times + 1):
            before = {one.name for one in (await cluster.machines.state()).machines}
            life = await cluster.add(children)
            state = await cluster.until(partial(_joined, before))
            [name] = {one.name for one in state.machines} - before
            lives[name] = life
            if len(lives) < 2:
                continue
            state = await cluster.until(lambda state: set(holders(state).values()) == set(lives))
            gone = holders(state)["bird"]
            start = time.perf_counter()
            lives.pop(gone).kill(signal.SIGKILL)
            await cluster.until(partial(_moved, gone))
            took.append(time.perf_counter() - start)
    return row("a channel of a killed machine is another's", "s", took, 5.0)


async def _in_a_storm(folder: Path, server: PostgresServer, times: int) -> list[Row]:
    """The same of three gateways with four channels while in 36 chats each answer is answered with the next message."""
    doors, each, number = ("bird", "cat", "dog", "elk"), 10, 0
    async with AsyncExitStack() as stack:
        stack.enter_context(private_chats(each))
        model = await stack.enter_async_context(ModelServer(heard))
        networks = {door: await stack.enter_async_context(TelegramServer()) for door in doors}
        children = await stack.enter_async_context(Nursery())
        folder.mkdir()
        cluster = Cluster(folder, server, model, networks)
        stack.callback(cluster.close)
        lives = [await cluster.add(children) for _ in range(3)]
        storm = Storm(cluster, each)
        storm.begin()
        for _ in range(times):
            await storm.everybody_was_answered()
            await cluster.until(lambda state: len(set(holders(state).values())) == len(lives))
            number = (number + 1) % len(lives)
            await storm.kill(number, lives[number], "killed")
            lives[number] = await cluster.add(children, number=number + 1)
        await storm.end()
    return [
        row("the same while people write in 36 chats", "s", storm.took["killed"], 5.0),
        row("    the longest wait for an answer meanwhile", "s", max(storm.waited)),
    ]


def _joined(known: set[str], state: ClusterState) -> bool:
    return {one.name for one in state.machines} > known


def _moved(gone: str, state: ClusterState) -> bool:
    return holders(state).get("bird", gone) != gone
