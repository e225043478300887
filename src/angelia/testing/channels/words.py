"""Claims about words that go out, and about what is done to messages that are there."""

from functools import partial

from angelia.channels.capabilities import Capabilities, Kind, Units
from angelia.channels.failures import MarkupRejected, MessageGone, Rejected
from angelia.channels.markup.dialect import Dialect
from angelia.channels.outgoing import Button, OutText
from angelia.channels.port import HasDrafts, HasProbe, drafts_in
from angelia.core.ids import sortable_id
from angelia.testing.channels.files import TROUBLES, meets, patience_for
from angelia.testing.channels.network import Trouble
from angelia.testing.channels.stage import ChannelCheck, Make, Stage, staged
from angelia.testing.claims import expect

WORDS = (
    "hello",
    "two\nlines\n\nand a third",
    "1 < 2 & 3 > 2, \"quoted\" 'so'",
    "*not* _marked_ **at** __all__ ~up~ ~~here~~ `code` ```fence``` [no](https://example.com) ||hidden||",
    "# no heading\n> no quote\n- no item\n1. nor this\n\\ + = { } . ! | ^",
    "🦊 é 漢字 שלום",
    "<b>no</b> &amp; &lt; </code> <br>",
    "@everyone @here <@1> <!channel> <#1> #channel /command :smile:",
)

_UNSEEN = dict.fromkeys(map(ord, "\u200b\u2060\ufeff")) | str.maketrans("∗ˍ∼ˋ", "*_~`")
"""Zero-width characters, with which a dialect without escapes may hold markup apart, and look-alikes that may stand in
the place of its signs.
"""

GRAIN = {Units.UTF16: 2, Units.CHARACTERS: 1, Units.BYTES: 4}
"""How much of a limit 🦊 takes."""


def word_checks(capabilities: Capabilities) -> list[ChannelCheck]:
    """What this network has of words, and of what is done to messages."""
    found = [
        ChannelCheck("words arrive as they are", _plain),
        ChannelCheck("escaped words arrive as they are", _escaped),
        ChannelCheck("markup is not seen, and the words within are", _marked),
        ChannelCheck("the longest text arrives, and a longer one is rejected", _longest),
        ChannelCheck("markup that cannot be read is told as such", _broken),
        ChannelCheck("a chat that is not there is rejected", _nowhere),
        ChannelCheck("whether the network works is asked without anybody seeing it", _probe),
    ]
    found += [ChannelCheck(f"words and {trouble}", partial(_trouble, trouble)) for trouble in TROUBLES]
    for kind, (name, claim) in _MORE.items():
        if capabilities.can(kind):
            found.append(ChannelCheck(name, claim))
    return found


def seen(text: str) -> str:
    """A text as a person sees it."""
    return text.translate(_UNSEEN)


async def _plain(make: Make) -> None:
    async with staged(make) as stage:
        for words in WORDS:
            arrived = await stage.send(OutText(words))
            expect(seen(arrived.text) == words, f"{words!r} arrived as {arrived.text!r}")
            expect(arrived.kind is Kind.TEXT, f"words arrived as {arrived.kind}")


async def _escaped(make: Make) -> None:
    async with staged(make) as stage:
        for words in WORDS:
            arrived = await stage.send(OutText(words, stage.channel.dialect.text(words)))
            expect(seen(arrived.text) == words, f"{words!r} arrived as {arrived.text!r}")


async def _marked(make: Make) -> None:
    async with staged(make) as stage:
        dialect = stage.channel.dialect
        for words in ("inside", "a < b & c > d", 'it\'s "so"'):
            for marked in every_mark(dialect, words):
                arrived = await stage.send(
                    OutText(words, f"{dialect.text('before')}\n{marked}\n{dialect.text('after')}")
                )
                expect(words in seen(arrived.text), f"{marked!r} is seen as {arrived.text!r}")
                expect(arrived.text.startswith("before") and arrived.text.endswith("after"), f"{arrived.text!r}")


def every_mark(dialect: Dialect, words: str) -> list[str]:
    """All that a dialect can do with words."""
    inner = dialect.text(words)
    return [
        dialect.strong(inner),
        dialect.emphasis(inner),
        dialect.strong(dialect.emphasis(inner)),
        dialect.struck(inner),
        dialect.code(words),
        dialect.code_block(words, ""),
        dialect.code_block(words, "python"),
        dialect.link(inner, "https://example.com/?a=1&b=(2)\"'>"),
        dialect.heading(inner, 1),
        dialect.quote(inner),
        dialect.item(inner, "•", 0),
        dialect.item(inner, "3.", 1),
    ]


async def _longest(make: Make) -> None:
    async with staged(make) as stage:
        capabilities = stage.channel.capabilities
        for one, size in (("x", 1), ("🦊", GRAIN[capabilities.units])):
            longest = one * (capabilities.text_limit // size)
            expect((await stage.send(OutText(longest))).text == longest, "the longest text arrived changed")
            to = stage.network.here
            await stage.fails(stage.channel.send(to, OutText(longest + one), sortable_id()), Rejected)


async def _broken(make: Make) -> None:
    async with staged(make) as stage:
        if stage.network.broken:
            broken = OutText("words", stage.network.broken)
            await stage.fails(stage.channel.send(stage.network.here, broken, sortable_id()), MarkupRejected)
        expect((await stage.send(OutText("words"))).text == "words", "plain words did not arrive")


async def _nowhere(make: Make) -> None:
    async with staged(make) as stage:
        error = await stage.fails(stage.channel.send(stage.network.nowhere, OutText("x"), sortable_id()), Rejected)
        expect(not isinstance(error, MarkupRejected), "a missing chat is told as markup")
        expect(bool(error.what), "no sentence says why")


async def _trouble(trouble: Trouble, make: Make) -> None:
    async with staged(make, patience_for(trouble)) as stage:
        await meets(stage, OutText("words"), trouble)
        await meets(stage, OutText("words", stage.channel.dialect.strong("words")), trouble)


async def _probe(make: Make) -> None:
    async with staged(make) as stage:
        if not isinstance(stage.channel, HasProbe):
            return
        before = len(stage.network.arrived)
        await stage.channel.probe()
        expect(len(stage.network.arrived) == before, "a probe was seen by somebody")


async def _edit(make: Make) -> None:
    async with staged(make) as stage:
        channel, here, first = stage.channel, stage.network.here, await stage.send(OutText("one"))
        await channel.edit(here, first.message, OutText("two", channel.dialect.strong("two")))
        edit = stage.network.arrived[-1]
        expect((edit.kind, edit.message, edit.text) == (Kind.EDIT, first.message, "two"), f"an edit arrived as {edit}")
        await channel.edit(here, first.message, OutText("two", channel.dialect.strong("two")))
        await stage.fails(channel.edit(here, await _gone(stage), OutText("three")), MessageGone)


async def _draft(make: Make) -> None:
    async with staged(make) as stage:
        channel, network = stage.channel, stage.network
        expect(isinstance(channel, HasDrafts), "the table has drafts, and the channel has no `draft`")
        assert isinstance(channel, HasDrafts)
        for to in (place for place in (network.here, network.group, network.topic, network.nowhere) if place.chat):
            if to == network.nowhere or drafts_in(channel, to) is None:
                await stage.fails(channel.draft(to, OutText("one"), "first"), Rejected)
                expect(drafts_in(channel, to) is None, f"drafts are refused in {to}, and the table has them there")
                continue
            before = len(network.arrived)
            for key, words in (("first", "one"), ("first", "one two"), ("second", "three")):
                await channel.draft(to, OutText(words, channel.dialect.strong(words)), key)
            arrived = network.arrived[before:]
            told = [(one.kind, one.chat, one.thread, seen(one.text)) for one in arrived]
            place = (Kind.DRAFT, to.chat, to.thread)
            expect(told == [(*place, "one"), (*place, "one two"), (*place, "three")], f"drafts arrived as {told}")
            names = [one.message for one in arrived]
            expect(names[0] == names[1] != names[2], f"drafts of two answers are called {names}")


async def _delete(make: Make) -> None:
    async with staged(make) as stage:
        gone = await _gone(stage)
        deletion = stage.network.arrived[-1]
        expect((deletion.kind, deletion.message) == (Kind.DELETE, gone), f"a deletion arrived as {deletion}")
        await stage.fails(stage.channel.delete(stage.network.here, gone), MessageGone)


async def _gone(stage: Stage) -> str:
    """The id of a message that is not there any more, or, where nothing can be deleted, never was."""
    message = (await stage.send(OutText("one"))).message
    if not stage.channel.capabilities.can(Kind.DELETE):
        return message[:-1] + ("7" if message[-1] != "7" else "8")
    await stage.channel.delete(stage.network.here, message)
    return message


async def _typing(make: Make) -> None:
    async with staged(make) as stage:
        await stage.spoken_to()
        await stage.channel.typing(stage.network.here)
        shown = [(one.kind, one.chat) for one in stage.network.arrived]
        expect(shown == [(Kind.TYPING, stage.network.here.chat)], f"typing arrived as {shown}")


async def _react(make: Make) -> None:
    async with staged(make) as stage:
        message = (await stage.send(OutText("one"))).message
        await stage.channel.react(stage.network.here, message, "👍")
        mark = stage.network.arrived[-1]
        told = (mark.kind, mark.message, mark.text)
        expect(told == (Kind.REACTION, message, "👍"), f"a reaction arrived as {mark}")


async def _reply(make: Make) -> None:
    async with staged(make) as stage:
        first = await stage.send(OutText("one"))
        second = await stage.send(OutText("two", reply_to=first.message))
        expect(second.reply_to == first.message, f"a reply to {first.message!r} answers {second.reply_to!r}")


async def _buttons(make: Make) -> None:
    async with staged(make) as stage:
        buttons = (Button("Yes, <do> it", "y" * 64), Button("No", "é" * 32))
        arrived = await stage.send(OutText("Shall I?", buttons=buttons))
        expect(arrived.buttons == buttons, f"buttons arrived as {arrived.buttons}")


async def _thread(make: Make) -> None:
    async with staged(make) as stage:
        topic = stage.network.topic
        await stage.channel.send(topic, OutText("one"), sortable_id())
        arrived = stage.network.arrived[-1]
        expect((arrived.chat, arrived.thread) == (topic.chat, topic.thread), f"words for {topic} arrived as {arrived}")


_MORE = {
    Kind.EDIT: ("a message of ours gets other words", _edit),
    Kind.DRAFT: ("a draft is shown where there are drafts, and grows under its name", _draft),
    Kind.DELETE: ("a message of ours is taken back", _delete),
    Kind.TYPING: ("typing is shown", _typing),
    Kind.REACTION: ("a message is marked", _react),
    Kind.REPLY: ("a reply is a reply", _reply),
    Kind.BUTTONS: ("buttons arrive with their labels and values", _buttons),
    Kind.THREAD: ("a thread is kept", _thread),
}
