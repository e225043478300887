"""The project's documents, and the blocks of code in them."""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(Struct, frozen=True):
    """One block of code: the document it stands in, its line there, its language, its text."""

    document: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """`document:line`, as an editor opens it."""
        return f"{self.document}:{self.line}"


def documents() -> list[Path]:
    """Every document that is written by hand, and every page of the reference."""
    written = [path for folder in ("docs", "examples") for path in sorted((ROOT / folder).rglob("*.md"))]
    return [*sorted(ROOT.glob("*.md")), *written]


def blocks(language: str) -> list[Block]:
    """Every block of a language in every document."""
    return [block for path in documents() for block in _blocks(path) if block.language == language]


def _blocks(path: Path) -> Iterator[Block]:
    text = path.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(str(path.relative_to(ROOT)), line, found[1], found[2])


def without_blocks(path: Path) -> str:
    """A document's prose."""
    return _BLOCK.sub("", path.read_text("utf-8"))
