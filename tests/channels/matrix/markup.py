"""What a person sees of `org.matrix.custom.html` ("m.room.message msgtypes": these tags, and no others)."""

import re
from html.parser import HTMLParser

_BLOCKS = {
    "table",
    "thead",
    "tbody",
    "tr",
    "p",
    "div",
    "blockquote",
    "ul",
    "ol",
    "li",
    "pre",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
}
_TAGS = _BLOCKS | {
    "del",
    "a",
    "sup",
    "sub",
    "b",
    "i",
    "u",
    "strong",
    "em",
    "s",
    "code",
    "span",
    "details",
    "summary",
    "th",
    "td",
}
_EMPTY = {"br", "hr"}
_ADDRESSES = re.compile(r"(https?|ftp|mailto|magnet):")


class MisreadError(Exception):
    """A client would not show it as it is meant."""


def shown(html: str) -> str:
    """The words."""
    reading = _Reading(convert_charrefs=True)
    reading.feed(html)
    reading.close()
    if reading.open:
        raise MisreadError(f"{reading.open} do not end: {html!r}")
    return "".join(reading.words).strip("\n")


class _Reading(HTMLParser):
    def __init__(self, *, convert_charrefs: bool) -> None:
        super().__init__(convert_charrefs=convert_charrefs)
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS | _EMPTY:
            raise MisreadError(f"<{tag}> is not for messages")
        if tag == "a" and not _ADDRESSES.match(dict(attrs)["href"] or ""):
            raise MisreadError(f"a link leads to {dict(attrs)}")
        if tag == "br":
            self.words.append("\n")
        elif tag not in _EMPTY:
            self.open.append(tag)
        self._part(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise MisreadError(f"</{tag}> ends nothing")
        self._part(tag)

    def handle_data(self, data: str) -> None:
        if "pre" in self.open:
            self.words.append(data)
        elif not (data.isspace() and (not self.words or self.words[-1].endswith("\n"))):
            self.words.append(re.sub(r"[ \t\n]+", " ", data))

    def _part(self, tag: str) -> None:
        if tag in _BLOCKS and self.words and not self.words[-1].endswith("\n"):
            self.words.append("\n")
