"""What Slack tells is read as people see it, and what nobody said is dropped."""

import json
from typing import Any

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.failures import CannotFetch
from angelia.channels.incoming import Envelope, IncomingMessage, Noticed, OfferedFile, Pressed
from angelia.channels.slack.payloads import SlackNews
from angelia.channels.slack.people import People
from angelia.channels.slack.receive import SlackReader
from angelia.channels.slack.threads import Threads
from angelia.core.entry import Address
from angelia.testing.channels.network import Thing
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import Stage, staged
from tests.channels.slack import world as w
from tests.channels.slack.network import Slack, slack
from tests.channels.slack.stages import network, said

pytestmark = pytest.mark.anyio


class Known(People):
    """Names that are known without asking."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def name(self, user: str) -> str:
        self.asked.append(user)
        return w.NAMES.get(user, user)

    def know(self, user: str, name: str) -> None:
        return None


class Beginnings(Threads):
    """No thread is about anything."""

    def __init__(self) -> None:
        return

    async def beginning(self, chat: str, thread: str, message: str) -> None:
        return None


async def envelope(kind: Any, **told: Any) -> Envelope | None:
    """What is read of news."""
    reader = SlackReader("door", w.US, Known(), Beginnings(), "/angelia", {"status", "stop"})
    return await reader.envelope(SlackNews(kind, json.dumps(told).encode(), "1"))


async def words(text: str) -> str:
    """A message's words."""
    found = await envelope("event", type="message", channel=w.GROUP, user=w.FRIEND, ts="1.000001", text=text)
    return found.what.text if found and isinstance(found.what, IncomingMessage) else ""


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        (f"<@{w.US}> hello", "hello"),
        (f"ask <@{w.FRIEND}> or <@U0ELSE|bob>", "ask @ann or @bob"),
        ("see <#C1|general> and <#C2>", "see #general and #C2"),
        ("<!here> <!subteam^S1|@team>", "@here @team"),
        ("<https://a.at/?x=1&amp;y>", "https://a.at/?x=1&y"),
        ("<https://a.at|a.at>", "https://a.at"),
        ("<https://a.at|read this>", "read this (https://a.at)"),
        ("<mailto:a@b.at|a@b.at>", "mailto:a@b.at"),
    ],
)
async def test_words_are_as_people_see_them(told: str, seen: str) -> None:
    assert await words(told) == seen


@pytest.mark.parametrize(
    "told",
    [
        {"user": w.US},
        {"user": "USLACKBOT"},
        {"bot_id": "B1"},
        {"user": ""},
        {"subtype": "channel_join"},
        {"subtype": "bot_message"},
        {"subtype": "message_replied"},
        {"type": "reaction_added", "item": {"type": "file"}, "item_user": w.US},
        {"type": "reaction_added", "item": {"type": "message", "channel": "C1", "ts": "1.1"}, "item_user": w.FRIEND},
    ],
)
async def test_what_nobody_says_to_us_is_dropped(told: dict[str, Any]) -> None:
    whole = {"type": "message", "channel": w.GROUP, "user": w.FRIEND, "ts": "1.000001", "text": "hi"}
    assert await envelope("event", **whole)
    assert await envelope("event", **(whole | told)) is None


async def test_a_link_that_slack_unfolds_is_no_edit() -> None:
    message = {"user": w.FRIEND, "ts": "1.000001", "text": "see", "edited": {"ts": "2.000001"}}
    changed = {"type": "message", "subtype": "message_changed", "channel": w.DIRECT, "message": message}
    assert await envelope("event", **changed, previous_message={"ts": "1.000001", "text": "see"}) is None
    found = await envelope("event", **changed, previous_message={"ts": "1.000001", "text": "se"})
    assert found
    assert found.what == IncomingMessage("see", edits="1.000001")


async def test_an_answer_in_a_thread_of_ours_is_for_us() -> None:
    whole = {"type": "message", "channel": w.GROUP, "user": w.FRIEND, "ts": "2.000001", "text": "hi"}
    ours = await envelope("event", **whole, thread_ts="1.000001", parent_user_id=w.US)
    theirs = await envelope("event", **whole, thread_ts="1.000001", parent_user_id=w.FRIEND)
    root = await envelope("event", **whole, thread_ts="2.000001")
    assert ours
    assert theirs
    assert root
    assert [one.addressed for one in (ours, theirs, root)] == [True, False, False]
    assert [one.address.thread for one in (ours, theirs, root)] == ["1.000001", "1.000001", ""]


@pytest.mark.parametrize(
    ("command", "text", "seen"),
    [
        ("/angelia", "status now", "/status now"),
        ("/angelia", "what is 1 &lt; 2?", "what is 1 < 2?"),
        ("/angelia", "", "/help"),
        ("/stop", "", "/stop"),
        ("/queue", "and then this", "/queue and then this"),
    ],
)
async def test_a_command_is_a_verb_or_something_said(command: str, text: str, seen: str) -> None:
    told = {"channel_id": w.GROUP, "user_id": w.FRIEND, "user_name": "ann", "trigger_id": "1"}
    found = await envelope("command", command=command, text=text, **told)
    assert found
    assert (found.what, found.sender.name, found.private, found.addressed) == (
        IncomingMessage(seen),
        "ann",
        False,
        True,
    )


async def test_a_button_in_a_thread_is_pressed_there() -> None:
    container = {"message_ts": "2.000001", "channel_id": w.GROUP, "thread_ts": "1.000001"}
    told = {"type": "block_actions", "user": {"id": w.FRIEND, "name": "ann"}, "actions": [{"value": "y"}]}
    found = await envelope("action", container=container, **told)
    assert found
    assert (found.what, found.address) == (Pressed("y", "2.000001"), Address("door", w.GROUP, "1.000001"))
    assert await envelope("action", container=container, **(told | {"type": "view_submission"})) is None


async def test_what_stands_among_files_and_is_none_is_told() -> None:
    files = [
        {"id": "F1", "mode": "tombstone"},
        {"id": "F2", "mode": "external", "title": "The plan", "external_url": "https://docs.at/1"},
        {"id": "F3", "mode": "hosted", "name": "a.gif", "mimetype": "image/gif", "size": 7, "url_private": "https://x"},
    ]
    whole = {"type": "message", "subtype": "file_share", "channel": w.DIRECT, "user": w.FRIEND, "ts": "1.000001"}
    found = await envelope("event", **whole, files=files)
    assert found
    assert found.what == IncomingMessage(
        "(a file that was deleted)\nFile: The plan (https://docs.at/1)",
        (OfferedFile(Kind.ANIMATION, "F3 https://x", "a.gif", "image/gif", 7),),
    )


async def test_a_custom_emoji_is_told_by_its_name() -> None:
    item = {"type": "message", "channel": w.DIRECT, "ts": "1.000001"}
    told = {"type": "reaction_added", "user": w.FRIEND, "reaction": "party_parrot", "item_user": w.US, "item": item}
    found = await envelope("event", **told)
    assert found
    assert found.what == Noticed(IncomingKind.REACTION, "ann reacted with :party_parrot:.", "1.000001")


async def fetched(stage: Stage, handle: str) -> bytes:
    """The bytes behind a handle."""
    offer = OfferedFile(Kind.DOCUMENT, handle)
    return b"".join([piece async for piece in stage.channel.fetch(offer)])


async def test_where_a_file_of_another_workspace_lies_is_asked() -> None:
    async with staged(slack) as stage:
        sample = sample_of(Kind.DOCUMENT)
        file = network(stage).world.keep(sample.name, sample.data, network(stage).web.base)
        assert await fetched(stage, file["id"]) == sample.data


@pytest.mark.parametrize("where", ["https://evil.example/files.slack.com", "http://files.slack.com/x", "nowhere"])
async def test_our_token_goes_to_slack_alone(where: str) -> None:
    async with staged(slack) as stage:
        with pytest.raises(CannotFetch):
            await fetched(stage, f"F1 {where}")
        assert network(stage).web.fetched == []


async def test_a_page_to_log_in_is_no_file() -> None:
    async with staged(slack) as stage:
        sample = sample_of(Kind.DOCUMENT)
        file = network(stage).world.keep(sample.name, sample.data, network(stage).web.base)
        network(stage).revoke()
        with pytest.raises(CannotFetch, match="files:read"):
            await fetched(stage, f"{file['id']} {file['url_private']}")


async def test_without_a_name_the_id_does() -> None:
    async with staged(slack) as stage:
        network(stage).web.wrong["users.info"] = "missing_scope"
        await stage.spoken_to()
        assert stage.heard[0].sender.name == w.FRIEND


PICTURE = Thing(IncomingKind.PHOTO, Slack.group, "", (sample_of(Kind.PHOTO),))


async def test_who_asks_beneath_a_picture_brings_it_once() -> None:
    async with staged(slack) as stage:
        (picture,) = await stage.network.bring(PICTURE)
        beneath = Address("", w.GROUP, picture)
        await stage.network.bring(said("what is this?", beneath, to_us=True), said("and who?", beneath, to_us=True))
        await stage.until(lambda: len(stage.heard) > 2)
        _, first, second = (one.what for one in stage.heard)
        assert isinstance(first, IncomingMessage)
        assert [offer.kind for offer in first.offers] == [Kind.PHOTO]
        assert await fetched(stage, first.offers[0].handle) == sample_of(Kind.PHOTO).data
        assert (first.text, first.quoted) == ("what is this?", "(photo)")
        assert second == IncomingMessage("and who?")


async def test_what_a_thread_is_about_and_cannot_be_had_is_told_so() -> None:
    async with staged(slack) as stage:
        (picture,) = await stage.network.bring(PICTURE)
        network(stage).web.wrong["conversations.replies"] = "missing_scope"
        await stage.network.bring(said("what is this?", Address("", w.GROUP, picture), to_us=True))
        await stage.until(lambda: len(stage.heard) > 1)
        quoted = "(the message that this thread is about, which Slack does not give out)"
        assert stage.heard[1].what == IncomingMessage("what is this?", quoted=quoted)


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ({"text": ""}, IncomingMessage("(something that is not read here)")),
        ({"text": f"<@{w.US}>"}, IncomingMessage("(your name, and nothing else)")),
        (
            {"text": "", "subtype": "hologram_share"},
            IncomingMessage("(something of the kind “hologram share”, which is not read here)"),
        ),
        ({"text": "see", "subtype": "hologram_share"}, IncomingMessage("see")),
        ({"text": "", "attachments": [{"fallback": "[a card]"}]}, IncomingMessage(shared="[a card]")),
    ],
)
async def test_what_a_person_says_in_an_unknown_form_is_told(told: dict[str, Any], seen: IncomingMessage) -> None:
    found = await envelope("event", type="message", channel=w.DIRECT, user=w.FRIEND, ts="1.000001", **told)
    assert found
    assert found.what == seen
