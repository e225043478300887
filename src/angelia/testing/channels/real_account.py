"""The claims of the channel kit that can be tried from one side alone: on a real account, in a chat that is for that.

What arrived nobody tells us there: a claim holds if the network took it, and told what it should. Whoever reads the
chat sees the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from angelia.channels.capabilities import Kind, NativeMethod
from angelia.channels.failures import ChannelError, Later, MessageGone, NotSent, Rejected
from angelia.channels.outgoing import Button, OutAlbum, OutFile, Outgoing, OutText
from angelia.channels.port import Channel, HasIdentity, abilities_for, albums_in, drafts_in
from angelia.core.entry import Address
from angelia.core.ids import sortable_id
from angelia.testing.channels.samples import ODD_NAMES, sample_of
from angelia.testing.channels.words import GRAIN, WORDS, every_mark
from angelia.testing.claims import CheckFailed, expect

WHOLE = (Kind.PHOTO, Kind.DOCUMENT)
"""Kinds of which the samples are whole files; a network may look into a recording, and of those they have the head."""
_QUIET = "\n\n".join(WORDS[:-1])
"""All but those that would call people, if it went wrong."""
_PATIENCE_S = 30.0
"""Seconds for a connection to stand, and the most that is waited where a network asks for it."""
_AGAIN_S = 0.5

T = TypeVar("T")

Deed = Callable[["RealAccount"], Awaitable[None]]


class RealClaim(Struct, frozen=True):
    """One claim; `messages` are what it leaves in the chat."""

    name: str
    deed: Deed
    messages: int = 1


class Untried(Struct, frozen=True):
    """What is not tried, and why."""

    name: str
    why: str


class RealAccount:
    """A channel that is open, and the chat in which it may send; `folder` takes the files that go out."""

    def __init__(self, channel: Channel, to: Address, folder: Path) -> None:
        self.channel, self.to = channel, to
        self._folder = folder
        self.sent = 0

    async def send(self, outgoing: Outgoing, key: str = "") -> str:
        """Send one message, at the network's pace; returns its id."""
        message = await self.calmly(lambda: self.channel.send(self.to, outgoing, key or sortable_id()))
        expect(bool(message), "the network took it, and gave it no id")
        self.sent += 1
        await asyncio.sleep(abilities_for(self.channel, self.to).pace)
        return message

    async def calmly(self, deed: Callable[[], Awaitable[T]]) -> T:
        """Do something, and again where nothing was sent or the network asks to wait."""
        left = _PATIENCE_S
        while True:
            try:
                return await deed()
            except (Later, NotSent) as error:
                pause = error.seconds if isinstance(error, Later) else _AGAIN_S
                left -= pause
                if left < 0:
                    raise
                await asyncio.sleep(pause)

    async def refused(self, deed: Callable[[], Awaitable[object]], kind: type[ChannelError]) -> None:
        """The network must refuse this, and be understood.

        Raises:
            CheckFailed: it took it, or the refusal is read as another one.
        """
        try:
            await self.calmly(deed)
        except kind:
            return
        except ChannelError as error:
            raise CheckFailed(f"{kind.__name__} was expected, and {error!r} came") from error
        raise CheckFailed(f"{kind.__name__} was expected, and it was taken")

    def file(self, kind: Kind, name: str = "") -> OutFile:
        """A small file of a kind."""
        way = abilities_for(self.channel, self.to).ways[kind]
        sample = sample_of(kind, way if isinstance(way, NativeMethod) else None)
        path = self._folder / f"{sortable_id()}-{sample.name}"
        path.write_bytes(sample.data)
        size = (64, 64) if kind is Kind.PHOTO else (0, 0)
        return OutFile(kind, path, len(sample.data), name or sample.name, sample.mime, None, *size)


def real_claims(channel: Channel, to: Address) -> Iterator[RealClaim | Untried]:
    """What is to be tried in this chat, in order, and what is not."""
    abilities = abilities_for(channel, to)
    if isinstance(channel, HasIdentity):
        yield RealClaim("the network lets the account in", _identity, 0)
    yield RealClaim("words are taken", _words)
    yield RealClaim("every mark of its markup is taken", _marks)
    yield RealClaim("the longest text is taken, and a longer one refused", _longest)
    for kind, claim in _MORE.items():
        if abilities.can(kind):
            yield claim
    if drafts_in(channel, to):
        yield RealClaim("a draft is shown", _draft, 0)
    for kind in (Kind.PHOTO, Kind.DOCUMENT, Kind.ANIMATION, Kind.VOICE, Kind.AUDIO, Kind.VIDEO):
        if not abilities.can(kind):
            continue
        name = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} is taken"
        yield (
            RealClaim(name, partial(_file, kind)) if kind in WHOLE else Untried(name, "that wants a whole recording")
        )
    if abilities.can(Kind.DOCUMENT):
        yield RealClaim("files of odd names are taken", _names, len(ODD_NAMES))
    if albums_in(channel, to):
        yield RealClaim("an album is taken", _album, 2)
    if abilities.idempotent:
        yield RealClaim("a repeat under one key is one message", _repeat)
    yield Untried("what is said there is heard", "that takes somebody who speaks: write to it while the gateway runs")


async def _identity(account: RealAccount) -> None:
    assert isinstance(account.channel, HasIdentity)
    expect(bool((await account.calmly(account.channel.identify)).name), "it does not say who we are")


async def _words(account: RealAccount) -> None:
    await account.send(OutText(_QUIET, account.channel.dialect.text(_QUIET)))


async def _marks(account: RealAccount) -> None:
    await account.send(OutText("marks", "\n".join(every_mark(account.channel.dialect, "a < b & c > d"))))


async def _longest(account: RealAccount) -> None:
    abilities = abilities_for(account.channel, account.to)
    longest = "🦊" * (abilities.text_limit // GRAIN[abilities.units])
    await account.send(OutText(longest))
    await account.refused(lambda: account.channel.send(account.to, OutText(f"{longest}🦊"), sortable_id()), Rejected)


async def _edit(account: RealAccount) -> None:
    message = await account.send(OutText("These words are changed in a moment."))
    for words in ("changed once", "changed twice", "changed twice"):
        await account.calmly(partial(account.channel.edit, account.to, message, OutText(words)))
        await asyncio.sleep(abilities_for(account.channel, account.to).edit_pace)


async def _delete(account: RealAccount) -> None:
    message = await account.send(OutText("This is taken back in a moment."))
    await account.calmly(lambda: account.channel.delete(account.to, message))
    await account.refused(lambda: account.channel.delete(account.to, message), MessageGone)


async def _typing(account: RealAccount) -> None:
    await account.calmly(lambda: account.channel.typing(account.to))


async def _react(account: RealAccount) -> None:
    message = await account.send(OutText("This gets a mark."))
    await account.calmly(lambda: account.channel.react(account.to, message, "👍"))


async def _reply(account: RealAccount) -> None:
    first = await account.send(OutText("This is answered."))
    await account.send(OutText("This is the answer.", reply_to=first))


async def _buttons(account: RealAccount) -> None:
    await account.send(OutText("Buttons (nobody hears them)", buttons=(Button("Yes, <do> it", "y"), Button("No", "n"))))


async def _draft(account: RealAccount) -> None:
    drafts = drafts_in(account.channel, account.to)
    assert drafts is not None
    for words in ("one", "one two"):
        await account.calmly(partial(drafts.draft, account.to, OutText(words), "draft"))


async def _file(kind: Kind, account: RealAccount) -> None:
    await account.send(account.file(kind))


async def _names(account: RealAccount) -> None:
    for name in ODD_NAMES:
        await account.send(account.file(Kind.DOCUMENT, name))


async def _album(account: RealAccount) -> None:
    albums = albums_in(account.channel, account.to)
    assert albums is not None
    both = OutAlbum((account.file(Kind.PHOTO), account.file(Kind.PHOTO)))
    found = await account.calmly(lambda: albums.send_album(account.to, both, sortable_id()))
    expect(len(found) == 2, f"an album of two has {len(found)} ids")
    account.sent += 2


async def _repeat(account: RealAccount) -> None:
    key = sortable_id()
    first = await account.send(OutText("This is sent twice, and there once."), key)
    second = await account.calmly(
        lambda: account.channel.send(account.to, OutText("This is sent twice, and there once."), key)
    )
    expect(first == second, f"it has two ids: {first}, {second}")


_MORE = {
    Kind.EDIT: RealClaim("a message of ours gets other words", _edit),
    Kind.DELETE: RealClaim("a message of ours is taken back, and is gone then", _delete, 0),
    Kind.TYPING: RealClaim("typing is taken", _typing, 0),
    Kind.REACTION: RealClaim("a message is marked", _react),
    Kind.REPLY: RealClaim("a reply is taken", _reply, 2),
    Kind.BUTTONS: RealClaim("buttons are taken", _buttons),
}
