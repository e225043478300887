"""What Discord takes in requests, by its published schema (github.com/discord/discord-api-spec, `openapi.json`).

Only the names, types and limits of what a bot may send; anything else is refused, so that no wish of ours gets lost.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

ID = {"anyOf": [{"type": "string", "pattern": r"^(0|[1-9]\d{0,20})$"}, {"type": "integer", "minimum": 0}]}
FLAG = {"type": ["boolean", "null"]}


def text(most: int) -> dict[str, Any]:
    """A text of at most so many characters."""
    return {"type": ["string", "null"], "maxLength": most}


def closed(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


BUTTON = closed(
    {
        "type": {"const": 2},
        "style": {"enum": [1, 2, 3, 4]},
        "label": text(80),
        "custom_id": {"type": "string", "minLength": 1, "maxLength": 100},
        "disabled": FLAG,
    },
    "type",
    "style",
    "custom_id",
)
ROW = closed(
    {"type": {"const": 1}, "components": {"type": "array", "items": BUTTON, "minItems": 1, "maxItems": 5}},
    "type",
    "components",
)
MENTIONS = closed(
    {
        "parse": {"type": ["array", "null"], "items": {"enum": ["users", "roles", "everyone"]}, "uniqueItems": True},
        "users": {"type": ["array", "null"], "items": ID, "maxItems": 100},
        "roles": {"type": ["array", "null"], "items": ID, "maxItems": 100},
        "replied_user": FLAG,
    }
)
ATTACHMENT = closed(
    {
        "id": ID,
        "filename": text(1024),
        "description": text(1024),
        "title": text(1024),
        "duration_secs": {"type": ["number", "null"], "minimum": 0, "maximum": 2_147_483_647},
        "waveform": text(400),
        "is_remix": FLAG,
    },
    "id",
)
MESSAGE = {
    # the schema says 4000, which is for subscribers; bots have 2000 ("Create Message")
    "content": text(2000),
    "embeds": {"type": ["array", "null"], "maxItems": 10},
    "allowed_mentions": MENTIONS,
    "components": {"type": ["array", "null"], "items": ROW, "maxItems": 5},
    "flags": {"type": ["integer", "null"]},
    "attachments": {"type": ["array", "null"], "items": ATTACHMENT, "maxItems": 10},
}
REFERENCE = closed(
    {"message_id": ID, "channel_id": ID, "guild_id": ID, "fail_if_not_exists": FLAG, "type": {"const": 0}},
    "message_id",
)
COMMAND = closed(
    {
        "name": {"type": "string", "pattern": r"^[-_\w]{1,32}$"},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "type": {"const": 1},
        "contexts": {"type": "array", "items": {"enum": [0, 1, 2]}, "uniqueItems": True},
        "options": {
            "type": "array",
            "maxItems": 25,
            "items": closed(
                {
                    "type": {"enum": [3]},
                    "name": {"type": "string", "pattern": r"^[-_\w]{1,32}$"},
                    "description": {"type": "string", "minLength": 1, "maxLength": 100},
                    "required": {"type": "boolean"},
                },
                "type",
                "name",
                "description",
            ),
        },
    },
    "name",
    "description",
)

SCHEMAS: dict[str, dict[str, Any]] = {
    "Create Message": closed(
        {
            **MESSAGE,
            "nonce": {"anyOf": [text(25), {"type": "integer"}]},
            "enforce_nonce": FLAG,
            "tts": FLAG,
            "message_reference": REFERENCE,
            "sticker_ids": {"type": ["array", "null"], "items": ID, "maxItems": 3},
        }
    ),
    "Edit Message": closed(MESSAGE | {"tts": FLAG}),  # discord.py says it, and nobody minds
    "Commands": {"type": "array", "items": COMMAND, "maxItems": 100},
    "Interaction": closed(
        {
            "type": {"enum": [4, 5, 6]},
            "data": closed({**{name: MESSAGE[name] for name in ("content", "flags", "allowed_mentions")}}),
        },
        "type",
    ),
    "Followup": closed({name: MESSAGE[name] for name in ("content", "flags", "allowed_mentions")}),
    "Identify": closed(
        {
            "token": {"type": "string"},
            "intents": {"type": "integer", "minimum": 0},
            "properties": {"type": "object", "required": ["os", "browser", "device"]},
            "compress": FLAG,
            "large_threshold": {"type": "integer", "minimum": 50, "maximum": 250},
            "shard": {"type": "array"},
            "presence": {"type": "object"},
        },
        "token",
        "intents",
        "properties",
    ),
    "Resume": closed(
        {"token": {"type": "string"}, "session_id": {"type": "string"}, "seq": {"type": "integer", "minimum": 0}},
        "token",
        "session_id",
        "seq",
    ),
}


@cache
def _validator(name: str) -> Validator:
    return Draft202012Validator(SCHEMAS[name])


def faults(name: str, said: object) -> dict[str, Any]:
    """What a request breaks of its schema, as Discord tells it ("Error Messages")."""
    found: dict[str, Any] = {}
    for error in _validator(name).iter_errors(said):
        at = found
        for step in error.path:
            at = at.setdefault(str(step), {})
        at.setdefault("_errors", []).append({"code": "INVALID", "message": error.message[:200]})
    return found
