"""What there is on the fake homeserver: people, rooms, all that ever happened in them, and media."""

import base64
import itertools
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from angelia.testing.channels.network import ArrivedMessage

SERVER = "fake.test"
TOKEN = "syt_YW5nZWxpYQ_theonlydevice_0aB1cD"
DEVICE = "THEBOX"

US, FRIEND, THIRD, BOT = (f"@{name}:{SERVER}" for name in ("angelia", "ann", "bob", "beeper"))
NAMES = {US: "Angelia", FRIEND: "Ann", THIRD: "Bob", BOT: "Beeper"}

DIRECT, GROUP, SECRET, NOWHERE = (f"!{name}:{SERVER}" for name in ("Direct0", "Group0", "Secret0", "Nowhere0"))
MEGOLM = {"algorithm": "m.megolm.v1.aes-sha2", "rotation_period_ms": 604800000, "rotation_period_msgs": 100}

UPLOAD = 1 << 30
"""Bytes of the largest upload, while nobody lowers it."""

Event = dict[str, Any]


class Medium(Struct, frozen=True):
    """Something that was uploaded."""

    data: bytes
    mime: str
    name: str = ""


class World:
    """`stream` is everything that happened in any room, in order: where something stands is a position, from 1 on.

    Events that are brought once more stand there again. `faults` is what a server would not notice, and nobody may do;
    `untold` is state of which invitations say nothing, `purged` are rooms of which nothing is told but the newest,
    `ignored` people of whom we hear nothing.
    """

    def __init__(self) -> None:
        self.stream: list[Event] = []
        self.events: dict[str, Event] = {}
        self.media: dict[str, Medium] = {}
        self.uploads: list[str] = []
        self.arrived: list[ArrivedMessage] = []
        self.faults: list[str] = []
        self.untold: set[str] = set()
        self.purged: set[str] = set()
        self.ignored: set[str] = set()
        self.largest, self.page = UPLOAD, 100
        self._numbers = itertools.count(1)
        for room, people in ((DIRECT, (FRIEND, US)), (GROUP, (FRIEND, US, THIRD, BOT))):
            self.create(room, *people)
        self.create(SECRET, FRIEND, THIRD)
        self.happen(SECRET, FRIEND, "m.room.encryption", MEGOLM, state_key="")
        self.topic: str = self.say(GROUP, FRIEND, "a topic")

    def create(self, room: str, *people: str) -> None:
        """A room, made by the first of these, with all of them in it."""
        self.happen(room, people[0], "m.room.create", {"room_version": "10"}, state_key="")
        for person in people:
            self.enter(room, person, "join")

    def enter(self, room: str, person: str, membership: str, by: str = "", reason: str = "") -> str:
        """Somebody comes, is invited `by` another, or goes."""
        content = {"membership": membership, "displayname": NAMES[person]} | ({"reason": reason} if reason else {})
        before = self.state(room, len(self.stream)).get(("m.room.member", person))
        told = {"prev_content": before["content"]} if before else {}
        return self.happen(room, by or person, "m.room.member", content, state_key=person, unsigned=told)

    def say(self, room: str, person: str, text: str, **more: Any) -> str:
        """Words."""
        return self.happen(room, person, "m.room.message", {"msgtype": "m.text", "body": text} | more)

    def happen(self, room: str, sender: str, kind: str, content: dict[str, Any], **more: Any) -> str:
        """Anything; the event's id, with signs in it that an address has to escape (room version 3)."""
        number = next(self._numbers)
        event_id = "$" + base64.b64encode(f"{number:04d}?>~?>".encode().rjust(30, b"\xfb")).decode().rstrip("=")
        event = {"type": kind, "room_id": room, "sender": sender, "content": content, "event_id": event_id}
        self.events[event_id] = event | {"origin_server_ts": 1_700_000_000_000 + number, "unsigned": {}} | more
        self.stream.append(self.events[event_id])
        return event_id

    def redact(self, room: str, sender: str, about: str) -> str:
        """Take an event back: nothing of it stays but that it was there ("Redactions")."""
        event_id = self.happen(room, sender, "m.room.redaction", {"redacts": about}, redacts=about)
        self.events[about]["content"] = {}
        self.events[about]["unsigned"] = {"redacted_because": dict(self.events[event_id])}
        return event_id

    def keep(self, medium: Medium) -> str:
        """The address of a medium from now on."""
        media_id = f"Media{next(self._numbers):05d}"
        self.media[media_id] = medium
        return f"mxc://{SERVER}/{media_id}"

    def at(self, url: str) -> Medium | None:
        """What is there."""
        return self.media.get(url.removeprefix(f"mxc://{SERVER}/"))

    # -- looking back -------------------------------------------------------------------------------------------

    @property
    def rooms(self) -> list[str]:
        """Every room."""
        return list(dict.fromkeys(event["room_id"] for event in self.stream))

    def within(self, room: str, after: int, until: int) -> Iterator[tuple[int, Event]]:
        """What happened in a room, with its positions."""
        for position in range(after + 1, until + 1):
            if self.stream[position - 1]["room_id"] == room:
                yield position, self.stream[position - 1]

    def state(self, room: str, until: int, after: int = 0) -> dict[tuple[str, str], Event]:
        """How a room is at a position; of that, what is new `after` another one."""
        found = (event for _, event in self.within(room, after, until) if "state_key" in event)
        return {(event["type"], event["state_key"]): event for event in found}

    def people(self, room: str, *memberships: str) -> list[str]:
        """Who is in a room now, by membership."""
        state = self.state(room, len(self.stream))
        return [who for (kind, who), one in state.items() if kind == "m.room.member" and _is(one, *memberships)]

    def membership(self, room: str, until: int) -> str:
        """What we were in a room at a position; `leave` where we never were."""
        told = self.state(room, until).get(("m.room.member", US))
        return str(told["content"]["membership"]) if told else "leave"

    def encrypted(self, room: str) -> bool:
        """Whether a room is."""
        return ("m.room.encryption", "") in self.state(room, len(self.stream))

    def name_of(self, event_id: str) -> str:
        """The msgtype of a message."""
        return str(self.events[event_id]["content"].get("msgtype", ""))


def _is(event: Event, *memberships: str) -> bool:
    return event["content"]["membership"] in memberships
