"""What leaves for Slack: nobody is called by words, files are known by their message, errors are what they are."""

import logging
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import Kind
from angelia.channels.failures import (
    ChannelError,
    Later,
    LoginFailed,
    MarkupRejected,
    MessageGone,
    NotSent,
    Rejected,
    Unsure,
)
from angelia.channels.outgoing import Button, OutFile, OutText
from angelia.channels.slack.refusals import SlackRefusal, told
from angelia.channels.slack.send import DIALECT, name_of, words
from angelia.core.entry import Address
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import staged
from tests.channels.slack import world as w
from tests.channels.slack.network import slack
from tests.channels.slack.stages import network


def test_nobody_is_called_by_words_however_they_are_shown() -> None:
    said: Any = words(OutText("<!channel> & <@U1>", DIALECT.text("<!channel> & <@U1>")))
    assert said["text"] == "&lt;!channel&gt; &amp; &lt;@U1&gt;"
    assert "<" not in said["blocks"][0]["text"]
    plain: Any = words(OutText("<!channel>"))
    assert plain["blocks"][0]["elements"][0]["elements"] == [{"type": "text", "text": "<!channel>"}]


def test_a_line_is_broken_by_what_is_not_seen() -> None:
    assert DIALECT.text("one\ntwo :tada: 10:30:00") == "one  \ntwo \\:tada: 10\\:30:00"
    assert DIALECT.heading(DIALECT.text("one\ntwo"), 2) == "## one two"


def test_labels_are_cut_and_numbered() -> None:
    said: Any = words(OutText("x", buttons=tuple(Button("y" * 100, str(number)) for number in range(3))))
    elements = said["blocks"][1]["elements"]
    assert [len(one["text"]["text"]) for one in elements] == [75, 75, 75]
    assert len({one["action_id"] for one in elements}) == 3


@pytest.mark.parametrize(
    ("kind", "mime", "name", "sent"),
    [
        (Kind.PHOTO, "image/jpeg", "Makefile", "Makefile.jpg"),
        (Kind.PHOTO, "image/png", "a.PNG", "a.PNG"),
        (Kind.AUDIO, "audio/mpeg", "a.pdf", "a.pdf.mp3"),
        (Kind.DOCUMENT, "image/png", "Makefile", "Makefile"),
    ],
)
def test_a_name_ends_as_its_kind_does(kind: Kind, mime: str, name: str, sent: str) -> None:
    assert name_of(OutFile(kind, Path("x"), 1, name, mime)) == sent


def small(folder: Path) -> OutFile:
    """A file to send."""
    sample, path = sample_of(Kind.DOCUMENT), folder / "bytes"
    path.write_bytes(sample.data)
    return OutFile(sample.kind, path, len(sample.data), sample.name, sample.mime)


@pytest.mark.anyio
async def test_links_are_not_unfolded() -> None:
    async with staged(slack) as stage:
        await stage.send(OutText("see https://example.com/?secret"))
        given = network(stage).web.given["chat.postMessage"]
        assert (given["unfurl_links"], given["unfurl_media"]) == ("false", "false")


@pytest.mark.anyio
async def test_a_file_over_the_limit_does_not_leave() -> None:
    async with staged(slack) as stage:
        huge = OutFile(Kind.DOCUMENT, Path("/nowhere"), w.FILE + 1, "huge.iso", "application/octet-stream")
        with pytest.raises(Rejected, match=r"huge\.iso is .* at most"):
            await stage.channel.send(network(stage).here, huge, "key")
        assert "files.getUploadURLExternal" not in network(stage).web.asked


@pytest.mark.anyio
async def test_a_file_that_does_not_come_to_stand_in_the_chat_is_unsure(tmp_path: Path) -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        await stage.stop()
        fake.timeouts, fake.web.hidden = {"shown": 0.05}, 1_000_000
        await stage.start()
        with pytest.raises(Unsure, match="does not stand in the chat"):
            await stage.channel.send(fake.here, small(tmp_path), "key")


@pytest.mark.anyio
async def test_without_the_right_to_look_at_files_a_file_is_known_by_its_id(tmp_path: Path) -> None:
    async with staged(slack) as stage:
        network(stage).web.wrong["files.info"] = "missing_scope"
        sent = await stage.channel.send(network(stage).here, small(tmp_path), "key")
        assert sent in network(stage).world.files


@pytest.mark.anyio
async def test_addresses_that_are_a_right_by_themselves_are_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with staged(slack) as stage:
            await stage.send(small(tmp_path))
            assert network(stage).world.bytes
    assert "files.getUploadURLExternal" in caplog.text
    assert "/upload/v1/" not in caplog.text
    assert "ticket=" not in caplog.text


@pytest.mark.anyio
async def test_a_person_is_written_to_in_direct_messages(tmp_path: Path) -> None:
    async with staged(slack) as stage:
        person = Address("", w.FRIEND)
        first = await stage.channel.send(person, OutText("one"), "key")
        await stage.channel.send(person, small(tmp_path), "other key")
        await stage.channel.edit(person, first, OutText("two"))
        assert [one.chat for one in network(stage).arrived] == [w.DIRECT] * 3
        assert network(stage).web.asked.count("conversations.open") == 1


@pytest.mark.anyio
async def test_a_file_in_a_thread_stands_there_with_its_words(tmp_path: Path) -> None:
    async with staged(slack) as stage:
        fake = network(stage)
        file = replace(small(tmp_path), caption=OutText("*as is*", "**x**"))
        message = await stage.channel.send(fake.topic, file, "key")
        (arrived,) = fake.arrived
        assert (arrived.thread, arrived.text, arrived.message) == (fake.topic.thread, "*as is*", message)


@pytest.mark.anyio
async def test_an_emoji_without_a_known_name_is_rejected() -> None:
    async with staged(slack) as stage:
        message = (await stage.send(OutText("one"))).message
        with pytest.raises(Rejected, match="🫠"):
            await stage.channel.react(network(stage).here, message, "🫠")


@pytest.mark.anyio
async def test_markup_that_makes_too_much_of_a_message_may_go_plain() -> None:
    async with staged(slack) as stage:
        network(stage).web.wrong["chat.postMessage"] = "msg_blocks_too_long"
        with pytest.raises(MarkupRejected):
            await stage.channel.send(network(stage).here, OutText("x", "**x**"), "key")


REFUSALS: list[tuple[SlackRefusal, type[ChannelError], str]] = [
    (SlackRefusal(429, seconds=300), Later, "300"),
    (SlackRefusal(429), Later, "30"),
    (SlackRefusal(error="ratelimited", seconds=7), Later, "7"),
    (SlackRefusal(500), NotSent, "500"),
    (SlackRefusal(error="service_unavailable"), NotSent, "service_unavailable"),
    (SlackRefusal(error="internal_error"), Unsure, "may have been done"),
    (SlackRefusal(error="fatal_error"), Unsure, "may have been done"),
    (SlackRefusal(error="invalid_auth"), LoginFailed, "xoxb-"),
    (SlackRefusal(error="token_revoked"), LoginFailed, "token_revoked"),
    (SlackRefusal(error="message_not_found"), MessageGone, "not there"),
    (SlackRefusal(error="edit_window_closed"), MessageGone, "edit_window_closed"),
    (SlackRefusal(error="invalid_blocks"), MarkupRejected, "markup"),
    (SlackRefusal(error="missing_scope", needed="files:write"), Rejected, "files:write"),
    (SlackRefusal(error="channel_not_found"), Rejected, "does not find this chat"),
    (SlackRefusal(error="not_in_channel"), Rejected, "/invite"),
    (SlackRefusal(error="file_upload_size_restricted"), Rejected, "larger than the workspace allows"),
    (SlackRefusal(error="something_new"), Rejected, "something_new"),
    (SlackRefusal(413), Rejected, "413"),
]


@pytest.mark.parametrize(("refusal", "kind", "part"), REFUSALS)
def test_a_refusal_means(refusal: SlackRefusal, kind: type[ChannelError], part: str) -> None:
    error = told(refusal)
    assert type(error) is kind
    assert part in str(error)
