"""A chat network in this process: it remembers what arrived, misbehaves as it is told, and outlives every restart."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from enum import StrEnum
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.capabilities import FILES, As, Capabilities, IncomingKind, Kind, NativeMethod, Never, Way
from angelia.channels.failures import CannotFetch, Later, MessageGone, NotSent, Rejected, Unsure
from angelia.channels.health import ConnectionHealth, Health
from angelia.channels.incoming import Envelope, Hear, OfferedFile
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.marks import DiscordMarkdown
from angelia.channels.markup.renderer import measure
from angelia.channels.outgoing import Button, OutAlbum, OutFile, Outgoing, OutText
from angelia.core.entry import Address

MB = 1_000_000


class ChannelTrouble(StrEnum):
    """What may happen to one call."""

    NONE = "none"
    LATER = "later"
    """Flood control."""
    NOT_SENT = "not sent"
    LOST_BEFORE = "time-out before it was accepted"
    LOST_AFTER = "time-out after it was accepted"


class RecordedMessage(Struct, frozen=True):
    """One message as a person sees it in a chat."""

    id: str
    address: Address
    text: str
    file: bytes | None = None
    name: str = ""
    kind: Kind = Kind.TEXT
    reply_to: str = ""
    buttons: tuple[Button, ...] = ()
    plain: str = ""
    album: str = ""


WAYS: dict[Kind, Way] = {
    **{kind: NativeMethod(f"send_{kind}", 50 * MB, caption=1024) for kind in FILES},
    Kind.TEXT: NativeMethod("send_text"),
    Kind.ALBUM: Never("one by one"),
    Kind.TYPING: NativeMethod("typing"),
    Kind.EDIT: NativeMethod("edit"),
    Kind.DRAFT: Never("a message grows"),
    Kind.DELETE: NativeMethod("delete"),
    Kind.REACTION: NativeMethod("react"),
    Kind.REPLY: NativeMethod("reply"),
    Kind.THREAD: NativeMethod("thread"),
    Kind.BUTTONS: NativeMethod("buttons", most=8),
}
ABILITIES = Capabilities(
    WAYS, {heard: NativeMethod(heard.value) for heard in IncomingKind}, text_limit=4096, edit_pace=1.0
)
WITH_ALBUMS = replace(ABILITIES, ways={**WAYS, Kind.ALBUM: NativeMethod("album", most=10)})
WITH_DRAFTS = replace(ABILITIES, ways={**WAYS, Kind.DRAFT: NativeMethod("draft")}, draft_seconds=30.0)
WITHOUT_EDIT = replace(
    ABILITIES,
    ways={
        **WAYS,
        Kind.EDIT: Never("a message stays as it is"),
        Kind.DELETE: Never("a message stays"),
        Kind.TYPING: Never("nobody sees it"),
        Kind.REACTION: Never("there is none"),
        Kind.BUTTONS: As(Kind.TEXT, "numbers to type"),
    },
)


class FarEnd:
    """The network itself: the messages that people see, and how the next calls go.

    `drafts` are what was shown in each chat without being a message. `trouble` is asked before each call with its
    method's name. With `idempotent`, a key is accepted once. `refuses` are methods that it does not take.
    """

    def __init__(
        self, trouble: Callable[[str], ChannelTrouble] = lambda _: ChannelTrouble.NONE, *, idempotent: bool = False
    ) -> None:
        self.trouble, self.idempotent = trouble, idempotent
        self.messages: dict[str, RecordedMessage] = {}
        self.drafts: dict[str, list[str]] = {}
        self.calls: list[str] = []
        self.reactions: list[tuple[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.refuses: set[str] = set()
        self.changed = asyncio.Event()
        self._keys: dict[str, str] = {}
        self._ids = count(1)

    def in_chat(self, chat: str) -> list[RecordedMessage]:
        """What somebody sees in a chat, oldest first."""
        return [message for message in self.messages.values() if message.address.chat == chat]

    def texts(self, chat: str) -> list[str]:
        """The words of it."""
        return [message.text for message in self.in_chat(chat)]

    async def when(self, holds: Callable[["FarEnd"], bool]) -> None:
        """Wait until something is true of it."""
        async with asyncio.timeout(60):
            while not holds(self):
                self.changed.clear()
                await self.changed.wait()

    def accept(self, message: RecordedMessage, key: str) -> str:
        """Take a message in; a known key is a repeat where the network absorbs them."""
        if self.idempotent and key in self._keys:
            return self._keys[key]
        number = str(next(self._ids))
        self.messages[number] = replace(message, id=number)
        if self.idempotent:
            self._keys[key] = number
        self.changed.set()
        return number


class RecordingChannel:
    """One connection to a `FarEnd`; a new life makes a new one."""

    def __init__(
        self, far: FarEnd, door: str = "chat", capabilities: Capabilities = ABILITIES, dialect: Dialect | None = None
    ) -> None:
        self.far, self.door = far, door
        self.capabilities = replace(capabilities, idempotent=far.idempotent)
        self.dialect: Dialect = dialect or DiscordMarkdown()
        self.health = Health(ConnectionHealth.CONNECTING)
        self._hear: Hear | None = None
        self._running = asyncio.Event()

    async def run(self, hear: Hear) -> None:
        """Hand in what `bring` brings."""
        self._hear = hear
        self.health = Health(ConnectionHealth.CONNECTED)
        self._running.set()
        await asyncio.Event().wait()

    async def bring(self, envelope: Envelope) -> str:
        """Somebody did something; returns when it is acknowledged."""
        await self._running.wait()
        assert self._hear is not None
        return await self._hear(envelope)

    async def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """The bytes that the far end has under this handle."""
        self.far.fetched.append(offer.handle)
        if offer.handle not in self.far.files:
            raise CannotFetch("It is gone.")
        yield self.far.files[offer.handle]

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """One message, unless it is too long or there is trouble."""
        if isinstance(outgoing, OutText) and self._is_too_long(outgoing):
            raise Rejected("The message is too long.")
        after = self._trouble("send")
        number = self.far.accept(_message(to, outgoing), key)
        if after:
            raise Unsure("No answer came.")
        return number

    async def send_album(self, to: Address, album: OutAlbum, key: str) -> Sequence[str]:
        """Several files, each a message; all of them or none."""
        after = self._trouble("send_album")
        parts = [replace(_message(to, file), album=key) for file in album.files]
        numbers = [self.far.accept(one, f"{key}.{at}") for at, one in enumerate(parts)]
        if after:
            raise Unsure("No answer came.")
        return numbers

    async def draft(self, to: Address, text: OutText, key: str) -> None:
        """Words that nobody keeps."""
        after = self._trouble("draft")
        self.far.drafts.setdefault(to.chat, []).append(text.plain)
        self.far.changed.set()
        if after:
            raise Unsure("No answer came.")

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """Other words."""
        after = self._trouble("edit")
        if message not in self.far.messages:
            raise MessageGone("There is no such message.")
        known = self.far.messages[message]
        assert known.address == to, "a message is edited where it stands"
        self.far.messages[message] = replace(known, text=text.marked or text.plain, buttons=text.buttons)
        self.far.changed.set()
        if after:
            raise Unsure("No answer came.")

    async def delete(self, to: Address, message: str) -> None:
        """Take it back."""
        after = self._trouble("delete")
        if self.far.messages.pop(message, None) is None:
            raise MessageGone("There is no such message.")
        self.far.changed.set()
        if after:
            raise Unsure("No answer came.")

    async def typing(self, to: Address) -> None:
        """Somebody is at it."""
        self._trouble("typing")

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """A mark on somebody's message."""
        self._trouble("react")
        self.far.reactions.append((message, emoji))
        self.far.changed.set()

    async def probe(self) -> None:
        """Whether calls work."""
        if self._trouble("probe"):
            raise Unsure("No answer came.")

    async def close(self) -> None:
        """Nothing is held."""

    def _is_too_long(self, text: OutText) -> bool:
        return measure(text.marked or text.plain, self.capabilities.units) > self.capabilities.text_limit

    def _trouble(self, method: str) -> bool:
        """Whether the call is accepted and its answer lost.

        Raises:
            Later, NotSent, Unsure: as the far end's trouble says.
        """
        self.far.calls.append(method)
        if method in self.far.refuses:
            raise Rejected(f"There is no {method}.")
        match self.far.trouble(method):
            case ChannelTrouble.LATER:
                raise Later(30.0)
            case ChannelTrouble.NOT_SENT:
                raise NotSent("There is no connection.")
            case ChannelTrouble.LOST_BEFORE:
                raise Unsure("No answer came.")
            case ChannelTrouble.LOST_AFTER:
                return True
            case ChannelTrouble.NONE:
                return False


def _message(to: Address, outgoing: Outgoing) -> RecordedMessage:
    match outgoing:
        case OutText(plain=plain, marked=marked, reply_to=reply_to, buttons=buttons):
            return RecordedMessage("", to, marked or plain, reply_to=reply_to, buttons=buttons, plain=plain)
        case OutFile(path=path, name=name, kind=kind, caption=caption):
            words = (caption.marked or caption.plain) if caption else ""
            return RecordedMessage("", to, words, path.read_bytes(), name, kind, outgoing.reply_to)
