"""A random log that is being written: its tape of choices, the entries so far, and what people and models say."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from angelia.core import entry as e
from angelia.core.content import Content, ProviderBlock, Text, Thinking
from angelia.testing.logs.playbook import document, photo, voice

T = TypeVar("T")

WORDS = ("yes", "", " two words", "naïve 🐎\n", 'a "quote" and \\ more', "語" * 40, "x" * 3000)


class RandomLog:
    """Entries, and a tape of bytes from which every choice is read."""

    def __init__(self, tape: bytes) -> None:
        self.entries: list[e.Entry] = []
        self._tape, self._at = tape, 0

    def choose(self, options: int) -> int:
        """A number below `options`; 0, the plainest, when the tape has run out."""
        self._at += 1
        return self._tape[self._at - 1] % options if self._at <= len(self._tape) else 0

    def some(self, of: Sequence[T]) -> list[T]:
        """Some of these."""
        return [one for one in of if self.choose(2)]

    def add(self, *facts: e.AnyFact) -> int:
        """Append; returns the last number."""
        for fact in facts:
            seq = len(self.entries) + 1
            self.entries.append(e.Entry(seq, 1_000 + 500 * seq, fact))
        return len(self.entries)

    def words(self) -> tuple[Text, ...]:
        """A text."""
        text = WORDS[self.choose(len(WORDS))]
        return (Text(text),) if text else (Text("ok"),)

    def thinking(self) -> Thinking:
        """Signed thinking."""
        raw = b'{"type":"thinking", "thinking":"hm", "signature":"s%d"}' % len(self.entries)
        return Thinking("hm", ProviderBlock("scripted", msgspec.Raw(raw)))

    def content(self) -> tuple[Content, ...]:
        """What a person or a tool says: words, sometimes with media."""
        makers: list[Callable[[], Content]] = [photo, document, voice]
        extra = tuple(make() for make in makers if self.choose(5) == 1)
        return (*self.words(), *extra)
