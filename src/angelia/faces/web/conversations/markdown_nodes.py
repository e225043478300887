r"""Markdown as a tree of known nodes, which a page makes elements of one by one: no text ever becomes markup there.

A node is `[name, attributes, children]`, a child a node or words. CommonMark with tables, strikethrough and task lists;
raw HTML is text, a picture is a link to it, and an address that is not of the web or a mailbox is no link. Formulas
stand between `$`, `$$`, `\(` and `\[`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from angelia.core.text import clean
from angelia.faces.web.conversations.formulas import formula

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

Node = list[Any]
"""`[name, attributes, children]`."""

_DEEPEST = 60
"""Levels of nesting that are read; a text with more is shown as it is."""
_MOST_COLOURED = 60_000
"""Characters of a block of code that is coloured."""
_LINKABLE = re.compile(r"(?i)(https?://|mailto:)\S+$")
_TASK = re.compile(r"\[([ xX])\][ \n]")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")

_PLAIN = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "li", "blockquote", "em", "strong", "s"})
_TABLE = frozenset({"table", "thead", "tbody", "tr"})


@lru_cache(maxsize=2048)
def nodes(text: str) -> tuple[Node | str, ...]:
    """The nodes of a text. Kept for a while: who opens a conversation is told much of it again."""
    source = clean(text)
    tokens = _parser().parse(source)
    if any(token.level >= _DEEPEST - 2 for token in tokens):
        return (["p", {}, [source]],)
    return tuple(_blocks(iter(tokens)))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.texmath import texmath_plugin

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"]).disable("reference")
    parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    parser.use(texmath_plugin, delimiters="brackets")
    parser.inline.ruler.before("escape", "math_brackets", _bracketed)
    return parser


def _bracketed(state: "StateInline", silent: bool) -> bool:
    r"""`\[ … \]` within a paragraph: the plug-in reads it only where a block begins."""
    end = state.src.find("\\]", state.pos + 2, state.posMax) if state.src.startswith("\\[", state.pos) else -1
    if end < 0:
        return False
    if not silent:
        state.push("math_inline_double", "math", 0).content = state.src[state.pos + 2 : end]
    state.pos = end + 2
    return True


def _blocks(tokens: "Iterator[Token]") -> Iterator[Node | str]:
    """What stands here, up to the end of whatever is open."""
    for token in tokens:
        if token.nesting < 0:
            return
        match token.type:
            case "inline":
                yield from _inlines(token.children or [])
            case "fence" | "code_block":
                yield _code(token.content, token.info.strip())
            case "hr":
                yield ["hr", {}, []]
            case "math_block":
                yield _math(token.content, {"block": True})
            case "ordered_list_open":
                start = token.attrGet("start")
                yield ["ol", {} if start is None else {"start": int(start)}, list(_blocks(tokens))]
            case "list_item_open":
                yield _item(list(_blocks(tokens)))
            case "th_open" | "td_open":
                align = re.search(r"text-align:(left|right|center)", str(token.attrGet("style") or ""))
                yield [token.tag, {"align": align[1]} if align else {}, list(_blocks(tokens))]
            case "paragraph_open" if token.hidden:  # a tight list's item holds its words without one
                yield from _blocks(tokens)
            case _ if token.nesting > 0:
                inner = list(_blocks(tokens))
                yield [token.tag if token.tag in _PLAIN | _TABLE else "p", {}, inner]


def _item(inner: list[Node | str]) -> Node:
    """An item; one that begins with a box is a task (GitHub Flavored Markdown, 5.3)."""
    holder = inner[0][2] if inner and isinstance(inner[0], list) and inner[0][0] == "p" else inner
    if holder and isinstance(holder[0], str) and (box := _TASK.match(holder[0])):
        holder[0] = holder[0][box.end() :]
        return ["li", {"task": "open" if box[1] == " " else "done"}, inner]
    return ["li", {}, inner]


def _inlines(tokens: "Sequence[Token]") -> list[Node | str]:
    return list(_joined(_inline(iter(tokens))))


def _inline(tokens: "Iterator[Token]") -> Iterator[Node | str]:
    for token in tokens:
        if token.nesting < 0:
            return
        match token.type:
            case "softbreak":
                yield "\n"
            case "hardbreak":
                yield ["br", {}, []]
            case "code_inline":
                yield ["code", {}, [token.content]]
            case "math_inline":
                yield _math(token.content, {})
            case "math_inline_double":
                yield _math(token.content, {"block": True})
            case "image":
                alt = "".join(one.content for one in token.children or [])
                yield from _linked([alt or "picture"], str(token.attrGet("src") or ""))
            case "link_open":
                yield from _linked(list(_joined(_inline(tokens))), str(token.attrGet("href") or ""))
            case "em_open" | "strong_open" | "s_open":
                yield [token.tag, {}, list(_joined(_inline(tokens)))]
            case _:
                yield token.content


def _linked(inner: list[Node | str], address: str) -> Iterator[Node | str]:
    if _LINKABLE.match(address):
        yield ["a", {"href": address}, inner or [address]]
        return
    yield from inner
    yield f" ({address})" if inner else address


def _joined(found: Iterator[Node | str]) -> Iterator[Node | str]:
    """Neighbouring words as one."""
    words = ""
    for one in found:
        if isinstance(one, str):
            words += one
            continue
        if words:
            yield words
            words = ""
        yield one
    if words:
        yield words


def _math(tex: str, given: dict[str, Any]) -> Node:
    """A formula; one that is not read here stays as it was written."""
    return ["math", given, formula(tex.strip()) or [tex.strip()]]


# -- code -----------------------------------------------------------------------------------------------------------


def _code(text: str, info: str) -> Node:
    found = _LANGUAGE.match(info)
    language = found.group() if found else ""
    return ["pre", {"lang": language}, _coloured(text.removesuffix("\n"), language)]


_KINDS = (("Keyword", "k"), ("Literal.String", "s"), ("Literal.Number", "n"), ("Name.Function", "f"),
          ("Name.Class", "f"), ("Name.Tag", "f"), ("Comment", "c"))  # fmt: skip


def _coloured(text: str, language: str) -> list[Node | str]:
    """Words and `["k", {}, ["if"]]`: keyword, string, number, name of something defined, comment."""
    if not language or len(text) > _MOST_COLOURED:
        return [text]
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return [text]
    parts = [_part(str(kind), value) for kind, value in lexer.get_tokens(text)]
    return list(_joined(iter(parts)))


def _part(kind: str, value: str) -> Node | str:
    colour = next((letter for name, letter in _KINDS if kind.startswith(f"Token.{name}")), "")
    return [colour, {}, [value]] if colour and value.strip() else value
