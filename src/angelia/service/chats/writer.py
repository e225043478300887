"""The one writer of a chat: deliveries in their order, between them the preview and the sign of typing."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from math import inf

from msgspec.structs import replace

from angelia.cancellation import end_if_cancelled
from angelia.channels.capabilities import Kind, Units
from angelia.channels.failures import ChannelError, Later, MessageGone, NotSent, Rejected, Unsure
from angelia.channels.outgoing import OutText
from angelia.channels.port import HasDrafts, albums_in, drafts_in
from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.core.ids import CallId, place_named, sortable_id
from angelia.service.chats.delivery import NOTICE, ChatDelivery, DeliveryStores, preview_key
from angelia.service.chats.notices_together import tells_of_another, told_id
from angelia.service.chats.open_channel import OpenChannel, Wait
from angelia.service.chats.pause import Pause
from angelia.service.chats.preview import MORE, Preview, as_it_grows
from angelia.store.log.projections import PREVIEW
from angelia.store.tables.outbox import Receipt

_AFTER_A_FAULT_S = 5.0
_RENEWED = 0.8
"""The part of its time after which a draft or a sign of typing is shown again, so that none goes out in between."""
_MOST_FAULTS = 3
"""Faults of ours in one delivery, before it is settled as failed and the next one goes."""
_GATHERED_S = 1.0
"""How long a file waits for others that may stand beside it, while a turn that sends files goes on."""
_LOOK_S = 0.25
"""How often an answer that has not grown is looked at: a model may think, and a command run, for minutes."""

logger = logging.getLogger("angelia.delivery")


class ChatWriter:
    """Writes to one chat. Nothing else does, so nothing can be doubled or change places."""

    def __init__(self, address: e.Address, line: OpenChannel, stores: DeliveryStores, wait: Wait) -> None:
        self._address = address
        self._line = line
        self._stores = stores
        self._wait = wait
        self._delivering = ChatDelivery(line, stores, wait)
        self._queue: list[Receipt] = []
        self._faults = 0
        self._gathered: Receipt | None = None
        self._draft: Preview | None = None
        self._working: e.Address | None = None
        self._preview_pause = Pause()
        self._typing_pause = Pause()
        self._send_pause = Pause()
        self._wake = asyncio.Event()

    def give(self, receipts: Sequence[Receipt]) -> None:
        """More that is to go out to this chat, oldest first."""
        self._queue.extend(receipts)
        self._wake.set()

    def draft(self, draft: Preview | None) -> None:
        """What is being written, or None when nothing is; look at it again when it has grown."""
        if draft is not self._draft:
            self._draft = draft
            self._wake.set()

    def working(self, address: e.Address | None) -> None:
        """Where somebody waits for an answer that is being worked on, or None."""
        if address != self._working:
            self._working = address
            self._wake.set()

    @property
    def idle(self) -> bool:
        """Whether there is nothing to write, now or soon."""
        return not self._queue and self._draft is None and self._working is None

    @property
    def busy(self) -> bool:
        """Whether a delivery waits or is under way."""
        return bool(self._queue)

    async def run(self) -> None:
        """Write until cancelled: whatever fails (a full disk, a fault of ours), what waits goes out when it can."""
        while True:
            end_if_cancelled()
            self._wake.clear()
            try:
                if due := await self._due():
                    await self._deliver(due)
                    continue
                await self._show_preview()
                await self._show_typing()
            except AngeliaError as error:
                logger.warning("what is shown in %s waits: %s", self._address.door, error)
                await self._wait(None, _AFTER_A_FAULT_S)
            except Exception as error:
                logger.exception("the writer of a chat in %s faulted", self._address.door, exc_info=error)
                await self._wait(None, _AFTER_A_FAULT_S)
            await self._wait(self._wake, self._until_next())

    async def _due(self) -> Sequence[Receipt]:
        """What goes next, with what stands right behind it; nothing where all of it waits for other words first."""
        for place, receipt in enumerate(self._queue):
            waits = receipt.after and not await self._stores.outbox.is_settled(receipt.conversation, receipt.after)
            if not waits:
                run = takewhile(partial(_go_together, receipt), self._queue[place:])
                return sorted(run, key=lambda one: place_named(CallId(one.origin)) if one.after else (0, 0))
        return ()

    async def _deliver(self, due: Sequence[Receipt]) -> None:
        receipt = due[0]
        try:
            await self._wait(None, self._send_pause.left(self._stores.steady()))
            if self._may_grow(due):
                self._gathered = receipt
                await self._wait(None, _GATHERED_S)
                return
            await self._make_way(receipt)
            settled = await self._delivering.deliver(due)
        except AngeliaError as error:
            logger.warning("a delivery to %s waits: %s", self._address.door, error)
            await self._wait(None, _AFTER_A_FAULT_S)
            return
        except Exception as error:
            code = sortable_id(self._stores.clock)[-8:]
            logger.exception("a delivery to %s faulted, code %s", self._address.door, code, exc_info=error)
            await self._faulted(receipt, code)
            return
        self._send_pause.begin(self._stores.steady(), self._line.channel.capabilities.pace)
        for one in settled:
            self._finish(one)

    def _may_grow(self, due: Sequence[Receipt]) -> bool:
        """Whether others may still come to stand in one message with it: each call of a reply queues its own file, and
        what became of the last of several is told a moment after the first.
        """
        receipt = due[0]
        if receipt is self._gathered or tells_of_another(receipt):
            return receipt is not self._gathered
        if len(due) > 1 or self._working is None or not albums_in(self._line.channel, receipt.address):
            return False
        return any(isinstance(part, Media) for part in receipt.parts)

    def _finish(self, receipt: Receipt) -> None:
        self._faults = 0
        self._queue.remove(receipt)
        if self._draft is not None and self._draft.delivery == receipt.id:
            self._draft = None
        elif self._draft is not None and self._draft.fades < inf:  # a draft goes when a message comes
            self._draft.fades = 0

    async def _faulted(self, receipt: Receipt, code: str) -> None:
        """A fault of ours: tried again, then told, so that it never blocks what comes after it."""
        self._faults += 1
        if self._faults < _MOST_FAULTS:
            await self._wait(None, _AFTER_A_FAULT_S)
            return
        why = f"a fault of ours, code {code}"
        facts: list[e.AnyFact] = [e.DeliverySettled(receipt.id, e.DeliveryStatus.FAILED, detail=why)]
        if receipt.origin != NOTICE:
            words = Text(f"An answer could not be delivered: {why}. It is kept in the conversation.")
            facts.append(e.DeliveryQueued(told_id(receipt), receipt.address, (words,), NOTICE))
        await self._stores.transcript.append(receipt.conversation, facts)
        self._finish(receipt)

    # -- what is shown before the answer is there ------------------------------------------------------------------

    async def _show_preview(self) -> None:
        draft, channel, now = self._draft, self._line.channel, self._stores.steady()
        if draft is None or draft.given_up or not self._streams or self._preview_pause.left(now):
            return
        words = draft.words(_characters(channel.capabilities.text_limit, channel.capabilities.units) - len(MORE))
        fades = self._working is not None and now >= draft.fades
        if not words or (words == draft.shown and not fades):
            return
        self._preview_pause.begin(now, channel.capabilities.edit_pace)
        try:
            await self._show(draft, words)
        except Later as later:
            self._preview_pause.begin(now, later.seconds)
            draft.given_up = not drafts_in(channel, draft.address)  # with an edit more the answer itself would wait
        except ChannelError as error:  # the answer itself still comes; only watching it grow is given up
            logger.info("a preview in %s is given up: %s", self._address.door, error)
            draft.given_up = True

    @property
    def _streams(self) -> bool:
        capabilities = self._line.channel.capabilities
        return self._line.settings.stream and (capabilities.can(Kind.EDIT) or capabilities.can(Kind.DRAFT))

    async def _show(self, draft: Preview, words: str) -> None:
        """In the way that the chat has: as a draft, or else as a message that grows."""
        channel = self._line.channel
        if not draft.shown:
            draft.take_up(await self._stores.outbox.progress(draft.conversation, draft.delivery))
        drafts = None if draft.message else drafts_in(channel, draft.address)
        if draft.given_up:
            return
        if drafts is not None:
            await self._show_draft(drafts, draft, words)
        elif channel.capabilities.can(Kind.EDIT):
            text = as_it_grows(words, channel.dialect, channel.capabilities, MORE)
            if text and (draft.message or len(words) >= channel.capabilities.grows_from):
                await self._show_message(draft, replace(text, reply_to=draft.reply_to))
                draft.shown = words
        else:
            draft.given_up = True

    async def _show_draft(self, drafts: HasDrafts, draft: Preview, words: str) -> None:
        """Nothing of it stays, so that nothing is written down: the answer comes as a message of its own."""
        channel = self._line.channel
        text = as_it_grows(words, channel.dialect, channel.capabilities)
        if text is None:
            return
        try:
            await drafts.draft(draft.address, text, preview_key(draft.delivery))
        except Rejected as refused:  # the channel has none there from now on, so that the next look goes by a message
            logger.warning("%s shows no drafts in a chat, its answers grow as messages: %s", channel.door, refused)
            draft.shown, draft.fades = "", inf
            return
        except (NotSent, Unsure) as error:  # a draft may be repeated
            logger.info("a draft in %s is shown later: %s", self._address.door, error)
            self._preview_pause.begin(self._stores.steady(), _AFTER_A_FAULT_S)
            return
        crash_point("preview.drafted")
        draft.shown = words
        draft.fades = self._stores.steady() + channel.capabilities.draft_seconds * _RENEWED * 1000

    async def _show_message(self, draft: Preview, text: OutText) -> None:
        channel, append = self._line.channel, self._stores.transcript.append
        if draft.message:
            await channel.edit(draft.address, draft.message, text)
        else:
            await append(draft.conversation, [e.PreviewStarted(draft.delivery, draft.address)])
            crash_point("preview.started")
            try:
                draft.message = await channel.send(draft.address, text, preview_key(draft.delivery))
            except Unsure:
                raise
            except ChannelError as error:
                await self._unshown(draft, str(error))
                raise
            crash_point("preview.sent")
            await append(draft.conversation, [e.PreviewShown(draft.delivery, draft.message)])

    async def _make_way(self, receipt: Receipt) -> None:
        """What goes out before the answer stands above it: a preview that is there already begins anew beneath."""
        draft, channel = self._draft, self._line.channel
        if (
            draft is None
            or not draft.message
            or draft.delivery == receipt.id
            or not channel.capabilities.can(Kind.DELETE)
        ):
            return
        try:
            await channel.delete(draft.address, draft.message)
        except MessageGone:
            logger.info("a preview in %s was gone already", self._address.door)
        except ChannelError as error:  # it stays, and is edited into the answer where it stands
            logger.info("a preview in %s cannot be taken back: %s", self._address.door, error)
            return
        crash_point("preview.taken_back")
        await self._unshown(draft, "something else went first")

    async def _unshown(self, draft: Preview, why: str) -> None:
        off = e.DeliveryPutOff(draft.delivery, PREVIEW, self._stores.clock(), why)
        await self._stores.transcript.append(draft.conversation, [off])
        draft.message = draft.shown = ""

    async def _show_typing(self) -> None:
        channel, now = self._line.channel, self._stores.steady()
        if self._working is None or self._typing_pause.left(now) or not channel.capabilities.can(Kind.TYPING):
            return
        self._typing_pause.begin(now, channel.capabilities.typing_seconds * _RENEWED)
        try:
            await channel.typing(self._working)
        except Later as later:
            self._typing_pause.begin(now, later.seconds)
        except ChannelError as error:
            logger.info("typing in %s cannot be shown: %s", self._address.door, error)

    def _until_next(self) -> float | None:
        """Seconds until the preview or the sign of typing is due; None when only news can bring work."""
        capabilities, due, now = self._line.channel.capabilities, [], self._stores.steady()
        if self._draft is not None and not self._draft.given_up and self._streams:
            due.append(self._preview_pause.left(now))
        if self._working is not None and capabilities.can(Kind.TYPING):
            due.append(self._typing_pause.left(now))
        return max(min(due), _LOOK_S) if due else None


def _go_together(receipt: Receipt, other: Receipt) -> bool:
    same = (receipt.conversation, receipt.address, receipt.after)
    return same == (other.conversation, other.address, other.after)


def _characters(limit: int, units: Units) -> int:
    """How many characters certainly fit: one may take two UTF-16 units or four bytes."""
    return limit // {Units.CHARACTERS: 1, Units.UTF16: 2, Units.BYTES: 4}[units]
