"""What goes out, as bodies of the Graph API's `messages`."""

from collections.abc import Mapping
from typing import Any, assert_never

from angelia.channels.capabilities import Capabilities, Kind, NativeMethod
from angelia.channels.failures import Rejected
from angelia.channels.kinds import refuse_too_large
from angelia.channels.markup.dialect import Dialect
from angelia.channels.outgoing import Button, OutFile, Outgoing, OutText
from angelia.channels.whatsapp.capabilities import BODY, BUTTONS, ROW_TITLE, TEXT, TITLE, UPLOADED, WORDS
from angelia.core.entry import Address

Body = dict[str, Any]

_MEDIA = {
    Kind.PHOTO: "image",
    Kind.VOICE: "audio",
    Kind.AUDIO: "audio",
    Kind.VIDEO: "video",
    Kind.DOCUMENT: "document",
}

_CHOOSE = "Choose"
"""What stands on the button that opens a list; at most 20 characters."""


def envelope(to: Address, reply_to: str = "") -> Body:
    """Who gets it: a number, somebody who hides theirs behind a name, or a group."""
    chat = to.chat
    whom: Body = {"to": chat}
    if is_group(chat):
        whom["recipient_type"] = "group"
    else:
        whom = {"recipient" if "." in chat else "to": chat, "recipient_type": "individual"}
    context = {"context": {"message_id": reply_to}} if reply_to else {}
    return {"messaging_product": "whatsapp", **whom, **context}


def is_group(chat: str) -> bool:
    """Whether it is a group's id, and not a person's: a number, or two letters, a dot and more ("User IDs")."""
    return not chat.isdigit() and chat[2:3] != "."


def words(text: OutText, dialect: Dialect) -> str:
    """The text as it is sent; plain words are kept from being read as markup."""
    return text.marked or dialect.text(text.plain)


def text_body(text: OutText, dialect: Dialect, most: int) -> Body:
    """A message of words, with what may be pressed beneath it.

    Raises:
        Rejected: it is too long.
    """
    said = words(text, dialect)
    if _length(said) > min(most, TEXT):
        raise Rejected(f"The text has {_length(said)} characters, and WhatsApp takes at most {min(most, TEXT)}.")
    if not text.buttons:
        return {"type": "text", "text": {"body": said, "preview_url": False}}
    return {"type": "interactive", "interactive": _interactive(said, text.buttons)}


def file_body(file: OutFile, media: str, dialect: Dialect) -> Body:
    """A message of a file that was uploaded as `media`."""
    kind = _MEDIA[file.kind]
    told: Body = {"id": media}
    if file.kind is Kind.VOICE:
        told["voice"] = True
    if file.kind is Kind.DOCUMENT:
        told["filename"] = file.name
    if file.caption and (caption := words(file.caption, dialect)):
        told["caption"] = caption
    return {"type": kind, kind: told}


def checked(outgoing: Outgoing, capabilities: Capabilities) -> OutText | OutFile:
    """One message that WhatsApp may take, as far as its table tells.

    Raises:
        Rejected: it does not take this.
    """
    match outgoing:
        case OutText():
            return outgoing
        case OutFile(kind=kind, size=size):
            way = capabilities.ways[kind]
            if not isinstance(way, NativeMethod) or kind not in _MEDIA:
                raise Rejected(f"WhatsApp has no {kind}.")
            if size == 0:
                raise Rejected(f"{outgoing.name} is empty, and WhatsApp takes no empty files.")
            refuse_too_large(outgoing, capabilities, "WhatsApp")
            return outgoing
        case _:
            assert_never(outgoing)


def mime_of(file: OutFile) -> str:
    """The type under which a file is uploaded: plain text has only one there."""
    mime = file.mime.partition(";")[0].strip()
    return mime if mime in UPLOADED or mime not in WORDS else WORDS[0]


def template_body(name: str, language: str) -> Body:
    """An approved template without variables."""
    return {"type": "template", "template": {"name": name, "language": {"code": language}}}


def _interactive(said: str, buttons: tuple[Button, ...]) -> Mapping[str, Any]:
    """Reply buttons where they fit, else a list that opens."""
    if len(buttons) <= BUTTONS and _length(said) <= BODY:
        titles = _titles(buttons, TITLE)
        replies = [{"type": "reply", "reply": {"id": one.value, "title": titles[at]}} for at, one in enumerate(buttons)]
        return {"type": "button", "body": {"text": said}, "action": {"buttons": replies}}
    titles = _titles(buttons, ROW_TITLE)
    rows = [_row(one, titles[at]) for at, one in enumerate(buttons)]
    action = {"button": _CHOOSE, "sections": [{"title": _CHOOSE, "rows": rows}]}
    return {"type": "list", "body": {"text": said}, "action": action}


def _row(button: Button, title: str) -> Body:
    more = {"description": button.label[:72]} if title != button.label else {}
    return {"id": button.value, "title": title, **more}


def _titles(buttons: tuple[Button, ...], most: int) -> list[str]:
    """Labels that fit and differ, which WhatsApp demands: long ones are cut, equal ones get their number.

    >>> _titles((Button("Yes", "y"), Button("Yes, for this conversation", "c")), 20)
    ['Yes', 'Yes, for this conve…']
    """
    titles: list[str] = []
    for number, button in enumerate(buttons, 1):
        label = button.label if len(button.label) <= most else f"{button.label[: most - 1]}…"
        titles.append(label if label not in titles else f"{number}. {label}"[:most])
    return titles


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
