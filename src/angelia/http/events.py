"""Server-sent events out of bytes that were cut anywhere."""

from msgspec import Struct


class ServerSentEvent(Struct, frozen=True):
    """One event; `name` is empty when the server gave none, `data` is UTF-8."""

    name: str
    data: bytes


class EventDecoder:
    """A parser of `text/event-stream` (WHATWG HTML, section 9.2.6) that does no I/O.

    An event counts when its blank line has come; what is left when the bytes end is no event.

    >>> events = EventDecoder()
    >>> events.feed(b"data: on"), events.feed(b"e" + bytes([10])), events.feed(bytes([13, 10]))
    ([], [], [ServerSentEvent(name='', data=b'one')])
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._name = ""
        self._data: list[bytes] = []
        self._after_return = False
        self._first = True

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that end within `chunk`, which may stop in the middle of a line or character."""
        if self._after_return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            self._line.append(chunk)
            return []
        lines = (b"".join(self._line) + head).split(b"\n")
        self._line = [tail]
        if self._first:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            self._first = False
        return self._ended(lines)

    def _ended(self, lines: list[bytes]) -> list[ServerSentEvent]:
        """The events that end within these lines."""
        ended: list[ServerSentEvent] = []
        for line in lines:
            if not line:
                if self._data:
                    ended.append(ServerSentEvent(self._name, b"\n".join(self._data)))
                    self._data = []
                self._name = ""
                continue
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                self._data.append(value)
            elif field == b"event":
                self._name = value.decode(errors="replace")
            elif field == b"error":  # llama.cpp's server has sent `error: {…}` lines in place of `data:`
                self._name = "error"
                self._data.append(value)
        return ended
