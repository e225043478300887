"""What a terminal program wrote, as plain text of a bounded length."""

import codecs
import re

from angelia.core.text import clean

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


class BothEnds:
    """The two ends of a text of any length that comes in pieces, at most about `most` characters, and its numbers."""

    def __init__(self, most: int = SHOWN) -> None:
        self._most = most
        self._head, self._tail = "", ""
        self.characters = self.lines = 0

    def feed(self, text: str) -> None:
        """Some more of it."""
        self.characters += len(text)
        self.lines += text.count("\n")
        if len(self._head) < self._most + 1:
            self._head += text[: self._most + 1 - len(self._head)]
        self._tail = (self._tail + text[-self._most :])[-self._most :]

    def shown(self, pointer: str = "", way: str = "shows the whole") -> str:
        """Cut at line ends where there are any; says how much of how much is left out, and where it is."""
        if self.characters <= self._most:
            return self._head
        head = _cut_after(self._head[: self._most * 3 // 8])
        tail = _cut_before(self._tail[-(self._most * 5 // 8) :])
        lines = self.lines - head.count("\n") - tail.count("\n")
        of_lines = f"{lines} of {self.lines + 1} lines, " if lines else ""
        where = f"; read {pointer} {way}" if pointer else ""
        return f"{head}\n… ({of_lines}{self.characters - len(head) - len(tail)} characters left out{where}) …\n{tail}"


def head_and_tail(text: str, most: int = SHOWN, *, pointer: str = "") -> str:
    """At most about `most` characters, cut at line ends where there are any; says what is left out and where it is."""
    ends = BothEnds(most)
    ends.feed(text)
    return ends.shown(pointer)


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


class Unseen:
    """What was written since the last look, in bounded memory: both ends are kept, and what lies between is counted."""

    def __init__(self, kept: int = SHOWN) -> None:
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
        """It as plain text, invalid UTF-8 as U+FFFD; bytes that were let go are counted where they stood."""
        if not self._let_go:
            return plain((self._head + self._tail).decode("utf-8", "replace"))
        gap = f"\n… ({self._let_go} bytes are left out here; the whole output is kept until its end) …\n"
        return plain(self._head.decode("utf-8", "replace")) + gap + plain(self._tail.decode("utf-8", "replace"))
