"""What goes out, as the contents of events ("m.room.message", "Event replacements", "Threading")."""

from itertools import pairwise

from angelia.channels.capabilities import Kind
from angelia.channels.failures import Rejected
from angelia.channels.matrix.capabilities import TEXT
from angelia.channels.matrix.payloads import AUDIO, MESSAGE_TYPES, VOICE, Body
from angelia.channels.outgoing import OutFile, OutText

_POINTS = 100
"""Of a waveform: what clients draw."""


def words(text: OutText) -> Body:
    """Words, by which nobody is called.

    Raises:
        Rejected: they are too long; nothing has left.
    """
    if (size := len((text.marked or text.plain).encode())) > TEXT:
        raise Rejected(f"The text has {size:,} bytes, and {TEXT:,} are taken at most.")
    marked = {"format": "org.matrix.custom.html", "formatted_body": text.marked} if text.marked else {}
    # without mentions, servers look for names among the words ("User and room mentions")
    return {"msgtype": "m.text", "body": text.plain, "m.mentions": {}, **marked}


def file_content(file: OutFile, url: str) -> Body:
    """A file whose bytes are at the homeserver by now, and the words beneath it.

    Raises:
        Rejected: the words are too long.
    """
    length: Body = {"duration": int(file.seconds * 1000)} if file.seconds else {}
    size: Body = {"w": file.width, "h": file.height} if file.width else {}
    voice: Body = {VOICE: {}, AUDIO: length | waveform(file.peaks)} if file.kind is Kind.VOICE else {}
    return words(file.caption or OutText(file.name)) | {
        "msgtype": MESSAGE_TYPES[file.kind],
        "filename": file.name,
        "url": url,
        "info": {"mimetype": file.mime, "size": file.size} | length | size,
        **voice,
    }


def waveform(peaks: bytes) -> Body:
    """How the loudness goes, in at most 100 numbers from 0 to 1,024 (MSC1767 with MSC3246); nothing if unknown.

    >>> waveform(bytes([0, 255]))
    {'waveform': [0, 1024]}
    """
    count = min(len(peaks), _POINTS)
    edges = [len(peaks) * index // count for index in range(count + 1)] if count else []
    points = [max(peaks[start:end]) * 1024 // 255 for start, end in pairwise(edges)]
    return {"waveform": points} if points else {}


def replacement(message: str, text: OutText) -> Body:
    """New words for a message; clients that know no edits show `body`, with a star."""
    return {
        "msgtype": "m.text",
        "body": f"* {text.plain}",
        "m.mentions": {},
        "m.new_content": words(text),
        "m.relates_to": {"rel_type": "m.replace", "event_id": message},
    }


def placed(thread: str, reply_to: str) -> Body:
    """Where in a room something stands: in a thread, as an answer, both, or neither."""
    answers: Body = {"m.in_reply_to": {"event_id": reply_to or thread}}
    if thread:
        within_thread = {"rel_type": "m.thread", "event_id": thread, "is_falling_back": not reply_to}
        return {"m.relates_to": within_thread | answers}
    return {"m.relates_to": answers} if reply_to else {}
