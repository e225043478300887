"""One delivery, brought to its end: each of its messages sent once, and its receipt written.

| the network said | what follows |
|---|---|
| a message id | `PieceArrived` |
| to wait for so long | `DeliveryPutOff`, and then again |
| nothing was sent | `DeliveryPutOff` with back-off, and then again |
| the markup is wrong | again without markup |
| never | the delivery ends as `failed`; its other messages go all the same |
| never, to an album | each of its files by itself |
| nothing at all | under the same key again; else, once the network is seen to work, once more with a mark |
| nothing at all to the repeat, or a refusal | it ends as `unknown`, and a notice says so |

A notice tells what was lost, and must not get lost itself: it is sent again, with a mark, until it is known to have
arrived. Several notices that wait one behind the other become one message.

Files that belong together go out by one call, even if they are of several deliveries. All of them are begun in one
commit and settled in one, each with a receipt of its own; so a crash in between leaves all of them in doubt, and the
same files are sent together once more, marked.

The choices of a question stand beneath its last message, which is sent only once all before it are known to have
arrived: nobody presses yes to what they were not shown whole.
"""

import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import end_if_cancelled
from angelia.channels import failures as f
from angelia.channels.capabilities import Capabilities
from angelia.channels.outgoing import OutAlbum, OutFile, Outgoing, OutText
from angelia.channels.port import HasProbe, abilities_for, albums_in
from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.counts import counted
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput, NotFound, StoreDamaged
from angelia.core.ids import Clock, DeliveryId, steady_clock
from angelia.service.chats.albums import stands_in_albums, together
from angelia.service.chats.messages import CannotSend, messages, open_words, repeated
from angelia.service.chats.notices_together import joined, notices_together, tells_of_another, told_id
from angelia.service.chats.open_channel import OpenChannel, Wait
from angelia.service.chats.preview import MORE
from angelia.service.chats.underway import Delivered, Outcome, Place, SendFailed, Underway, Unknown
from angelia.service.files.links import LinkTo
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.tables.outbox import Outbox, Progress, Receipt

MOST_TRIES = 30
"""How many sends of a message may certainly fail before it is given up: two hours, by the back-off."""
LONGEST_PAUSE_S = 300.0
"""The longest pause between two of them."""
NOTICE_TRIES = 2_000
"""How many sends of a notice there are before it is given up: a week."""
_UNPROBED_S = 60.0
"""The pause before a repeat where a channel cannot say whether its network works: most outages are over by then."""

NOTICE = "notice"
"""The origin of notices, which tell of other deliveries; nothing tells what becomes of a notice."""

logger = logging.getLogger("angelia.delivery")


UNSEEN = "What it asks about did not arrive whole, so that there is nothing to press."


class DeliveryStores(Struct, frozen=True):
    """Where deliveries are stored, and where their bytes are. `link` gives an address to a file that cannot be sent.
    `steady` measures pauses. `for_chat` says where the bytes are that a chat gets of a medium
    (`Renditions.path_for_chat`); without it, it gets the blob.
    """

    transcript: Transcript
    outbox: Outbox
    blobs: BlobStore
    clock: Clock
    link: LinkTo | None = None
    steady: Clock = steady_clock
    for_chat: Callable[[Media], Awaitable[Path]] | None = None


class Doubt(Struct, frozen=True):
    """The send may have arrived."""


class PutOff(Struct, frozen=True):
    """Nothing was sent, and it may be tried again now."""


class ChatDelivery:
    """Brings deliveries of one channel to their end, one at a time."""

    def __init__(self, line: OpenChannel, stores: DeliveryStores, wait: Wait) -> None:
        self._line = line
        self._stores = stores
        self._wait = wait

    async def deliver(self, receipts: Sequence[Receipt]) -> Sequence[Receipt]:
        """Send what is missing of the first of some deliveries of one conversation, with those right behind it that
        stand in one message with it, files in an album, notices in a text; returns which are settled.

        Raises:
            StoreError: a receipt could not be written; what was sent is marked as begun.
        """
        first = await self._underway(receipts[0])
        places = first.missing
        if len(first.planned) == 1 and all(stands_in_albums(one) or tells_of_another(one.receipt) for one in places):
            for receipt in receipts[1:]:
                other = await self._underway(receipt)
                if len(self._run([*places, *other.missing])) <= len(places):
                    break
                places += other.missing
        await self._bring_all(places)
        if not places:
            await self._note([first], [])
        return list(dict.fromkeys([first.receipt, *(place.receipt for place in places)]))

    async def _underway(self, receipt: Receipt) -> Underway:
        """What is to be sent of a delivery, and what is known of it."""
        progress = await self._stores.outbox.progress(receipt.conversation, receipt.id)
        try:
            paths = await self._paths(receipt)
        except BadInput as error:
            return Underway(receipt, (CannotSend(str(error)),), progress)
        planned = messages(receipt, self._line.channel, paths.__getitem__, self._stores.link)
        return Underway(receipt, planned, progress)

    def _run(self, places: Sequence[Place]) -> Sequence[Place]:
        """The first of them, and those right behind it that stand in one message with it."""
        abilities = self._abilities(places[0].receipt)
        if tells_of_another(places[0].receipt):
            return notices_together(places, abilities.text_limit)
        return together(places, abilities)

    def _abilities(self, receipt: Receipt) -> Capabilities:
        return abilities_for(self._line.channel, receipt.address)

    async def _bring_all(self, places: Sequence[Place]) -> None:
        """Send each message, together where they belong together; what became of it is stored before the next."""
        left = list(places)
        while left:
            run = self._run(left)
            if len(run) == 1 or not await self._bring_together(run):
                for place in run:
                    place.delivery.outcomes[place.number] = await self._bring(place)
                    await self._note([place.delivery], [place])
            del left[: len(run)]

    async def _bring_together(self, run: Sequence[Place]) -> bool:
        """Send several messages as one, until it is known what became of it; False if they have to go one by one."""
        files = tuple(place.message for place in run if isinstance(place.message, OutFile))
        album = OutAlbum(tuple(replace(file, reply_to="") for file in files), files[0].reply_to) if files else None
        came = await _Tries(self, run, album or joined(run)).until_known(run[0].doubts)
        if isinstance(came, SendFailed) and not came.spent:
            logger.info("what stands together for %s goes one by one: %s", run[0].receipt.address.door, came.why)
            return False
        for at, place in enumerate(run):
            name = came[at if files else 0] if isinstance(came, tuple) else ""
            place.delivery.outcomes[place.number] = Delivered(name) if isinstance(came, tuple) else came
        await self._note([place.delivery for place in run], run)
        return True

    async def _note(self, deliveries: Sequence[Underway], brought: Sequence[Place]) -> None:
        """Store in one commit that messages arrived, the receipts of deliveries that are whole by that, and a word to
        the person about those that did not arrive.
        """
        facts: list[e.AnyFact] = [
            e.PieceArrived(place.receipt.id, place.number, outcome.platform_id)
            for place in brought
            if isinstance(outcome := place.delivery.outcomes[place.number], Delivered)
        ]
        whole = [delivery for delivery in dict.fromkeys(deliveries) if not delivery.missing]
        for delivery in whole:
            facts += self._settled(delivery)
        if whole:
            crash_point("delivery.sent")
        if facts:
            await self._append(deliveries[0].receipt, *facts)
        if whole:
            crash_point("delivery.settled")

    def _settled(self, delivery: Underway) -> list[e.AnyFact]:
        receipt, settled = delivery.receipt, delivery.settlement()
        if settled.status is e.DeliveryStatus.SENT or receipt.origin == NOTICE:
            return [settled]
        words = open_words(receipt, settled)
        return [settled, e.DeliveryQueued(told_id(receipt), receipt.address, (Text(words),), NOTICE)]

    async def _bring(self, place: Place) -> Outcome:
        """Send one message, until it is known what became of it."""
        receipt, message, progress = place.receipt, place.message, place.delivery.progress
        if receipt.choices and not place.delivery.arrived_before(place.number):
            return SendFailed(UNSEEN)
        if isinstance(message, CannotSend):
            return SendFailed(message.why)
        drafted = await self._preview(receipt, progress) if not place.number and isinstance(message, OutText) else None
        if drafted and isinstance(message, OutText):
            edited = await self._edit_preview(receipt, drafted, message)
            if edited is not None:
                return edited
        came = await _Tries(self, [place], message).until_known(place.doubts + (drafted == ""))
        return Delivered(came[0]) if isinstance(came, tuple) else came

    async def _preview(self, receipt: Receipt, progress: Progress) -> str | None:
        """The id of the preview, empty if nobody knows; where the network absorbs repeats, it tells us once more."""
        if progress.preview == "" and self._line.channel.capabilities.idempotent:
            for number in range(MOST_TRIES):
                try:
                    return await self._line.channel.send(receipt.address, OutText(MORE), preview_key(receipt.id))
                except f.Later as later:
                    await self._wait(None, later.seconds)
                except (f.NotSent, f.Unsure, f.LoginFailed):
                    await self._wait(None, pause(number))
                except f.Rejected:
                    return None
        return progress.preview

    async def _edit_preview(self, receipt: Receipt, preview: str, text: OutText) -> Outcome | None:
        """Make the preview the answer, twice if need be; None if it is gone, and the answer has to be sent."""
        for number in range(MOST_TRIES):
            try:
                await self._line.channel.edit(receipt.address, preview, text)
                return Delivered(preview)
            except f.MessageGone:
                return None
            except f.MarkupRejected:
                text = replace(text, marked="")
            except f.Later as later:
                await self._wait(None, later.seconds)
            except (f.NotSent, f.Unsure, f.LoginFailed):
                await self._wait(None, pause(number))
            except f.Rejected as rejected:
                logger.warning("a preview could not be edited: %s", rejected)
                return None
        return Unknown("its preview could not be edited")

    async def rest(self, seconds: float) -> None:
        """Wait."""
        await self._wait(None, seconds)

    async def put_off(self, places: Sequence[Place], seconds: float, why: str) -> None:
        """Write down that nothing was sent, and wait."""
        until = self._stores.clock() + int(seconds * 1000)
        off = [e.DeliveryPutOff(place.receipt.id, place.number, until, why) for place in places]
        await self._append(places[0].receipt, *off)
        await self._wait(None, seconds)

    async def works_again(self, tries: int) -> bool:
        """Wait until the network is seen to work, longer each time; False if it is not within so many tries.

        A repeat right behind a send in doubt would meet the same outage, and be in doubt, too.
        """
        channel = self._line.channel
        if not isinstance(channel, HasProbe):
            await self._wait(None, _UNPROBED_S)
            return True
        for number in range(1, tries + 1):
            await self._wait(None, pause(number))
            try:
                await channel.probe()
            except f.Later as later:
                await self._wait(None, later.seconds)
            except f.ChannelError as failed:
                logger.info("a repeat to %s waits: %s", channel.door, failed)
            else:
                return True
        return False

    async def start(self, places: Sequence[Place], tries: int) -> None:
        """Write down that the next thing is the send; it is the one number `tries` in this life."""
        begun = [e.DeliveryStarted(place.receipt.id, place.receipt.attempt + tries, place.number) for place in places]
        await self._append(places[0].receipt, *begun)
        crash_point("delivery.started")

    async def _append(self, receipt: Receipt, *facts: e.AnyFact) -> None:
        await self._stores.transcript.append(receipt.conversation, facts)

    async def _paths(self, receipt: Receipt) -> dict[Media, Path]:
        """Where the bytes lie that go out; what is gone or damaged is found out by the send."""
        paths: dict[Media, Path] = {}
        for part in receipt.parts:
            if isinstance(part, Media):
                paths[part] = self._stores.blobs.path(part.blob.sha256)
                with suppress(NotFound, FileNotFoundError, StoreDamaged):
                    paths[part] = await (self._stores.for_chat or self._itself)(part)
        return paths

    async def _itself(self, media: Media) -> Path:
        return await self._stores.blobs.local(media.blob.sha256)

    @property
    def line(self) -> OpenChannel:
        """Where it goes."""
        return self._line


class _Tries:
    """The tries at one message, or at one album of several."""

    def __init__(self, delivering: ChatDelivery, places: Sequence[Place], message: Outgoing | OutAlbum) -> None:
        self._delivering = delivering
        self._places, self._receipt = places, places[0].receipt
        self._message = message
        self._tries, self._failed = 0, 0

    async def until_known(self, doubts: int) -> tuple[str, ...] | SendFailed | Unknown:
        """The network's ids, one for each place, or what else became of it. `doubts` are the sends in this life and
        earlier ones of which nobody knows whether they arrived.
        """
        unmarked, may_mark, marked = self._message, True, False
        while True:
            end_if_cancelled()
            if doubts and not self._delivering.line.channel.capabilities.idempotent:
                if doubts > self._most_doubts or not await self._delivering.works_again(self._most_tries):
                    return Unknown("the network did not say whether it arrived")
                if may_mark and not marked:
                    self._message, marked = repeated(self._message, self._delivering.line.channel.dialect), True
            self._tries += 1
            await self._delivering.start(self._places, self._tries)
            outcome = await self._once()
            if marked and isinstance(outcome, SendFailed):  # of the repeat alone: with its mark it may be too long
                if self._receipt.origin != NOTICE:
                    why = "the network did not say whether it arrived, and did not take it again"
                    return Unknown(f"{why}: {outcome.why}")
                self._message, may_mark, marked = unmarked, False, False
                continue
            if not isinstance(outcome, Doubt | PutOff):
                return outcome
            doubts += isinstance(outcome, Doubt)

    @property
    def _most_doubts(self) -> int:
        """How many sends may end in doubt before it is left at that; what a notice tells has to be told."""
        if self._receipt.origin == NOTICE:
            return NOTICE_TRIES
        return 0 if self._delivering.line.settings.unsure == "keep" else 1

    @property
    def _most_tries(self) -> int:
        return NOTICE_TRIES if self._receipt.origin == NOTICE else MOST_TRIES

    async def _once(self) -> "tuple[str, ...] | SendFailed | Doubt | PutOff":
        """One send, and what came of it."""
        channel, receipt = self._delivering.line.channel, self._receipt
        try:
            return await self._sent()
        except f.Later as later:
            await self._put_off(later.seconds, str(later))
        except f.MarkupRejected as rejected:
            plain = without_markup(self._message)
            if plain == self._message:
                return SendFailed(str(rejected))
            self._message = plain
            await self._put_off(0, "its markup was not accepted")
        except (f.NotSent, f.LoginFailed, f.Unsure) as failed:
            if isinstance(failed, f.Unsure) and not channel.capabilities.idempotent:
                logger.warning("a send to %s ended in doubt: %s", receipt.address.door, failed)
                return Doubt()
            self._failed += 1
            if self._failed >= self._most_tries:
                return SendFailed(f"{failed} It was tried {counted(self._failed, 'time')}.", spent=True)
            if isinstance(failed, f.Unsure) and len(self._places) > 1:
                await self._delivering.rest(pause(self._failed))
                return Doubt()  # as long as it is in doubt no other joins it, and its key stays the same
            await self._put_off(pause(self._failed), str(failed))
        except f.Rejected as rejected:
            return SendFailed(str(rejected))
        return PutOff()

    async def _sent(self) -> tuple[str, ...]:
        """The call itself; an album's key names every file of it, so that another album is no repeat of it."""
        channel, to = self._delivering.line.channel, self._receipt.address
        key = "+".join(place.key for place in self._places)
        if not isinstance(self._message, OutAlbum):
            return (await channel.send(to, self._message, key),)
        albums = albums_in(channel, to)
        if albums is None:
            raise f.Rejected("This channel sends files one by one.")
        return tuple(await albums.send_album(to, self._message, key))

    async def _put_off(self, seconds: float, why: str) -> None:
        await self._delivering.put_off(self._places, seconds, why)


def preview_key(delivery: DeliveryId) -> str:
    """The key of a delivery's preview, for networks that absorb repeats."""
    return f"{delivery}.preview"


def without_markup(message: Outgoing | OutAlbum) -> Outgoing | OutAlbum:
    """The same message in plain words."""
    match message:
        case OutText():
            return replace(message, marked="")
        case OutFile():
            return _plain(message)
        case OutAlbum(files=files):
            return replace(message, files=tuple(_plain(file) for file in files))


def _plain(file: OutFile) -> OutFile:
    return replace(file, caption=replace(file.caption, marked="")) if file.caption else file


def pause(failed: int) -> float:
    """Seconds after the `failed`-th failure: twice as long each time, with jitter."""
    return float(min(LONGEST_PAUSE_S, 2.0 ** min(failed - 1, 16)) * random.uniform(0.8, 1.2))  # noqa: S311 - jitter
