"""What leaves for Discord: nobody is called by words, names survive, voice messages tell how they sound."""

import base64
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.channels.capabilities import Kind
from angelia.channels.discord.capabilities import capabilities
from angelia.channels.discord.refusals import DiscordRefusal, told
from angelia.channels.discord.send import album_for, call_for, nonce, rows, safe_name, words
from angelia.channels.discord.voice import measured
from angelia.channels.failures import ChannelError, Later, LoginFailed, MessageGone, NotSent, Rejected
from angelia.channels.outgoing import Button, OutAlbum, OutFile, OutText
from angelia.core.entry import Address
from tests.channels.discord import world as w

HERE = Address("door", "1", "2")


def file(folder: Path, kind: Kind = Kind.DOCUMENT, name: str = "a.pdf", data: bytes = b"x", **more: Any) -> OutFile:
    """A file on this machine."""
    path = folder / "bytes"
    path.write_bytes(data)
    return OutFile(kind, path, len(data), name, more.pop("mime", "application/pdf"), **more)


def test_nobody_is_called_and_nothing_is_fetched() -> None:
    said = words(OutText("@everyone"))
    assert said["allowed_mentions"] == {"parse": [], "replied_user": True}
    assert said["flags"] == 1 << 2
    assert said["content"] == r"\@everyone"


def test_plain_words_that_have_no_room_for_escapes_go_as_they_are() -> None:
    assert words(OutText("*" * 2000))["content"] == "*" * 2000
    with pytest.raises(Rejected, match="2001 characters"):
        words(OutText("*" * 2001))


@given(st.text(max_size=40))
def test_the_same_key_makes_the_same_nonce_that_discord_takes(key: str) -> None:
    assert nonce(key) == nonce(key)
    assert len(nonce(key)) == 25


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1, max_size=60))
def test_a_name_is_shown_as_it_was(name: str) -> None:
    safe, title = safe_name(name)
    assert safe == w.secure(safe)
    assert w.shown_name({"filename": safe, "title": title}) == name


def test_buttons_stand_in_rows_of_five() -> None:
    found: Any = rows([Button("x" * 100, str(number)) for number in range(12)])
    assert [len(row["components"]) for row in found] == [5, 5, 2]
    assert found[0]["components"][0]["label"] == "x" * 80


@pytest.mark.anyio
async def test_a_thread_is_the_channel_that_a_message_goes_to(tmp_path: Path) -> None:
    call = await call_for(HERE, OutText("x", reply_to="7"), "key", capabilities())
    said: Any = call.body
    assert call.path == "/channels/2/messages"
    assert said["message_reference"] == {"message_id": "7", "fail_if_not_exists": False}


@pytest.mark.anyio
async def test_a_file_over_the_limit_does_not_leave(tmp_path: Path) -> None:
    album = OutAlbum((file(tmp_path), file(tmp_path, data=b"x" * 20)))
    with pytest.raises(Rejected, match=r"a\.pdf is 20 bytes, and Discord takes at most 10 bytes"):
        album_for(HERE, album, "key", capabilities(10))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kind", "mime", "name", "stored"),
    [
        (Kind.PHOTO, "image/jpeg", "Makefile", "Makefile.jpg"),
        (Kind.PHOTO, "image/png", "a.PNG", "a.PNG"),
        (Kind.AUDIO, "audio/mpeg", "a.pdf", "a.pdf.mp3"),
        (Kind.DOCUMENT, "image/png", "Makefile", "Makefile"),
    ],
)
async def test_a_name_ends_as_its_kind_does(tmp_path: Path, kind: Kind, mime: str, name: str, stored: str) -> None:
    call = await call_for(HERE, file(tmp_path, kind, name, mime=mime), "key", capabilities())
    said: Any = call.body
    assert said["attachments"][0]["filename"] == call.uploads[0].name == stored


def page(position: int, packets: list[int], number: int) -> bytes:
    """One page of an Ogg stream (RFC 3533, 6)."""
    lacing = b"".join(bytes([255] * (size // 255) + [size % 255]) for size in packets)
    head = struct.pack("<4sBBqIIIB", b"OggS", 0, 0, position, 1, number, 0, len(lacing))
    return head + lacing + bytes(sum(packets))


def recording(*sizes: int) -> bytes:
    """An Opus recording of 20 ms packets, ten to a page."""
    groups = [list(sizes[at : at + 10]) for at in range(0, len(sizes), 10)]
    pages = [page(960 * 10 * (at + 1), group, at + 2) for at, group in enumerate(groups)]
    return b"".join([page(0, [19], 0), page(0, [60], 1), *pages])


def test_a_voice_message_tells_its_length_and_how_its_loudness_goes(tmp_path: Path) -> None:
    path = tmp_path / "v.ogg"
    path.write_bytes(recording(*([40] * 50 + [400] * 50)))
    found = measured(path)
    levels = base64.b64decode(found.waveform)
    assert found.seconds == 2.0
    assert len(levels) == 20
    assert max(levels[:9]) < 60
    assert min(levels[11:]) == 255
    assert measured(path, 7.5).seconds == 7.5


@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda end: recording(*range(0, 900, 9)) + end))
def test_whatever_is_in_a_recording_it_is_measured(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.ogg"
    path.write_bytes(data)
    found = measured(path)
    assert found.seconds >= 0
    assert 1 <= len(base64.b64decode(found.waveform)) <= 256


REFUSALS: list[tuple[DiscordRefusal, type[ChannelError], str]] = [
    (DiscordRefusal(429, retry_after=300.5), Later, "300.5"),
    (DiscordRefusal(429), Later, "5"),
    (DiscordRefusal(401, 0, "401: Unauthorized"), LoginFailed, "Developer Portal"),
    (DiscordRefusal(500, 0, "500: Internal Server Error"), NotSent, "500"),
    (DiscordRefusal(503), NotSent, "(503)"),
    (DiscordRefusal(404, 10008, "Unknown Message"), MessageGone, "not there"),
    (DiscordRefusal(404, 10003, "Unknown Channel"), Rejected, "does not find this chat"),
    (DiscordRefusal(403, 50007), Rejected, "direct messages"),
    (DiscordRefusal(413), Rejected, "larger"),
    (DiscordRefusal(400, 50035, "Invalid Form Body: content Too long"), Rejected, "content Too long"),
]


@pytest.mark.parametrize(("refusal", "kind", "part"), REFUSALS)
def test_a_refusal_means(refusal: DiscordRefusal, kind: type[ChannelError], part: str) -> None:
    error = told(refusal)
    assert type(error) is kind
    assert part in str(error)
