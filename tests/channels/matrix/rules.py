"""What a client may ask a homeserver for, and in which form (Matrix specification, client-server API v1.11)."""

import json
from collections.abc import Mapping
from typing import Any

LARGEST_EVENT = 65_536
"""Bytes of a whole event as canonical JSON ("Size limits")."""

_BEYOND = 2**53
_HASH = "A" * 43

FILES = ("m.image", "m.audio", "m.video", "m.file")
_WORDS = ("m.text", "m.notice", "m.emote")
_SHOWN = ("body", "formatted_body", "filename")


class Wrong(Exception):
    """A refusal ("Standard error response")."""

    def __init__(self, status: int, code: str, error: str, **more: Any) -> None:
        self.status, self.told = status, {"errcode": code, "error": error} | more
        super().__init__(error)


def query(given: Mapping[str, str], known: Mapping[str, type], *needed: str) -> dict[str, Any]:
    """The parameters of a request, as what they are."""
    if missing := [name for name in needed if name not in given]:
        raise Wrong(400, "M_MISSING_PARAM", f"Missing parameters: {missing}")
    if unknown := [name for name in given if name not in known]:
        raise Wrong(400, "M_INVALID_PARAM", f"Unknown parameters: {unknown}")
    try:
        return {name: json.loads(value) if known[name] is dict else known[name](value) for name, value in given.items()}
    except ValueError as error:
        raise Wrong(400, "M_INVALID_PARAM", str(error)) from error


def whole(body: Any) -> dict[str, Any]:
    """A body of canonical JSON ("Canonical JSON"): an object whose numbers are whole."""
    try:
        found = json.loads(body)
    except ValueError as error:
        raise Wrong(400, "M_NOT_JSON", "Content not JSON.") from error
    if not isinstance(found, dict) or not _canonical(found):
        raise Wrong(400, "M_BAD_JSON", "No object of canonical JSON")
    return found


def _canonical(value: Any) -> bool:
    match value:
        case dict():
            return all(_canonical(one) for one in value.values())
        case list():
            return all(_canonical(one) for one in value)
        case bool() | str() | None:
            return True
        case int():
            return abs(value) < _BEYOND
        case _:
            return False


def fits(room: str, sender: str, kind: str, content: dict[str, Any]) -> None:
    """An event, with all that a server adds to it at worst, is not too large."""
    added = {"auth_events": [_HASH] * 10, "prev_events": [_HASH] * 20, "hashes": {"sha256": _HASH}, "depth": _BEYOND}
    about = {"room_id": room, "sender": sender, "type": kind, "origin_server_ts": _BEYOND}
    signed = {"signatures": {sender.partition(":")[2]: {"ed25519:a_AAAA": "A" * 86}}}
    event = json.dumps(added | about | signed | {"content": content}, ensure_ascii=False, separators=(",", ":"))
    if len(event.encode()) > LARGEST_EVENT:
        raise Wrong(413, "M_TOO_LARGE", "event too large")


def message(content: dict[str, Any]) -> None:
    """The content of an `m.room.message` ("Instant messaging")."""
    kind = content.get("msgtype")
    if kind not in (*_WORDS, *FILES) or not isinstance(content.get("body"), str):
        raise Wrong(400, "M_BAD_JSON", f"No message: {kind}")
    if any(not isinstance(content[name], str) for name in _SHOWN if name in content):
        raise Wrong(400, "M_BAD_JSON", f"{_SHOWN} are strings")
    if ("format" in content) != ("formatted_body" in content):
        raise Wrong(400, "M_BAD_JSON", "`format` and `formatted_body` belong together")
    if content.get("format", "org.matrix.custom.html") != "org.matrix.custom.html":
        raise Wrong(400, "M_BAD_JSON", f"No known format: {content['format']}")
    people = content.get("m.mentions", {}).get("user_ids", [])
    if not isinstance(people, list) or set(content.get("m.mentions", {})) - {"user_ids", "room"}:
        raise Wrong(400, "M_BAD_JSON", "No mentions")
    if ("url" in content) != (kind in FILES):
        raise Wrong(400, "M_BAD_JSON", "A file has a `url`, and words have none")
    _info(content.get("info", {}))


def _info(info: Any) -> None:
    kinds = {"size": int, "w": int, "h": int, "duration": int, "mimetype": str}
    for name, value in info.items():
        if name in kinds and not isinstance(value, kinds[name]):
            raise Wrong(400, "M_BAD_JSON", f"info.{name} is {value!r}")
