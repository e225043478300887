"""One delivery, brought to its end: each of its messages sent once, and its receipt written.

| the network said | what follows |
|---|---|
| a message id | `PieceArrived` |
| wait so long | `DeliveryPutOff`, and then again |
| nothing was sent | `DeliveryPutOff` with back-off, and then again |
| the markup is wrong | again without markup |
| never | the delivery ends as `failed`; its other messages go all the same |
| nothing at all | under the same key again; else, once the network is seen to work, once more with a mark |
| nothing at all to the repeat, or no | it ends as `unknown`, and a notice says so |

A notice tells what was lost, and must not be lost like it: it goes with a mark until it is known to be there.

The choices of a question stand beneath its last message, which goes only once all before it are known to be there:
nobody presses yes to what they were not shown whole.
"""

import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels import failures as f
from angelia.channels.outgoing import OutAlbum, OutFile, Outgoing, OutText
from angelia.channels.port import HasProbe
from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput, NotFound, StoreDamaged
from angelia.core.ids import Clock, DeliveryId
from angelia.service.chats.messages import CannotSend, messages, open_words, repeated
from angelia.service.chats.open_channel import OpenChannel, Wait
from angelia.service.chats.preview import MORE
from angelia.service.files.links import LinkTo
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.tables.outbox import Outbox, Progress, Receipt

MOST_TRIES = 30
"""Sends of one message that certainly failed, before it is given up: two hours, by the back-off."""
LONGEST_PAUSE_S = 300.0
"""The longest pause between two of them."""
NOTICE_TRIES = 2_000
"""Sends of a notice before it is given up: a week."""
_UNPROBED_S = 60.0
"""The pause before a repeat where a channel cannot say whether its network works: most outages of a front are over."""

NOTICE = "notice"
"""The origin of what tells of other deliveries; what becomes of itself is told no more."""

logger = logging.getLogger("angelia.delivery")


UNSEEN = "What it asks about did not arrive whole, so that there is nothing to press."


class DeliveryStores(Struct, frozen=True):
    """Where deliveries are written down, and their bytes are. `link` gives addresses to files that cannot go;
    `for_chat` says where the bytes lie that a chat gets of a medium (`Renditions.path_for_chat`), the blob without it.
    """

    transcript: Transcript
    outbox: Outbox
    blobs: BlobStore
    clock: Clock
    link: LinkTo | None = None
    for_chat: Callable[[Media], Awaitable[Path]] | None = None


class Delivered(Struct, frozen=True):
    """The message is there, under this id."""

    platform_id: str


class SendFailed(Struct, frozen=True):
    """It is not there and will not be, because of `why`."""

    why: str


class Unknown(Struct, frozen=True):
    """Nobody knows whether it is there."""

    why: str


Outcome = Delivered | SendFailed | Unknown


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

    async def deliver(self, receipt: Receipt) -> None:
        """Send what is missing of a delivery, and settle it.

        Raises:
            StoreError: a receipt could not be written; what was sent is marked as begun.
        """
        channel = self._line.channel
        try:
            paths = await self._paths(receipt)
        except BadInput as error:
            await self._settle(receipt, [SendFailed(str(error))])
            return
        planned = messages(receipt, channel, paths.__getitem__, self._stores.link)
        progress = await self._stores.outbox.progress(receipt.conversation, receipt.id)
        outcomes: list[Outcome] = []
        for number, message in enumerate(planned):
            known = progress.arrived.get(number)
            if receipt.choices and not all(isinstance(before, Delivered) for before in outcomes):
                outcomes.append(SendFailed(UNSEEN))
                continue
            outcome = Delivered(known) if known else await self._bring(receipt, number, message, progress)
            outcomes.append(outcome)
            if not known and isinstance(outcome, Delivered) and number < len(planned) - 1:
                await self._append(receipt, e.PieceArrived(receipt.id, number, outcome.platform_id))
        await self._settle(receipt, outcomes)

    async def _settle(self, receipt: Receipt, outcomes: Sequence[Outcome]) -> None:
        """The receipt, and a word to the person if something is not there: one commit."""
        settled = settlement(receipt.id, outcomes)
        last = outcomes[-1] if outcomes else None
        facts: list[e.AnyFact] = []
        if isinstance(last, Delivered):
            facts.append(e.PieceArrived(receipt.id, len(outcomes) - 1, last.platform_id))
        facts.append(settled)
        if settled.status is not e.DeliveryStatus.SENT and receipt.origin != NOTICE:
            words = open_words(receipt, settled)
            facts.append(e.DeliveryQueued(told_id(receipt), receipt.address, (Text(words),), NOTICE))
        crash_point("delivery.sent")
        await self._append(receipt, *facts)
        crash_point("delivery.settled")

    async def _bring(
        self, receipt: Receipt, number: int, message: Outgoing | CannotSend, progress: Progress
    ) -> Outcome:
        """One message, until it is known what became of it."""
        if isinstance(message, CannotSend):
            return SendFailed(message.why)
        drafted = await self._preview(receipt, progress) if number == 0 and isinstance(message, OutText) else None
        if drafted and isinstance(message, OutText):
            edited = await self._edit_preview(receipt, drafted, message)
            if edited is not None:
                return edited
        doubts = progress.doubts.get(number, 0) + (drafted == "")
        return await _Tries(self, receipt, number, message).until_known(doubts)

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

    async def put_off(self, receipt: Receipt, number: int, seconds: float, why: str) -> None:
        """Write down that nothing was sent, and wait."""
        until = self._stores.clock() + int(seconds * 1000)
        await self._append(receipt, e.DeliveryPutOff(receipt.id, number, until, why))
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

    async def start(self, receipt: Receipt, number: int, attempt: int) -> None:
        """Write down that the next thing is the send."""
        await self._append(receipt, e.DeliveryStarted(receipt.id, attempt, number))
        crash_point("delivery.started")

    async def _append(self, receipt: Receipt, *facts: e.AnyFact) -> None:
        await self._stores.transcript.append(receipt.conversation, facts)

    async def _paths(self, receipt: Receipt) -> dict[Media, Path]:
        """Where the bytes lie that go out; what is gone or damaged is found out by the send."""
        paths: dict[Media, Path] = {}
        for part in receipt.parts:
            if isinstance(part, Media):
                paths[part] = self._stores.blobs.path(part.blob.sha256)
                if self._stores.for_chat:
                    with suppress(NotFound, FileNotFoundError, StoreDamaged):
                        paths[part] = await self._stores.for_chat(part)
        return paths

    @property
    def line(self) -> OpenChannel:
        """Where it goes."""
        return self._line


class _Tries:
    """The tries at one message."""

    def __init__(self, delivering: ChatDelivery, receipt: Receipt, number: int, message: Outgoing) -> None:
        self._delivering = delivering
        self._receipt = receipt
        self._number = number
        self._message = message
        self._attempt, self._failed = receipt.attempt, 0

    async def until_known(self, doubts: int) -> Outcome:
        """`doubts` are the sends in this life and earlier ones of which nobody knows whether they arrived."""
        unmarked, may_mark, marked = self._message, True, False
        while True:
            if doubts and not self._delivering.line.channel.capabilities.idempotent:
                if doubts > self._most_doubts or not await self._delivering.works_again(self._most_tries):
                    return Unknown("the network did not say whether it arrived")
                if may_mark and not marked:
                    self._message, marked = repeated(self._message, self._delivering.line.channel.dialect), True
            self._attempt += 1
            await self._delivering.start(self._receipt, self._number, self._attempt)
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

    async def _once(self) -> "Outcome | Doubt | PutOff":
        """One send, and what came of it."""
        channel, receipt = self._delivering.line.channel, self._receipt
        try:
            return Delivered(await channel.send(receipt.address, self._message, f"{receipt.id}.{self._number}"))
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
                return SendFailed(f"{failed} It was tried {self._failed} times.")
            await self._put_off(pause(self._failed), str(failed))
        except f.Rejected as rejected:
            return SendFailed(str(rejected))
        return PutOff()

    async def _put_off(self, seconds: float, why: str) -> None:
        await self._delivering.put_off(self._receipt, self._number, seconds, why)


def settlement(delivery: DeliveryId, outcomes: Sequence[Outcome]) -> e.DeliverySettled:
    """What became of a delivery, from what became of its messages."""
    failed = [outcome.why for outcome in outcomes if isinstance(outcome, SendFailed)]
    unknown = [outcome.why for outcome in outcomes if isinstance(outcome, Unknown)]
    arrived = [outcome.platform_id for outcome in outcomes if isinstance(outcome, Delivered)]
    status = e.DeliveryStatus.FAILED if failed else e.DeliveryStatus.UNKNOWN if unknown else e.DeliveryStatus.SENT
    return e.DeliverySettled(delivery, status, arrived[0] if arrived else "", "; ".join(failed + unknown))


def preview_key(delivery: DeliveryId) -> str:
    """The key of a delivery's preview, for networks that absorb repeats."""
    return f"{delivery}.preview"


def told_id(receipt: Receipt) -> DeliveryId:
    """The id of the notice that tells what became of a delivery: it is told once."""
    return DeliveryId(f"{receipt.id}.told")


def without_markup(message: Outgoing) -> Outgoing:
    """The same message in plain words."""
    match message:
        case OutText():
            return replace(message, marked="")
        case OutFile(caption=OutText() as caption):
            return replace(message, caption=replace(caption, marked=""))
        case OutAlbum(files=files):
            return replace(message, files=tuple(without_markup(file) for file in files))
        case _:
            return message


def pause(failed: int) -> float:
    """Seconds after the `failed`-th failure: twice as long each time, with jitter."""
    return float(min(LONGEST_PAUSE_S, 2.0 ** min(failed - 1, 16)) * random.uniform(0.8, 1.2))  # noqa: S311 - jitter
