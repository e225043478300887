"""What is Matrix's own about hearing: where a sync goes on, gaps, invitations, and what clients write."""

from typing import Any, cast

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.incoming import IncomingMessage, Noticed
from angelia.channels.outgoing import OutText
from angelia.core.entry import Address
from angelia.testing.channels.network import ChannelTimeouts, Thing
from angelia.testing.channels.stage import staged
from tests.channels.matrix import world as w
from tests.channels.matrix.network import Matrix, matrix
from tests.channels.matrix.stages import heard_of, on, once, said, texts

pytestmark = pytest.mark.anyio

NEW = f"!New0:{w.SERVER}"


async def test_what_was_said_before_the_first_start_is_not_answered() -> None:
    async with on(lambda world: world.say(w.DIRECT, w.FRIEND, "long ago")) as (stage, network):
        await network.bring(said("now"))
        await stage.until(lambda: bool(stage.heard))
        assert texts(stage.heard) == ["now"]


async def test_a_gap_is_filled_in_order_and_without_holes() -> None:
    async with on() as (stage, network):
        await network.bring(said("first"), said("there", network.group))
        await stage.until(lambda: len(stage.heard) == 2)
        await stage.stop()
        network.world.page = 7
        for number in range(40):
            await network.bring(said(f"{number}"), said(f"group {number}", network.group))
        await stage.start()
        await stage.until(lambda: len(once(stage.heard)) == 82)
        heard = once(stage.heard)
        assert texts([one for one in heard if one.private]) == ["first", *map(str, range(40))]
        assert texts([one for one in heard if not one.private]) == ["there", *(f"group {n}" for n in range(40))]


async def test_a_restart_goes_on_where_it_was() -> None:
    async with on() as (stage, network):
        await network.bring(said("before"))
        await stage.until(lambda: bool(stage.heard))
        await stage.stop()
        asked = network.web.syncs.copy()
        await network.bring(said("meanwhile"))
        await stage.start()
        await stage.until(lambda: len(once(stage.heard)) == 2)
        assert network.web.syncs[len(asked)] in asked[1:], "it does not begin anew"
        assert texts(once(stage.heard)) == ["before", "meanwhile"]


async def test_a_restart_goes_on_before_what_was_not_taken_in() -> None:
    async with on() as (stage, network):
        network.world.page = 5
        stage.refuse = lambda envelope: envelope.private
        await network.bring(said("not yet"))
        await stage.until(lambda: bool(stage.tries))
        for number in range(12):
            await network.bring(said(f"{number}"))
        await network.bring(said("group", network.group))
        await stage.until(lambda: texts(stage.heard) == ["group"])
        await stage.stop()
        stage.refuse = lambda envelope: False
        await stage.start()
        await stage.until(lambda: len(once(stage.heard)) == 14)
        assert texts([one for one in once(stage.heard) if one.private]) == ["not yet", *map(str, range(12))]


async def test_an_empty_page_is_not_the_last_one() -> None:
    async with on() as (stage, network):
        await network.bring(said("first", network.group))
        await stage.until(lambda: bool(stage.heard))
        await stage.stop()
        network.world.page = 3
        network.world.ignored.add(w.THIRD)
        await network.bring(said("second", network.group))
        for _ in range(10):
            network.world.say(w.GROUP, w.THIRD, "nothing that is told to us")
        await network.bring(*(said(f"{number}", network.group) for number in range(5)))
        await stage.start()
        await stage.until(lambda: texts(stage.heard)[-1] == "4")
        assert texts(once(stage.heard)) == ["first", "second", *map(str, range(5))]


async def test_another_account_begins_anew() -> None:
    async with on() as (stage, network):
        await network.bring(said("before"))
        await stage.until(lambda: bool(stage.heard))
        await stage.stop()
        asked = len(network.web.syncs)
        network.web.user = w.BOT
        await stage.start()
        await network.when(lambda: len(network.web.syncs) > asked)
        assert network.web.syncs[asked] == ""


async def test_a_gap_that_the_server_does_not_tell_of_holds_nobody_up() -> None:
    async with on() as (stage, network):
        await network.bring(said("first"))
        await stage.until(lambda: bool(stage.heard))
        await stage.stop()
        network.world.purged.add(w.DIRECT)
        for number in range(12):
            await network.bring(said(f"{number}"))
        await network.bring(said("there", network.group))
        await stage.start()
        await stage.until(lambda: {"11", "there"} <= set(texts(stage.heard)))
        assert any(w.DIRECT in one.why for one in stage.health)


async def test_a_server_that_holds_nothing_back_is_not_asked_without_a_pause() -> None:
    async with staged(matrix, ChannelTimeouts(pause=600, silence=60)) as stage:
        network = cast("Matrix", stage.network)
        network.web.hasty = True
        await network.bring(said("hello"))
        await stage.until(lambda: bool(stage.heard))
        before = len(network.web.syncs)
        for _ in range(20):  # meanwhile it could be asked very often
            await stage.channel.typing(network.here)
        assert len(network.web.syncs) - before <= 2


def invited(world: w.World) -> None:
    """The friend has made a room, spoken there, and invites us."""
    world.create(NEW, w.FRIEND)
    world.say(NEW, w.FRIEND, "to myself")
    world.enter(NEW, w.US, "invite", by=w.FRIEND)


async def test_an_invitation_that_waited_is_followed() -> None:
    async with on(invited) as (stage, network):
        await network.when(lambda: network.world.membership(NEW, len(network.world.stream)) == "join")
        await network.bring(said("hello", Address("", NEW)))
        await stage.until(lambda: bool(stage.heard))
        assert (texts(stage.heard), stage.heard[0].private) == (["hello"], True)


async def test_of_a_room_that_we_are_invited_to_is_heard_what_was_said_since() -> None:
    async with on() as (stage, network):
        invited(network.world)
        await network.bring(said("are you there?", Address("", NEW)), said("hello?", Address("", NEW)))
        await stage.until(lambda: len(stage.heard) >= 2)
        await network.bring(said("end"))
        await stage.until(lambda: "end" in texts(stage.heard))
        assert texts(stage.heard) == ["are you there?", "hello?", "end"]


async def test_where_a_third_person_comes_it_is_not_private_any_more() -> None:
    async with on() as (stage, network):
        await network.bring(said("between us"))
        await stage.until(lambda: len(stage.heard) == 1)
        network.world.say(w.DIRECT, w.FRIEND, "still between us")
        network.world.enter(w.DIRECT, w.THIRD, "join")
        await network.bring(said("among us"))
        await stage.until(lambda: len(stage.heard) == 3)
        network.world.enter(w.DIRECT, w.THIRD, "leave")
        await network.bring(said("alone again"))
        await stage.until(lambda: len(stage.heard) == 4)
        assert [one.private for one in stage.heard] == [True, True, False, True]
        assert [one.addressed for one in stage.heard] == [True, True, False, True]


async def test_who_came_while_we_were_away_is_known_after_a_restart() -> None:
    async with on() as (stage, network):
        await network.bring(said("between us"))
        await stage.until(lambda: len(stage.heard) == 1)
        await stage.stop()
        network.world.enter(w.DIRECT, w.THIRD, "join")
        for number in range(30):
            await network.bring(said(str(number)))
        await stage.start()
        await stage.until(lambda: texts(stage.heard)[-1] == "29")
        assert {one.private for one in stage.heard if texts([one]) != ["between us"]} == {False}


async def test_in_a_group_whoever_answers_us_speaks_to_us() -> None:
    async with on() as (stage, network):
        ours = await stage.channel.send(network.group, OutText("what I said"), "1")
        await network.bring(Thing(IncomingKind.TEXT, network.group, "why?", answers=ours))
        await network.bring(said(f"{w.US}: hello", network.group), said("hello all", network.group))
        await stage.until(lambda: len(stage.heard) == 3)
        assert [one.addressed for one in stage.heard] == [True, True, False]
        assert stage.heard[0].what == IncomingMessage("why?", quoted="what I said")


async def test_in_a_thread_only_a_real_answer_quotes() -> None:
    async with on() as (stage, network):
        ours = await stage.channel.send(network.topic, OutText("what I said"), "1")
        await network.bring(said("just so", network.topic))
        await network.bring(Thing(IncomingKind.TEXT, network.topic, "why?", answers=ours))
        await stage.until(lambda: len(stage.heard) == 2)
        assert [one.what for one in stage.heard] == [
            IncomingMessage("just so"),
            IncomingMessage("why?", quoted="what I said"),
        ]
        assert {one.address.thread for one in stage.heard} == {network.topic.thread}


async def test_an_edit_stands_where_its_message_does_and_is_of_whoever_said_it() -> None:
    async with on() as (stage, network):
        (about,) = await network.bring(said("one", network.topic))
        new, relation = {"msgtype": "m.text", "body": "two"}, {"rel_type": "m.replace", "event_id": about}
        for person in (w.THIRD, w.FRIEND):
            network.world.say(w.GROUP, person, "* two", **{"m.new_content": new, "m.relates_to": relation})
        await network.bring(said("end", network.group))
        await stage.until(lambda: texts(stage.heard)[-1:] == ["end"])
        assert [(one.sender.id, one.what) for one in stage.heard[1:-1]] == [
            (w.FRIEND, IncomingMessage("two", edits=about))
        ]
        assert [one.address.thread for one in stage.heard] == [network.topic.thread] * 2 + [""]


TOLD: list[tuple[dict[str, Any], str]] = [
    (
        {"msgtype": "m.text", "body": "**hi**", "format": "org.matrix.custom.html", "formatted_body": "<b>hi</b>"},
        "**hi**",
    ),
    ({"msgtype": "m.emote", "body": "waves"}, "waves"),
    ({"msgtype": "m.text", "body": "!stop it"}, "/stop it"),
    ({"msgtype": "m.text", "body": "!nothing of ours"}, "!nothing of ours"),
    (
        {"msgtype": "m.text", "body": "as shown", "m.new_content": {"msgtype": "m.text", "body": "not shown"}},
        "as shown",
    ),
    ({"msgtype": "org.example.new", "body": "a thing of tomorrow"}, "a thing of tomorrow"),
]


@pytest.mark.parametrize(("content", "words"), TOLD)
async def test_a_message_is_heard_as(content: dict[str, Any], words: str) -> None:
    async with on() as (stage, network):
        (envelope,) = await heard_of(stage, network, content)
        assert envelope.what == IncomingMessage(words)
        assert (envelope.sender.id, envelope.sender.name) == (w.FRIEND, w.FRIEND)
        assert envelope.sent_at > 1_700_000_000_000


async def test_the_answers_of_older_clients_repeat_nothing() -> None:
    async with on() as (stage, network):
        ours = (await stage.send(OutText("what\nI said"))).message
        body = f"> <{w.US}> what\n> I said\n\nwhy?\n> this stays"
        relation = {"m.in_reply_to": {"event_id": ours}}
        (envelope,) = await heard_of(stage, network, {"msgtype": "m.text", "body": body, "m.relates_to": relation})
        assert envelope.what == IncomingMessage("why?\n> this stays", quoted="what\nI said")


@pytest.mark.parametrize(
    "more", [{}, {"filename": "notes.pdf"}, {"info": {"size": "many", "mimetype": 7}}, {"info": 3}]
)
async def test_a_file_is_offered_however_little_is_told_of_it(more: dict[str, Any]) -> None:
    async with on() as (stage, network):
        url = network.world.keep(w.Medium(b"%PDF-1.4", "application/pdf"))
        (envelope,) = await heard_of(stage, network, {"msgtype": "m.file", "body": "notes.pdf", "url": url} | more)
        assert isinstance(envelope.what, IncomingMessage)
        (offer,) = envelope.what.offers
        assert (envelope.what.text, offer.kind, offer.name) == ("", Kind.DOCUMENT, "notes.pdf")
        assert b"".join([piece async for piece in stage.channel.fetch(offer)]) == b"%PDF-1.4"


STRANGE: list[dict[str, Any]] = [
    {},
    {"body": "no type"},
    {"msgtype": ["m.text"], "body": "hi"},
    {"msgtype": "m.text"},
    {"msgtype": "m.text", "body": {"so": "on"}},
    {"msgtype": "m.image", "body": "x", "url": 5},
    {"msgtype": "m.location", "geo_uri": ["x"]},
    {"msgtype": "m.text", "body": "hi", "m.relates_to": "x"},
    {"msgtype": "m.text", "body": "hi", "m.relates_to": {"m.in_reply_to": {"event_id": "$nowhere"}}},
    {
        "msgtype": "m.text",
        "body": "hi",
        "m.relates_to": {"rel_type": "m.replace", "event_id": 5},
        "m.new_content": 1,
    },
    {"msgtype": "m.text", "body": "hi", "m.mentions": [1], "m.relates_to": {"rel_type": "m.thread"}},
]


async def test_what_no_client_writes_harms_nobody() -> None:
    async with on() as (stage, network):
        await heard_of(stage, network, *STRANGE)
        assert all("given up" not in one.why for one in stage.health)


@pytest.mark.parametrize("forms", [("content",), ("event",)])
async def test_a_redaction_is_heard_in_both_forms(forms: tuple[str, ...]) -> None:
    async with on() as (stage, network):
        (about,) = await network.bring(said("oops"))
        inside, beside = ({"redacts": about} if form in forms else {} for form in ("content", "event"))
        network.world.happen(w.DIRECT, w.FRIEND, "m.room.redaction", inside, **beside)
        await network.bring(said("end"))
        await stage.until(lambda: texts(stage.heard)[-1:] == ["end"])
        what = stage.heard[-2].what
        assert isinstance(what, Noticed)
        assert (what.heard, what.message) == (IncomingKind.DELETION, about)
