"""`angelia clock` as a process: killed at each point, and beside another one."""

import asyncio
import base64
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.service.schedule.signatures import signature
from angelia.service.schedule.wake import WakePipe, clock_runs, wake_clock
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.store.tables.schedules import Schedules
from angelia.testing.crash import Run
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.testing.networks.imap_server import PASSWORD, USER, ImapServer
from tests import nursery
from tests.delegation.family import by_task, delegate, words
from tests.faces.angelia import MODEL, Place
from tests.ports import free_port

pytestmark = pytest.mark.anyio

LAST = "turn.closed:1"
"""The commit with which the only turn ends."""


def _place(tmp_path: Path, url: str) -> Place:
    place = Place(tmp_path / "home" / ".angelia", tmp_path / "work", url)
    place.home.mkdir(parents=True)
    place.work.mkdir()
    return place


async def _scheduled(place: Place, when: str, watch: str = "", env: Mapping[str, str] | None = None) -> None:
    words = ["schedule", "add", when, "Say hello.", "--model", MODEL, "--yes", "-C", str(place.work)]
    words += ["--watch", watch] if watch else []
    run = await nursery.run(words, {**(env or place.environment({})), "PWD": str(place.work)})
    assert run.status == 0, run.stderr


async def _log(home: Path) -> list[e.AnyFact]:
    """Every fact of a scheduled turn's conversation."""
    db = Database.open(home)
    try:
        transcript = Transcript(db)
        (schedule,) = await Schedules(db).changed(0)
        return [
            entry.fact
            for one in await Schedules(db).history(schedule.id, 10)
            for entry in await transcript.entries(ConversationId(one.conversation))
        ]
    finally:
        db.close()


@pytest.mark.slow
async def test_killed_at_each_point_a_time_begins_one_turn_that_is_told_once(tmp_path: Path) -> None:
    async with ModelServer([say("Hello.")] * 500) as server:
        whole = _place(tmp_path / "whole", server.base_url.removesuffix("/v1"))
        await _scheduled(whole, "in 1 second")
        run = await nursery.run_killed_at(LAST, ["clock"], whole.environment({}))
        first = run.passed.index("schedule.before_commit:1")
        points = [point for point in run.passed[first:] if not point.startswith(("tips.", "blob."))]
        assert {"schedule.committed:1", "model.asked:1", "turn.before_close:1"} <= {*points, "turn.before_close:1"}
        for number, point in enumerate(points):
            place = _place(tmp_path / f"{number}", server.base_url.removesuffix("/v1"))
            await _scheduled(place, "in 1 second")
            await nursery.run_killed_at(point, ["clock"], place.environment({}))
            if not any(isinstance(fact, e.TurnClosed) for fact in await _log(place.home)):
                await nursery.run_killed_at(LAST, ["clock"], place.environment({}))
            facts = await _log(place.home)
            kinds = [type(fact) for fact in facts]
            assert [kinds.count(kind) for kind in (e.Occurred, e.TurnClosed, e.DeliveryQueued)] == [1, 1, 1], point
            assert facts[-1].parts == (Text("Hello."),) if isinstance(facts[-1], e.DeliveryQueued) else True


async def test_killed_at_a_look_it_is_looked_at_again_and_no_model_is_asked(tmp_path: Path) -> None:
    async with ModelServer([say("never asked for")]) as server:
        place = _place(tmp_path, server.base_url.removesuffix("/v1"))
        (place.work / "inbox").mkdir()
        await _scheduled(place, "in 1 second", watch="folder: inbox")
        for point in ("schedule.looked:1", "schedule.committed:1"):
            run = await nursery.run_killed_at(point, ["clock"], place.environment({}))
            assert "schedule.looked:1" in run.passed
        db = Database.open(place.home)
        (schedule,) = await Schedules(db).changed(0)
        facts = [type(entry.fact) for entry in await Transcript(db).entries(schedule.id)]
        db.close()
        assert facts == [e.ConversationOpened, e.Scheduled, e.WatchChecked]
        assert not server.requests


@pytest.mark.parametrize("point", ["outside.before_commit:1", "outside.committed:1"])
async def test_a_signal_that_killed_the_gateway_is_sent_again_and_begins_one_turn(tmp_path: Path, point: str) -> None:
    key = b"0123456789abcdef01234567"
    async with ModelServer([say("Hello.")] * 3) as server:
        place = _place(tmp_path, server.base_url.removesuffix("/v1"))
        port = free_port()
        settings = f'gateway.listen = "127.0.0.1:{port}"\nmodel = "{MODEL}"\n[signals.ci]\nsecret = {{env = "CI"}}\n'
        (place.home / "config.toml").write_text(settings)
        env = {**place.environment({}), "CI": f"whsec_{base64.b64encode(key).decode()}"}
        await _scheduled(place, "on signal ci")
        told = []
        for at in (point, LAST):
            life = asyncio.create_task(nursery.run_killed_at(at, ["gateway"], env))
            told.append(await _signalled(port, key, life))
            await life
        assert (told[0][:12], told[1][:12]) == (b"", b"HTTP/1.1 202"), "202 is said only for what is committed"
        kinds = [type(fact) for fact in await _log(place.home)]
        assert [kinds.count(kind) for kind in (e.Occurred, e.TurnClosed, e.DeliveryQueued)] == [1, 1, 1]
        assert len(server.requests) == 1


@pytest.mark.parametrize("when", ["on mail post", "on change inbox"])
async def test_a_mail_or_a_file_that_killed_the_clock_begins_one_turn(tmp_path: Path, when: str) -> None:
    async with ModelServer([say("Hello.")] * 3) as server, ImapServer() as post:
        place = _place(tmp_path, server.base_url.removesuffix("/v1"))
        (inbox := tmp_path / "inbox").mkdir()
        mailbox = f'host = "127.0.0.1"\nport = {post.port}\nuser = "{USER}"\ntls = "none"\nsenders = ["*"]\n'
        settings = f'model = "{MODEL}"\n[mailboxes.post]\n{mailbox}password = {{env = "POST"}}\n'
        settings += f'[folders.inbox]\npath = "{inbox}"\nsettle_s = 0.0\n'
        (place.home / "config.toml").write_text(settings)
        env = {**place.environment({}), "POST": PASSWORD}
        await _scheduled(place, when, env=env)
        post.bring(b"From: ann@example.org\r\nSubject: Hello\r\n\r\nHow are you?")
        (inbox / "hello.txt").write_text("How are you?")
        for point in ("outside.before_commit:1", "outside.committed:1", LAST):
            assert point in (await nursery.run_killed_at(point, ["clock"], env)).passed
        kinds = [type(fact) for fact in await _log(place.home)]
        assert [kinds.count(kind) for kind in (e.Occurred, e.TurnClosed, e.DeliveryQueued)] == [1, 1, 1]
        assert len(server.requests) == 1


async def _signalled(port: int, key: bytes, life: asyncio.Task[Run]) -> bytes:
    """What a sender hears that signals once somebody listens, always under the same id."""
    while not life.done():
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.01)
            continue
        at = str(int(time.time()))
        head = f"POST /in/ci HTTP/1.1\r\nHost: x\r\nwebhook-id: msg_1\r\nwebhook-timestamp: {at}\r\n"
        shown = signature(key, "msg_1", at, b"{}")
        writer.write(f"{head}webhook-signature: {shown}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        try:
            return await reader.read(1000)
        except ConnectionError:
            return b""
        finally:
            writer.close()
    return b"nobody listened"


async def test_a_second_clock_waits_and_the_first_hears_at_once_of_what_another_process_schedules(
    tmp_path: Path,
) -> None:
    async with ModelServer([call("stay_silent", {"why": "all is well"}), say("never asked for")]) as server:
        place = _place(tmp_path, server.base_url.removesuffix("/v1"))
        argv, env = [sys.executable, "-m", "angelia", "clock"], place.environment({})
        clocks = [await asyncio.create_subprocess_exec(*argv, env=env, stdout=PIPE) for _ in range(2)]
        try:
            said = sorted([await _line(clock) for clock in clocks])
            assert [line[:16] for line in said] == ["Another process ", "Keeping time. Ct"]
            await _scheduled(place, "in 1 second")
            while not any(  # noqa: ASYNC110 - another process ends it
                isinstance(fact, e.TurnClosed) for fact in await _log(place.home)
            ):
                await asyncio.sleep(0.05)
        finally:
            for clock in clocks:
                clock.terminate()
                await clock.wait()
        facts = await _log(place.home)
        assert not any(isinstance(fact, e.DeliveryQueued) for fact in facts)
        history = await nursery.run(["schedule", "history", await _id(place.home)], env)
        assert "silent" in history.stdout
        assert "all is well" in history.stdout
        assert len(server.requests) == 1


async def test_a_helper_of_a_turn_that_has_answered_ends_before_that_is_left(tmp_path: Path) -> None:
    child = [call("shell", {"command": "sleep 0.5"}), say("It is 42.")]
    async with ModelServer(
        by_task({"look it up": child, "Say hello": [delegate("look it up"), say("Begun.")]})
    ) as server:
        place = _place(tmp_path, server.base_url.removesuffix("/v1"))
        await _scheduled(place, "every day at 8:00")
        run = await nursery.run(["schedule", "run", await _id(place.home)], place.environment({}))
        assert run.status == 0, run.stderr
        ends = [fact for fact in await _log(place.home) if isinstance(fact, e.WorkEnded)]
        assert [words(fact) for fact in ends] == ["It is 42."]


async def test_a_helper_that_still_worked_when_the_clock_was_killed_goes_on_with_the_next_one(tmp_path: Path) -> None:
    """Its turn has answered by then, so nothing else would open its conversation again."""
    child = [call("shell", {"command": "sleep 0.5"}), say("It is 42.")]
    async with (
        ModelServer(
            by_task({"look it up": child, "Say hello": [delegate("look it up"), say("Begun."), say("42, then.")]})
        ) as server,
        nursery.Nursery() as lives,
    ):
        place = _place(tmp_path, server.base_url.removesuffix("/v1"))
        await _scheduled(place, "in 1 second")
        await nursery.run_killed_at(LAST, ["clock"], place.environment({}))
        assert not any(isinstance(fact, e.WorkEnded) for fact in await _log(place.home))
        (tmp_path / "second").mkdir()
        clock = await lives.bear(["clock"], place.environment({}), tmp_path / "second")
        async with asyncio.timeout(60):
            while not (  # noqa: ASYNC110 - another process ends it
                ends := [one for one in await _log(place.home) if isinstance(one, e.WorkEnded)]
            ):
                await asyncio.sleep(0.05)
        assert [words(fact) for fact in ends] == ["It is 42."]
        clock.kill(signal.SIGTERM)
        assert (await clock.ended()).status == 0


async def test_whoever_asks_for_a_clock_does_not_stand_in_the_way_of_one_that_begins(tmp_path: Path) -> None:
    clock_runs(tmp_path)
    assert not (tmp_path / "clock.lock").exists()
    woken = asyncio.Event()
    pipe = WakePipe(tmp_path, woken.set)
    wake_clock(tmp_path)
    await woken.wait()
    assert clock_runs(tmp_path)
    pipe.close()
    assert not clock_runs(tmp_path)


async def test_a_clock_that_ends_as_it_is_woken_fails_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, write = WakePipe(tmp_path, lambda: None), os.write

    def write_as_it_ends(to: int, data: bytes) -> int:
        pipe.close()
        return write(to, data)

    monkeypatch.setattr(os, "write", write_as_it_ends)
    wake_clock(tmp_path)
    monkeypatch.undo()
    assert not clock_runs(tmp_path)


async def _line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout
    return (await process.stdout.readline()).decode()


async def _id(home: Path) -> str:
    db = Database.open(home)
    (one,) = await Schedules(db).visible(OWNER)
    db.close()
    return one.id[-8:]


async def test_an_open_terminal_keeps_time_where_it_is_told_to_and_shows_what_is_begun_there(tmp_path: Path) -> None:
    async with ModelServer([say("Hello."), say("The oven!")]) as server:
        place = _place(tmp_path, server.base_url.removesuffix("/v1"))
        assert "The oven!" in await asyncio.to_thread(_reminded, place)


def _reminded(place: Place) -> str:
    """What stands on the screen once somebody was reminded."""
    with place.chat("--set", "schedule.in_terminal=true") as terminal:
        terminal.types("hello")
        terminal.sees("Hello.")
        terminal.types("/remind in 1 second the oven")
        terminal.sees("It is told here, in this conversation.")
        terminal.sees("Remind me now: the oven")
        terminal.sees("The oven!")
        return terminal.screen
