"""What goes out through the bridge, and what its refusals mean."""

import base64
import hashlib
from itertools import pairwise
from math import ceil
from typing import Any, assert_never

from angelia.channels.capabilities import Capabilities, Kind, NativeMethod
from angelia.channels.failures import ChannelError, Later, LoginFailed, MessageGone, NotSent, Rejected, Unsure
from angelia.channels.kinds import refuse_too_large
from angelia.channels.markup.dialect import Dialect
from angelia.channels.outgoing import OutFile, Outgoing, OutText
from angelia.channels.whatsapp.bridge.process import BridgeFailed
from angelia.channels.whatsapp.send import words

FLOOD = 60.0
"""Seconds to wait where WhatsApp does not say how long."""

POINTS = 64
"""Of a waveform."""


def content_of(outgoing: Outgoing, capabilities: Capabilities, dialect: Dialect) -> dict[str, Any]:
    """One message, as the bridge takes it.

    Raises:
        Rejected: WhatsApp does not take this.
    """
    match outgoing:
        case OutText():
            said, most = words(outgoing, dialect), capabilities.text_limit
            if len(said.encode("utf-16-le")) // 2 > most:
                raise Rejected(f"The text is too long: WhatsApp takes {most} characters.")
            return {"kind": "text", "text": said}
        case OutFile():
            return _file(outgoing, capabilities, dialect)
        case _:
            assert_never(outgoing)


def _file(file: OutFile, capabilities: Capabilities, dialect: Dialect) -> dict[str, Any]:
    way = capabilities.ways[file.kind]
    if not isinstance(way, NativeMethod) or file.size == 0:
        raise Rejected(f"{file.name} is empty, or nothing that WhatsApp takes.")
    refuse_too_large(file, capabilities, "WhatsApp")
    caption = words(file.caption, dialect) if file.caption else ""
    about = {"mime": file.mime, "name": file.name, "seconds": file.seconds, "caption": caption}
    drawn = {"waveform": waveform(file.peaks)} if file.kind is Kind.VOICE and file.peaks else {}
    return {"kind": file.kind, "path": str(file.path), **about, **drawn}


def waveform(peaks: bytes) -> str:
    """How the loudness goes, as apps draw it: 64 bytes from 0 to 100, the loudest of them 100 (Baileys,
    `getAudioWaveform`), in base64.

    >>> list(base64.b64decode(waveform(bytes([0, 50, 25]))))[::20]
    [0, 0, 100, 50]
    """
    loudest = max(max(peaks), 1)
    edges = [len(peaks) * point / POINTS for point in range(POINTS + 1)]
    points = (max(peaks[int(start) : max(ceil(end), int(start) + 1)]) for start, end in pairwise(edges))
    return base64.b64encode(bytes(point * 100 // loudest for point in points)).decode()


def number_of(key: str) -> str:
    """A message's id, as linked devices make theirs: the same for the same key.

    >>> number_of("a")
    '3EB0CA978112CA1BBDCAFA'
    """
    return f"3EB0{hashlib.sha256(key.encode()).hexdigest()[:18].upper()}"


def jid(chat: str) -> str:
    """A chat as WhatsApp names it: people may be named by their number alone.

    >>> jid("4366012345678"), jid("120363043211234567@g.us")
    ('4366012345678@s.whatsapp.net', '120363043211234567@g.us')
    """
    return chat if "@" in chat else f"{chat}@s.whatsapp.net"


def told(failed: BridgeFailed, door: str) -> ChannelError:
    """What to do about a refusal."""
    match failed.kind:
        case "later":
            seconds = float(failed.why.partition(" ")[2] or FLOOD)
            return Later(seconds, f"WhatsApp asks for patience. It goes on in {seconds:g} s.")
        case "nothing":
            return NotSent(f"WhatsApp did not take it: {failed.why}.", then="It is tried again.")
        case "gone":
            return MessageGone(f"The message cannot be changed: {failed.why}.")
        case "refused":
            return Rejected(f"WhatsApp does not take it: {failed.why}.")
        case "login":
            return not_linked(door, "WhatsApp does not know this device any more")
        case _:
            return Unsure(f"WhatsApp did not say whether it took it: {failed.why}.")


def not_linked(door: str, why: str) -> LoginFailed:
    """No phone answers for this device."""
    told = f"{why[0].upper()}{why[1:]}."
    return LoginFailed("This number is not linked.", told, f"Link it: angelia channels link {door}")
