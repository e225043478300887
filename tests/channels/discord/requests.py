"""What can be asked of the fake Discord: each request is checked by the published rules, done, and answered."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from msgspec import Struct

from angelia.channels.capabilities import Kind
from angelia.channels.outgoing import Button
from angelia.testing.changes import Changes
from angelia.testing.channels.network import ArrivedMessage
from angelia.testing.model.http1 import HttpRequest
from tests.channels.discord import world as w
from tests.channels.discord.form import Part, parts_of
from tests.channels.discord.markup import shown
from tests.channels.discord.schemas import faults

VOICE, SUPPRESS = 1 << 13, 1 << 2
SETTABLE = VOICE | SUPPRESS | 1 << 12


class Refuse(Exception):
    """A request is refused, in Discord's way."""

    def __init__(self, status: int, code: int, message: str, **more: object) -> None:
        self.status, self.said = status, {"message": message, "code": code, **more}
        super().__init__(message)


class Reply(Struct, frozen=True):
    """What is answered; bytes go as they are, anything else as JSON."""

    status: int = 200
    body: object = b""


class Requests:
    """Does what is asked, in its world; what it did is told by `tell`, as events of the gateway."""

    def __init__(self, world: w.World, changes: Changes, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self.world, self._changes, self._tell = world, changes, tell
        self.arrived: list[ArrivedMessage] = []
        self.answers: list[dict[str, Any]] = []
        self.menu: list[dict[str, Any]] = []
        self.valid = True
        self.gateway = self.base = ""
        self._nonces: dict[str, str] = {}

    def reply(self, request: HttpRequest) -> Reply:
        """What is answered."""
        try:
            return self._file(request) if request.path.startswith("/cdn/") else self._api(request)
        except Refuse as refused:
            return Reply(refused.status, refused.said)

    def _file(self, request: HttpRequest) -> Reply:
        if "authorization" in request.headers:
            raise Refuse(400, 0, "the token has no business here")
        _, _, kind, number, *_ = request.path.split("/")
        number = number.removesuffix(".png")
        if kind == "stickers" and number in self.world.stickers:
            return Reply(200, self.world.stickers[number])
        if kind == "attachments" and number in self.world.files and request.query == "ex=1":
            return Reply(200, self.world.files[number].data)
        return Reply(404, b"")

    def _api(self, request: HttpRequest) -> Reply:
        if not request.headers.get("user-agent", "").startswith("DiscordBot ("):
            raise Refuse(403, 40333, "internal network error")
        path = unquote(request.path.removeprefix("/api/v10"))
        known = self.valid and request.headers.get("authorization") == f"Bot {w.TOKEN}"
        if not known and not path.startswith(("/interactions/", "/webhooks/")):
            raise Refuse(401, 0, "401: Unauthorized")
        for method, pattern, act in self._routes:
            if method == request.method and (found := re.fullmatch(pattern, path)):
                return act(self, request, *found.groups())
        raise Refuse(404, 0, "404: Not Found")

    # what can be asked

    def _gateway(self, request: HttpRequest) -> Reply:
        limit = {"total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}
        return Reply(200, {"url": self.gateway, "shards": 1, "session_start_limit": limit})

    def _me(self, request: HttpRequest) -> Reply:
        return Reply(200, w.USERS[w.US])

    def _application(self, request: HttpRequest) -> Reply:
        told = {"id": w.APPLICATION, "name": "angelia", "icon": None, "description": "", "bot_public": False}
        more = {"bot_require_code_grant": False, "verify_key": "0", "team": None, "owner": w.USERS[w.FRIEND]}
        return Reply(200, told | more)

    def _channel(self, request: HttpRequest, channel: str) -> Reply:
        self._there(channel)
        return Reply(200, w.channel(channel))

    def _commands(self, request: HttpRequest, application: str) -> Reply:
        self.menu = _checked("Commands", json.loads(request.body))
        self._changes.tell()
        return Reply(200, [one | {"id": self.world.new_id()} for one in self.menu])

    def _history(self, request: HttpRequest, channel: str) -> Reply:
        self._there(channel)
        asked = {name: values[0] for name, values in parse_qs(request.query).items()}
        if set(asked) - {"after", "limit"} or not 1 <= int(asked.get("limit", "50")) <= 100:
            raise Refuse(400, 50035, "Invalid Form Body", errors=_wrong("limit"))
        after = int(asked.get("after", "0"))
        found = [one for one in self.world.messages.values() if one["channel_id"] == channel and int(one["id"]) > after]
        page = sorted(found, key=lambda one: int(one["id"]))[: int(asked.get("limit", "50"))]
        return Reply(200, page[::-1])

    def _look(self, request: HttpRequest, channel: str, message: str) -> Reply:
        return Reply(200, self._message(channel, message))

    def _create(self, request: HttpRequest, channel: str) -> Reply:
        self._there(channel)
        parts = parts_of(request)
        said = _checked("Create Message", json.loads(parts["payload_json"].data))
        files = {name: part for name, part in parts.items() if name != "payload_json"}
        nonce = f"{said.get('nonce')}" if said.get("enforce_nonce") else ""
        if nonce and nonce in self._nonces:
            return Reply(200, self.world.messages[self._nonces[nonce]])
        message = self._written(channel, said, files)
        if nonce:
            self._nonces[nonce] = message["id"]
        self._tell("MESSAGE_CREATE", message)
        return Reply(200, message | ({"nonce": said["nonce"]} if "nonce" in said else {}))

    def _written(self, channel: str, said: dict[str, Any], files: Mapping[str, Part]) -> dict[str, Any]:
        for part in files.values():
            if len(part.data) > self.world.limit(channel):
                raise Refuse(413, 40005, "Request entity too large")
        attachments = said.get("attachments") or []
        if {f"files[{one['id']}]" for one in attachments} != set(files):
            raise Refuse(400, 50035, "Invalid Form Body", errors=_wrong("attachments"))
        content, flags = (said.get("content") or "").strip(), said.get("flags") or 0
        if not content and not files:
            raise Refuse(400, 50006, "Cannot send an empty message")
        _check_flags(flags, content, attachments, files)
        kept = [self._attached(one, files[f"files[{one['id']}]"]) for one in attachments]
        answered = str((said.get("message_reference") or {}).get("message_id", ""))
        there = answered in self.world.messages
        if answered and not there and said["message_reference"].get("fail_if_not_exists") is not False:
            raise Refuse(400, 50035, "Invalid Form Body", errors=_wrong("message_reference"))
        more: dict[str, Any] = {"attachments": kept, "flags": flags, "components": said.get("components") or []}
        if there:
            more |= {"type": 19, "message_reference": {"message_id": answered, "channel_id": channel}}
        message = self.world.write(w.US, channel, content, **more)
        self._arrive_message(message, files, attachments)
        return message

    def _attached(self, asked: dict[str, Any], part: Part) -> dict[str, Any]:
        more = {name: asked[name] for name in ("title", "duration_secs", "waveform") if name in asked}
        name = asked.get("filename") or part.filename
        return self.world.attach(part.data, name, f"{self.base}/cdn", **more)

    def _edit(self, request: HttpRequest, channel: str, message: str) -> Reply:
        said = _checked("Edit Message", json.loads(request.body))
        known = self._message(channel, message)
        if known["author"]["id"] != w.US:
            raise Refuse(403, 50005, "Cannot edit a message authored by another user")
        known |= {"content": said.get("content", known["content"]), "components": said.get("components") or []}
        known["edited_timestamp"] = w.now()
        self._arrive(ArrivedMessage("Edit Message", Kind.EDIT, channel, message, text=shown(known["content"])))
        self._tell("MESSAGE_UPDATE", known)
        return Reply(200, known)

    def _delete(self, request: HttpRequest, channel: str, message: str) -> Reply:
        self._message(channel, message)
        del self.world.messages[message]
        self._arrive(ArrivedMessage("Delete Message", Kind.DELETE, channel, message))
        self._tell("MESSAGE_DELETE", {"id": message, "channel_id": channel})
        return Reply(204)

    def _typing(self, request: HttpRequest, channel: str) -> Reply:
        self._there(channel)
        self._arrive(ArrivedMessage("Trigger Typing Indicator", Kind.TYPING, channel))
        return Reply(204)

    def _react(self, request: HttpRequest, channel: str, message: str, emoji: str) -> Reply:
        self._message(channel, message)
        if emoji.isascii():
            raise Refuse(400, 10014, "Unknown Emoji")
        self._arrive(ArrivedMessage("Create Reaction", Kind.REACTION, channel, message, text=emoji))
        return Reply(204)

    def _respond(self, request: HttpRequest, interaction: str, token: str) -> Reply:
        self.answers.append(_checked("Interaction", json.loads(request.body)) | {"id": interaction})
        self._changes.tell()
        return Reply(204)

    def _follow(self, request: HttpRequest, token: str) -> Reply:
        self.answers.append(_checked("Followup", json.loads(request.body)))
        self._changes.tell()
        return Reply(200, {})

    # what is seen of it

    def _arrive_message(self, message: dict[str, Any], files: Mapping[str, Part], asked: list[dict[str, Any]]) -> None:
        rows = message["components"]
        buttons = tuple(Button(one["label"], one["custom_id"]) for row in rows for one in row["components"])
        channel, number = message["channel_id"], message["id"]
        chat, thread = (w.GROUP, channel) if channel == w.TOPIC else (channel, "")
        text, reply_to = shown(message["content"]), message.get("message_reference", {}).get("message_id", "")
        if not files:
            said = ArrivedMessage(
                "Create Message", Kind.TEXT, chat, number, thread, text, reply_to=reply_to, buttons=buttons
            )
            self._arrive(said)
        for index, (about, one) in enumerate(zip(message["attachments"], asked, strict=True)):
            part = files[f"files[{one['id']}]"]
            kind = _kind(about["content_type"], message["flags"])
            self._arrive(
                ArrivedMessage(
                    "Create Message",
                    kind,
                    chat,
                    number,
                    thread,
                    text if index == 0 else "",
                    w.shown_name(about),
                    part.mime,
                    part.data,
                    reply_to,
                    number if len(files) > 1 else "",
                    buttons,
                )
            )

    def _arrive(self, arrived: ArrivedMessage) -> None:
        self.arrived.append(arrived)
        self._changes.tell()

    def _there(self, channel: str) -> None:
        if channel not in w.CHANNELS:
            raise Refuse(404, 10003, "Unknown Channel")

    def _message(self, channel: str, message: str) -> dict[str, Any]:
        self._there(channel)
        found = self.world.messages.get(message)
        if found is None or found["channel_id"] != channel:
            raise Refuse(404, 10008, "Unknown Message")
        return found

    _routes: tuple[tuple[str, str, Callable[..., Reply]], ...] = (
        ("GET", r"/gateway/bot", _gateway),
        ("GET", r"/users/@me", _me),
        ("GET", r"/oauth2/applications/@me", _application),
        ("GET", r"/channels/(\d+)", _channel),
        ("GET", r"/channels/(\d+)/messages", _history),
        ("GET", r"/channels/(\d+)/messages/(\d+)", _look),
        ("POST", r"/channels/(\d+)/messages", _create),
        ("PATCH", r"/channels/(\d+)/messages/(\d+)", _edit),
        ("DELETE", r"/channels/(\d+)/messages/(\d+)", _delete),
        ("POST", r"/channels/(\d+)/typing", _typing),
        ("PUT", r"/channels/(\d+)/messages/(\d+)/reactions/(.+)/@me", _react),
        ("PUT", r"/applications/(\d+)/commands", _commands),
        ("POST", r"/interactions/(\d+)/([^/]+)/callback", _respond),
        ("POST", rf"/webhooks/{w.APPLICATION}/([^/]+)", _follow),
        ("PATCH", rf"/webhooks/{w.APPLICATION}/([^/]+)/messages/@original", _follow),
    )


def _wrong(field: str) -> dict[str, object]:
    return {field: {"_errors": [{"code": "INVALID", "message": "This is not valid."}]}}


def _checked(name: str, said: Any) -> Any:
    if wrong := faults(name, said):
        raise Refuse(400, 50035, "Invalid Form Body", errors=wrong)
    return said


def _check_flags(flags: int, content: str, attachments: list[dict[str, Any]], files: Mapping[str, Part]) -> None:
    """Only some flags may be set, and a voice message is nothing but its recording ("Message Flags")."""
    if flags & ~SETTABLE:
        raise Refuse(400, 50035, "Invalid Form Body", errors=_wrong("flags"))
    if flags & VOICE:
        told = len(attachments) == 1 and {"waveform", "duration_secs"} <= set(attachments[0])
        if content or not told or next(iter(files.values())).mime not in ("audio/ogg", "audio/opus"):
            raise Refuse(400, 50035, "Invalid Form Body", errors=_wrong("attachments"))


def _kind(mime: str, flags: int) -> Kind:
    if flags & VOICE:
        return Kind.VOICE
    if mime == "image/gif":
        return Kind.ANIMATION
    return {"image": Kind.PHOTO, "audio": Kind.AUDIO, "video": Kind.VIDEO}.get(mime.partition("/")[0], Kind.DOCUMENT)
