"""The Matrix channel on a real homeserver, Synapse: words and files both ways, gaps, encryption, a server that dies."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.failures import ChannelError, Later, LoginFailed, Rejected
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import Envelope, IncomingMessage, Noticed
from angelia.channels.matrix.channel import MatrixChannel
from angelia.channels.matrix.settings import MatrixSettings, MatrixTimeouts
from angelia.channels.outgoing import OutFile, OutText
from angelia.channels.settings import Secret
from angelia.core.entry import Address
from tests.channels.matrix.synapse import Event, Person, Server
from tests.channels.real_channel import RealChannel

pytestmark = [pytest.mark.anyio, pytest.mark.real("matrix")]


PAUSE = 0.5e-6
"""Seconds, so that pauses that are doubled twenty times are half a second: a server takes longer to come up."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Synapse."""
    server = Server(tmp_path_factory.mktemp("matrix"))
    try:
        server.up()
        yield server
    finally:
        server.down()


@dataclass(frozen=True)
class Scene:
    """Ann, and our account with a room of ours for it, which does not run yet."""

    server: Server
    ann: Person
    us: Person
    room: RealChannel

    async def chat(self) -> Address:
        """Ann and we in a new room; while ours runs."""
        chat = await self.ann.create(self.us.id)
        await self.ann.joined(chat, self.us.id)
        return Address("matrix", chat)


@pytest.fixture
async def scene(server: Server, tmp_path: Path) -> AsyncIterator[Scene]:
    """Two new accounts."""
    async with server.person("ann") as ann, server.person("angelia") as us:
        yield Scene(server, ann, us, room(server, tmp_path, us.token))


def room(server: Server, folder: Path, token: str) -> RealChannel:
    """A room of ours that comes with a token."""
    settings, timeouts = MatrixSettings(server=server.url, token=Secret(env="TOKEN")), MatrixTimeouts(pause=PAUSE)
    return RealChannel("matrix", folder, token, lambda context: MatrixChannel(settings, context, timeouts))


async def test_an_invitation_is_followed_and_what_is_said_is_heard(scene: Scene) -> None:
    ann, us = scene.ann, scene.us
    async with scene.room.running() as room:
        to = await scene.chat()
        message = await ann.say(to.chat, "hello é 🦊")
        first = await room.heard_next()
        assert (first.address, first.message, first.what) == (to, message, IncomingMessage("hello é 🦊"))
        assert (first.sender.id, first.private, first.addressed) == (ann.id, True, True)
        await ann.say(to.chat, "!status")
        assert (await room.heard_next()).what == IncomingMessage("/status")
        async with scene.server.person("bob") as bob:
            many = await ann.create(us.id, bob.id)
            await bob.join(many)
            await ann.joined(many, us.id)
            await ann.joined(many, bob.id)
            await bob.say(many, "hello Ann")
            await bob.say(many, "and you?", **{"m.mentions": {"user_ids": [us.id]}})
            among = [await room.heard_next() for _ in range(2)]
            assert [(one.private, one.addressed, one.sender.id) for one in among] == [
                (False, False, bob.id),
                (False, True, bob.id),
            ]


async def test_what_is_sent_twice_arrives_once_and_can_be_changed(scene: Scene) -> None:
    ann = scene.ann
    async with scene.room.running() as room:
        to = await scene.chat()
        words = OutText("good morning", "good <strong>morning</strong>")
        sent = [await room.channel.send(to, words, "the same key") for _ in range(2)]
        assert len(set(sent)) == 1
        heard = await ann.hears(to.chat)
        assert (heard["body"], heard["formatted_body"]) == (words.plain, words.marked)
        assert [one["event_id"] for one in await ann.history(to.chat)] == sent[:1]
        await room.channel.typing(to)
        await ann.until(to.chat, lambda one: one["type"] == "m.typing" and scene.us.id in one["content"]["user_ids"])
        await room.channel.edit(to, sent[0], OutText("good evening"))
        edit = (await ann.event(to.chat, sent[0]))["unsigned"]["m.relations"]["m.replace"]
        assert edit["content"]["m.new_content"]["body"] == "good evening"
        await room.channel.delete(to, sent[0])
        assert not (await ann.event(to.chat, sent[0]))["content"]
        question = await ann.say(to.chat, "how are you?")
        await room.channel.react(to, question, "👍")
        mark = await ann.until(to.chat, lambda one: one["type"] == "m.reaction")
        assert mark["content"]["m.relates_to"] == {"rel_type": "m.annotation", "event_id": question, "key": "👍"}
        await room.channel.send(to, OutText("well", reply_to=question), "reply")
        assert (await ann.hears(to.chat))["m.relates_to"]["m.in_reply_to"] == {"event_id": question}
        await room.channel.send(Address("matrix", to.chat, question), OutText("in a thread"), "thread")
        thread = (await ann.event(to.chat, question))["unsigned"]["m.relations"]["m.thread"]
        assert (thread["count"], thread["latest_event"]["content"]["body"]) == (1, "in a thread")


async def test_what_belongs_to_something_said_before_is_heard_with_it(scene: Scene) -> None:
    ann = scene.ann
    async with scene.room.running() as room:
        to = await scene.chat()
        ours = await room.channel.send(to, OutText("tea or coffee?"), "k")
        await ann.say(to.chat, "tea", **{"m.relates_to": {"m.in_reply_to": {"event_id": ours}}})
        reply = await room.heard_next()
        assert reply.what == IncomingMessage("tea", quoted="tea or coffee?")
        changed = {"msgtype": "m.text", "body": "coffee"}
        belongs = {"rel_type": "m.replace", "event_id": reply.message}
        await ann.say(to.chat, "* coffee", **{"m.new_content": changed, "m.relates_to": belongs})
        edit = (await room.heard_next()).what
        assert isinstance(edit, IncomingMessage)
        assert (edit.text, edit.edits) == ("coffee", reply.message)
        await ann.say(to.chat, "below", **{"m.relates_to": {"rel_type": "m.thread", "event_id": ours}})
        below = await room.heard_next()
        assert (below.address, below.what) == (Address("matrix", to.chat, ours), IncomingMessage("below"))
        await ann.put(
            to.chat, "m.reaction", {"m.relates_to": {"rel_type": "m.annotation", "event_id": ours, "key": "👍"}}
        )
        mark = (await room.heard_next()).what
        assert isinstance(mark, Noticed)
        assert (mark.heard, mark.message) == (IncomingKind.REACTION, ours)
        assert "👍" in mark.text
        await ann.take_back(to.chat, reply.message)
        gone = (await room.heard_next()).what
        assert isinstance(gone, Noticed)
        assert (gone.heard, gone.message) == (IncomingKind.DELETION, reply.message)


VOICE: Event = {"org.matrix.msc3245.voice": {}}


@pytest.mark.parametrize(
    ("kind", "said", "mime", "marks"),
    [(Kind.PHOTO, "m.image", "image/png", {}), (Kind.VOICE, "m.audio", "audio/ogg", VOICE)],
)
async def test_files_go_both_ways(scene: Scene, tmp_path: Path, kind: Kind, said: str, mime: str, marks: Event) -> None:
    ann, data = scene.ann, os.urandom(300_000)
    async with scene.room.running() as room:
        to = await scene.chat()
        told = {"msgtype": said, "info": {"mimetype": mime, "size": len(data), "duration": 2000}, **marks}
        await ann.say(to.chat, "é.bin", url=await ann.upload(data, mime), **told)
        heard = (await room.heard_next()).what
        assert isinstance(heard, IncomingMessage)
        (offer,) = heard.offers
        assert (offer.kind, offer.mime, offer.size) == (kind, mime, len(data))
        assert b"".join([piece async for piece in room.channel.fetch(offer)]) == data
        path = tmp_path / "out"
        path.write_bytes(data[::-1])
        sent = OutFile(kind, path, len(data), "ö.bin", mime, OutText("look"), seconds=2.0)
        for _ in range(2):
            await room.channel.send(to, sent, "the same key")
        (*_, last) = [one["content"] for one in await ann.history(to.chat) if one["sender"] == scene.us.id]
        assert len(await ann.history(to.chat)) == 2
        assert (last["msgtype"], last["info"]["mimetype"], last["filename"]) == (said, mime, "ö.bin")
        assert last.keys() >= marks.keys()
        assert await ann.download(last["url"]) == data[::-1]


async def test_what_was_said_while_nobody_listened_is_heard_in_order(scene: Scene) -> None:
    ann, room = scene.ann, scene.room
    async with room.running():
        first = await scene.chat()
        await ann.say(first.chat, "before")
        await room.until(lambda: bool(room.heard))
    await asyncio.gather(*(ann.say(first.chat, f"line {number}") for number in range(60)))
    invited = await ann.create(scene.us.id)
    await ann.say(invited, "come in")
    said = [one["content"]["body"] for one in await ann.history(first.chat)]
    assert len(said) == 61
    async with room.running():
        await room.until(lambda: any(text(one) == "come in" for one in room.heard))
        await ann.say(first.chat, "after")
        await room.until(lambda: text(room.heard[-1]) == "after")
    by_key = {one.key: one for one in room.heard}  # what was heard just before the end may be heard again
    assert [text(one) for one in by_key.values() if one.address == first] == [*said, "after"]
    assert [text(one) for one in by_key.values() if one.address != first] == ["come in"]
    assert len(room.heard) - len(by_key) <= 1


def text(envelope: Envelope) -> str:
    """What is said in it."""
    assert isinstance(envelope.what, IncomingMessage)
    return envelope.what.text


async def test_an_encrypted_room_is_left_with_its_reason(scene: Scene) -> None:
    ann, us = scene.ann, scene.us
    async with scene.room.running():
        from_the_start, later = await ann.create(us.id, encrypted=True), await scene.chat()
        await ann.set(later.chat, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
        for chat in (from_the_start, later.chat):
            left = await ann.until(
                chat, lambda one: one.get("state_key") == us.id and one["content"]["membership"] == "leave"
            )
            assert "encrypt" in left["content"]["reason"]


async def test_nothing_readable_goes_into_an_encrypted_room(scene: Scene, tmp_path: Path) -> None:
    ann, channel = scene.ann, scene.room.channel
    chat = await ann.create(scene.us.id, encrypted=True)
    await scene.us.join(chat)
    path, to = tmp_path / "out", Address("matrix", chat)
    path.write_bytes(b"secret")
    before = scene.server.uploaded()
    question = await ann.say(chat, "hello")
    try:
        for deed in (
            channel.send(to, OutText("secret"), "k"),
            channel.send(to, OutFile(Kind.DOCUMENT, path, 6, "secret.txt", "text/plain"), "f"),
            channel.edit(to, question, OutText("secret")),
            channel.react(to, question, "👍"),
        ):
            with pytest.raises(Rejected, match="encrypt"):
                await deed
    finally:
        await channel.close()
    assert [one["type"] for one in await ann.everything(chat) if one["sender"] == scene.us.id] == ["m.room.member"]
    assert scene.server.uploaded() == before


async def test_a_wrong_token_is_told(server: Server, tmp_path: Path) -> None:
    async with room(server, tmp_path, "syt_wrong").running(ConnectionHealth.STOPPED) as stopped:
        assert "syt_wrong" not in stopped.health[-1].why
        with pytest.raises(LoginFailed):
            await stopped.channel.send(Address("matrix", "!a:matrix.example.net"), OutText("x"), "k")


async def test_who_says_too_much_at_once_is_asked_to_wait(scene: Scene) -> None:
    async with scene.room.running() as room:
        to = await scene.chat()
        await scene.server.hold_back(scene.us)
        outcomes: list[str | ChannelError] = []
        while not any(isinstance(one, Later) for one in outcomes):
            keys = [f"{len(outcomes)} {number}" for number in range(10)]
            outcomes += await asyncio.gather(*(outcome(room, to, key) for key in keys))
        asked = [one for one in outcomes if isinstance(one, Later)]
        assert all(0 < one.seconds < 60 for one in asked)
        assert len(await scene.ann.history(to.chat)) == len(outcomes) - len(asked)


async def outcome(room: RealChannel, to: Address, key: str) -> str | ChannelError:
    """What comes of a message."""
    try:
        return await room.channel.send(to, OutText("x"), key)
    except ChannelError as error:
        return error


async def test_a_server_that_dies_and_comes_again_is_reached_again_and_nothing_is_lost(scene: Scene) -> None:
    async with scene.room.running() as room:
        to = await scene.chat()
        await scene.ann.say(to.chat, "before")
        sent = await room.channel.send(to, OutText("good morning"), "the same key")
        scene.server.down()
        await room.until(lambda: room.health[-1].state is ConnectionHealth.WAITING)
        await asyncio.to_thread(scene.server.up, scene.server.port)
        await room.until(lambda: room.health[-1].state is ConnectionHealth.CONNECTED)
        assert room.health[-1].gap_ms > 0
        await scene.ann.say(to.chat, "after")
        await room.until(lambda: any(one.what == IncomingMessage("after") for one in room.heard))
        assert [one.what for one in room.heard] == [IncomingMessage("before"), IncomingMessage("after")]
        assert await room.channel.send(to, OutText("good morning"), "the same key") == sent
        await room.channel.send(to, OutText("welcome back"), "another key")
        ours = [one["content"]["body"] for one in await scene.ann.history(to.chat) if one["sender"] == scene.us.id]
        assert ours == ["good morning", "welcome back"]
