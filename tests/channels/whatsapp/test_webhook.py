"""What comes to the webhook is heard only if Meta has signed it, once, and acknowledged only when it is stored."""

from typing import Any

import msgspec
import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.channels.incoming import Confirmed, Envelope, IncomingMessage, Noticed, ReachedUpdate
from angelia.channels.webhooks import WebRequest, WebResponse
from angelia.channels.whatsapp.channel import WhatsAppChannel
from angelia.testing.channels.network import Thing
from angelia.testing.channels.stage import Stage, staged
from angelia.testing.networks.whatsapp_server import VERIFY, WhatsAppServer
from angelia.testing.networks.whatsapp_webhooks import notification, signed
from angelia.testing.networks.whatsapp_world import HERE, HIDDEN
from tests.channels.whatsapp.outfits import opened

pytestmark = pytest.mark.anyio


def post(body: bytes, headers: dict[str, str]) -> WebRequest:
    return WebRequest("POST", "/hooks/door", {}, headers, body)


async def visit(stage: Stage, request: WebRequest) -> WebResponse:
    assert isinstance(stage.channel, WhatsAppChannel)
    return await stage.channel.web(request)


def world(stage: Stage) -> WhatsAppServer:
    assert isinstance(stage.network, WhatsAppServer)
    return stage.network


async def brought(stage: Stage, **value: Any) -> list[Envelope]:
    """What is heard of one webhook."""
    before = len(stage.heard)
    fake = world(stage)
    fake.world.tell(**value)
    fake.tell()
    await fake.courier.when_brought(1)
    return stage.heard[before:]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"hub.mode": "subscribe", "hub.verify_token": VERIFY, "hub.challenge": "1158201444"}, 200),
        ({"hub.mode": "subscribe", "hub.verify_token": "another word", "hub.challenge": "1158201444"}, 403),
        ({"hub.mode": "unsubscribe", "hub.verify_token": VERIFY, "hub.challenge": "1158201444"}, 403),
        ({}, 403),
    ],
)
async def test_the_first_look_is_answered_only_with_the_word(query: dict[str, str], status: int) -> None:
    async with staged(WhatsAppServer) as stage:
        answer = await visit(stage, WebRequest("GET", "/hooks/door", query, {}, b""))
        assert answer.status == status
        assert answer.body == (b"1158201444" if status == 200 else b"")


async def test_a_body_that_nobody_signed_or_that_was_changed_is_not_looked_at() -> None:
    async with staged(WhatsAppServer) as stage:
        fake = world(stage)
        fake.world.happen(Thing(IncomingKind.TEXT, HERE, "pay 10 to Ann"))
        body = msgspec.json.encode(notification(fake.world.brought[-1]))
        changed = body.replace(b"pay 10", b"pay 99")
        requests = [
            post(body, {}),
            post(body, signed(body, "another secret")),
            post(changed, signed(body)),
            post(body, {"x-hub-signature-256": signed(body)["x-hub-signature-256"].removeprefix("sha256=")}),
        ]
        assert [(await visit(stage, request)).status for request in requests] == [403] * 4
        assert not stage.heard
        assert (await visit(stage, post(body, signed(body)))).status == 200
        assert [envelope.what for envelope in stage.heard] == [IncomingMessage("pay 10 to Ann")]


async def test_without_a_secret_nothing_is_heard() -> None:
    async with WhatsAppServer() as network:
        network.secrets = {**network.secrets, "WHATSAPP_TEST_SECRET": "", "WHATSAPP_TEST_VERIFY": ""}
        channel = opened(network)
        body = msgspec.json.encode(notification())
        first = {"hub.mode": "subscribe", "hub.verify_token": "", "hub.challenge": "1"}
        assert (await channel.web(post(body, signed(body, "")))).status == 403
        assert (await channel.web(WebRequest("GET", "/hooks/door", first, {}, b""))).status == 403


async def test_a_request_that_is_played_again_has_the_keys_that_it_had() -> None:
    async with staged(WhatsAppServer) as stage:
        fake = world(stage)
        fake.world.happen(Thing(IncomingKind.TEXT, HERE, "hello"))
        body = msgspec.json.encode(notification(fake.world.brought[-1]))
        for _ in range(3):
            assert (await visit(stage, post(body, signed(body)))).status == 200
        assert len({envelope.key for envelope in stage.heard}) == 1


async def test_what_could_not_be_stored_is_not_acknowledged() -> None:
    async with staged(WhatsAppServer) as stage:
        stage.refuse = lambda envelope: True
        fake = world(stage)
        fake.world.happen(Thing(IncomingKind.TEXT, HERE, "hello"))
        body = msgspec.json.encode(notification(fake.world.brought[-1]))
        assert (await visit(stage, post(body, signed(body)))).status == 503
        assert not stage.heard


async def test_what_is_for_another_number_or_about_something_else_is_left_alone() -> None:
    message = {"from": HERE.chat, "id": "wamid.1", "type": "text", "text": {"body": "hello"}}
    async with staged(WhatsAppServer) as stage:
        assert not await brought(stage, phone="999", messages=[message])
        assert not await brought(stage, field="account_update", event="VERIFIED_ACCOUNT")


@pytest.mark.parametrize(
    "said",
    [
        {"type": "unsupported", "errors": [{"code": 131051, "title": "Message type unknown"}]},
        {"type": "text", "text": "not an object"},
        {"type": "holograms", "holograms": {"id": "1"}},
    ],
)
async def test_a_message_that_cannot_be_read_comes_without_words_and_spoils_no_other(said: dict[str, Any]) -> None:
    other = {"from": HERE.chat, "id": "wamid.2", "type": "text", "text": {"body": "hello"}}
    async with staged(WhatsAppServer) as stage:
        heard = await brought(stage, messages=[{"from": HERE.chat, "id": "wamid.1", **said}, other])
        assert [envelope.what for envelope in heard] == [IncomingMessage(), IncomingMessage("hello")]


async def test_a_message_without_an_id_comes_once_without_words_and_spoils_no_other() -> None:
    other = {"from": HERE.chat, "id": "wamid.2", "type": "text", "text": {"body": "hello"}}
    nameless = {"from": HERE.chat, "type": "text", "text": {"body": "hi"}}
    async with staged(WhatsAppServer) as stage:
        heard = await brought(stage, messages=[nameless, nameless, other])
        assert [(envelope.what, envelope.message) for envelope in heard] == [
            (IncomingMessage(), ""),
            (IncomingMessage("hello"), "wamid.2"),
        ]


async def test_what_cannot_be_read_at_all_spoils_nothing_that_came_with_it(caplog: pytest.LogCaptureFixture) -> None:
    """Whole requests were refused, and brought again for a week."""
    told = {"id": "wamid.7", "status": "read", "timestamp": "1790000000", "recipient_id": HERE.chat}
    said = {"from": HERE.chat, "id": "wamid.2", "type": "text", "text": {"body": "hello"}}
    contact = {"wa_id": HERE.chat, "profile": {"name": "Ann"}}
    async with staged(WhatsAppServer) as stage:
        heard = await brought(stage, contacts=[7, contact], messages=["?", said], statuses=[{"status": 4}, told])
        assert [type(envelope.what) for envelope in heard] == [IncomingMessage, Confirmed]
        assert heard[0].sender.name == "Ann"
    unread = [record.getMessage() for record in caplog.records if "cannot be read" in record.getMessage()]
    assert [line.split()[1] for line in unread] == ["WhatsAppContact", "Bare", "Status"]


async def test_an_unreadable_answer_is_told_as_unreadable_and_an_answer_to_something_forgotten_says_so() -> None:
    about = {"context": {"from": HERE.chat, "id": "wamid.forgotten"}}
    unread = {"from": HERE.chat, "id": "wamid.1", "type": "holograms", **about}
    said = {"from": HERE.chat, "id": "wamid.2", "type": "text", "text": {"body": "why?"}, **about}
    async with staged(WhatsAppServer) as stage:
        heard = await brought(stage, messages=[unread, said])
        quoted = "(an earlier message, which is not at hand any more)"
        assert [envelope.what for envelope in heard] == [IncomingMessage(), IncomingMessage("why?", quoted=quoted)]


async def test_somebody_who_hides_their_number_has_the_id_that_whatsapp_gives_them() -> None:
    async with staged(WhatsAppServer) as stage:
        await stage.network.bring(Thing(IncomingKind.TEXT, HIDDEN, "hello"))
        await stage.until(lambda: bool(stage.heard))
        (envelope,) = stage.heard
        assert (envelope.sender.id, envelope.sender.name, envelope.address.chat) == (
            HIDDEN.chat,
            "Ann Example",
            HIDDEN.chat,
        )


FAILED = {"code": 131026, "title": "Message undeliverable", "error_data": {"details": "No WhatsApp"}}
LATE = {"code": 131047, "title": "Re-engagement message"}


@pytest.mark.parametrize(
    ("status", "errors", "reached"),
    [
        ("delivered", [], ReachedUpdate.DELIVERED),
        ("read", [], ReachedUpdate.READ),
        ("played", [], ReachedUpdate.READ),
        ("failed", [FAILED], ReachedUpdate.FAILED),
        ("failed", [LATE], ReachedUpdate.TOO_LATE),
    ],
)
async def test_what_became_of_a_message_is_told(status: str, errors: list[Any], reached: ReachedUpdate) -> None:
    told = {"id": "wamid.7", "status": status, "timestamp": "1790000000", "recipient_id": HERE.chat}
    async with staged(WhatsAppServer) as stage:
        (envelope,) = await brought(stage, statuses=[{**told, **({"errors": errors} if errors else {})}])
        assert isinstance(envelope.what, Confirmed)
        assert (envelope.what.message, envelope.what.reached) == ("wamid.7", reached)
        assert bool(envelope.what.why) == bool(errors)
        assert envelope.address.chat == HERE.chat


async def test_a_time_that_is_none_holds_nothing_up() -> None:
    told = {"id": "wamid.7", "status": "read", "timestamp": "2026-10-01", "recipient_id": HERE.chat}
    async with staged(WhatsAppServer) as stage:
        (envelope,) = await brought(stage, statuses=[told])
        assert isinstance(envelope.what, Confirmed)


async def test_that_a_message_was_accepted_is_known_already() -> None:
    told = {"id": "wamid.7", "status": "sent", "timestamp": "1790000000", "recipient_id": HERE.chat}
    async with staged(WhatsAppServer) as stage:
        assert not await brought(stage, statuses=[told])


async def test_a_reaction_that_is_taken_back_is_told() -> None:
    async with staged(WhatsAppServer) as stage:
        await stage.network.bring(Thing(IncomingKind.REACTION, HERE, "", about="wamid.7"))
        await stage.until(lambda: bool(stage.heard))
        assert stage.heard[0].what == Noticed(IncomingKind.REACTION, "Ann Example took their reaction back.", "wamid.7")
