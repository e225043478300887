"""One message of ours as one call of the Bot API."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import assert_never

from msgspec import Struct

from angelia.channels.capabilities import Capabilities, Kind, NativeMethod
from angelia.channels.failures import Rejected
from angelia.channels.kinds import refuse_too_large
from angelia.channels.multipart import UploadField
from angelia.channels.outgoing import Button, OutAlbum, OutFile, Outgoing, OutText
from angelia.core.entry import Address

_FIELDS = {
    Kind.PHOTO: "photo",
    Kind.ANIMATION: "animation",
    Kind.VOICE: "voice",
    Kind.AUDIO: "audio",
    Kind.VIDEO: "video",
    Kind.DOCUMENT: "document",
}

_MEASURED = (Kind.VIDEO, Kind.ANIMATION)
_TIMED = (Kind.VIDEO, Kind.ANIMATION, Kind.VOICE, Kind.AUDIO)

_UNREADABLE = dict.fromkeys([*range(32), 127, ord(";"), ord('"')], "_")

_SHORT = 14
"""Characters of a button's label that leave space for others beside it."""


class TelegramCall(Struct, frozen=True):
    """A method with its parameters."""

    method: str
    fields: Mapping[str, object]
    uploads: Sequence[UploadField] = ()


def call_for(to: Address, outgoing: Outgoing, capabilities: Capabilities) -> TelegramCall:
    """The call that sends one message.

    Raises:
        Rejected: a file is over the limit; no byte has left.
    """
    place = _place(to, outgoing.reply_to)
    match outgoing:
        case OutText():
            return TelegramCall("sendMessage", {**place, **words(outgoing, "text"), **keyboard(outgoing.buttons)})
        case OutFile():
            return _file(place, outgoing, _way(outgoing, capabilities))
        case _:
            assert_never(outgoing)


def album_for(to: Address, album: OutAlbum, capabilities: Capabilities) -> TelegramCall:
    """The call that sends several files together ("sendMediaGroup": 2 to 10, documents only with documents).

    Raises:
        Rejected: a file is over the limit; no byte has left.
    """
    for one in album.files:
        _way(one, capabilities)
    media = [
        {"type": _FIELDS[one.kind], "media": f"attach://{n}", **_about(one), **_as_it_is(one)}
        for n, one in enumerate(album.files)
    ]
    uploads = [_upload(str(n), one) for n, one in enumerate(album.files)]
    return TelegramCall("sendMediaGroup", {**_place(to, album.reply_to), "media": media}, uploads)


def draft_for(to: Address, text: OutText, key: str) -> TelegramCall:
    """The call that shows a draft ("sendMessageDraft": the same number changes a draft, another one begins anew)."""
    place = {"chat_id": to.chat, "message_thread_id": to.thread}
    said = {name: value for name, value in words(text, "text").items() if name != "link_preview_options"}
    return TelegramCall("sendMessageDraft", {**place, "draft_id": draft_number(key), **said})


def draft_number(key: str) -> int:
    """A draft's number, from 1 on and within 32 bits with a sign: every life calls the same draft the same.

    >>> draft_number("c.t1.preview"), draft_number("c.t2.preview")
    (2146784620, 448010649)
    """
    return int.from_bytes(sha256(key.encode()).digest()[:8]) % (2**31 - 1) + 1


def words(text: OutText, field: str) -> dict[str, object]:
    """Words as the parameters of a text or a caption.

    A link shows no preview: Telegram would fetch it, and a reply could leak by being shown.
    """
    said: dict[str, object] = {field: text.marked or text.plain}
    if text.marked:
        said["parse_mode"] = "HTML"
    if field == "text":
        said["link_preview_options"] = {"is_disabled": True}
    return said


def keyboard(buttons: Sequence[Button]) -> dict[str, object]:
    """Buttons beneath a message: up to four short ones beside each other, longer ones beneath each other."""
    if not buttons:
        return {}
    wide = 4 if all(len(button.label) <= _SHORT for button in buttons) else 1
    shown = [{"text": button.label, "callback_data": button.value} for button in buttons]
    return {"reply_markup": {"inline_keyboard": [shown[at : at + wide] for at in range(0, len(shown), wide)]}}


def _place(to: Address, reply_to: str) -> dict[str, object]:
    return {"chat_id": to.chat, "message_thread_id": to.thread, **_answering(reply_to)}


def _answering(message: str) -> dict[str, object]:
    """An answer goes out also if what it answers has been deleted."""
    said = {"message_id": int(message), "allow_sending_without_reply": True} if message else None
    return {"reply_parameters": said}


def _file(place: Mapping[str, object], file: OutFile, way: NativeMethod) -> TelegramCall:
    field = _FIELDS[file.kind]
    buttons = keyboard(file.caption.buttons) if file.caption else {}
    return TelegramCall(way.method, {**place, **_about(file), **_as_it_is(file), **buttons}, [_upload(field, file)])


def _as_it_is(file: OutFile) -> dict[str, object]:
    """Without it a picture that was asked to go as a file would become one again."""
    return {"disable_content_type_detection": True} if file.kind is Kind.DOCUMENT else {}


def _about(file: OutFile) -> dict[str, object]:
    """What is told about a file besides its bytes."""
    said: dict[str, object] = words(file.caption, "caption") if file.caption else {}
    if file.kind in _MEASURED and file.width and file.height:
        said |= {"width": file.width, "height": file.height}
    if file.kind in _TIMED and file.seconds:
        said["duration"] = max(round(file.seconds), 1)
    if file.kind is Kind.VIDEO:
        said["supports_streaming"] = True
    return said


def _upload(field: str, file: OutFile) -> UploadField:
    return UploadField(field, file.path, file.size, readable(file.name), file.mime)


def readable(name: str) -> str:
    """A file's name as the Bot API's server can read it: it decodes no escapes, and takes a name to end at its first
    semicolon (tdlib/td, `tdnet/td/net/HttpReader.cpp`). What it could not read becomes `_`.

    >>> readable('a "b"; c')
    'a _b__ c'
    """
    return name.translate(_UNREADABLE)


def _way(file: OutFile, capabilities: Capabilities) -> NativeMethod:
    way = capabilities.ways[file.kind]
    if not isinstance(way, NativeMethod):
        raise Rejected(f"Telegram has no {file.kind}.")
    refuse_too_large(file, capabilities, "Telegram")
    return way
