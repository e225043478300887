"""A reply while it is written: which of its blocks are final, and what of it is not shown yet.

A block of Markdown is final when the next one has begun, since nothing that follows can change it: so it is printed
for good, and only the rest is parsed again. An item of a list is final when the next begins, and a line of code when
it is ended. What may become a file that goes out beside the words (`context/media_lines.py`) is never final, nor what
follows it: the words of the answer are known when it is delivered.
"""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct

from angelia.context.media_lines import while_written

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_MAY_NAME_A_FILE = re.compile(r"MEDIA:|\[\[|!\[")
_NUMBER = re.compile(r"(\s*)(\d{1,9})([.)])")
_ENDED_BY_A_BLANK_LINE = {"paragraph_open", "heading_open", "hr", "blockquote_open", "table_open"}

_PARSER = MarkdownIt().enable("table").disable("inline")


class ReplyBlock(Struct, frozen=True):
    """Some Markdown that can be rendered by itself; `joined` stands right below what came before it."""

    text: str
    joined: bool = False


class ReplyStream:
    """One reply, or several that become one answer; what was taken is shown, and never taken again."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Nothing is shown, and nothing has come: another reply begins."""
        self._shown = ""
        self._rest = ""
        self._fence = ""
        self._joined = False
        self._number = 0

    def add(self, text: str) -> list[ReplyBlock]:
        """Take in some more; returns what is final by it, in order."""
        self._rest += text
        return list(self._take_final()) if "\n" in text else []

    @property
    def rest(self) -> ReplyBlock:
        """What is not final, as Markdown: open marks are closed for show."""
        text = self._rest if self._fence else while_written(self._rest)
        return ReplyBlock(self._as_code(text) if self._fence else _closed(self._numbered(text)), self._joined)

    @property
    def begun(self) -> bool:
        """Whether anything of it was shown for good."""
        return bool(self._shown.strip())

    def unshown(self, whole: str) -> list[ReplyBlock]:
        """What of the whole text is not shown yet: all of it, if it is another text than the one that was shown."""
        at = _after(self._shown, whole)
        if at < 0:
            return [ReplyBlock(whole)]
        self._shown = whole[:at]
        self._rest = whole[at:].strip("\n") + "\n"
        blocks = list(self._take_final())
        if self._rest.strip():
            last = self._take(len(self._rest))
            blocks.append(ReplyBlock(self._as_code(last) if self._fence else self._numbered(last), self._joined))
        self._fence = ""
        self._joined = False
        self._number = 0
        return blocks

    def _take(self, characters: int) -> str:
        taken, self._rest = self._rest[:characters], self._rest[characters:]
        self._shown += taken
        return taken

    def _take_final(self) -> Iterator[ReplyBlock]:
        """What is final; the last line counts only once it is ended."""
        while True:
            if self._fence:
                yield from self._code_lines()
                if self._fence:
                    return
            block = self._first_final()
            if block is None:
                return
            yield block

    def _code_lines(self) -> Iterator[ReplyBlock]:
        """The ended lines of code; blank ones wait for what follows them, since none end a block."""
        mark = _FENCE.match(self._fence)
        assert mark
        lines, blank = "", ""
        for line in self._rest[: self._rest.rfind("\n") + 1].splitlines(keepends=True):
            words = line.strip()
            if words.startswith(mark[1]) and not words.strip(mark[1][0]):
                self._take(len(lines) + len(blank) + len(line))
                self._fence = ""
                break
            lines, blank = (lines, blank + line) if not words else (lines + blank + line, "")
        else:
            self._take(len(lines))
        joined, self._joined = self._joined, bool(self._fence) and (self._joined or bool(lines))
        if lines:
            yield ReplyBlock(f"{mark[0]}\n{lines}{mark[1]}", joined)

    def _first_final(self) -> ReplyBlock | None:
        whole = self._rest[: self._rest.rfind("\n") + 1]
        starts = list(_starts(_PARSER.parse(whole)))
        if not starts:
            return None
        lines = whole.splitlines(keepends=True)
        first, kind = starts[0]
        if kind == "fence" and (mark := _FENCE.match(lines[first].rstrip("\n"))):
            self._take(len("".join(lines[: first + 1])))
            self._fence = mark[0].strip()
            return self._first_of_code()
        ended = kind in _ENDED_BY_A_BLANK_LINE and len(lines) > first + 1 and not lines[-1].strip()
        if len(starts) < 2 and not ended:
            return None
        second, next_kind = starts[1] if len(starts) > 1 else (len(lines), "")
        text = "".join(lines[:second])
        if _MAY_NAME_A_FILE.search(text):
            return None
        self._take(len(text))
        block = ReplyBlock(self._numbered(text), self._joined)
        self._joined = next_kind == "item"
        found = _NUMBER.match(block.text)
        self._number = int(found[2]) + 1 if found and self._joined else 0
        return block

    def _numbered(self, text: str) -> str:
        """An item that follows another one counts on from it, whatever number was written (CommonMark 0.31, 5.3)."""
        return _NUMBER.sub(rf"\g<1>{self._number}\g<3>", text, count=1) if self._number else text

    def _first_of_code(self) -> ReplyBlock | None:
        return next(self._code_lines(), None) or (None if self._fence else self._first_final())

    def _as_code(self, text: str) -> str:
        return f"{self._fence}\n{text}\n{self._fence[:3]}" if text.strip() else ""


def _starts(tokens: list[Token]) -> Iterator[tuple[int, str]]:
    """The lines at which a block begins, or an item of a list of the outermost level; an item that follows another
    one is called `item`.
    """
    items = 0
    for token in tokens:
        if token.level == 0 and token.nesting >= 0 and token.map:
            items = 0
            if token.type not in ("bullet_list_open", "ordered_list_open"):
                yield token.map[0], token.type
        elif token.level == 1 and token.type == "list_item_open" and token.map:
            yield token.map[0], "item" if items else "list"
            items += 1


def _closed(text: str) -> str:
    """With the marks closed that are open at its end, so that what is bold is bold before it ends.

    >>> _closed("some **bold"), _closed("`code"), _closed("done")
    ('some **bold**', '`code`', 'done')
    """
    last = text.rstrip().rpartition("\n\n")[2]
    if last.count("`") % 2:
        return text.rstrip() + "`"
    return text.rstrip() + "**" if last.count("**") % 2 and not last.endswith("**") else text


def _after(shown: str, whole: str) -> int:
    """Where in the whole text the shown one ends, blanks aside; -1 where it is no beginning of it."""
    at = 0
    for sign in shown:
        if sign.isspace():
            continue
        while at < len(whole) and whole[at].isspace():
            at += 1
        if at == len(whole) or whole[at] != sign:
            return -1
        at += 1
    return at
