"""What goes to the client about one session: in order, media opened on the way, deliveries settled once written."""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from angelia.acp.lines import AcpGone
from angelia.acp.rpc import Peer
from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.context.media_forms import WIRE_PICTURES, label
from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.errors import AngeliaError
from angelia.deadline import within
from angelia.faces.acp import outgoing as o
from angelia.faces.acp.incoming import ClientCapabilities
from angelia.service.conversation.terminal_delivery import copied
from angelia.store.port import Haste

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

DOOR = "acp"

LAST_WORDS_S = 2.0
"""How long a client that leaves may take to read what was on its way; the log has it in any case."""

logger = logging.getLogger("angelia.acp")


class Client(Struct, frozen=True):
    """Who is on the other side; `flushed` waits until everything written has left us, or raises Gone."""

    peer: Peer
    capabilities: ClientCapabilities
    flushed: Callable[[], Awaitable[None]]


class SessionSender:
    """An update goes out at once, unless something before it has to be opened or awaited first."""

    def __init__(self, app: "App", session: "Session", client: Client) -> None:
        self._app = app
        self._session = session
        self._client = client
        self._updates: asyncio.Queue[o.Update] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._receipts: set[asyncio.Task[None]] = set()
        self._pending = 0
        self._lost: dict[str, list[str]] = {}

    def tell(self, updates: Iterable[o.Update]) -> None:
        """Send these, after everything that was told before."""
        for update in updates:
            if self._pending or _unopened(update):
                self._queue(update)
            else:
                self._send(update)

    def settle(self, queued: e.DeliveryQueued) -> None:
        """Give a delivery for this door its receipt, once what it says has left us; nothing waits for that."""
        if queued.address.door == DOOR:
            receipt = asyncio.create_task(self._settled(queued))
            self._receipts.add(receipt)
            receipt.add_done_callback(self._receipts.discard)

    async def drained(self) -> None:
        """Wait until everything told so far was sent."""
        await self._updates.join()

    async def close(self) -> None:
        """Send what is left, if the client takes it soon, and then no more."""
        with suppress(TimeoutError):
            await within(LAST_WORDS_S, self._all_sent())
        await cancel_and_wait(*self._receipts, self._task)
        while not self._updates.empty():
            self._updates.get_nowait()
            self._updates.task_done()

    async def _all_sent(self) -> None:
        await self.drained()
        await asyncio.gather(*self._receipts)

    def _queue(self, update: o.Update) -> None:
        self._pending += 1
        self._updates.put_nowait(update)
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while True:
            update = await self._updates.get()
            try:
                self._send(await self._opened(update))
            except Exception:  # or nothing more would be sent, and who waits for that would wait for ever
                end_if_cancelled()
                logger.exception("%s: an update could not be sent", self._session.conversation)
            finally:
                self._pending -= 1
                self._updates.task_done()

    def _send(self, update: o.Update) -> None:
        self._client.peer.notify("session/update", o.SessionUpdate(self._session.conversation, update))

    # -- media --------------------------------------------------------------------------------------------------

    async def _opened(self, update: o.Update) -> o.Update:
        """The update with its media as the client takes them."""
        match update:
            case o.UserChunk(content=o.Unopened() as unopened):
                return replace(update, content=await self._content(unopened))
            case o.AgentChunk(content=o.Unopened() as unopened):
                return replace(update, content=await self._content(unopened))
            case o.CallChanged(content=tuple() as content):
                return replace(update, content=tuple([await self._shown(one) for one in content]))
            case _:
                return update

    async def _shown(self, shown: o.Piece) -> o.Piece:
        if isinstance(shown, o.AcpShown) and isinstance(shown.content, o.Unopened):
            return o.AcpShown(await self._content(shown.content))
        return shown

    async def _content(self, unopened: o.Unopened) -> o.Content:
        """The medium, or words in its place; a delivery that it was given by is remembered as failed."""
        media, mime = unopened.media, unopened.media.blob.mime
        try:
            if unopened.delivery:
                await self._app.blobs.local(media.blob.sha256)
                return await asyncio.to_thread(self._file, media)
            if mime in WIRE_PICTURES or mime.startswith("audio/"):
                data = await self._app.blobs.get(media.blob.sha256)
                encoded = (await asyncio.to_thread(b64encode, data)).decode("ascii")
                return o.Image(encoded, mime) if mime in WIRE_PICTURES else o.Audio(encoded, mime)
        except Exception as error:
            logger.exception("%s of %s cannot be opened", label(media), self._session.conversation)
            why = _why(error)
            if unopened.delivery:
                self._lost.setdefault(unopened.delivery, []).append(f"{media.name or media.media}: {why}")
            return o.AcpWords(f"[{label(media)}: it cannot be opened. {why}]")
        return _link(media, f"blob:{media.blob.sha256}")

    def _file(self, media: Media) -> o.AcpLink:
        """A copy of what was sent to the person, where the person's files are put."""
        return _link(media, copied(media, self._app.blobs, self._app.outbox_folder).as_uri())

    # -- deliveries ---------------------------------------------------------------------------------------------

    async def _settled(self, queued: e.DeliveryQueued) -> None:
        await self.drained()
        try:
            await self._client.flushed()
            status = e.DeliveryStatus.SENT
        except AcpGone:
            status = e.DeliveryStatus.KEPT
        lost = self._lost.pop(queued.id, [])
        if lost:
            status = e.DeliveryStatus.FAILED
        try:
            # a second receipt is absorbed
            await self._session.log.append(
                e.DeliverySettled(queued.id, status, detail="; ".join(lost)), haste=Haste.PATIENT
            )
        except AngeliaError as error:  # it is told again to whoever opens the session next
            logger.warning("%s: %s", self._session.conversation, error)


def _why(error: Exception) -> str:
    match error:
        case AngeliaError():
            return str(error)
        case OSError():
            return f"{error.strerror or error}."
        case _:
            return "A fault of ours; the log file says which."


def unsettled(session: "Session") -> list[e.DeliveryQueued]:
    """What was queued for this door and has no receipt yet, oldest first."""
    facts = [entry.fact for entry in session.log.entries]
    settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
    queued = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
    return [fact for fact in queued if fact.id not in settled and fact.address.door == DOOR]


def _link(media: Media, uri: str) -> o.AcpLink:
    return o.AcpLink(media.name or str(media.media), uri, media.blob.mime, media.blob.size)


def _unopened(update: o.Update) -> bool:
    match update:
        case o.UserChunk(content=o.Unopened()) | o.AgentChunk(content=o.Unopened()):
            return True
        case o.CallChanged(content=tuple() as content):
            return any(isinstance(one, o.AcpShown) and isinstance(one.content, o.Unopened) for one in content)
        case _:
            return False
