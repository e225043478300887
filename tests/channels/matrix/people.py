"""What people do on the fake homeserver, with the clients that they have."""

from typing import Any

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.testing.channels.network import PLACE, Thing, Who
from tests.channels.matrix import world as w
from tests.channels.matrix.methods import VOICE

_WHO = {Who.FRIEND: w.FRIEND, Who.BOT: w.BOT, Who.OURSELVES: w.US}

_TYPES = {
    IncomingKind.PHOTO: "m.image",
    IncomingKind.VOICE: "m.audio",
    IncomingKind.AUDIO: "m.audio",
    IncomingKind.VIDEO: "m.video",
    IncomingKind.DOCUMENT: "m.file",
}


def happen(world: w.World, thing: Thing) -> str:
    """Let it happen; the message that it is, or is about."""
    room, who = thing.where.chat, _WHO[thing.who]
    match thing.heard:
        case IncomingKind.DELETION:
            world.redact(room, who, thing.about)
        case IncomingKind.REACTION:
            relation = {"rel_type": "m.annotation", "event_id": thing.about, "key": thing.text}
            world.happen(room, who, "m.reaction", {"m.relates_to": relation})
        case IncomingKind.EDIT:
            new = {"msgtype": "m.text", "body": thing.text}
            relation = {"rel_type": "m.replace", "event_id": thing.about}
            world.say(room, who, f"* {thing.text}", **{"m.new_content": new, "m.relates_to": relation})
        case IncomingKind.STICKER:
            world_file = _file(world, thing)
            return world.happen(room, who, "m.sticker", {"body": "a sticker"} | world_file)
        case _:
            return world.happen(room, who, "m.room.message", _content(world, thing) | _related(world, thing))
    return thing.about


def _content(world: w.World, thing: Thing) -> dict[str, Any]:
    called: dict[str, Any] = {"m.mentions": {"user_ids": [w.US]} if thing.to_us else {}}
    match thing.heard:
        case IncomingKind.LOCATION:
            uri = f"geo:{PLACE[0]},{PLACE[1]};u=35"
            return {"msgtype": "m.location", "body": f"Location was shared at {uri}", "geo_uri": uri}
        case IncomingKind.COMMAND:  # clients keep words with a slash to themselves
            return {"msgtype": "m.text", "body": f"!{thing.text.removeprefix('/')}"}
        case heard if heard in _TYPES:
            voice = {VOICE: {}, "org.matrix.msc1767.audio": {"duration": 1000}} if heard is IncomingKind.VOICE else {}
            named = {"filename": thing.files[0].name, "body": thing.text or thing.files[0].name}
            return {"msgtype": _TYPES[heard]} | named | _file(world, thing) | voice
        case _:
            kind = "m.notice" if thing.who is Who.BOT else "m.text"
            return {"msgtype": kind, "body": f"Angelia: {thing.text}" if thing.to_us else thing.text} | called


def _file(world: w.World, thing: Thing) -> dict[str, Any]:
    (sample,) = thing.files
    info: dict[str, Any] = {"mimetype": sample.mime, "size": len(sample.data)}
    if sample.kind is Kind.VOICE:
        info["duration"] = 1000
    return {"url": world.keep(w.Medium(sample.data, sample.mime, sample.name)), "info": info}


def _related(world: w.World, thing: Thing) -> dict[str, Any]:
    answers = {"m.in_reply_to": {"event_id": thing.answers}} if thing.answers else {}
    if not thing.where.thread:
        return {"m.relates_to": answers} if answers else {}
    # clients without threads show it as an answer to the last word there ("Fallback for unthreaded clients")
    root = thing.where.thread
    said = [one["event_id"] for one in world.stream if _thread(one) == root or one["event_id"] == root]
    falls_back = {"m.in_reply_to": {"event_id": said[-1]}, "is_falling_back": True}
    return {"m.relates_to": {"rel_type": "m.thread", "event_id": root} | (answers or falls_back)}


def _thread(event: w.Event) -> str:
    relation = event["content"].get("m.relates_to", {})
    return str(relation.get("event_id", "")) if relation.get("rel_type") == "m.thread" else ""
