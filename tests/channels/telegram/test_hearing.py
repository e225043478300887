"""What is Telegram's own about hearing: mentions, albums, poisoned updates, and everything without words."""

from typing import Any

import msgspec
import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import IncomingMessage
from angelia.channels.outgoing import Button, OutText
from angelia.channels.telegram.api import TelegramApi
from angelia.channels.telegram.payloads import TelegramUser, Update
from angelia.channels.telegram.receive import TelegramReader
from angelia.channels.telegram.updates import read_update
from angelia.testing.channels.network import ChannelTimeouts, Thing
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import staged
from angelia.testing.model.http1 import HttpRequest
from angelia.testing.networks.telegram_schema import BotApiError
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import ANN, BEEP, BOT, CHATS, GROUP, HERE, TOPIC

pytestmark = pytest.mark.anyio

READER = TelegramReader(
    "door", TelegramUser(int(str(BOT["id"])), True, "Angelia", username=str(BOT["username"])), {"status"}
)


def said(chat: str = HERE.chat, **message: Any) -> Any:
    """What becomes of a message that holds these fields."""
    update = {"update_id": 1, "message": {"message_id": 5, "date": 7, "chat": CHATS[chat], "from": ANN, **message}}
    return READER.envelope([convert(update)])


def convert(update: dict[str, Any]) -> Update:
    return read_update(msgspec.json.encode(update))


async def _token() -> str:
    return TOKEN


def text(words: str = "hello") -> Thing:
    return Thing(IncomingKind.TEXT, HERE, words)


async def test_an_album_of_which_one_part_came_before_the_end_is_heard_after_a_restart() -> None:
    one = sample_of(Kind.PHOTO)
    server = TelegramServer(visits=True)
    async with staged(lambda: server, ChannelTimeouts(pause=600)) as stage:
        await server.bring(Thing(IncomingKind.PHOTO, HERE, "all", (one, one)))
        await server.news.when(lambda: not server.world.updates)
        assert not stage.heard
        await stage.stop()
        await stage.start()
        await stage.connected()
        await server.bring(text())
        await stage.until(lambda: len(stage.heard) == 2)
        album = stage.heard[0].what
        assert isinstance(album, IncomingMessage)
        assert (album.text, len(album.offers)) == ("all", 2)


async def test_an_album_that_nothing_follows_is_heard_after_a_pause() -> None:
    one = sample_of(Kind.PHOTO)
    server = TelegramServer()
    async with staged(lambda: server) as stage:
        await server.bring(Thing(IncomingKind.PHOTO, HERE, "all", (one, one)))
        await stage.until(lambda: bool(stage.heard))
        album = stage.heard[0].what
        assert isinstance(album, IncomingMessage)
        assert (album.text, len(album.offers)) == ("all", 2)


async def test_what_can_never_be_taken_in_is_given_up_and_told() -> None:
    server = TelegramServer()
    async with staged(lambda: server) as stage:
        stage.refuse = lambda envelope: envelope.what == IncomingMessage("poison")
        await server.bring(text("poison"), text())
        await stage.until(lambda: any("given up" in health.why for health in stage.health))
        await server.news.when(lambda: not server.world.updates)
        assert [envelope.what for envelope in stage.heard] == [IncomingMessage("hello")]


async def test_an_update_that_cannot_be_read_is_told_and_stops_nobody() -> None:
    server = TelegramServer()
    async with staged(lambda: server) as stage:
        server.world.updates.append({"update_id": 1, "message": {"message_id": "no number"}})
        await server.bring(text())
        await stage.until(lambda: bool(stage.heard))
        assert any("cannot be read" in health.why for health in stage.health)


@pytest.mark.parametrize(
    ("chat", "wordless"),
    [(HERE.chat, [True]), (GROUP.chat, [False]), ("unknown", [])],
    ids=["alone", "group", "nowhere"],
)
async def test_whoever_sent_what_cannot_be_read_is_told(chat: str, wordless: list[bool]) -> None:
    server = TelegramServer()
    async with staged(lambda: server) as stage:
        where = {"chat": CHATS[chat], "from": ANN} if chat in CHATS else {}
        server.world.updates.append({"update_id": 1, "message": {"message_id": "no number", **where}})
        await server.bring(text())
        await stage.until(lambda: len(stage.heard) == len(wordless) + 1)
        assert [one.addressed for one in stage.heard if one.what == IncomingMessage()] == wordless
        assert [one.address.chat for one in stage.heard if one.what == IncomingMessage()] == [chat] * len(wordless)
        assert sum("cannot be read" in health.why for health in stage.health) == 1


async def test_another_program_with_the_same_bot_is_told() -> None:
    server = TelegramServer()
    async with staged(lambda: server) as stage:
        other = TelegramApi(server.url, _token, 60.0)
        await other.call("getUpdates", {}, list[Any])
        await other.close()
        await stage.until(lambda: any(one.state is ConnectionHealth.WAITING for one in stage.health))
        told = next(one.why for one in stage.health if one.state is ConnectionHealth.WAITING)
        assert told.startswith("Another program asks for this bot's messages")


async def test_a_pressed_button_is_answered_with_the_word_of_the_household() -> None:
    server = TelegramServer()
    async with staged(lambda: server) as stage:
        stage.word = "Noted"
        ours = await stage.send(OutText("Shall I?", buttons=(Button("Yes", "y"),)))
        await server.bring(Thing(IncomingKind.BUTTON, HERE, about=ours.message, value="y"))
        await server.when(lambda: bool(server.world.answers))
        assert [word for _, word in server.world.answers] == ["Noted"]


async def test_our_commands_are_the_menu() -> None:
    server = TelegramServer()
    async with staged(lambda: server):
        assert {one["command"] for one in server.world.menu} == {"status", "stop"}


@pytest.mark.parametrize(
    ("words", "marks", "ours"),
    [
        ("🦊🦊 @angelia_test_bot look", [("mention", 5, 17)], True),
        ("@Angelia_Test_Bot look", [("mention", 0, 17)], True),
        ("@angelia_test_bottom look", [("mention", 0, 20)], False),
        ("@beep_bot look", [("mention", 0, 9)], False),
        ("/status", [("bot_command", 0, 7)], True),
        ("/status@angelia_test_bot", [("bot_command", 0, 24)], True),
        ("/status@beep_bot", [("bot_command", 0, 16)], False),
        ("/unknown", [("bot_command", 0, 8)], False),
        ("about @angelia_test_bot", [], False),
    ],
)
async def test_in_a_group_only_what_names_us_is_addressed(words: str, marks: list[Any], ours: bool) -> None:
    entities = [{"type": kind, "offset": at, "length": length} for kind, at, length in marks]
    assert said(GROUP.chat, text=words, entities=entities).addressed == ours


async def test_an_answer_to_us_is_addressed_and_a_command_loses_our_name() -> None:
    ours = {"message_id": 4, "date": 6, "chat": CHATS[GROUP.chat], "from": BOT, "text": "what I said"}
    answer = said(GROUP.chat, text="why?", reply_to_message=ours)
    assert (answer.addressed, answer.what) == (True, IncomingMessage("why?", quoted="what I said"))
    mark = {"type": "bot_command", "offset": 0, "length": 24}
    assert said(GROUP.chat, text="/status@angelia_test_bot all", entities=[mark]).what == IncomingMessage("/status all")


async def test_an_answer_to_a_picture_or_file_brings_it() -> None:
    around = {"message_id": 4, "date": 6, "chat": CHATS[HERE.chat], "from": ANN}
    photo = {**around, "photo": [{"file_id": "p", "width": 9, "height": 9, "file_size": 5}]}
    asked = said(text="what is this?", reply_to_message=photo).what
    assert [(one.kind, one.handle) for one in asked.offers] == [(Kind.PHOTO, "p")]
    assert (asked.text, asked.quoted) == ("what is this?", "(photo)")
    report = {**around, "document": {"file_id": "d", "file_name": "r.pdf"}, "caption": "the report"}
    asked = said(text="and this?", reply_to_message=report).what
    assert ([one.name for one in asked.offers], asked.quoted) == (["r.pdf"], "the report")


async def test_in_a_topic_the_message_that_opened_it_is_not_what_is_answered() -> None:
    opened = {"message_id": 77, "date": 6, "chat": CHATS[GROUP.chat], "from": BOT, "text": "Beds"}
    topic = {"message_thread_id": int(TOPIC.thread), "is_topic_message": True}
    envelope = said(GROUP.chat, text="hello", reply_to_message=opened, **topic)
    assert (envelope.address.thread, envelope.what) == ("77", IncomingMessage("hello"))
    aside = said(GROUP.chat, text="hello", message_thread_id=60)
    assert aside.address.thread == ""


WORDLESS = {
    "a place with a name": (
        {"location": {"latitude": 1.5, "longitude": 2.5}, "venue": {"title": "Garden", "address": "Main 1"}},
        "Location: 1.5, 2.5 (Garden, Main 1)",
    ),
    "a place that moves": (
        {"location": {"latitude": 1.5, "longitude": 2.5, "live_period": 900}},
        "Location: 1.5, 2.5, shared for 15 minutes while it moves",
    ),
    "a poll": ({"poll": {"question": "Which?", "options": [{"text": "a"}, {"text": "b"}]}}, "Poll: Which?\n• a\n• b"),
    "a list": ({"checklist": {"title": "To do", "tasks": [{"text": "dig"}]}}, "Checklist: To do\n• dig"),
    "a die": ({"dice": {"emoji": "🎲", "value": 4}}, "🎲 4"),
    "a story": ({"story": {}}, "(a story, which Telegram does not show to bots)"),
    "a gift": ({"gift": {"gift": {"id": "1"}}}, "(something of the kind “gift”, which is not read here)"),
    "a kind of next year": (
        {"hologram": {"id": 1}, "effect_id": "2"},
        "(something of the kind “hologram”, which is not read here)",
    ),
    "a rich message": (
        {
            "rich_message": {
                "blocks": [
                    {"type": "heading", "text": "Title"},
                    {"type": "paragraph", "text": ["some ", {"type": "bold", "text": "bold"}, " words"]},
                ]
            }
        },
        "Title\nsome bold words",
    ),
}


@pytest.mark.parametrize(("message", "words"), WORDLESS.values(), ids=WORDLESS)
async def test_what_has_no_words_is_told_in_words(message: dict[str, Any], words: str) -> None:
    assert said(**message).what == IncomingMessage(words)


@pytest.mark.parametrize(
    "message",
    [
        {"new_chat_members": [ANN]},
        {"pinned_message": {"message_id": 4, "date": 6, "chat": CHATS[HERE.chat], "text": "old"}},
        {"from": BEEP, "text": "beep"},
        {"from": BOT, "text": "what I said"},
    ],
    ids=["somebody joined", "something was pinned", "another bot", "ourselves"],
)
async def test_what_nobody_says_is_not_heard(message: dict[str, Any]) -> None:
    assert said(GROUP.chat, **message) is None


async def test_an_anonymous_administrator_is_the_group() -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    envelope = said(GROUP.chat, text="hello", sender_chat=CHATS[GROUP.chat], **{"from": anonymous})
    assert (envelope.sender.id, envelope.sender.name) == (GROUP.chat, "Garden")


async def test_stickers_come_as_what_they_are() -> None:
    sticker = {"file_id": "f", "emoji": "🙂"}
    found = [said(sticker={**sticker, **flags}).what for flags in ({}, {"is_animated": True}, {"is_video": True})]
    kinds = [(one.offers[0].kind, one.offers[0].mime, one.text) for one in found]
    assert kinds == [
        (Kind.PHOTO, "image/webp", "(sticker 🙂)"),
        (Kind.DOCUMENT, "application/x-tgsticker", "(sticker 🙂)"),
        (Kind.VIDEO, "video/webm", "(sticker 🙂)"),
    ]


async def test_a_menu_that_cannot_be_shown_stops_nothing() -> None:
    server = TelegramServer()
    server.refuses["setMyCommands"] = BotApiError(500, "Internal Server Error")
    async with staged(lambda: server) as stage:
        await server.bring(text())
        await stage.until(lambda: len(stage.heard) == 1)
        assert stage.heard[0].what == IncomingMessage("hello")


class Hasty(TelegramServer):
    """A server that holds no question back."""

    async def _result(self, request: HttpRequest, what: str, *, file: bool) -> bytes:
        if what != "getUpdates":
            return await super()._result(request, what, file=file)
        self.requests.append((what, {}))
        return b'{"ok": true, "result": []}'


async def test_a_server_that_holds_nothing_back_is_not_asked_without_a_pause() -> None:
    server = Hasty()
    async with staged(lambda: server, ChannelTimeouts(pause=600, silence=60)) as stage:
        for _ in range(20):  # meanwhile it could be asked very often
            await stage.send(OutText("hello"))
        asked = [what for what, _ in server.requests if what == "getUpdates"]
        assert len(asked) <= 2
