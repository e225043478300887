"""The endpoints of the fake homeserver: strict about membership, relations and sizes."""

from collections.abc import Callable
from urllib.parse import parse_qsl, unquote

from angelia.channels.capabilities import Kind
from angelia.testing.channels.network import ArrivedMessage
from angelia.testing.model.http1 import HttpRequest
from tests.channels.matrix import rules
from tests.channels.matrix import world as w
from tests.channels.matrix.markup import shown
from tests.channels.matrix.rules import Wrong
from tests.channels.matrix.syncing import Telling, Told

_KINDS = {"m.image": Kind.PHOTO, "m.audio": Kind.AUDIO, "m.video": Kind.VIDEO, "m.file": Kind.DOCUMENT}

VOICE = "org.matrix.msc3245.voice"


class Methods:
    """Answers what does not wait. `done` has what every transaction came to, `user` is whose the token is."""

    def __init__(self, world: w.World) -> None:
        self.world, self.telling = world, Telling(world)
        self.done: dict[str, Told] = {}
        self.asked: list[str] = []
        self.user = w.US

    def call(self, request: HttpRequest) -> Told:
        """The answer to a call; `Wrong` for none."""
        given = dict(parse_qsl(request.query, keep_blank_values=True))
        match [request.method, *map(unquote, request.path.split("/")[2:])]:
            case ["GET", "client", "v3", "account", "whoami"]:
                return {"user_id": self.user, "device_id": w.DEVICE, "is_guest": False}
            case ["POST", "media", "v3", "upload"]:
                return self._upload(request, rules.query(given, {"filename": str}))
            case ["POST", "client", "v3", "rooms", room, "join"]:
                return self._join(room, request)
            case ["POST", "client", "v3", "rooms", room, "leave"]:
                return self._leave(room, request)
            case ["PUT", "client", "v3", "rooms", room, "send" | "redact" | "typing" as deed, what, *rest]:
                return self._do(deed, room, [what, *rest], request)
            case ["GET", "client", "v3", "rooms", room, "messages"]:
                known = {"from": str, "to": str, "dir": str, "limit": int, "filter": dict}
                self._is_in(room)
                return self.telling.messages(room, rules.query(given, known, "dir"))
            case ["GET", "client", "v3", "rooms", room, "event", event]:
                self._is_in(room)
                return self._event(room, event, 404)
            case ["GET", "client", "v3", "rooms", room, "joined_members"]:
                self._is_in(room)
                people = self.world.people(room, "join")
                return {"joined": {who: {"display_name": w.NAMES[who], "avatar_url": None} for who in people}}
            case ["GET", "client", "v3", "rooms", room, "state", kind, *rest] if rest in ([], [""]):
                return self._state(room, kind)
            case _:
                raise Wrong(404, "M_UNRECOGNIZED", "Unrecognized request")

    def _is_in(self, room: str) -> None:
        if self.world.membership(room, len(self.world.stream)) != "join":
            raise Wrong(403, "M_FORBIDDEN", f"User {w.US} not in room {room}")

    def _event(self, room: str, event_id: str, status: int) -> w.Event:
        event = self.world.events.get(event_id)
        if event is None or event["room_id"] != room:
            raise Wrong(status, "M_NOT_FOUND" if status == 404 else "M_UNKNOWN", "Event not found.")
        return event

    def _state(self, room: str, kind: str) -> Told:
        self._is_in(room)
        told = self.world.state(room, len(self.world.stream)).get((kind, ""))
        if told is None:
            raise Wrong(404, "M_NOT_FOUND", "Event not found.")
        return dict(told["content"])

    def _join(self, room: str, request: HttpRequest) -> Told:
        rules.whole(request.body)
        if self.world.membership(room, len(self.world.stream)) not in ("invite", "join"):
            raise Wrong(403, "M_FORBIDDEN", "You are not invited to this room.")
        self.world.enter(room, w.US, "join")
        return {"room_id": room}

    def _leave(self, room: str, request: HttpRequest) -> Told:
        reason = rules.whole(request.body).get("reason", "")
        if self.world.membership(room, len(self.world.stream)) not in ("invite", "join"):
            raise Wrong(403, "M_FORBIDDEN", f"User {w.US} not in room {room}")
        self.world.enter(room, w.US, "leave", reason=reason)
        return {}

    def _upload(self, request: HttpRequest, given: Told) -> Told:
        """Synapse wants to know the length, which may be 0, and the specification a type for what has one."""
        if "content-length" not in request.headers:
            raise Wrong(400, "M_UNKNOWN", "Request must specify a Content-Length")
        if len(request.body) > self.world.largest:
            raise Wrong(413, "M_TOO_LARGE", "Upload request body is too large")
        mime = request.headers.get("content-type", "application/octet-stream")
        self.world.uploads.append(self.world.keep(w.Medium(request.body, mime, given.get("filename", ""))))
        return {"content_uri": self.world.uploads[-1]}

    # -- what people see ----------------------------------------------------------------------------------------

    def _do(self, deed: str, room: str, rest: list[str], request: HttpRequest) -> Told:
        """A transaction that is repeated under its address comes to what it came to ("Transaction identifiers")."""
        content = rules.whole(request.body)
        self._is_in(room)
        match deed, rest:
            case "typing", [w.US]:
                return self._typing(room, content)
            case ("send", [_, _]) | ("redact", [_, _]):
                if request.path not in self.done:
                    event_id = self._redact(room, rest[0]) if deed == "redact" else self._send(room, rest[0], content)
                    self.done[request.path] = {"event_id": event_id}
                return self.done[request.path]
            case _:
                raise Wrong(403, "M_FORBIDDEN", "Cannot do that for another")

    def _typing(self, room: str, content: Told) -> Told:
        if content.get("typing") is not True or not isinstance(content.get("timeout"), int):
            raise Wrong(400, "M_BAD_JSON", "`typing` and `timeout` are wanted")
        self.world.arrived.append(ArrivedMessage("m.typing", Kind.TYPING, room))
        return {}

    def _redact(self, room: str, about: str) -> str:
        """One that is gone already may be taken back again, and nobody hears of it."""
        event = self._event(room, about, 404)
        if event["sender"] != w.US:
            raise Wrong(403, "M_FORBIDDEN", "You don't have permission to redact events")
        self.world.arrived.append(ArrivedMessage("m.room.redaction", Kind.DELETE, room, about))
        return self.world.redact(room, w.US, about)

    def _send(self, room: str, kind: str, content: Told) -> str:
        rules.fits(room, w.US, kind, content)
        if self.world.encrypted(room):
            self.world.faults.append(f"{content} went into an encrypted room")
        relation = content.get("m.relates_to", {})
        self._related(room, kind, relation)
        match kind, relation.get("rel_type"):
            case "m.reaction", "m.annotation":
                arrived = self._reaction(room, relation)
            case "m.room.message", "m.replace":
                arrived = self._edit(room, content, relation["event_id"])
            case "m.room.message", "m.thread" | None:
                rules.message(content)
                arrived = self._message(room, content, relation)
            case _:
                raise Wrong(400, "M_BAD_JSON", f"No {kind} is related like {relation}")
        event_id = self.world.happen(room, w.US, kind, content, unsigned={"transaction_id": "ours", "age": 1})
        named = arrived(event_id)
        self.world.arrived.append(named)
        return event_id

    def _related(self, room: str, kind: str, relation: Told) -> None:
        """What something is about stands in the same room; threads begin with what is about nothing."""
        about = [relation["event_id"]] if "rel_type" in relation else []
        about += [relation["m.in_reply_to"]["event_id"]] if "m.in_reply_to" in relation else []
        found = [self._event(room, one, 400) for one in about]
        if relation.get("rel_type") == "m.thread":
            if found[0]["content"].get("m.relates_to", {}).get("rel_type"):
                raise Wrong(400, "M_UNKNOWN", "Cannot start threads from an event with a relation")
            if relation.get("is_falling_back") is True and "m.in_reply_to" not in relation:
                raise Wrong(400, "M_BAD_JSON", "A fallback has what it falls back to")

    def _reaction(self, room: str, relation: Told) -> Callable[[str], ArrivedMessage]:
        about, key = relation["event_id"], relation.get("key")
        if not isinstance(key, str) or not key:
            raise Wrong(400, "M_BAD_JSON", "A reaction has a key")
        ours = [one for one in self.world.stream if one["sender"] == w.US and one["type"] == "m.reaction"]
        if any(one["content"].get("m.relates_to") == relation for one in ours):
            raise Wrong(400, "M_DUPLICATE_ANNOTATION", "Can't send same reaction twice")
        return lambda event_id: ArrivedMessage("m.reaction", Kind.REACTION, room, about, text=key)

    def _edit(self, room: str, content: Told, about: str) -> Callable[[str], ArrivedMessage]:
        """Clients leave out what is no valid replacement ("Validity of replacement events")."""
        rules.message(content)
        new, old = content.get("m.new_content"), self.world.events[about]
        if not isinstance(new, dict) or "m.relates_to" in new:
            raise Wrong(400, "M_BAD_JSON", "An edit has new content, which relates to nothing")
        rules.message(new)
        if old["sender"] != w.US or old["type"] != "m.room.message" or "rel_type" in content.get("m.new_content", {}):
            raise Wrong(400, "M_UNKNOWN", "That is not ours to replace")
        if old["content"].get("m.relates_to", {}).get("rel_type") == "m.replace":
            raise Wrong(400, "M_UNKNOWN", "An edit is not edited")
        return lambda event_id: ArrivedMessage("m.replace", Kind.EDIT, room, about, text=_words(new))

    def _message(self, room: str, content: Told, relation: Told) -> Callable[[str], ArrivedMessage]:
        thread = relation["event_id"] if relation.get("rel_type") == "m.thread" else ""
        falls_back = thread and relation.get("is_falling_back", False)
        answers = "" if falls_back else relation.get("m.in_reply_to", {}).get("event_id", "")
        kind, medium = Kind.TEXT, w.Medium(b"", "")
        if content["msgtype"] in rules.FILES:
            kind, medium = self._file(content)
        text = _caption(content) if content["msgtype"] in rules.FILES else _words(content)
        name = str(content.get("filename", content["body"])) if kind is not Kind.TEXT else ""
        return lambda event_id: ArrivedMessage(
            content["msgtype"],
            kind,
            room,
            event_id,
            thread=thread,
            text=text,
            name=name,
            mime=medium.mime,
            data=medium.data,
            reply_to=answers,
        )

    def _file(self, content: Told) -> tuple[Kind, w.Medium]:
        medium, info = self.world.at(content["url"]), content.get("info", {})
        if medium is None:
            self.world.faults.append(f"nothing is at {content['url']}")
            medium = w.Medium(b"", "")
        if info.get("size", len(medium.data)) != len(medium.data) or info.get("mimetype", medium.mime) != medium.mime:
            self.world.faults.append(f"{info} is not what was uploaded")
        kind = _KINDS[content["msgtype"]]
        if VOICE in content and kind is Kind.AUDIO:
            kind = Kind.VOICE
        if kind is Kind.PHOTO and medium.mime == "image/gif":
            kind = Kind.ANIMATION
        return kind, medium


def _words(content: Told) -> str:
    return shown(content["formatted_body"]) if "formatted_body" in content else str(content["body"])


def _caption(content: Told) -> str:
    """A body is a caption where it is not the file's name ("Media captions")."""
    return _words(content) if content.get("filename", content["body"]) != content["body"] else ""
