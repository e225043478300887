"""What a scripted model understood of a request, whichever wire it came on, and what it complains about."""

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from angelia.testing.model.pictures import dominant_colour, true_mime


class Complaint(Exception):
    """The request's shape is illegal on this wire; a real provider answers 400."""


class MediaTrouble(Exception):
    """A picture or document that a real provider would not take: damaged, or not what it says it is."""


class ReceivedMedia(Struct, frozen=True):
    """A picture, document or recording that arrived as bytes."""

    mime: str
    data: bytes
    name: str = ""

    @property
    def sha256(self) -> str:
        """The hash of the bytes, in hex."""
        return hashlib.sha256(self.data).hexdigest()


class Picture(Struct, frozen=True):
    """A picture that arrived, decoded: `size` is bytes, `colour` the name of its dominant colour."""

    sha256: str
    mime: str
    size: int
    colour: str


class HeardCall(Struct, frozen=True):
    """A tool call of the history."""

    id: str
    name: str
    arguments: str


class HeardResult(Struct, frozen=True):
    """A tool result of the history."""

    id: str
    text: str


class ReceivedMessage(Struct, frozen=True):
    """One message of the history: `role` is user, assistant or tool."""

    role: str
    text: str = ""
    thinking: str = ""
    calls: tuple[HeardCall, ...] = ()
    results: tuple[HeardResult, ...] = ()
    media: tuple[ReceivedMedia, ...] = ()


class ReceivedRequestBody(Struct, frozen=True):
    """A whole request: what it asks of which model, with which tools, and the history."""

    model: str
    system: str
    messages: tuple[ReceivedMessage, ...]
    tools: tuple[str, ...]
    stream: bool
    max_output: int = 0
    usage_wanted: bool = True

    @property
    def media(self) -> tuple[ReceivedMedia, ...]:
        """Everything attached, oldest first."""
        return tuple(one for message in self.messages for one in message.media)

    @property
    def images(self) -> tuple[Picture, ...]:
        """Every picture, decoded, oldest first."""
        return tuple(
            Picture(one.sha256, one.mime, len(one.data), dominant_colour(one.data))
            for one in self.media
            if one.mime.startswith("image/")
        )

    @property
    def documents(self) -> tuple[ReceivedMedia, ...]:
        """Every attachment that is no picture, oldest first."""
        return tuple(one for one in self.media if not one.mime.startswith("image/"))

    @property
    def last_words(self) -> str:
        """The text of the newest message by a person."""
        return next((said.text for said in reversed(self.messages) if said.role == "user" and said.text), "")

    @property
    def replies(self) -> int:
        """How many replies of the model the history holds."""
        return sum(said.role == "assistant" for said in self.messages)


class ReceivedRequest(Struct, frozen=True):
    """One request as it came over the wire: `number` and `connection` count from 1, header names are lower case."""

    number: int
    connection: int
    wire: str
    headers: Mapping[str, str]
    raw: bytes
    body: dict[str, Any]
    heard: ReceivedRequestBody

    @property
    def images(self) -> tuple[Picture, ...]:
        """Every picture that arrived, decoded, oldest first."""
        return self.heard.images

    @property
    def documents(self) -> tuple[ReceivedMedia, ...]:
        """Everything else that was attached, oldest first."""
        return self.heard.documents


def opened(mime: str, encoded: object, *, name: str = "") -> ReceivedMedia:
    """Base64 from a request, decoded and looked at.

    Raises:
        MediaTrouble: not base64, empty, or bytes that are not what `mime` says.
    """
    try:
        data = base64.b64decode(str(encoded), validate=True)
    except binascii.Error as error:
        raise MediaTrouble(f"invalid base64 data: {error}") from error
    found = true_mime(data)
    if (mime.startswith("image/") or mime == "application/pdf") and found != mime:
        raise MediaTrouble(f"the data does not match the provided media type {mime}; it is {found or 'unknown'}")
    return ReceivedMedia(mime, data, name)


def from_data_url(url: object, *, name: str = "") -> ReceivedMedia:
    """A `data:` URL, decoded.

    Raises:
        Complaint: another kind of URL; the scripted model fetches nothing.
        MediaTrouble: see `opened`.
    """
    head, comma, encoded = str(url).partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise Complaint(f"expected a base64 data: URL, got {str(url)[:40]!r}")
    return opened(head.removeprefix("data:").removesuffix(";base64"), encoded, name=name)


def field(value: Any, key: str, kind: type, where: str) -> Any:
    """`value[key]`, of this kind.

    Raises:
        Complaint: it is missing, or something else.
    """
    if not isinstance(value, dict):
        raise Complaint(f"{where}: expected an object, got {type(value).__name__}")
    found = value.get(key)
    if not isinstance(found, kind):
        raise Complaint(f"{where}.{key}: expected {kind.__name__}, got {type(found).__name__}")
    return found


def check_pairs(messages: Sequence[ReceivedMessage]) -> None:
    """Every call has its one result before anybody else speaks; every result has its call.

    Raises:
        Complaint: names the call.
    """
    waiting: set[str] = set()
    for number, said in enumerate(messages):
        for result in said.results:
            if result.id not in waiting:
                raise Complaint(f"messages.{number}: the result {result.id!r} has no tool call before it")
            waiting.discard(result.id)
        if waiting and said.role != "tool":
            raise Complaint(f"messages.{number}: the tool calls {sorted(waiting)} have no result")
        ids = [call.id for call in said.calls]
        if len(set(ids)) < len(ids):
            raise Complaint(f"messages.{number}: tool call ids must be unique, got {ids}")
        waiting.update(ids)
    if waiting:
        raise Complaint(f"the tool calls {sorted(waiting)} have no result")


def estimated_tokens(raw: bytes, heard: ReceivedRequestBody) -> int:
    """About how many tokens a request is: four bytes each, a thousand for everything attached."""
    encoded = sum((len(one.data) + 2) // 3 * 4 for one in heard.media)
    return max(len(raw) - encoded, 0) // 4 + 1000 * len(heard.media)
