"""One message of ours as one call ("Create Message", "Edit Message")."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Sequence
from typing import assert_never

from angelia.channels.capabilities import Capabilities, Kind
from angelia.channels.discord.api import DiscordCall
from angelia.channels.discord.capabilities import TEXT
from angelia.channels.discord.voice import POINTS, measured
from angelia.channels.failures import Rejected
from angelia.channels.kinds import ENDINGS, NAMED, refuse_too_large
from angelia.channels.markup.marks import DiscordMarkdown
from angelia.channels.multipart import UploadField
from angelia.channels.outgoing import Button, OutAlbum, OutFile, Outgoing, OutText
from angelia.core.entry import Address

SUPPRESS_EMBEDS = 1 << 2
IS_VOICE_MESSAGE = 1 << 13
"""Flags ("Message Flags")."""

ROW = 5
"""Buttons beside each other ("Action Row")."""

LONGEST_NAME = 100
"""Characters of a stored name, so that no limit is met; the title has the whole."""

LABEL = 80
"""Characters of a button's label ("Button")."""

DIALECT = DiscordMarkdown()

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_ENDING = re.compile(r"(?s)(.+)\.([A-Za-z0-9]{1,10})")


def channel_of(to: Address) -> str:
    """The id of the channel that a message goes to: a thread is one of its own."""
    return to.thread or to.chat


async def call_for(to: Address, outgoing: Outgoing, key: str, capabilities: Capabilities) -> DiscordCall:
    """The call that sends one message; the same key makes the same nonce.

    Raises:
        Rejected: the text or a file is over the limit; no byte has left.
    """
    match outgoing:
        case OutText():
            said, uploads = words(outgoing) | {"components": rows(outgoing.buttons)}, list[UploadField]()
        case OutFile(kind=Kind.VOICE):
            uploads = _uploads([outgoing], capabilities)
            said = {"flags": IS_VOICE_MESSAGE, "attachments": [await _voice(outgoing)]}
        case OutFile():
            uploads = _uploads([outgoing], capabilities)
            said = _attached([outgoing])
        case _:
            assert_never(outgoing)
    return _call(to, said | _answering(outgoing.reply_to), uploads, key)


def album_for(to: Address, album: OutAlbum, key: str, capabilities: Capabilities) -> DiscordCall:
    """The call that sends several files as one message.

    Raises:
        Rejected: as `call_for`.
    """
    uploads = _uploads(album.files, capabilities)
    return _call(to, _attached(album.files) | _answering(album.reply_to), uploads, key)


def _call(to: Address, said: dict[str, object], uploads: list[UploadField], key: str) -> DiscordCall:
    said |= {"nonce": nonce(key), "enforce_nonce": True}
    return DiscordCall("POST", f"/channels/{channel_of(to)}/messages", said, uploads)


def _attached(files: Sequence[OutFile]) -> dict[str, object]:
    return _caption(files[0]) | {"attachments": [_named(n, one) for n, one in enumerate(files)]}


def _answering(message: str) -> dict[str, object]:
    """An answer goes out also if what it answers has been deleted."""
    return {"message_reference": {"message_id": message, "fail_if_not_exists": False}} if message else {}


def words(text: OutText) -> dict[str, object]:
    """Words, whatever they are: nobody is called by them, and no link in them is fetched by being shown.

    Raises:
        Rejected: they are too long.
    """
    content = text.marked or DIALECT.text(text.plain)
    if not text.marked and len(content) > TEXT:
        content = text.plain  # better with odd emphasis than not at all
    if len(content) > TEXT:
        raise Rejected(f"The text has {len(content)} characters, and a Discord message at most {TEXT}.")
    return {
        "content": content,
        "flags": SUPPRESS_EMBEDS,
        "allowed_mentions": {"parse": [], "replied_user": True},
    }


def rows(buttons: Sequence[Button]) -> list[object]:
    """Buttons, five beside each other."""
    shown = [{"type": 2, "style": 2, "label": one.label[:LABEL], "custom_id": one.value} for one in buttons]
    return [{"type": 1, "components": shown[at : at + ROW]} for at in range(0, len(shown), ROW)]


def nonce(key: str) -> str:
    """25 characters for a key of any length ("Create Message": `nonce`)."""
    return base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()).decode()[:25]


def safe_name(name: str) -> tuple[str, str]:
    """A file's name as Discord stores it, and its title, which people see before the ending; empty if that is not
    needed. Discord leaves ASCII letters, digits, `_`, `-` and `.` in names, and none of the latter at their edges.

    >>> safe_name("report.pdf"), safe_name("Größe 1.pdf")
    (('report.pdf', ''), ('Gr_e_1.pdf', 'Größe 1'))
    """
    split = _ENDING.fullmatch(name)
    title, ending = (split[1], f".{split[2]}") if split else (name, "")
    if not _UNSAFE.search(name) and name.strip("._-") == name and len(name) <= LONGEST_NAME:
        return name, ""
    safe = _UNSAFE.sub("_", title).replace(".", "_").strip("._-")[:LONGEST_NAME].rstrip("_-")
    return (safe or "file") + ending, title


def _caption(file: OutFile) -> dict[str, object]:
    if file.caption is None:
        return {}
    return words(file.caption) | ({"components": rows(file.caption.buttons)} if file.caption.buttons else {})


def _named(number: int, file: OutFile) -> dict[str, object]:
    safe, title = safe_name(_with_ending(file))
    more: dict[str, object] = {"title": title} if title else {}
    return {"id": str(number), "filename": safe} | more


def _with_ending(file: OutFile) -> str:
    """A name that ends as its kind does: by nothing else Discord knows a picture, a film or a sound."""
    ending = file.name[file.name.rfind(".") :].lower() if "." in file.name else ""
    kind = Kind.AUDIO if file.kind is Kind.VOICE else file.kind
    fits = kind is Kind.DOCUMENT or NAMED.get(ending) is kind
    return file.name if fits else file.name + ENDINGS.get(file.mime, "")


async def _voice(file: OutFile) -> dict[str, object]:
    found = await asyncio.to_thread(measured, file.path, file.seconds)
    waveform = base64.b64encode(file.peaks[:POINTS]).decode() if file.peaks else found.waveform
    return _named(0, file) | {"duration_secs": max(found.seconds, 0.1), "waveform": waveform}


def _uploads(files: Sequence[OutFile], capabilities: Capabilities) -> list[UploadField]:
    for file in files:
        refuse_too_large(file, capabilities, "Discord")
    return [
        UploadField(f"files[{n}]", one.path, one.size, safe_name(_with_ending(one))[0], one.mime)
        for n, one in enumerate(files)
    ]
