"""Whatever comes in from a network is heard or told as what it is; what answers a file brings it."""

from typing import Any

import pytest

from angelia.channels.incoming import IncomingMessage
from angelia.channels.matrix.other_events import words_of
from tests.channels.test_forwards import discord

pytestmark = pytest.mark.anyio

POLL = {"m.text": [{"body": "Which bed?"}]}
EMBED = {"type": "rich", "title": "Build 7", "description": "failed", "fields": [{"name": "at", "value": "noon"}]}


@pytest.mark.parametrize(
    ("kind", "event", "words"),
    [
        (
            "m.poll.start",
            {"content": {"m.poll": {"question": POLL, "answers": [{"m.text": [{"body": "left"}]}]}}},
            "Poll: Which bed?\n• left",
        ),
        (
            "org.matrix.msc3381.poll.start",
            {
                "content": {
                    "org.matrix.msc3381.poll.start": {
                        "question": {"org.matrix.msc1767.text": "Which?"},
                        "answers": [{"org.matrix.msc1767.text": "a"}, {"org.matrix.msc1767.text": "b"}],
                    }
                }
            },
            "Poll: Which?\n• a\n• b",
        ),
        ("org.example.card", {"content": {"body": "a card"}}, "a card"),
        (
            "org.example.card",
            {"content": {"x": 1}},
            "(something of the kind “org.example.card”, which is not read here)",
        ),
        ("org.example.state", {"state_key": "", "content": {"x": 1}}, ""),
        ("m.call.invite", {"content": {"x": 1}}, ""),
        ("m.poll.response", {"content": {"x": 1}}, ""),
        ("m.poll.start", {"content": {"m.poll": {"question": 5, "answers": "no"}}}, "Poll: "),
    ],
)
def test_an_event_of_a_room_that_is_no_message_is_told_or_known_to_say_nothing(
    kind: str, event: dict[str, Any], words: str
) -> None:
    assert words_of(kind, event) == words


async def test_the_framed_words_of_a_forward_on_discord_are_read() -> None:
    envelope = await discord(content="", message_snapshots=[{"message": {"content": "", "embeds": [EMBED]}}])
    assert envelope is not None
    assert envelope.what == IncomingMessage(shared="Build 7\nfailed\nat: noon", forwarded=True)


async def test_a_message_of_nothing_but_a_frame_on_discord_is_read_and_one_of_nothing_known_is_told() -> None:
    framed, unknown = await discord(content="", embeds=[EMBED]), await discord(content="")
    assert framed is not None
    assert unknown is not None
    assert framed.what == IncomingMessage(shared="Build 7\nfailed\nat: noon")
    assert unknown.what == IncomingMessage("(something that is not read here)")
    assert await discord(content="", type=7) is None, "somebody joined"


async def test_an_answer_to_a_file_on_discord_brings_it() -> None:
    plan = {"id": "3", "filename": "plan.png", "content_type": "image/png", "size": 5, "url": "https://cdn/plan.png"}
    answered = {"id": "2", "channel_id": "1", "author": {"id": "12"}, "content": "", "attachments": [plan]}
    envelope = await discord(content="what is this?", type=19, referenced_message=answered)
    assert envelope is not None
    assert isinstance(envelope.what, IncomingMessage)
    assert [one.name for one in envelope.what.offers] == ["plan.png"]
    assert (envelope.what.text, envelope.what.quoted) == ("what is this?", "(photo)")
