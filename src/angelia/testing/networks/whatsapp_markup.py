"""How WhatsApp shows what is written (faq.whatsapp.com, "How to format your messages")."""

import re

_BLOCK = re.compile(r"```(.+?)```", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_PAIR = re.compile(r"(?<![^\W_])([*_~])(?=[^\s*_~])([^\n]*?[^\s])\1(?![^\W_])")
_QUOTE = re.compile(r"^> ", re.MULTILINE)
_ITEM = re.compile(r"^[*-] ", re.MULTILINE)


def shown(text: str) -> str:
    """The words as a person sees them: marks around words are gone, lists have dots.

    >>> shown("*bold*, _it_ and a*b*c")
    'bold, it and a*b*c'
    """
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[1])
        return f"\0{len(kept) - 1}\0"

    text = _CODE.sub(keep, _BLOCK.sub(keep, text))
    text = _ITEM.sub("• ", _QUOTE.sub("", text))
    before = ""
    while before != text:
        before, text = text, _PAIR.sub(r"\2", text)
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)
