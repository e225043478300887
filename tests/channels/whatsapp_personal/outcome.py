"""What a person has on their phone of what the bridge handed over."""

from collections.abc import Mapping
from typing import Any

from angelia.channels.capabilities import Kind
from angelia.testing.channels.network import ArrivedMessage
from angelia.testing.networks.whatsapp_markup import shown

_KINDS = {"image": Kind.PHOTO, "video": Kind.VIDEO, "audio": Kind.AUDIO, "document": Kind.DOCUMENT}


def file_in(content: Mapping[str, Any]) -> tuple[Kind | None, str]:
    """The kind of file that a message holds, and the name under which its bytes were brought before."""
    return next(((kind, content[name]) for name, kind in _KINDS.items() if name in content), (None, ""))


def attributes_of(content: Mapping[str, Any]) -> dict[str, str]:
    """What has to stand on a message that changes another of ours (Baileys, `sendMessage`)."""
    if "edit" in content:
        return {"edit": "1"}
    return {"edit": "7"} if "delete" in content else {}


def outcome(asked: Mapping[str, Any], uploads: Mapping[str, bytes]) -> ArrivedMessage:
    """What arrives of one message."""
    content, chat, number = asked["content"], asked["jid"], asked["messageId"]
    if "react" in content:
        return ArrivedMessage(
            "react", Kind.REACTION, chat, content["react"]["key"]["id"], text=content["react"]["text"]
        )
    if "delete" in content:
        return ArrivedMessage("delete", Kind.DELETE, chat, content["delete"]["id"])
    if "edit" in content:
        return ArrivedMessage("edit", Kind.EDIT, chat, content["edit"]["id"], text=shown(content["text"]))
    kind, name = file_in(content)
    if kind is None:
        return ArrivedMessage("text", Kind.TEXT, chat, number, text=shown(content["text"]), reply_to=asked["quoted"])
    kind = Kind.VOICE if content.get("ptt") else Kind.ANIMATION if content.get("gifPlayback") else kind
    return ArrivedMessage(
        str(kind),
        kind,
        chat,
        number,
        text=shown(content.get("caption", "")),
        name=content.get("fileName", ""),
        mime=content["mimetype"],
        data=uploads[name],
        reply_to=asked["quoted"],
    )
