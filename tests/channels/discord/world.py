"""The people, servers and messages of the fake Discord, as its objects."""

import itertools
import re
import time
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from angelia.channels.discord.payloads import EPOCH

US, FRIEND, OTHER_BOT = "900100", "100100", "100200"
APPLICATION = "900200"
GUILD, GROUP, TOPIC, DIRECT = "500100", "510100", "520100", "610100"
OUR_ROLE = "530100"
TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.a-secret-that-nobody-may-see"
MiB = 1024 * 1024
LIMITS = {0: 10 * MiB, 1: 10 * MiB, 2: 50 * MiB, 3: 100 * MiB}
"""Bytes of a file by boost level."""

MIMES = {
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".ogg": "audio/ogg",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".pdf": "application/pdf",
}

USERS: dict[str, dict[str, Any]] = {
    US: {"id": US, "username": "angelia", "global_name": None, "bot": True},
    FRIEND: {"id": FRIEND, "username": "ann", "global_name": "Ann"},
    OTHER_BOT: {"id": OTHER_BOT, "username": "beep", "global_name": None, "bot": True},
}
for _user in USERS.values():
    _user |= {"discriminator": "0", "avatar": None}


class File(Struct, frozen=True):
    """An attachment's bytes and what is told of it."""

    about: dict[str, Any]
    data: bytes


class World:
    """What there is. Messages are kept as Discord's objects, without what only the gateway adds."""

    def __init__(self) -> None:
        self._count = itertools.count(1)
        self.messages: dict[str, dict[str, Any]] = {}
        self.files: dict[str, File] = {}
        self.stickers: dict[str, bytes] = {}
        self.tier = 0
        self.lowered = 0

    def new_id(self) -> str:
        """An id of this moment."""
        return str((int(time.time() * 1000) - EPOCH << 22) + next(self._count))

    def limit(self, channel: str) -> int:
        """Bytes of a file that a channel takes."""
        return self.lowered or LIMITS[self.tier if channel in (GROUP, TOPIC) else 0]

    def write(self, author: str, channel: str, content: str = "", **more: Any) -> dict[str, Any]:
        """A new message."""
        number = self.new_id()
        self.messages[number] = {
            "id": number,
            "channel_id": channel,
            "author": USERS[author],
            "content": content,
            "timestamp": now(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "type": 0,
            "flags": 0,
            "components": [],
        } | more
        return self.messages[number]

    def attach(self, data: bytes, name: str, base: str, **more: Any) -> dict[str, Any]:
        """An attachment; its name is stored as Discord stores names, and by its ending is known what it is."""
        number, stored = self.new_id(), secure(name)
        mime = MIMES.get(stored[stored.rfind(".") :].lower(), "application/octet-stream")
        url = f"{base}/attachments/{number}/{stored}?ex=1"
        about = {
            "id": number,
            "filename": stored,
            "size": len(data),
            "url": url,
            "proxy_url": url,
            "content_type": mime,
        }
        self.files[number] = File(about | more, data)
        return self.files[number].about


def member() -> dict[str, Any]:
    """Somebody in the server, without who it is."""
    return {"nick": None, "roles": [], "joined_at": now(), "deaf": False, "mute": False, "flags": 0}


def guild_of(channel: str) -> str:
    """The server of a channel, empty for direct messages."""
    return "" if channel == DIRECT else GUILD


def channel(number: str) -> dict[str, Any]:
    """A channel as Discord's object."""
    if number == DIRECT:
        return {"id": DIRECT, "type": 1, "recipients": [USERS[FRIEND]], "last_message_id": None}
    told = {"id": number, "guild_id": GUILD, "name": "talk", "position": 0, "permission_overwrites": []}
    if number == GROUP:
        return told | {"type": 0, "parent_id": None, "topic": None, "nsfw": False, "rate_limit_per_user": 0}
    return told | {
        "type": 11,
        "parent_id": GROUP,
        "owner_id": FRIEND,
        "message_count": 0,
        "member_count": 1,
        "rate_limit_per_user": 0,
        "thread_metadata": {
            "archived": False,
            "auto_archive_duration": 60,
            "archive_timestamp": now(),
            "locked": False,
        },
    }


CHANNELS = (DIRECT, GROUP, TOPIC)


def now() -> str:
    """The present as Discord writes it."""
    return datetime.now(UTC).isoformat()


def secure(name: str) -> str:
    """Discord cleanses names like Werkzeug's `secure_filename` (discord-api-docs, issue 7754)."""
    ascii_only = name.encode("ascii", "ignore").decode().replace("/", " ")
    return re.sub(r"[^A-Za-z0-9_.-]", "", "_".join(ascii_only.split())).strip("._")


def shown_name(about: dict[str, Any]) -> str:
    """What people read: the title, if there is one, before the stored name's ending."""
    stored = str(about["filename"])
    if not about.get("title"):
        return stored
    ending = stored[stored.rfind(".") :] if "." in stored else ""
    return f"{about['title']}{ending}"
