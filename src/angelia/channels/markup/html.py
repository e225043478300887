"""Dialects of networks that read a little HTML: Telegram and Matrix."""

from collections.abc import Sequence
from html import escape

_AS_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class TelegramHtml:
    """What the Bot API reads under `parse_mode=HTML` (core.telegram.org/bots/api, "HTML style"): line feeds show, and
    only `& < >` have to be escaped.
    """

    name = "HTML"

    def text(self, words: str) -> str:
        """As the port says."""
        return words.translate(_AS_TEXT)

    def paragraph(self, inner: str) -> str:
        """As the port says."""
        return inner

    def strong(self, inner: str) -> str:
        """As the port says."""
        return f"<b>{inner}</b>"

    def emphasis(self, inner: str) -> str:
        """As the port says."""
        return f"<i>{inner}</i>"

    def struck(self, inner: str) -> str:
        """As the port says."""
        return f"<s>{inner}</s>"

    def code(self, words: str) -> str:
        """As the port says."""
        return f"<code>{self.text(words)}</code>"

    def code_block(self, words: str, language: str) -> str:
        """As the port says."""
        inner = self.text(words)
        return (
            f'<pre><code class="language-{escape(language)}">{inner}</code></pre>'
            if language
            else f"<pre>{inner}</pre>"
        )

    def link(self, inner: str, url: str) -> str:
        """As the port says."""
        return f'<a href="{escape(url)}">{inner}</a>'

    def heading(self, inner: str, level: int) -> str:
        """There are none: a strong line."""
        return f"<b>{inner}</b>"

    def quote(self, inner: str) -> str:
        """As the port says."""
        return f"<blockquote>{inner}</blockquote>"

    def item(self, inner: str, mark: str, depth: int) -> str:
        """There are no lists: the mark stands as text."""
        return f"{'    ' * depth}{self.text(mark)} {inner}" if mark else inner


class MatrixHtml(TelegramHtml):
    """`org.matrix.custom.html` (Matrix specification, client-server API, "m.room.message msgtypes"): line feeds do not
    show, so that paragraphs and breaks are tags.
    """

    name = "org.matrix.custom.html"

    def text(self, words: str) -> str:
        """As the port says."""
        return words.translate(_AS_TEXT).replace("\n", "<br>")

    def paragraph(self, inner: str) -> str:
        """As the port says."""
        return f"<p>{inner}</p>"

    def strong(self, inner: str) -> str:
        """As the port says."""
        return f"<strong>{inner}</strong>"

    def emphasis(self, inner: str) -> str:
        """As the port says."""
        return f"<em>{inner}</em>"

    def struck(self, inner: str) -> str:
        """As the port says."""
        return f"<del>{inner}</del>"

    def code_block(self, words: str, language: str) -> str:
        """As the port says."""
        kind = f' class="language-{escape(language)}"' if language else ""
        return f"<pre><code{kind}>{words.translate(_AS_TEXT)}</code></pre>"

    def heading(self, inner: str, level: int) -> str:
        """As the port says."""
        return f"<h{level}>{inner}</h{level}>"

    def table(self, rows: Sequence[Sequence[str]], *, headed: bool) -> str:
        """As `HasTables` says."""
        head, body = (rows[:1], rows[1:]) if headed else ((), rows)
        parts = (("thead", "th", head), ("tbody", "td", body))
        return f"<table>{''.join(_part(*part) for part in parts if part[2])}</table>"

    def item(self, inner: str, mark: str, depth: int) -> str:
        """A list of its own for each item, so that a list may be cut anywhere."""
        number = mark.rstrip(".)")
        kind, start = ("ol", f' start="{number}"') if number.isdecimal() else ("ul", "")
        content = f"<li>{inner}</li>" if mark else inner
        return f"{'<ul>' * depth}<{kind}{start}>{content}</{kind}>{'</ul>' * depth}" if mark else content


def _part(tag: str, cell: str, rows: Sequence[Sequence[str]]) -> str:
    written = "".join(f"<tr>{''.join(f'<{cell}>{one}</{cell}>' for one in row)}</tr>" for row in rows)
    return f"<{tag}>{written}</{tag}>"
