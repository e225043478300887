"""Files stand together in a chat, each with its receipt; whatever dies meanwhile, none is there twice unmarked."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import Capabilities, Kind
from angelia.channels.settings import ChannelSettings
from angelia.core import entry as e
from angelia.core.content import Content, Media, MediaKind, Text
from angelia.core.crash import on_crash_point
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.service.chats.delivery import DeliveryStores
from angelia.service.chats.dispatcher import DeliveryDispatcher
from angelia.service.chats.messages import AGAIN
from angelia.service.chats.open_channel import OpenChannel
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from angelia.store.tables.outbox import Outbox, Receipt
from angelia.testing.channels.recording_channel import (
    ABILITIES,
    WITH_ALBUMS,
    ChannelTrouble,
    FarEnd,
    RecordedMessage,
    RecordingChannel,
)
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.chats.storm import Clock, Killed, hurry
from tests.chats.test_verbs import folder
from tests.chats.town import town

pytestmark = pytest.mark.anyio

NAME = ConversationId("c")
HERE = e.Address("chat", "7")
CALL = "c1_0"


def queued(*parts: Content, number: int = 0, after: str = "", origin: str = CALL) -> e.DeliveryQueued:
    """Something that is to go out."""
    return e.DeliveryQueued(DeliveryId(f"c.{number}"), HERE, parts, origin, after=DeliveryId(after))


class Gallery:
    """A store with files in it, and the lives that deliver them."""

    def __init__(self, folder: Path, far: FarEnd, capabilities: Capabilities = WITH_ALBUMS) -> None:
        self.far, self.clock = far, Clock()
        self._home, self._capabilities = folder / "home", capabilities
        self._home.mkdir()

    async def media(self, number: int, kind: MediaKind = MediaKind.IMAGE) -> Media:
        """A file that tells its number."""
        mime = "image/jpeg" if kind is MediaKind.IMAGE else "application/pdf"
        return Media(await BlobStore(self._home).put(f"{number}".encode(), mime=mime), kind, f"{number}")

    async def holds(self, *facts: e.DeliveryQueued, opened: bool = False) -> None:
        """What is to go out from now on."""
        db = self._open()
        first = () if opened else (e.ConversationOpened("chat", "/w"),)
        await Transcript(db).append(NAME, [*first, *facts])
        db.close()

    async def pictures(self, count: int) -> None:
        """So many pictures are to go out, each by a call of its own."""
        await self.holds(*[queued(await self.media(n), number=n, origin=f"c1_{n}") for n in range(count)])

    async def delivered(self, dies_at: str = "") -> None:
        """Lives until nothing is left to deliver; the first ends when it comes to `dies_at`."""
        if dies_at:
            await self.dies(dies_at)
        while not await self._life(asyncio.Event()):
            pass

    async def dies(self, at: str, times: int = 1) -> None:
        """One life, which ends when it comes to `at` for the `times`-th time, or when nothing is left to deliver."""
        died, left = asyncio.Event(), [times]

        def hook(point: str) -> None:
            left[0] -= point == at
            if left[0] <= 0:
                died.set()
                raise Killed

        on_crash_point(hook)
        try:
            await self._life(died)
        finally:
            on_crash_point(None)

    async def _life(self, died: asyncio.Event) -> bool:
        db = self._open()
        stores = DeliveryStores(
            Transcript(db), outbox := Outbox(db), BlobStore(self._home), self.clock, steady=self.clock
        )
        dispatcher = DeliveryDispatcher(stores, self.clock.wait)
        dispatcher.connect(OpenChannel(RecordingChannel(self.far, capabilities=self._capabilities), ChannelSettings()))
        running = asyncio.create_task(dispatcher.run())
        try:
            while not died.is_set():
                if not await outbox.pending("chat"):
                    return True
                await self.clock.wait(died, 0.01)
            return False
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            with suppress(Killed):
                await dispatcher.close()
            db.close()

    async def receipts(self) -> list[Receipt]:
        """What became of each."""
        db = self._open()
        try:
            return await Outbox(db).receipts(OWNER, NAME)
        finally:
            db.close()

    @property
    def seen(self) -> list[RecordedMessage]:
        """What people see."""
        return self.far.in_chat("7")

    def albums(self) -> list[list[str]]:
        """The names of what stands together, in order; a file by itself is alone."""
        found: dict[str, list[str]] = {}
        for message in self.seen:
            found.setdefault(message.album or message.id, []).append(message.name or message.text)
        return list(found.values())

    def _open(self) -> Database:
        return hurry(Database.open(self._home, clock=self.clock))


async def test_pictures_that_follow_each_other_stand_together_each_with_its_receipt(tmp_path: Path) -> None:
    gallery = Gallery(tmp_path, FarEnd())
    await gallery.pictures(12)
    await gallery.delivered()
    assert gallery.albums() == [[str(n) for n in range(10)], ["10", "11"]]
    receipts = await gallery.receipts()
    assert [(one.status, one.platform_id) for one in receipts] == [("sent", str(n)) for n in range(1, 13)]
    assert gallery.far.calls == ["send_album", "send_album"]


async def test_files_stand_with_files_and_words_stand_above_what_they_tell_of(tmp_path: Path) -> None:
    gallery = Gallery(tmp_path, FarEnd())
    picture, paper = (
        [await gallery.media(n) for n in range(4)],
        [await gallery.media(n, MediaKind.DOCUMENT) for n in (4, 5)],
    )
    rows: Sequence[tuple[Content, ...]] = [
        (picture[0],),
        (picture[1],),
        (paper[0],),
        (paper[1],),
        (Text("Look:"), picture[2]),
        (picture[3],),
        (Text("That was all."),),
    ]
    await gallery.holds(*[queued(*parts, number=n) for n, parts in enumerate(rows)])
    await gallery.delivered()
    assert gallery.albums() == [["0", "1"], ["4", "5"], ["2", "3"], ["That was all."]]
    assert [one.text for one in gallery.seen if one.text] == ["Look:", "That was all."]
    assert [one.kind for one in gallery.seen][:4] == [Kind.PHOTO, Kind.PHOTO, Kind.DOCUMENT, Kind.DOCUMENT]


async def test_what_is_no_album_for_the_network_goes_one_by_one_and_nobody_is_told(tmp_path: Path) -> None:
    far = FarEnd()
    far.refuses.add("send_album")
    gallery = Gallery(tmp_path, far)
    await gallery.pictures(3)
    await gallery.delivered()
    assert gallery.albums() == [["0"], ["1"], ["2"]]
    assert [one.status for one in await gallery.receipts()] == ["sent"] * 3
    assert not any(one.text for one in gallery.seen)


def files_are_lost(count: int) -> Callable[[str], ChannelTrouble]:
    """An album in any case, and what is sent first and once more of so many files that go one by one."""
    left = [ChannelTrouble.LOST_BEFORE] * 2 * count

    def trouble(method: str) -> ChannelTrouble:
        if method == "send_album":
            left.clear()
            return ChannelTrouble.LOST_BEFORE
        return left.pop() if left and method == "send" else ChannelTrouble.NONE

    return trouble


@pytest.mark.parametrize(("abilities", "most"), [(ABILITIES, 4), (WITH_ALBUMS, 1)], ids=["one by one", "in an album"])
async def test_files_that_nobody_knows_of_are_told_together(tmp_path: Path, abilities: Capabilities, most: int) -> None:
    """One by one it is one message as well, but here no second passes in which the last could come."""
    far = FarEnd(files_are_lost(10))
    gallery = Gallery(tmp_path, far, abilities)
    await gallery.pictures(10)
    await gallery.delivered()
    assert len(gallery.seen) <= most
    told = "".join(one.text for one in gallery.seen)
    assert [told.count(f"whether {n} arrived") for n in range(10)] == [1] * 10
    statuses = Counter((one.origin == "notice", one.status) for one in await gallery.receipts())
    assert statuses == {(False, "unknown"): 10, (True, "sent"): 10}


async def test_what_is_told_of_many_files_is_as_many_messages_as_the_network_needs(tmp_path: Path) -> None:
    far = FarEnd(files_are_lost(10))
    gallery = Gallery(tmp_path, far, replace(ABILITIES, text_limit=500))
    await gallery.pictures(10)
    await gallery.delivered()
    assert 2 < len(gallery.seen) < 10
    assert all(len(one.text) <= 500 for one in gallery.seen)
    assert sum(one.text.count("Nobody knows whether") for one in gallery.seen) == 10


POINTS = ["delivery.started", "delivery.sent", "delivery.settled"]
TROUBLES = [ChannelTrouble.NONE, ChannelTrouble.NOT_SENT, ChannelTrouble.LOST_BEFORE, ChannelTrouble.LOST_AFTER]


@pytest.mark.parametrize("idempotent", [False, True], ids=["without keys", "with keys"])
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("point", POINTS)
async def test_whatever_dies_no_picture_is_lost_and_none_is_there_twice_unmarked(
    tmp_path: Path, point: str, trouble: ChannelTrouble, idempotent: bool
) -> None:
    troubles = [trouble]
    far = FarEnd(
        lambda method: troubles.pop() if troubles and method == "send_album" else ChannelTrouble.NONE,
        idempotent=idempotent,
    )
    gallery = Gallery(tmp_path, far)
    await gallery.pictures(3)
    await gallery.delivered(dies_at=point)
    late = [queued(await gallery.media(n), number=n, origin=f"c2_{n}") for n in (3,)]
    await gallery.holds(*late, opened=True)
    await gallery.delivered()
    there = Counter(one.name for one in gallery.seen)
    albums = {one.album for one in gallery.seen if one.album}
    marked = {one.album for one in gallery.seen if one.text.startswith(AGAIN)}
    receipts = await gallery.receipts()
    unknown = [one for one in receipts if one.status == "unknown"]
    lost = [one for n, one in enumerate(one for one in receipts if one.origin != "notice") if not there[str(n)]]
    assert all(one in unknown for one in lost), "a picture is lost, and nobody says so"
    assert sum(one.text.count("Nobody knows whether") for one in gallery.seen) == len(unknown)
    assert len(albums - marked) <= 1, "an album is there twice, and no mark says so"
    assert not (idempotent and (marked or unknown or set(there.values()) != {1}))
    assert [one.status for one in receipts if one.origin.startswith("c") and one not in unknown] == ["sent"] * (
        4 - len(unknown)
    )


async def test_what_comes_later_does_not_join_an_album_that_may_be_there(tmp_path: Path) -> None:
    """Under the old key it would be lost as a repeat, under another the album would be there twice."""
    far = FarEnd(idempotent=True)
    gallery = Gallery(tmp_path, far)
    await gallery.pictures(2)
    troubles = [ChannelTrouble.LOST_AFTER]
    far.trouble = lambda method: troubles.pop() if troubles else ChannelTrouble.NONE
    await gallery.dies("delivery.started", times=2)
    await gallery.holds(queued(await gallery.media(2), number=2), opened=True)
    await gallery.delivered()
    assert gallery.albums() == [["0", "1"], ["2"]]


async def test_a_file_waits_for_the_words_that_announce_it_and_keeps_its_place(tmp_path: Path) -> None:
    gallery = Gallery(tmp_path, FarEnd())
    second = queued(await gallery.media(0), number=0, after="c.t1", origin="m1_10")
    first = queued(await gallery.media(1), number=1, after="c.t1", origin="m1_9")
    await gallery.holds(second, first, queued(Text("A notice."), number=5, origin="notice"))
    await gallery.dies("delivery.settled")
    assert [one.text for one in gallery.seen] == ["A notice."]
    answer = e.DeliveryQueued(DeliveryId("c.t1"), HERE, (Text("Here they are:"),), "answer")
    await gallery.holds(answer, opened=True)
    await gallery.delivered()
    assert gallery.albums() == [["A notice."], ["Here they are:"], ["1", "0"]]


@pytest.mark.parametrize("lies", [["a.txt", "b.txt"], ["b.txt"], []])
async def test_the_words_of_a_reply_come_before_the_files_that_it_names(tmp_path: Path, lies: list[str]) -> None:
    reply, again = say("Here they are:\nMEDIA:a.txt\nMEDIA:b.txt"), say("The other one is gone.")
    far = FarEnd()
    async with ModelServer([reply, again]) as server, town(tmp_path, server, far, capabilities=WITH_ALBUMS) as life:
        folder(life).mkdir(parents=True)
        for name in lies:
            (folder(life) / name).write_text(name)
        await life.says("Send them.")
        await life.answered(1 + len(lies))
        await life.settled()
    seen = far.in_chat("7")
    assert seen[0].text.startswith("Here they are")
    assert [one.name for one in seen[1:]] == lies
