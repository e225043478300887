"""The first TERM or Ctrl-C lets a gateway finish what is under way; a second one ends it at once, and loses nothing."""

import asyncio
import signal
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.end_signals import SIGNALS
from angelia.store.port import StoreConnection
from angelia.testing.channels.network import Thing, TimeOut
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.telegram_world import HERE
from tests.chats.gateway_lives import PATIENCE_S, Story, seen
from tests.nursery import Nursery

pytestmark = pytest.mark.anyio


async def an_answer_waits(story: Story) -> None:
    """Return once one is to be delivered."""
    db = story.log()
    async with asyncio.timeout(PATIENCE_S):
        while not await db.read(_undelivered):  # noqa: ASYNC110 - a process writes it
            await asyncio.sleep(0.02)
    db.close()


def _undelivered(connection: StoreConnection) -> int:
    query = "SELECT count(*) FROM outbox WHERE status IN ('queued', 'sending')"
    return int(connection.execute(query).fetchone()[0])


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_second_signal_ends_it_at_once_and_what_was_not_sent_goes_out_at_the_next_start(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with ModelServer([say("I am well.")]) as model, TelegramServer() as network, Nursery() as nursery:
        story = Story(tmp_path / "story", model, network)
        for life in ("first", "second"):
            (tmp_path / life).mkdir()
        gateway = await nursery.bear(["gateway"], story.env, tmp_path / "first")
        network.misbehave(*[TimeOut(accepted=False)] * 20)
        await network.bring(Thing(IncomingKind.TEXT, HERE, "Are you well?"))
        await an_answer_waits(story)
        gateway.kill(signal.SIGINT)
        await gateway.says("Finishing what is under way, 20 s at most…")
        gateway.kill(number)
        ended = await gateway.ended()
        assert (ended.status, ended.stderr.strip(), network.arrived) == (-number, "", [])

        network.misbehave()
        gateway = await nursery.bear(["gateway"], story.env, tmp_path / "second")
        async with asyncio.timeout(PATIENCE_S):
            await network.when(lambda: any(text.endswith("I am well.") for text in seen(network.arrived).texts))
        gateway.kill(signal.SIGTERM)
        ended = await gateway.ended()
        assert (ended.status, ended.stderr) == (0, "")
        assert "Everything is stored" in ended.stdout
        assert (len(seen(network.arrived).texts), len(model.requests)) == (1, 1)
