"""What is queued finds its way while channels come and go, as they do where several machines share them."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from angelia.channels.settings import ChannelSettings
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.service.chats.delivery import DeliveryStores
from angelia.service.chats.dispatcher import DeliveryDispatcher
from angelia.service.chats.open_channel import OpenChannel, wait
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import StoreConnection
from angelia.store.sql.database import FILE, Database
from angelia.store.tables.outbox import UNREADABLE, Outbox
from angelia.testing.channels.recording_channel import FarEnd, RecordingChannel

pytestmark = pytest.mark.anyio

NAME = ConversationId("c")


def queued(door: str, words: str) -> e.DeliveryQueued:
    """Something that is to go out through this door."""
    return e.DeliveryQueued(DeliveryId(f"c.{words}"), e.Address(door, "7"), (Text(words),), "answer")


async def test_a_channel_that_goes_while_its_queue_is_read_stops_no_other_and_loses_nothing(tmp_path: Path) -> None:
    far = FarEnd()
    going, staying = (OpenChannel(RecordingChannel(far, door), ChannelSettings()) for door in ("going", "staying"))
    with closing(Database.open(tmp_path)) as db:
        transcript = Transcript(db)
        await transcript.append(NAME, [e.ConversationOpened("going", "/w"), queued("going", "first")])
        dispatcher = DeliveryDispatcher(DeliveryStores(transcript, Outbox(db), BlobStore(tmp_path), db.clock), wait)
        dispatcher.connect(going)
        dispatcher.connect(staying)
        reads, free = threading.Event(), threading.Event()

        def hold_up(_: StoreConnection) -> None:
            reads.set()
            free.wait()

        busy = asyncio.create_task(db.read(hold_up))
        await asyncio.to_thread(reads.wait)
        running = asyncio.create_task(dispatcher.run())
        await asyncio.sleep(0)  # it asks what is queued, behind the read that is held up
        await dispatcher.disconnect("going")
        free.set()
        await busy
        await transcript.append(NAME, [queued("staying", "second")])
        dispatcher.signal()
        seen = asyncio.create_task(far.when(lambda far: far.texts("7") == ["second"]))
        await asyncio.wait([running, seen], return_when=asyncio.FIRST_COMPLETED)
        assert not running.done(), running
        dispatcher.connect(going)
        await far.when(lambda far: far.texts("7") == ["second", "first"])
        running.cancel()
        await asyncio.gather(running, seen, return_exceptions=True)
        await dispatcher.close()


async def test_a_delivery_that_cannot_be_read_is_told_and_holds_up_none_behind_it(tmp_path: Path) -> None:
    far = FarEnd()
    with closing(Database.open(tmp_path)) as db:
        transcript = Transcript(db)
        bound = e.DoorMoved(e.Address("door", "7"), OWNER)
        await transcript.append(NAME, [e.ConversationOpened("door", "/w"), bound, queued("door", "damaged")])
        with closing(sqlite3.connect(tmp_path / FILE)) as other:
            other.execute("DROP TRIGGER entries_never_change")
            other.execute("UPDATE entries SET body = x'7b2278' WHERE seq = 3")
            other.commit()
        await transcript.append(NAME, [queued("door", "behind it")])
        dispatcher = DeliveryDispatcher(DeliveryStores(transcript, Outbox(db), BlobStore(tmp_path), db.clock), wait)
        dispatcher.connect(OpenChannel(RecordingChannel(far, "door"), ChannelSettings()))
        running = asyncio.create_task(dispatcher.run())
        await far.when(lambda far: len(far.texts("7")) == 2)
        assert far.texts("7")[0] == "behind it"
        assert "what was to be sent cannot be read any more" in far.texts("7")[1]
        (first, *_) = await Outbox(db).receipts(OWNER, NAME)
        assert (first.status, first.parts) == ("failed", UNREADABLE.parts)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.close()


async def test_it_is_at_rest_only_once_what_was_queued_has_gone_out(tmp_path: Path) -> None:
    far = FarEnd()
    with closing(Database.open(tmp_path)) as db:
        transcript = Transcript(db)
        dispatcher = DeliveryDispatcher(DeliveryStores(transcript, Outbox(db), BlobStore(tmp_path), db.clock), wait)
        dispatcher.connect(OpenChannel(RecordingChannel(far, "here"), ChannelSettings()))
        await transcript.append(NAME, [e.ConversationOpened("here", "/w"), queued("here", "first")])
        dispatcher.signal()
        assert not dispatcher.at_rest, "nobody has looked yet"
        free = threading.Event()
        busy = asyncio.create_task(db.read(lambda _: free.wait()))
        running = asyncio.create_task(dispatcher.run())
        await asyncio.sleep(0)  # it asks what is queued, behind the read that is held up
        assert not dispatcher.at_rest, "no writer has it yet"
        assert not dispatcher.rests("here")
        free.set()
        await busy
        async with asyncio.timeout(30):
            while not dispatcher.rests("here"):
                assert not running.done()
                await asyncio.sleep(0.01)
        assert far.texts("7") == ["first"]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.close()


async def test_a_fault_of_ours_delays_what_is_queued_and_no_more(tmp_path: Path) -> None:
    far, faults = FarEnd(), ["one"]

    async def faulty_wait(event: asyncio.Event | None, seconds: float | None) -> None:
        if faults:
            raise ZeroDivisionError(faults.pop())
        await wait(event, 0.01 if event is None else seconds)

    with closing(Database.open(tmp_path)) as db:
        transcript = Transcript(db)
        dispatcher = DeliveryDispatcher(
            DeliveryStores(transcript, Outbox(db), BlobStore(tmp_path), db.clock), faulty_wait
        )
        dispatcher.connect(OpenChannel(RecordingChannel(far), ChannelSettings()))
        running = asyncio.create_task(dispatcher.run())
        await transcript.append(NAME, [e.ConversationOpened("chat", "/w"), queued("chat", "first")])
        await far.when(lambda far: far.texts("7") == ["first"])
        assert not faults
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.close()
