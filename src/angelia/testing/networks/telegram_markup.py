"""The Bot API's HTML, read as its server reads it ("HTML style"; tdlib/td, `MessageEntity.cpp`)."""

import re
from html import unescape

from angelia.testing.networks.telegram_schema import BotApiError

_TAGS = frozenset(
    ("a", "b", "strong", "i", "em", "u", "ins", "s", "strike", "del", "code", "pre", "blockquote", "span", "tg-spoiler")
)
_TOKEN = re.compile(r"<(/?)([^\s<>/]*)([^<>]*)>|<")
_KNOWN = re.compile(r"&(lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);")


def seen(text: str, mode: str, limit: int, what: str) -> str:
    """A text as people see it: without markup, and without white space around it.

    Raises:
        BotApiError: it cannot be parsed, or is longer than `limit` UTF-16 units.
    """
    if mode not in ("", "HTML"):
        raise BotApiError(400, "Bad Request: unsupported parse_mode")
    plain = (_without_tags(text) if mode else text).strip(" \t\r\n\v\f")
    if len(plain.encode("utf-16-le")) // 2 > limit:
        raise BotApiError(400, f"Bad Request: {what} is too long")
    return plain


def _without_tags(text: str) -> str:
    found, open_tags, last = [], [], 0
    for token in _TOKEN.finditer(text):
        found.append(_decoded(text[last : token.start()]))
        last, (closing, tag, rest) = token.end(), token.groups()
        at = len(text[: token.start()].encode())
        if tag is None or tag.lower() not in _TAGS:
            raise _unreadable(f'Unsupported start tag "{tag or ""}" at byte offset {at}')
        if not closing:
            open_tags.append(tag.lower())
        elif not open_tags:
            raise _unreadable(f'Unexpected end tag "{tag}" at byte offset {at}')
        elif (wanted := open_tags.pop()) != tag.lower() or rest:
            raise _unreadable(f'Unmatched end tag at byte offset {at}, expected "</{wanted}>", found "</{tag}>"')
    if open_tags:
        raise _unreadable(f'Can\'t find end tag corresponding to start tag "{open_tags[-1]}"')
    return "".join(found) + _decoded(text[last:])


def _decoded(text: str) -> str:
    """Only four entities have names; others stay as they are written."""
    return _KNOWN.sub(lambda found: unescape(found[0]), text)


def _unreadable(why: str) -> BotApiError:
    return BotApiError(400, f"Bad Request: can't parse entities: {why}")
