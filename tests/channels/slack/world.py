"""What there is on the fake Slack: people, chats, messages and files."""

import itertools
import time
from typing import Any

from angelia.channels.capabilities import Kind
from angelia.channels.kinds import ENDINGS, NAMED
from angelia.testing.channels.network import ArrivedMessage

TOKEN = "xoxb-1111-2222-thebotsown"
APP_TOKEN = "xapp-1-A0APP-3333-theappsown"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"

US, OUR_BOT = "U0BOT", "B0BOT"
FRIEND, OTHER_APP = "U0FRIEND", "U0OTHER"
DIRECT, GROUP = "D0DIRECT", "C0GROUP"
CHATS = (DIRECT, GROUP)

FILE = 1_000_000_000
"""Bytes of the largest file."""

NAMES = {US: "angelia", FRIEND: "ann", OTHER_APP: "beeper"}

_MIMES = {ending: mime for mime, ending in reversed(ENDINGS.items())} | {".gif": "image/gif", ".mp4": "video/mp4"}


def kind_of(name: str) -> Kind:
    """As what a file is shown: Slack goes by its name's ending."""
    return NAMED.get(_ending(name), Kind.DOCUMENT)


def _ending(name: str) -> str:
    return name[name.rfind(".") :].lower() if "." in name else ""


class World:
    """Messages by chat and `ts`, files by id."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[str, dict[str, Any]]] = {chat: {} for chat in CHATS}
        self.files: dict[str, dict[str, Any]] = {}
        self.bytes: dict[str, bytes] = {}
        self.arrived: list[ArrivedMessage] = []
        self.largest = FILE
        self._numbers = itertools.count(1)
        self._last = 0
        self.topic: str = self.write(GROUP, FRIEND, "a topic")["ts"]

    def number(self) -> str:
        """Something for an id."""
        return f"{next(self._numbers):06d}"

    def now(self) -> str:
        """A `ts` that no other message has."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def write(self, chat: str, user: str, text: str, **more: Any) -> dict[str, Any]:
        """A message; what apps write has a `bot_id`."""
        ts = self.now()
        message = {"type": "message", "user": user, "text": text, "ts": ts, "team": "T0TEAM"} | more
        if user in (US, OTHER_APP):
            message |= {"bot_id": OUR_BOT if user == US else "B0OTHER", "app_id": "A0APP"}
        if thread := message.get("thread_ts"):
            message["parent_user_id"] = self.messages[chat][thread]["user"]
        self.messages[chat][ts] = message
        return message

    def keep(self, name: str, data: bytes, base: str, mime: str = "", **more: Any) -> dict[str, Any]:
        """A file."""
        number = f"F0{self.number()}"
        url = f"{base}/files-pri/T0TEAM-{number}/download"
        mimetype = mime or _MIMES.get(_ending(name), "application/octet-stream")
        told = {"id": number, "name": name, "title": name, "mimetype": mimetype, "size": len(data), "mode": "hosted"}
        self.files[number] = told | {"url_private": url, "url_private_download": url, "shares": {}} | more
        self.bytes[number] = data
        return self.files[number]
