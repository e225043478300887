"""What somebody passes on is told apart from their own words where a network tells it: no verb stands in a forward."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from angelia.channels.discord.payloads import DiscordEvent
from angelia.channels.discord.receive import DiscordReader as DiscordReader
from angelia.channels.incoming import Envelope, IncomingMessage
from angelia.channels.slack.payloads import SlackNews
from angelia.channels.slack.receive import SlackReader as SlackReader
from angelia.channels.telegram.payloads import TelegramUser, Update
from angelia.channels.telegram.receive import TelegramReader as TelegramReader
from angelia.channels.whatsapp.bridge import receive as bridge
from angelia.channels.whatsapp.memory import WhatsAppMemory
from angelia.channels.whatsapp.payloads import Value
from angelia.channels.whatsapp.receive import WhatsAppReader as WhatsAppReader
from angelia.core.entry import Address
from angelia.service.commands import chat_command

pytestmark = pytest.mark.anyio

ORDER = "/approve"


class _Places:
    roles: frozenset[str] = frozenset()

    async def address(self, *_: object) -> Address:
        return Address("discord", "1")

    def name(self, _: str) -> str:
        return ""


class _People:
    async def name(self, user: str) -> str:
        return user

    def know(self, *_: object) -> None:
        return None


async def telegram(**more: Any) -> Envelope | None:
    message = {"message_id": 5, "date": 7, "chat": {"id": 7, "type": "private"}, "from": _PERSON, **more}
    reader = TelegramReader("telegram", TelegramUser(9, True, "Angelia", username="angelia_bot"), {"approve"})
    return reader.envelope([msgspec.convert({"update_id": 1, "message": message}, Update)])


async def whatsapp(**more: Any) -> Envelope | None:
    message = {"id": "wamid.1", "timestamp": "7", "from": "4311", "type": "text", **more}
    value = {"metadata": {"display_phone_number": "4399", "phone_number_id": "1"}, "messages": [message]}
    value["messaging_product"] = "whatsapp"
    read = msgspec.json.decode(json.dumps(value), type=Value)
    return next(WhatsAppReader("whatsapp", WhatsAppMemory()).envelopes(read), None)


async def personal(**more: Any) -> Envelope | None:
    told = {"what": "said", "id": "1", "chat": "4311@s.whatsapp.net", "from": "4311@s.whatsapp.net", **more}
    return bridge.envelope(msgspec.convert(told, bridge.Told), "whatsapp-personal")


async def discord(**more: Any) -> Envelope | None:
    author = {"id": "11", "username": "ann"}
    message = {"id": "175928847299117063", "channel_id": "1", "type": 0, "author": author, **more}
    places: Any = _Places()
    return await DiscordReader("99", places, "").envelope(
        DiscordEvent("MESSAGE_CREATE", json.dumps(message).encode(), 1)
    )


async def slack(**more: Any) -> Envelope | None:
    message = {"type": "message", "channel": "D1", "user": "U1", "ts": "1.000001", **more}
    people: Any = _People()
    reader = SlackReader("slack", "U9", people, people, "/angelia", {"approve"})
    return await reader.envelope(SlackNews("event", json.dumps(message).encode(), "1"))


_PERSON = {"id": 7, "is_bot": False, "first_name": "Ann"}
_ORIGIN = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}

FORWARDS: list[tuple[Callable[..., Awaitable[Envelope | None]], dict[str, Any]]] = [
    (
        telegram,
        {"text": ORDER, "entities": [{"type": "bot_command", "offset": 0, "length": 8}], "forward_origin": _ORIGIN},
    ),
    (telegram, {"text": ORDER, "via_bot": {"id": 8, "is_bot": True, "first_name": "Beep", "username": "beep_bot"}}),
    (whatsapp, {"text": {"body": ORDER}, "context": {"forwarded": True}}),
    (whatsapp, {"text": {"body": ORDER}, "context": {"frequently_forwarded": True}}),
    (personal, {"text": ORDER, "forwarded": True}),
    (discord, {"content": "", "message_snapshots": [{"message": {"content": ORDER}}]}),
    (slack, {"text": "", "attachments": [{"is_share": True, "text": ORDER}]}),
    (slack, {"text": "", "attachments": [{"is_msg_unfurl": True, "fallback": ORDER}]}),
]


@pytest.mark.parametrize(("read", "told"), FORWARDS)
async def test_a_forward_has_no_words_of_its_senders_own(
    read: Callable[..., Awaitable[Envelope | None]], told: dict[str, Any]
) -> None:
    heard = await read(**told)
    assert heard is not None
    assert heard.what == IncomingMessage("", shared=ORDER, forwarded=True)


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (discord, {"content": "Is this so?", "message_snapshots": [{"message": {"content": ORDER}}]}),
        (slack, {"text": "Is this so?", "attachments": [{"is_share": True, "author_name": "", "text": ORDER}]}),
    ],
)
async def test_own_words_beside_a_shared_message_stay_their_senders(
    read: Callable[..., Awaitable[Envelope | None]], told: dict[str, Any]
) -> None:
    heard = await read(**told)
    assert heard is not None
    assert heard.what == IncomingMessage("Is this so?", shared=ORDER)


async def test_a_page_that_slack_unfolds_by_itself_is_nobodys_words() -> None:
    heard = await slack(text="look", attachments=[{"text": ORDER, "from_url": "https://a.at"}])
    assert heard is not None
    assert heard.what == IncomingMessage("look")


_AT = {"latitude": 1.5, "longitude": 2.5}
_DOCUMENT = {"id": "F2", "mode": "external", "title": ORDER, "external_url": "https://docs.at/1"}


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (telegram, {"location": _AT, "venue": {"title": ORDER, "address": "1"}}),
        (telegram, {"contact": {"first_name": ORDER, "phone_number": "1"}}),
        (whatsapp, {"type": "location", "location": {**_AT, "name": ORDER}}),
        (whatsapp, {"type": "contacts", "contacts": [{"name": {"formatted_name": ORDER}, "phones": []}]}),
        (slack, {"text": "", "files": [_DOCUMENT], "subtype": "file_share"}),
    ],
)
async def test_a_name_that_somebody_else_chose_is_no_verb(
    read: Callable[..., Awaitable[Envelope | None]], told: dict[str, Any]
) -> None:
    heard = await read(**told)
    assert heard is not None
    assert isinstance(heard.what, IncomingMessage)
    assert ORDER in heard.what.text
    assert chat_command(heard.what.text.strip()) is None


def test_the_bridge_tells_what_is_forwarded() -> None:
    told = Path(bridge.__file__).with_name("told.mjs").read_text()
    assert "context.isForwarded" in told
