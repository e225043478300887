"""How a network writes emphasis, links and code: one small table of functions each."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


class Dialect(Protocol):
    """A network's markup. Each function is given what is inside, marked up already, and returns it marked.

    `text` escapes plain words. Blocks are put together with line feeds between them; a table is a block of code,
    or a list where it is wide, unless the dialect `HasTables`.
    """

    name: str

    def text(self, words: str) -> str:
        """Plain words, so that nothing in them is read as markup."""
        ...

    def paragraph(self, inner: str) -> str:
        """Words that stand by themselves; as they are, where line feeds show."""
        ...

    def strong(self, inner: str) -> str:
        """Strong emphasis."""
        ...

    def emphasis(self, inner: str) -> str:
        """Emphasis."""
        ...

    def struck(self, inner: str) -> str:
        """Struck through."""
        ...

    def code(self, words: str) -> str:
        """Code within a line; `words` are plain."""
        ...

    def code_block(self, words: str, language: str) -> str:
        """Lines of code; `words` are plain."""
        ...

    def link(self, inner: str, url: str) -> str:
        """A link. A picture by its address is a link too: nothing is fetched by being shown."""
        ...

    def heading(self, inner: str, level: int) -> str:
        """A heading."""
        ...

    def quote(self, inner: str) -> str:
        """Quoted lines."""
        ...

    def item(self, inner: str, mark: str, depth: int) -> str:
        """One item of a list; `mark` is `•` or `3.`, empty for what continues one, `depth` counts from 0."""
        ...


@runtime_checkable
class HasTables(Protocol):
    """A dialect of a network that shows tables."""

    def table(self, rows: Sequence[Sequence[str]], *, headed: bool) -> str:
        """A table; the cells are marked up already, and the first row is the head if it is `headed`."""
        ...
