"""What a terminal program wrote, as plain text of a bounded length."""

import codecs
import re

from angelia.core.text import clean

KEPT = 4_000_000
"""Bytes kept of each end of an output; what lies between is counted and let go, so that memory stays bounded."""

SHOWN = 8_000
"""Characters of an output that a model is shown; the tail matters more, since errors stand there."""

WATCHED = 4_000
"""Characters of one chunk that a person is shown while a command runs."""

_ESCAPES = (
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor (ECMA-48, 5.4)
    "|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)"  # OSC, DCS, SOS, PM, APC strings up to BEL or ST
    "|\x1b[ -/]*[0-OQ-WYZ\\\\`-~]"  # other short sequences: what does not begin one of the above
)
_UNFINISHED = "(?:\x1b|\x9b)[^\x1b\x9b\n]{0,64}\\Z"
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"


def plain(text: str) -> str:
    r"""Text without escape sequences and control characters; of a line that was overwritten, its last state.

    >>> plain("\x1b[32mok\x1b[0m\r\n 10 %\r 90 %\r100 %\ndone")
    'ok\n100 %\ndone'
    """
    bare = re.sub(_ESCAPES, "", text)
    if "\r" in bare or "\b" in bare:
        bare = "\n".join(_last_state(line) for line in bare.split("\n"))
    return clean(re.sub(_CONTROLS, "", bare))


def _last_state(line: str) -> str:
    if "\r" in line:
        line = next((state for state in reversed(line.split("\r")) if state), "")
    if "\b" not in line:
        return line
    kept: list[str] = []
    for character in line:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)


def head_and_tail(text: str, most: int = SHOWN, *, pointer: str = "") -> str:
    """At most about `most` characters, cut at line ends where there are any; says what is left out and where it is."""
    if len(text) <= most:
        return text
    head = _cut_after(text[: most * 3 // 8])
    tail = _cut_before(text[-(most * 5 // 8) :])
    left_out = text[len(head) : len(text) - len(tail)]
    where = f"; read {pointer} shows the whole" if pointer else ""
    lines = left_out.count("\n")
    counted = f"{lines} lines, " if lines else ""
    return f"{head}\n… ({counted}{len(left_out)} characters left out{where}) …\n{tail}"


def _cut_after(head: str) -> str:
    at = head.rfind("\n")
    return head[:at] if at > len(head) // 2 else head


def _cut_before(tail: str) -> str:
    at = tail.find("\n")
    return tail[at + 1 :] if 0 <= at < len(tail) // 2 else tail


class LiveOutput:
    """An output as a person watches it: plain text as soon as it is complete, of a flood only the latest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""

    def feed(self, chunk: bytes) -> str:
        """Some more bytes; returns what can be shown of them now, at most about 4,000 characters."""
        text = (self._pending + self._decoder.decode(chunk))[-WATCHED:]
        unfinished = re.search(_UNFINISHED, text)
        self._pending = unfinished[0] if unfinished and not re.match(_ESCAPES, unfinished[0]) else ""
        return plain(text[: len(text) - len(self._pending)])


class Output:
    """A growing output in bounded memory: both ends are kept, and what lies between is counted."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()
        self._let_go = 0

    @property
    def size(self) -> int:
        """Bytes that were written in all."""
        return len(self._head) + self._let_go + len(self._tail)

    def feed(self, chunk: bytes) -> None:
        """Take some more bytes."""
        space = max(self._kept - len(self._head), 0)
        self._head += chunk[:space]
        self._tail += chunk[space:]
        if len(self._tail) > 2 * self._kept:
            excess = len(self._tail) - self._kept
            del self._tail[:excess]
            self._let_go += excess

    def text(self) -> str:
        """The whole as plain text, invalid UTF-8 as U+FFFD; bytes that were let go are counted where they stood."""
        if not self._let_go:
            return plain((self._head + self._tail).decode("utf-8", "replace"))
        gap = f"\n… ({self._let_go} bytes of output were not kept) …\n"
        return plain(self._head.decode("utf-8", "replace")) + gap + plain(self._tail.decode("utf-8", "replace"))
