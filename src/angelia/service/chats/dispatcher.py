"""Hands what is queued to the writers of its chats; the store is the queue, and nothing else remembers it."""

import asyncio
import logging
from collections import defaultdict

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import Address
from angelia.core.errors import AngeliaError
from angelia.service.chats.delivery import NOTICE, DeliveryStores
from angelia.service.chats.notices_together import told_id
from angelia.service.chats.open_channel import OpenChannel, Wait
from angelia.service.chats.writer import ChatWriter
from angelia.store.tables.outbox import UNREADABLE, Receipt

_LOOK_S = 0.5
"""How often another process's commits are looked for; our own are heard of at once."""
_AFTER_A_FAULT_S = 5.0

logger = logging.getLogger("angelia.delivery")


class DeliveryDispatcher:
    """The writers of every chat of the open channels."""

    def __init__(self, stores: DeliveryStores, wait: Wait) -> None:
        self._stores, self._wait = stores, wait
        self._lines: dict[str, OpenChannel] = {}
        self._known: dict[str, OpenChannel] = {}
        self._writers: dict[tuple[str, str], tuple[ChatWriter, asyncio.Task[None]]] = {}
        self._news = asyncio.Event()
        self._handing_out = False
        self._version = -1
        self._handed_out: dict[str, int] = {}

    def connect(self, line: OpenChannel) -> None:
        """Deliver through this channel from now on."""
        self._lines[line.channel.door] = self._known[line.channel.door] = line
        self._news.set()

    async def disconnect(self, door: str) -> None:
        """Deliver nothing through this channel any more; what was begun is in doubt, what was not is still queued."""
        self._lines.pop(door)
        self._handed_out.pop(door, None)
        await cancel_and_wait(*(self._writers.pop(key)[1] for key in tuple(self._writers) if key[0] == door))

    def rests(self, door: str) -> bool:
        """Whether nothing is to be delivered through a channel now; previews do not count."""
        busy = any(writer.busy for key, (writer, _) in self._writers.items() if key[0] == door)
        return not busy and not self._is_looking

    def signal(self) -> None:
        """Something was queued in this process."""
        self._news.set()

    @property
    def doors(self) -> tuple[str, ...]:
        """The names of the open channels."""
        return tuple(self._lines)

    def line(self, door: str) -> OpenChannel:
        """The open channel of a name.

        Raises:
            KeyError: there is none.
        """
        return self._lines[door]

    def known(self, door: str) -> OpenChannel | None:
        """The channel of a name that is open here, or was until another machine took it over: what its network shows,
        and what is set of it, holds for turns that go on here. None where it never was.
        """
        return self._known.get(door)

    def has(self, door: str) -> bool:
        """Whether a channel of this name is open."""
        return door in self._lines

    def writer(self, address: Address) -> ChatWriter:
        """The one writer of a chat, which lives as long as there is something to write.

        Raises:
            KeyError: no channel of this name is open.
        """
        key = (address.door, address.chat)
        if key not in self._writers or self._writers[key][1].done():
            chat = Address(address.door, address.chat)
            writer = ChatWriter(chat, self._lines[address.door], self._stores, self._wait)
            self._writers[key] = (writer, asyncio.create_task(writer.run()))
        return self._writers[key][0]

    @property
    def at_rest(self) -> bool:
        """Whether nothing is to be delivered now; previews do not count."""
        return not any(writer.busy for writer, _ in self._writers.values()) and not self._is_looking

    @property
    def _is_looking(self) -> bool:
        """Whether something was queued in this process that no writer may have yet."""
        return self._handing_out or self._news.is_set()

    async def run(self) -> None:
        """Look for what is queued whenever somebody committed something, until cancelled."""
        while True:
            end_if_cancelled()
            try:
                if self._news.is_set() or await self._others_committed():
                    self._news.clear()
                    await self._hand_out()
                await self._wait(self._news, _LOOK_S)
            except AngeliaError as error:
                logger.warning("what is queued cannot be read, and is looked for again: %s", error)
                await self._wait(None, _AFTER_A_FAULT_S)
            except Exception as error:
                logger.exception("handing out what is queued faulted, and is tried again", exc_info=error)
                await self._wait(None, _AFTER_A_FAULT_S)

    async def close(self) -> None:
        """Stop writing; what was begun is in doubt, what was not begun is still queued."""
        await cancel_and_wait(*(task for _, task in self._writers.values()))
        self._writers.clear()

    async def _others_committed(self) -> bool:
        version = await self._stores.outbox.version()
        changed, self._version = version != self._version, version
        return changed

    async def _hand_out(self) -> None:
        self._handing_out = True
        try:
            await self._give_to_writers()
        finally:
            self._handing_out = False

    async def _give_to_writers(self) -> None:
        for door, line in tuple(self._lines.items()):
            chats: defaultdict[str, list[Receipt]] = defaultdict(list)
            pending = await self._stores.outbox.pending(door, self._handed_out.get(door, 0))
            if self._lines.get(door) is not line:  # it went meanwhile; whoever has it now looks for all of it
                continue
            for receipt in pending:
                chats[receipt.address.chat].append(receipt)
                self._handed_out[door] = receipt.place
            unreadable = chats.pop(UNREADABLE.address.chat, [])
            for chat, receipts in chats.items():
                self.writer(Address(door, chat)).give(receipts)
            for receipt in unreadable:
                await self._give_up(receipt, door)
        self._let_idle_ones_go()

    async def _give_up(self, receipt: Receipt, door: str) -> None:
        """It cannot be read, and so not be sent; who waits for it is told where the conversation is."""
        logger.warning("the delivery %s of %s cannot be read", receipt.id, receipt.conversation)
        why = "what was to be sent cannot be read any more"
        facts: list[e.AnyFact] = [e.DeliverySettled(receipt.id, e.DeliveryStatus.FAILED, detail=why)]
        if address := await self._stores.outbox.last_address(receipt.conversation, door):
            words = Text(f"An answer could not be delivered: {why}. `angelia store verify` says what is damaged.")
            facts.append(e.DeliveryQueued(told_id(receipt), address, (words,), NOTICE))
        await self._stores.transcript.append(receipt.conversation, facts)

    def _let_idle_ones_go(self) -> None:
        for key, (writer, task) in tuple(self._writers.items()):
            if writer.idle:
                task.cancel()
                del self._writers[key]
