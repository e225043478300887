"""However the bridge or its connection ends: what has left is told apart from what has not, and no process is left."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from angelia.channels.capabilities import Kind
from angelia.channels.failures import NotSent, Unsure
from angelia.channels.outgoing import OutText
from angelia.channels.whatsapp.bridge.process import Bridge, BridgeFailed
from angelia.testing.channels.network import ChannelTimeouts, Sample, TimeOut
from angelia.testing.channels.stage import Stage, staged
from tests.channels.whatsapp_personal.network import PersonalNetwork
from tests.channels.whatsapp_personal.people import HERE

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm")]

PAPER = Sample(Kind.DOCUMENT, "paper.txt", "text/plain", b"a paper")


def fake(stage: Stage) -> PersonalNetwork:
    assert isinstance(stage.network, PersonalNetwork)
    return stage.network


def kill(stage: Stage) -> None:
    os.kill(fake(stage).bridges[-1], signal.SIGKILL)


async def test_a_bridge_that_dies_while_a_file_is_brought_has_sent_nothing() -> None:
    async with asyncio.timeout(120), staged(PersonalNetwork) as stage:
        fake(stage).stuck = True
        sending = asyncio.create_task(stage.channel.send(HERE, stage.file(PAPER), "key"))
        await stage.network.when(lambda: fake(stage).uploads == 1)
        kill(stage)
        await stage.fails(sending, NotSent)
        assert stage.network.arrived == []


async def test_a_bridge_that_dies_after_a_message_has_left_leaves_it_unsure() -> None:
    async with asyncio.timeout(120), staged(PersonalNetwork) as stage:
        stage.network.misbehave(TimeOut(accepted=True))
        sending = asyncio.create_task(stage.channel.send(HERE, OutText("hello"), "key"))
        await stage.network.when(lambda: bool(stage.network.arrived))
        kill(stage)
        await stage.fails(sending, Unsure)


async def test_a_connection_that_gives_no_sign_of_life_is_handed_nothing() -> None:
    async with asyncio.timeout(120), staged(PersonalNetwork, ChannelTimeouts(silence=1.0)) as stage:
        await stage.network.swallow()
        await stage.fails(stage.channel.send(HERE, OutText("hello"), "key"), NotSent)
        await stage.fails(stage.channel.typing(HERE), NotSent)
        assert stage.network.arrived == []


async def test_a_bridge_ends_with_its_channel() -> None:
    async with asyncio.timeout(120), staged(PersonalNetwork) as stage:
        await stage.send(OutText("hello"))
        assert not fake(stage).quiet
        await stage.stop()
        await stage.network.when(lambda: fake(stage).quiet)


async def test_a_bridge_ends_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    paper = tmp_path / PAPER.name
    paper.write_bytes(PAPER.data)
    async with asyncio.timeout(120), PersonalNetwork() as network:
        network.stuck = True  # it is killed while something is going on
        host = (sys.executable, "-m", "tests.channels.whatsapp_personal.host", tmp_path, network.modules, paper)
        process = await asyncio.create_subprocess_exec(*host, cwd=Path(__file__).parents[3])
        await network.when(lambda: network.uploads == 1)
        process.kill()
        await process.wait()
        await network.when(lambda: network.quiet)
        assert len(network.bridges) == 1


async def test_one_that_is_left_while_it_starts_is_no_process_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def slowly(*argv: str, **how: Any) -> asyncio.subprocess.Process:
        begun.append(await start(*argv, **how))
        starting.cancel()
        await asyncio.sleep(0)
        return begun[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    async with asyncio.timeout(120):
        starting = asyncio.create_task(Bridge.start("node", tmp_path, tmp_path, {"answer": 1.0, "silence": 1.0}))
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert [process.returncode for process in begun] == [-signal.SIGKILL]


@pytest.mark.parametrize("steps", range(4))
async def test_an_end_that_is_left_comes_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    begun: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def noted(*argv: str, **how: Any) -> asyncio.subprocess.Process:
        begun.append(await start(*argv, **how))
        return begun[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    async with asyncio.timeout(120):
        bridge = await Bridge.start("node", tmp_path, tmp_path, {"answer": 1.0, "silence": 1.0})
        ending = asyncio.create_task(bridge.end())
        for _ in range(steps):
            await asyncio.sleep(0)
        if steps:
            ending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ending
        else:
            await ending
    (process,) = begun
    assert process.returncode is not None
    assert process.stdout
    assert process.stdout.at_eof()


async def test_a_bridge_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    async with asyncio.timeout(120):
        bridge = await Bridge.start("node", tmp_path, tmp_path, {"answer": 1.0, "silence": 1.0})
        told = [event async for event in bridge.events()]
        await bridge.end()
        (ended,) = told
        assert ended["event"] == "ended"
        assert ended["why"].startswith("Error: Cannot find module '@whiskeysockets/baileys'")
        with pytest.raises(BridgeFailed) as failed:
            await bridge.ask("ping", 60)
        assert failed.value.kind == "nothing"
