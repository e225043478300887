"""Claims about what comes in: every kind of thing becomes the right envelope, and none is lost."""

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from angelia.channels.capabilities import Capabilities, IncomingKind, Kind, NativeMethod
from angelia.channels.failures import CannotFetch, NotSent
from angelia.channels.incoming import Envelope, IncomingMessage, Noticed, OfferedFile, Pressed
from angelia.channels.outgoing import Button, OutText
from angelia.testing.channels.network import CONTACT, PLACE, ChannelTimeouts, Sample, ServerError, Thing, Who
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import DOOR, ChannelCheck, Make, Stage, staged
from angelia.testing.claims import expect

FILE_KINDS = {
    IncomingKind.PHOTO: Kind.PHOTO,
    IncomingKind.VOICE: Kind.VOICE,
    IncomingKind.AUDIO: Kind.AUDIO,
    IncomingKind.VIDEO: Kind.VIDEO,
    IncomingKind.DOCUMENT: Kind.DOCUMENT,
}


def incoming_checks(capabilities: Capabilities) -> list[ChannelCheck]:
    """What this network brings, each by a claim of its own; and what holds for all of it."""
    hears = [heard for heard in IncomingKind if isinstance(capabilities.hears[heard], NativeMethod)]
    found = [ChannelCheck(f"{heard} is heard", partial(_CLAIMS[heard], heard)) for heard in hears]
    found += [
        ChannelCheck("what is brought again has the same key", _same_key),
        ChannelCheck("what could not be taken in is brought again", _brought_again),
        ChannelCheck("what was not taken in is brought after a restart", _after_a_restart),
        ChannelCheck("what can never be taken in holds nobody up for ever", _poisoned),
        ChannelCheck("a chat's messages are handed in in order", _in_order),
        ChannelCheck("bots and ourselves are not heard as people", _bots),
        ChannelCheck("in a group it is known who is spoken to", _group),
        ChannelCheck("a forward has no words of its senders own", _forward),
    ]
    if IncomingKind.DOCUMENT in hears:
        found.append(ChannelCheck("a forwarded file is marked as others", _forwarded_file))
        found.append(ChannelCheck("a file that cannot be had is told as such", _cannot_fetch))
    if IncomingKind.PHOTO in hears and capabilities.can(Kind.ALBUM):
        found.append(ChannelCheck("an album is one envelope", _album))
    if capabilities.can(Kind.REPLY):
        found.append(ChannelCheck("what is answered is quoted", _quoted))
        if IncomingKind.PHOTO in hears:
            found.append(ChannelCheck("an answer to a picture brings the picture", _answered_picture))
    if capabilities.can(Kind.THREAD):
        found.append(ChannelCheck("what is said in a thread comes from there", _thread))
    return found


async def hear_one(stage: Stage, thing: Thing) -> Envelope:
    """Let one thing happen: its envelope, with what every envelope must have right."""
    before = len(stage.heard)
    (message,) = await stage.network.bring(thing)
    await stage.until(lambda: len(stage.heard) > before)
    envelope = stage.heard[before]
    expect(envelope.address.door == DOOR, f"it came through the door {envelope.address.door!r}")
    expect(envelope.address.chat == thing.where.chat, f"it came from the chat {envelope.address.chat!r}")
    expect(envelope.address.thread == thing.where.thread, f"it came from the thread {envelope.address.thread!r}")
    expect(envelope.private == (thing.where.chat == stage.network.here.chat), f"it is private: {envelope.private}")
    expect(bool(envelope.key and envelope.sender.id), f"it has no key or no sender: {envelope}")
    expect(not envelope.sender.bot, "a person came as a bot")
    expect(envelope.message == message or bool(thing.about), f"{message!r} came as {envelope.message!r}")
    return envelope


def _text(stage: Stage, heard: IncomingKind = IncomingKind.TEXT, text: str = "hello") -> Thing:
    return Thing(heard, stage.network.here, text)


async def bytes_of(stage: Stage, offer: OfferedFile) -> bytes:
    """What the channel fetches."""
    return b"".join([piece async for piece in stage.channel.fetch(offer)])


async def _words(heard: IncomingKind, make: Make) -> None:
    async with staged(make) as stage:
        for text in (
            ("/status", "/status now") if heard is IncomingKind.COMMAND else ("hello", "two\nlines & <b>🦊</b>")
        ):
            what = (await hear_one(stage, _text(stage, heard, text))).what
            expect(what == IncomingMessage(text), f"{text!r} came as {what}")


async def _file(heard: IncomingKind, make: Make) -> None:
    async with staged(make) as stage:
        sample = sample_of(FILE_KINDS[heard])
        way = stage.channel.capabilities.ways[FILE_KINDS[heard]]
        captioned = heard is not IncomingKind.VOICE and isinstance(way, NativeMethod) and way.caption
        caption = "what it is" if captioned else ""
        what = (await hear_one(stage, Thing(heard, stage.network.here, caption, (sample,)))).what
        offer = await _is_offered(stage, what, sample)
        expect(isinstance(what, IncomingMessage) and what.text == caption, f"the caption came as {what}")
        expect(offer.kind is sample.kind, f"{heard} came as {offer.kind}")
        if heard is IncomingKind.DOCUMENT:
            expect((offer.name, offer.mime) == (sample.name, sample.mime), f"{sample.name} came as {offer}")


async def _is_offered(stage: Stage, what: object, *samples: Sample) -> OfferedFile:
    expect(
        isinstance(what, IncomingMessage) and len(what.offers) == len(samples), f"{len(samples)} files came as {what}"
    )
    offers = what.offers if isinstance(what, IncomingMessage) else ()
    for offer, sample in zip(offers, samples, strict=True):
        expect(offer.size in (-1, len(sample.data)), f"{len(sample.data)} bytes are told as {offer.size}")
        expect(await bytes_of(stage, offer) == sample.data, f"{sample.name} was fetched changed")
    return offers[0]


async def _sticker(heard: IncomingKind, make: Make) -> None:
    async with staged(make) as stage:
        sample = msgspec.structs.replace(sample_of(Kind.PHOTO), name="sticker.webp", mime="image/webp")
        what = (await hear_one(stage, Thing(heard, stage.network.here, "", (sample,)))).what
        await _is_offered(stage, what, sample)


async def _told_in_words(heard: IncomingKind, make: Make) -> None:
    async with staged(make) as stage:
        what = (await hear_one(stage, Thing(heard, stage.network.here))).what
        wanted = (
            [str(number) for number in PLACE]
            if heard is IncomingKind.LOCATION
            else [CONTACT[0], CONTACT[1].lstrip("+")]
        )
        told = isinstance(what, IncomingMessage) and all(part in what.text for part in wanted)
        expect(told, f"{wanted} came as {what}")


async def _edit(heard: IncomingKind, make: Make) -> None:
    async with staged(make) as stage:
        first = await hear_one(stage, _text(stage))
        second = await hear_one(stage, Thing(heard, stage.network.here, "hello again", about=first.message))
        expect(second.what == IncomingMessage("hello again", edits=first.message), f"an edit came as {second.what}")
        expect(second.key != first.key, "an edit has its message's key, and would be taken for a repeat")
        third = await hear_one(stage, Thing(heard, stage.network.here, "and again", about=first.message))
        expect(third.key != second.key, "two edits have one key")


async def _notice(heard: IncomingKind, make: Make) -> None:
    async with staged(make) as stage:
        ours = (await stage.send(OutText("hello"))).message
        about = ours if heard is IncomingKind.REACTION else (await hear_one(stage, _text(stage))).message
        what = (await hear_one(stage, Thing(heard, stage.network.here, "👍", about=about))).what
        right = isinstance(what, Noticed) and what.heard is heard and what.message == about and bool(what.text)
        expect(right, f"{heard} came as {what}")
        expect(heard is not IncomingKind.REACTION or "👍" in str(what), f"the reaction is not told: {what}")


async def _button(heard: IncomingKind, make: Make) -> None:
    async with staged(make) as stage:
        buttons = (Button("Yes", "y" * 64), Button("No", "n"))
        about = (await stage.send(OutText("Shall I?", buttons=buttons))).message
        for button in buttons:
            what = (await hear_one(stage, Thing(heard, stage.network.here, about=about, value=button.value))).what
            expect(what == Pressed(button.value, about), f"{button} came as {what}")


async def _same_key(make: Make) -> None:
    async with staged(make) as stage:
        things = [_text(stage, text=str(number)) for number in range(5)]
        await stage.network.bring(*things)
        await stage.until(lambda: len(stage.heard) >= 5)
        keys = {envelope.key for envelope in stage.heard}
        expect(len(keys) == 5, f"five messages have the keys {keys}")
        await stage.stop()
        await stage.network.repeat()
        await stage.start()
        await stage.network.bring(_text(stage, text="end"))
        await stage.until(lambda: any(envelope.what == IncomingMessage("end") for envelope in stage.heard))
        again = {envelope.key for envelope in stage.heard if envelope.what != IncomingMessage("end")}
        expect(again == keys, f"brought again, {keys} came as {again}")


async def _brought_again(make: Make) -> None:
    async with staged(make) as stage:
        stage.refuse = lambda envelope: stage.tries[envelope.key] <= 2
        await stage.network.bring(_text(stage))
        await stage.until(lambda: bool(stage.heard))
        expect(stage.tries[stage.heard[0].key] >= 3, f"it was handed in {stage.tries} times")


async def _after_a_restart(make: Make) -> None:
    async with staged(make) as stage:
        stage.refuse = lambda envelope: True
        elsewhere = stage.network.group if stage.network.group.chat else stage.network.here
        await stage.network.bring(_text(stage))
        await stage.until(lambda: len(stage.tries) == 1)
        await stage.network.bring(Thing(IncomingKind.TEXT, elsewhere, "hello", to_us=True))
        await stage.until(lambda: len(stage.tries) == 2)
        await stage.stop()
        stage.refuse = lambda envelope: False
        await stage.start()
        await stage.until(lambda: len({envelope.key for envelope in stage.heard}) == 2)
        expect(len(stage.tries) == 2, "after a restart they came as others")


async def _poisoned(make: Make) -> None:
    async with staged(make) as stage:
        stage.refuse = lambda envelope: envelope.what == IncomingMessage("poison")
        await stage.network.bring(_text(stage, text="poison"), _text(stage, text="hello"))
        await stage.until(lambda: any(envelope.what == IncomingMessage("hello") for envelope in stage.heard))
        expect(len(stage.tries) >= 2, "the poisoned one was never handed in")


async def _in_order(make: Make) -> None:
    async with staged(make) as stage:
        wanted = [IncomingMessage(str(number)) for number in range(20)]
        await stage.network.bring(*(_text(stage, text=said.text) for said in wanted))
        await stage.until(lambda: len({envelope.key for envelope in stage.heard}) == 20)
        came = [envelope.what for envelope in stage.heard]
        expect(came == wanted, f"they came in the order {came}")


async def _bots(make: Make) -> None:
    async with staged(make) as stage:
        for who in (Who.BOT, Who.OURSELVES):
            where = stage.network.group if stage.network.group.chat else stage.network.here
            await stage.network.bring(Thing(IncomingKind.TEXT, where, "beep", who=who, to_us=True))
        await stage.network.bring(_text(stage))
        await stage.until(lambda: any(envelope.what == IncomingMessage("hello") for envelope in stage.heard))
        people = [envelope for envelope in stage.heard if not envelope.sender.bot]
        expect([envelope.what for envelope in people] == [IncomingMessage("hello")], f"heard as people: {people}")


async def _group(make: Make) -> None:
    async with staged(make) as stage:
        group = stage.network.group
        if not group.chat:
            expect((await hear_one(stage, _text(stage))).private, "there is no group, and a chat is not private")
            return
        for to_us in (True, False):
            envelope = await hear_one(stage, Thing(IncomingKind.TEXT, group, "hello all", to_us=to_us))
            expect(envelope.addressed == to_us, f"mentioned: {to_us}, and it came as {envelope.addressed}")
            said = envelope.what.text if isinstance(envelope.what, IncomingMessage) else ""
            expect("hello all" in said, f"it came as {envelope.what}")


async def _cannot_fetch(make: Make) -> None:
    async with staged(make) as stage:
        sample = sample_of(Kind.DOCUMENT)
        what = (await hear_one(stage, Thing(IncomingKind.DOCUMENT, stage.network.here, "", (sample,)))).what
        offer = await _is_offered(stage, what, sample)
        stage.network.misbehave(ServerError())
        await stage.fails(bytes_of(stage, offer), NotSent)
        await stage.fails(bytes_of(stage, msgspec.structs.replace(offer, handle="nothing")), CannotFetch)
        expect(await bytes_of(stage, offer) == sample.data, "after a failure it cannot be fetched any more")


async def _album(make: Make) -> None:
    # a channel that waits for more parts is ended by what follows, not by a pause that a slow machine may need itself
    async with staged(make, ChannelTimeouts(pause=600)) as stage:
        one = sample_of(Kind.PHOTO)
        several = [msgspec.structs.replace(one, data=one.data + bytes(n)) for n in range(3)]
        here = stage.network.here
        await stage.network.bring(Thing(IncomingKind.PHOTO, here, "all", tuple(several)), _text(stage))
        await stage.until(lambda: any(envelope.what == IncomingMessage("hello") for envelope in stage.heard))
        expect(len(stage.heard) == 2, f"an album came as {len(stage.heard) - 1} envelopes")
        what = stage.heard[0].what
        await _is_offered(stage, what, *several)
        expect(isinstance(what, IncomingMessage) and what.text == "all", f"the caption came as {what}")


async def _forward(make: Make) -> None:
    """Each looks like an order to us; where the network does not tell a forward, its words are the sender's own."""
    async with staged(make) as stage:
        if not stage.network.forwards:
            return
        for words in ("/approve", "1", "yes"):
            what = (await hear_one(stage, msgspec.structs.replace(_text(stage, text=words), forwarded=True))).what
            right = isinstance(what, IncomingMessage) and what.forwarded and not what.text and words in what.shared
            expect(right, f"a forwarded {words!r} came as {what}")


async def _forwarded_file(make: Make) -> None:
    async with staged(make) as stage:
        if not stage.network.forwards:
            return
        sample = sample_of(Kind.DOCUMENT)
        thing = Thing(IncomingKind.DOCUMENT, stage.network.here, "", (sample,), forwarded=True)
        what = (await hear_one(stage, thing)).what
        await _is_offered(stage, what, sample)
        expect(isinstance(what, IncomingMessage) and what.forwarded, f"a forwarded file came as {what}")


async def _quoted(make: Make) -> None:
    async with staged(make) as stage:
        ours = await stage.send(OutText("what I said"))
        what = (await hear_one(stage, Thing(IncomingKind.TEXT, stage.network.here, "why?", answers=ours.message))).what
        expect(what == IncomingMessage("why?", quoted="what I said"), f"a reply came as {what}")


async def _answered_picture(make: Make) -> None:
    async with staged(make) as stage:
        sample, here = sample_of(Kind.PHOTO), stage.network.here
        picture = await hear_one(stage, Thing(IncomingKind.PHOTO, here, "", (sample,)))
        what = (await hear_one(stage, Thing(IncomingKind.TEXT, here, "why?", answers=picture.message))).what
        await _is_offered(stage, what, sample)
        told = isinstance(what, IncomingMessage) and what.text == "why?" and bool(what.quoted)
        expect(told, f"an answer to a picture came as {what}")


async def _thread(make: Make) -> None:
    async with staged(make) as stage:
        envelope = await hear_one(stage, Thing(IncomingKind.TEXT, stage.network.topic, "hello", to_us=True))
        expect(envelope.address.thread == stage.network.topic.thread, f"it came from {envelope.address}")


_CLAIMS: dict[IncomingKind, Callable[[IncomingKind, Make], Awaitable[None]]] = {
    IncomingKind.TEXT: _words,
    IncomingKind.COMMAND: _words,
    **dict.fromkeys(FILE_KINDS, _file),
    IncomingKind.STICKER: _sticker,
    IncomingKind.LOCATION: _told_in_words,
    IncomingKind.CONTACT: _told_in_words,
    IncomingKind.EDIT: _edit,
    IncomingKind.DELETION: _notice,
    IncomingKind.REACTION: _notice,
    IncomingKind.BUTTON: _button,
}
