"""The Graph API's side of the fake WhatsApp: what it takes, and how it refuses what it does not."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from angelia.channels.whatsapp.capabilities import BODY, BUTTONS, CAPTION, ROW_TITLE, ROWS, TEXT, TITLE

Name = Annotated[str, Meta(min_length=1)]


class GraphApiError(Exception):
    """The API says no."""

    def __init__(self, status: int, code: int, details: str, minutes: int = 0) -> None:
        super().__init__(details)
        self.status = status
        self.code = code
        self.details = details
        self.minutes = minutes

    @property
    def body(self) -> bytes:
        """As the API writes it ("Error codes", Error response syntax)."""
        data = {"messaging_product": "whatsapp", "details": self.details}
        error = {"message": f"(#{self.code}) {self.details}", "type": "OAuthException", "code": self.code}
        return msgspec.json.encode({"error": {**error, "error_data": data, "fbtrace_id": "A1b2C3"}})


class _Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a request: a field that the API does not know is refused."""


class GraphText(_Strict, frozen=True):
    """`text`."""

    body: Annotated[str, Meta(min_length=1)]
    preview_url: bool = False


class GraphMedia(_Strict, frozen=True):
    """A file that was uploaded."""

    id: Name
    caption: str = ""
    filename: str = ""
    voice: bool = False


class GraphContext(_Strict, frozen=True):
    """What it answers."""

    message_id: Name


class GraphMark(_Strict, frozen=True):
    """`reaction`."""

    message_id: Name
    emoji: str


class GraphReply(_Strict, frozen=True):
    """What stands on a button, and what it brings back."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]
    title: Annotated[str, Meta(min_length=1, max_length=TITLE)]


class GraphButton(_Strict, frozen=True):
    """A reply button."""

    type: Literal["reply"]
    reply: GraphReply


class GraphRow(_Strict, frozen=True):
    """One line of a list."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    title: Annotated[str, Meta(min_length=1, max_length=ROW_TITLE)]
    description: Annotated[str, Meta(max_length=72)] = ""


class Section(_Strict, frozen=True):
    """Some lines of a list."""

    title: Annotated[str, Meta(max_length=24)]
    rows: Annotated[tuple[GraphRow, ...], Meta(min_length=1, max_length=ROWS)]


class Body(_Strict, frozen=True):
    """The words above buttons."""

    text: Annotated[str, Meta(min_length=1)]


class Buttons(_Strict, frozen=True, tag_field="type", tag="button"):
    """Reply buttons."""

    body: Body
    action: "ButtonAction"

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What stands on each, and what it brings back."""
        return [(one.reply.title, one.reply.id) for one in self.action.buttons]


class ButtonAction(_Strict, frozen=True):
    """The buttons."""

    buttons: Annotated[tuple[GraphButton, ...], Meta(min_length=1, max_length=BUTTONS)]


class Rows(_Strict, frozen=True, tag_field="type", tag="list"):
    """A list that opens."""

    body: Body
    action: "ListAction"

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What stands on each, and what it brings back."""
        return [(row.title, row.id) for section in self.action.sections for row in section.rows]


class ListAction(_Strict, frozen=True):
    """The list."""

    button: Annotated[str, Meta(min_length=1, max_length=20)]
    sections: Annotated[tuple[Section, ...], Meta(min_length=1, max_length=10)]


class Language(_Strict, frozen=True):
    """The language of a template."""

    code: Name


class Template(_Strict, frozen=True):
    """An approved template without variables."""

    name: Name
    language: Language


class Typing(_Strict, frozen=True):
    """The typing mark."""

    type: Literal["text"]


class GraphRead(_Strict, frozen=True):
    """The read mark of a message."""

    messaging_product: Literal["whatsapp"]
    status: Literal["read"]
    message_id: Name
    typing_indicator: Typing | None = None


class GraphOutgoing(_Strict, frozen=True):
    """A message, as `POST /<phone number id>/messages` takes it."""

    messaging_product: Literal["whatsapp"]
    type: Literal["text", "image", "audio", "video", "document", "reaction", "interactive", "template"]
    recipient_type: Literal["individual", "group"] = "individual"
    to: str = ""
    recipient: str = ""
    context: GraphContext | None = None
    text: GraphText | None = None
    image: GraphMedia | None = None
    audio: GraphMedia | None = None
    video: GraphMedia | None = None
    document: GraphMedia | None = None
    reaction: GraphMark | None = None
    interactive: Buttons | Rows | None = None
    template: Template | None = None

    @property
    def media(self) -> GraphMedia | None:
        """The file that it brings."""
        return self.image or self.audio or self.video or self.document


def read_message(body: bytes) -> GraphOutgoing | GraphRead:
    """A request, if it is one that the API would take.

    Raises:
        GraphApiError: it is not.
    """
    try:
        given = msgspec.json.decode(body, type=dict[str, Any])
        if "status" in given:
            return msgspec.convert(given, GraphRead)
        message = msgspec.convert(given, GraphOutgoing)
    except msgspec.MsgspecError as error:
        raise GraphApiError(400, 100, f"Invalid parameter: {error}") from error
    if bool(message.to) == bool(message.recipient):
        raise GraphApiError(400, 131008, "Required parameter is missing: either to or recipient")
    present = {name for name in _KINDS if getattr(message, name) is not None}
    if present != {message.type}:
        raise GraphApiError(400, 100, f"Unexpected key: {present} with the type {message.type}")
    _check_lengths(message)
    return message


_KINDS = ("text", "image", "audio", "video", "document", "reaction", "interactive", "template")


def _check_lengths(message: GraphOutgoing) -> None:
    if message.text and units(message.text.body) > TEXT:
        raise GraphApiError(400, 100, f"Param text['body'] must be at most {TEXT} characters long.")
    if message.media:
        _check_media(message, message.media)
    if message.interactive:
        _check_interactive(message.interactive)


def _check_media(message: GraphOutgoing, media: GraphMedia) -> None:
    if media.caption and message.type == "audio":
        raise GraphApiError(400, 100, 'Unexpected key "caption" on param "audio".')
    if units(media.caption) > CAPTION:
        raise GraphApiError(400, 100, f"Param caption must be at most {CAPTION} characters long.")
    if media.filename and message.type != "document":
        raise GraphApiError(400, 100, 'Unexpected key "filename".')
    if media.voice and message.type != "audio":
        raise GraphApiError(400, 100, 'Unexpected key "voice".')


def _check_interactive(interactive: Buttons | Rows) -> None:
    most = BODY if isinstance(interactive, Buttons) else TEXT
    titles, ids = zip(*interactive.choices, strict=True)
    if units(interactive.body.text) > most:
        raise GraphApiError(400, 131009, f"Parameter value is not valid: the body has more than {most} characters.")
    if len(titles) > ROWS or len(set(titles)) < len(titles) or len(set(ids)) < len(ids):
        raise GraphApiError(400, 131009, "Parameter value is not valid: buttons have to differ.")


def units(text: str) -> int:
    """Characters as WhatsApp may count them: UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2
