"""How Slack shows blocks: `markdown` by CommonMark ("Markdown block"), names in colons as emoji, mentions as such."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

_READ = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_CODE = re.compile(r"(`+)[\s\S]+?\1")
_MENTION = re.compile(r"<[@#!][^>\s]+>")
_EMOJI = re.compile(r"(?<!\\):[-+\w]+:")


def shown(blocks: list[dict[str, Any]]) -> str:
    """What a person reads."""
    return "\n".join(_block(one) for one in blocks if one["type"] != "actions")


def _block(block: dict[str, Any]) -> str:
    if block["type"] == "rich_text":
        return "".join(part["text"] for section in block["elements"] for part in section["elements"])
    return markdown(block["text"])


def markdown(text: str) -> str:
    """Markdown as it is shown."""
    outside = _CODE.sub(lambda found: "\0" * len(found[0]), text)
    marked = list(text)
    for pattern in (_MENTION, _EMOJI):
        for found in pattern.finditer(outside):
            marked[found.start()] = f"⟦{marked[found.start()]}"
    return "\n\n".join(_words(token) for token in _READ.parse("".join(marked)) if token.type in _SHOWN).strip("\n")


_SHOWN = ("inline", "fence", "code_block", "html_block")


def _words(token: Token) -> str:
    if token.type != "inline":
        return token.content.rstrip("\n")
    return "".join(_inline(child) for child in token.children or [])


def _inline(token: Token) -> str:
    return "\n" if token.type in ("softbreak", "hardbreak") else token.content
