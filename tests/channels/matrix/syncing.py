"""What the fake homeserver tells of its rooms: by `sync`, and page by page of what was before."""

import re
from collections.abc import Mapping
from typing import Any

from tests.channels.matrix import world as w
from tests.channels.matrix.rules import Wrong

_EVENTS = {"limit": int, "types": list, "not_types": list, "senders": list, "not_senders": list}
_ROOM_EVENTS = _EVENTS | {
    **dict.fromkeys(("lazy_load_members", "include_redundant_members", "unread_thread_notifications"), bool),
    "contains_url": bool,
    "rooms": list,
    "not_rooms": list,
}
_ROOM = dict.fromkeys(("state", "timeline", "ephemeral", "account_data"), dict) | {"include_leave": bool}
_FILTER = {"event_fields": list, "event_format": str, "presence": dict, "account_data": dict, "room": dict}

LIMIT = 10
"""Events of a timeline or page for which no limit is given."""

STRIPPED = ("m.room.create", "m.room.name", "m.room.avatar", "m.room.topic", "m.room.join_rules", "m.room.encryption")
"""What of a room's state those who are invited may see ("Stripped state")."""

Told = dict[str, Any]


def position(token: str) -> int:
    """Where a token of ours stands: `s` of a sync, `t` within a room."""
    if not (found := re.fullmatch(r"[st](\d+)_x", token)):
        raise Wrong(400, "M_INVALID_PARAM", f"Invalid stream token {token}")
    return int(found[1])


def checked_filter(told: Told) -> Told:
    """A filter in which everything is known ("Filtering")."""
    _known(told, _FILTER)
    room = told.get("room", {})
    _known(room, _ROOM | {"rooms": list, "not_rooms": list})
    for part in (told.get("presence", {}), told.get("account_data", {})):
        _known(part, _EVENTS)
    for part in ("state", "timeline", "ephemeral", "account_data"):
        _known(room.get(part, {}), _ROOM_EVENTS)
    return told


def room_filter(told: Told) -> Told:
    """The same of one room's events."""
    _known(told, _ROOM_EVENTS)
    return told


def _known(told: Told, known: Mapping[str, type]) -> None:
    for name, value in told.items():
        if name not in known or not isinstance(value, known[name]):
            raise Wrong(400, "M_BAD_JSON", f"A filter has no {name} of {value!r}")


def lets(told: Told, event: w.Event) -> bool:
    """Whether a filter lets an event through."""
    kind, sender = event["type"], event["sender"]
    if "types" in told and not any(_like(kind, one) for one in told["types"]):
        return False
    if any(_like(kind, one) for one in told.get("not_types", ())) or sender in told.get("not_senders", ()):
        return False
    return "senders" not in told or sender in told["senders"]


def _like(kind: str, pattern: str) -> bool:
    return kind.startswith(pattern[:-1]) if pattern.endswith("*") else kind == pattern


class Telling:
    """Reads the world for us."""

    def __init__(self, world: w.World) -> None:
        self.world = world

    def sync(self, since: int | None, told: Told) -> Told:
        """What is new after a position; without one, how everything is. No `rooms` when there is nothing."""
        rooms = told.get("room", {})
        found: dict[str, Told] = {"join": {}, "invite": {}, "leave": {}}
        for room in self.world.rooms:
            if "rooms" not in rooms or room in rooms["rooms"]:
                part, news = self._room(room, since, rooms)
                if news:
                    found[part][room] = news
        filled = {part: rooms_of for part, rooms_of in found.items() if rooms_of}
        counts: Told = {"device_one_time_keys_count": {"signed_curve25519": 0}, "device_unused_fallback_key_types": []}
        batch = f"s{len(self.world.stream)}_x"
        return counts | {"next_batch": batch} | ({"rooms": filled} if filled else {})

    def _room(self, room: str, since: int | None, told: Told) -> tuple[str, Told]:
        now = len(self.world.stream)
        is_now = self.world.membership(room, now)
        was = self.world.membership(room, since) if since is not None else "leave"
        if is_now == "invite":
            return "invite", self._invitation(room) if was != "invite" else {}
        if is_now == "leave" and was == "leave":
            return "leave", {}
        begin = (since or 0) if was == "join" else 0
        news = self._news(room, begin, now, told)
        if is_now == "leave":
            return "leave", news
        return "join", news and news | {"ephemeral": {"events": []}, "account_data": {"events": []}}

    def _invitation(self, room: str) -> Told:
        state = self.world.state(room, len(self.world.stream))
        stripped = set(STRIPPED) - self.world.untold
        shown = [one for (kind, who), one in state.items() if kind in stripped or who == w.US]
        inviter = state["m.room.member", w.US]["sender"]
        shown += [one for (_, who), one in state.items() if who == inviter]
        parts = ("type", "sender", "state_key", "content")
        return {"invite_state": {"events": [{part: one[part] for part in parts} for one in shown]}}

    def _news(self, room: str, begin: int, now: int, told: Told) -> Told:
        """A timeline ends with the newest; the state is what changed before it begins."""
        ours = self.world.state(room, now).get(("m.room.member", w.US), {})
        if ours and ours["content"]["membership"] == "leave":
            now = max(at for at, event in self.world.within(room, 0, now) if event is ours)
        timeline, state = told.get("timeline", {}), told.get("state", {})
        every = [(at, one) for at, one in self.world.within(room, begin, now) if self._is_told(one, timeline)]
        limit = min(timeline.get("limit", LIMIT), self.world.page)
        shown = every[-limit:] if limit else []
        start = shown[0][0] - 1 if shown else now
        changed = [one for one in self.world.state(room, start, begin).values() if lets(state, one)]
        lazy = state.get("lazy_load_members", False)
        if lazy and not begin:
            changed = [one for one in changed if one["type"] != "m.room.member" or one["state_key"] == w.US]
        if not shown and not changed:
            return {}
        batch = {"events": [_bare(one) for _, one in shown], "limited": len(every) > len(shown)}
        news = {"timeline": batch | {"prev_batch": f"t{start}_x"}, "unread_notifications": {}}
        if lazy:
            people = {one["sender"] for _, one in shown}
            known = self.world.state(room, start)
            changed += [one for (_, who), one in known.items() if who in people and one not in changed]
            news["summary"] = self._summary(room, begin, now)
        return news | {"state": {"events": [_bare(one) for one in changed]}}

    def _is_told(self, event: w.Event, told: Told) -> bool:
        return lets(told, event) and event["sender"] not in self.world.ignored

    def _summary(self, room: str, begin: int, now: int) -> Told:
        """Only told when it is another one ("RoomSummary")."""
        if begin and not any(kind == "m.room.member" for kind, _ in self.world.state(room, now, begin)):
            return {}
        joined, invited = self.world.people(room, "join"), self.world.people(room, "invite")
        counts = {"m.joined_member_count": len(joined), "m.invited_member_count": len(invited)}
        return counts | {"m.heroes": [who for who in joined + invited if who != w.US][:5]}

    def messages(self, room: str, given: Told) -> Told:
        """One page back in time: a filter is laid over so many events, and may leave none of them."""
        told = room_filter(given.get("filter", {}))
        if given["dir"] != "b":
            raise Wrong(400, "M_INVALID_PARAM", "This fake only looks back")
        begin = position(given["from"]) if "from" in given else len(self.world.stream)
        end = position(given["to"]) if "to" in given else 0
        limit = min(given.get("limit", LIMIT), self.world.page)
        if room in self.world.purged:
            raise Wrong(400, "M_UNKNOWN", "The history was purged")
        looked = list(self.world.within(room, end, begin))[::-1][:limit]
        answer: Told = {"start": f"t{begin}_x", "chunk": [dict(one) for _, one in looked if self._is_told(one, told)]}
        # as servers do, also where what remains is before `to`; the next page is empty then, and the last one
        more = looked and any(True for _ in self.world.within(room, 0, looked[-1][0] - 1))
        return answer | ({"end": f"t{looked[-1][0] - 1}_x"} if more else {})


def _bare(event: w.Event) -> w.Event:
    """As it stands in a sync: the room is known."""
    return {name: value for name, value in event.items() if name != "room_id"}
