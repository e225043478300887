"""Dialects of networks that read marks around words: standard Markdown, Discord's own, WhatsApp's, and none at all."""

import re

_URL = re.compile(r"https?://[^\s<>`|\\\"\[\]]*[^\s<>`|\\\"\[\].,:;!?')*_~]")
_BLOCK = r"^([ \t]*)(#{1,6}(?=\s|$)|-#|[-+%s]|\d{1,9}(?=[.)])|=+[ \t]*$)"
"""What at the start of a line begins a heading, a list or a quote."""

_BLANK = "\u200b"
"""Zero width space: keeps two signs apart that would be a mark together."""


def around(mark: str, inner: str) -> str:
    """A mark around words; white space at the edges stays outside, where the mark would not be read as one."""
    words = inner.strip()
    if not words:
        return inner
    begin = inner.index(words)
    return f"{inner[:begin]}{mark}{words}{mark}{inner[begin + len(words) :]}"


def one_line(inner: str) -> str:
    """Words on a single line."""
    return " ".join(inner.split("\n"))


def _longest_run(words: str) -> int:
    return max(map(len, re.findall("`+", words)), default=0)


class PlainText:
    """No markup at all: what is meant is said by ordinary signs."""

    name = "plain"

    def text(self, words: str) -> str:
        """As the port says."""
        return words

    def paragraph(self, inner: str) -> str:
        """As the port says."""
        return inner

    def strong(self, inner: str) -> str:
        """As the port says."""
        return inner

    def emphasis(self, inner: str) -> str:
        """As the port says."""
        return inner

    def struck(self, inner: str) -> str:
        """As the port says."""
        return inner

    def code(self, words: str) -> str:
        """As the port says."""
        return words

    def code_block(self, words: str, language: str) -> str:
        """As the port says."""
        return words

    def link(self, inner: str, url: str) -> str:
        """Its words, then its address."""
        return inner if inner in (url, url.removeprefix("mailto:")) else f"{inner} ({url})"

    def heading(self, inner: str, level: int) -> str:
        """As the port says."""
        return inner

    def quote(self, inner: str) -> str:
        """Each line marked as in a letter."""
        return "> " + inner.replace("\n", "\n> ")

    def item(self, inner: str, mark: str, depth: int) -> str:
        """As the port says."""
        return f"{'  ' * depth}{mark} {inner}" if mark else inner


class StandardMarkdown(PlainText):
    """CommonMark with tables and strikethrough, such as Slack's `markdown` block (docs.slack.dev, "Markdown block").

    `& < >` are character references, so that neither HTML nor a `<!channel>` can come of words.
    """

    name = "markdown"
    _SIGNS = re.compile(r"[\\`*_~\[\]|]")
    _START = re.compile(_BLOCK % "", re.MULTILINE)
    _REFERENCES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

    def text(self, words: str) -> str:
        """As the port says; addresses stay whole."""
        parts: list[str] = []
        begin = 0
        for found in _URL.finditer(words):
            parts += (self._escaped(words[begin : found.start()]), f"<{found.group()}>")
            begin = found.end()
        return "".join([*parts, self._escaped(words[begin:])])

    def _escaped(self, words: str) -> str:
        signs = self._SIGNS.sub(r"\\\g<0>", words)
        return self._START.sub(_escaped_start, signs).translate(self._REFERENCES).replace("\n", "\\\n")

    def strong(self, inner: str) -> str:
        """As the port says."""
        return around("**", inner)

    def emphasis(self, inner: str) -> str:
        """As the port says."""
        return around("*", inner)

    def struck(self, inner: str) -> str:
        """As the port says."""
        return around("~~", inner)

    def code(self, words: str) -> str:
        """As the port says."""
        mark = "`" * (_longest_run(words) + 1)
        pad = " " if words[0] in "` " or words[-1] in "` " else ""
        return f"{mark}{pad}{one_line(words)}{pad}{mark}"

    def code_block(self, words: str, language: str) -> str:
        """As the port says."""
        fence = "`" * max(3, _longest_run(words) + 1)
        return f"{fence}{language}\n{words}\n{fence}"

    def link(self, inner: str, url: str) -> str:
        """As the port says."""
        address = url.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
        if inner == f"<{url}>":
            return f"<{address}>"
        if "<http" in inner:  # a link cannot stand within another
            return f"{inner} (<{address}>)"
        return f"[{inner}](<{address}>)"

    def heading(self, inner: str, level: int) -> str:
        """As the port says."""
        return f"{'#' * level} {one_line(inner.replace(chr(92) + chr(10), chr(10)))}"

    def item(self, inner: str, mark: str, depth: int) -> str:
        """Four columns for each level; what continues the item stands beneath its words."""
        if not mark:
            return inner
        head = f"{'    ' * depth}{'-' if mark == '•' else mark} "
        return head + inner.replace("\n", "\n" + " " * len(head))


def _escaped_start(found: re.Match[str]) -> str:
    space, sign = found.groups()
    return f"{space}{sign}\\" if sign.isdecimal() else f"{space}\\{sign}"


class SlackMarkdown(StandardMarkdown):
    """The same for Slack, where names between colons are emoji. A line is broken by two spaces at its end, which are
    not seen, however it is read.
    """

    name = "slack"
    _SIGNS = re.compile(r"[\\`*_~\[\]|]|:(?=[-+\w]+:)")

    def _escaped(self, words: str) -> str:
        return super()._escaped(words).replace("\\\n", "  \n")

    def heading(self, inner: str, level: int) -> str:
        """As the port says."""
        return f"{'#' * level} {one_line(inner.replace('  ' + chr(10), chr(10)))}"


class DiscordMarkdown(StandardMarkdown):
    """Discord's own Markdown (support.discord.com, "Markdown Text 101"): line feeds show, headings have three levels,
    only three backticks fence code. An address in `< >` shows no preview. A backslash before `<` or `@` keeps a
    mention from being one.
    """

    name = "discord"
    _SIGNS = re.compile(r"[\\`*_~\[\]|<]|@(?=everyone|here)|:(?=\w+:)")
    _START = re.compile(_BLOCK % ">", re.MULTILINE)

    def _escaped(self, words: str) -> str:
        return self._START.sub(_escaped_start, self._SIGNS.sub(r"\\\g<0>", words))

    def code(self, words: str) -> str:
        """As the port says."""
        return f"`` {words.replace('``', f'`{_BLANK}`')} ``" if "`" in words else f"`{words}`"

    def code_block(self, words: str, language: str) -> str:
        """As the port says."""
        inside = words.replace("```", f"`{_BLANK}`{_BLANK}`")
        return f"```{language}\n{inside}\n```"

    def heading(self, inner: str, level: int) -> str:
        """As the port says."""
        return f"{'#' * min(level, 3)} {one_line(inner)}"

    def item(self, inner: str, mark: str, depth: int) -> str:
        """As the port says."""
        return f"{'  ' * depth}{'-' if mark == '•' else mark} {inner}" if mark else inner


class WhatsAppMarks(PlainText):
    """WhatsApp's marks (faq.whatsapp.com, "How to format your messages"). It has no escape: where signs of the words
    would be read as a mark, a look-alike stands in their place.
    """

    name = "whatsapp"
    _PAIR = re.compile(r"(?<![^\W_])([*_~])(?=\S[^\n]*\1)")
    _TICKS = re.compile(r"`[^`\n]*`[^\n]*")
    _ALIKE = str.maketrans({"*": "∗", "_": "ˍ", "~": "∼", "`": "ˋ"})
    _START = re.compile(r"^(?=[ \t]*([-*>]|\d+\.)[ \t])", re.MULTILINE)

    def text(self, words: str) -> str:
        """As the port says."""
        words = self._PAIR.sub(lambda found: found.group().translate(self._ALIKE), words)
        words = self._TICKS.sub(lambda found: found.group().replace("`", "ˋ"), words)
        return self._START.sub(_BLANK, words)

    def strong(self, inner: str) -> str:
        """As the port says."""
        return around("*", inner)

    def emphasis(self, inner: str) -> str:
        """As the port says."""
        return around("_", inner)

    def struck(self, inner: str) -> str:
        """As the port says."""
        return around("~", inner)

    def code(self, words: str) -> str:
        """As the port says."""
        return f"`{one_line(words).translate({96: 'ˋ'})}`"

    def code_block(self, words: str, language: str) -> str:
        """As the port says."""
        return "```" + words.replace("```", f"`{_BLANK}`{_BLANK}`") + "```"

    def heading(self, inner: str, level: int) -> str:
        """There are none: a strong line."""
        return around("*", one_line(inner))

    def item(self, inner: str, mark: str, depth: int) -> str:
        """As the port says."""
        return f"{'  ' * depth}{'-' if mark == '•' else mark} {inner}" if mark else inner
