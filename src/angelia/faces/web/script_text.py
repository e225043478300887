"""A module's text without what only its readers need: comments, and blanks that mean nothing.

It is not understood, only cut into strings, templates, patterns, comments, words and signs; names and everything else
stay as they are, but for `const`, which is `let`: the test of types sees that nothing is assigned again. A blank stays
between two words, and between signs that would become another one. The end of a line stays wherever a statement could
end by it.
"""

import re

_PIECE = re.compile(
    r"""(?P<blank>(?:\s|//[^\n]*|/\*.*?\*/)+)
    |(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<word>[\w$#]+)
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/\w*")
_INDENT = re.compile(r"\s*\n\s*")
_ENDED = re.compile(r"</\w+>")
_BESIDE_A_TAG = re.compile(r"\n(?=<)|(?<=>)\n")
_TAG = re.compile(r'<[^<>"]*(?:"[^"]*"[^<>"]*)*>')
_NEEDLESS_IN_A_TAG = re.compile(r' (?=/>)|"(?P<value>[\w-]+)"(?=[\s/>])')
_VALUE = "\0"
"""Stands for each value between a template's words."""
_BEFORE_A_PATTERN = frozenset({"return", "typeof", "case", "of", "in", "await", "void", "delete", "else"})
"""Words after which a slash begins one, and does not divide."""
_OPEN, _CLOSED = ";{,([", "})],;"
"""After the ones and before the others no line has to end."""
_JOINED = frozenset({"++", "--", "//", "/*"})


def squeezed(text: str) -> str:
    """The same, smaller.

    Raises:
        ValueError: a slash stands after `}`, where it may divide or begin a pattern.
    """
    return _Squeeze(text).whole()


class _Squeeze:
    """One pass through a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._out: list[str] = []
        self._last = ";"
        self._blank = ""

    def whole(self) -> str:
        while self._at < len(self._text):
            self._step()
        return "".join(self._out)

    def _step(self) -> None:
        text = self._text
        match = _PIECE.match(text, self._at)
        assert match is not None
        piece = match[0]
        if piece == "/" and self._begins_a_pattern():
            match = _PATTERN.match(text, self._at)
            if match is None:
                raise ValueError(f"a slash that begins nothing: {text[self._at : self._at + 40]!r}")
            piece = match[0]
        self._at = match.end()
        if match.lastgroup == "blank":
            self._blank = "\n" if "\n" in piece or self._blank == "\n" else " "
        elif piece == "`":
            self._template()
        else:
            self._say("let" if piece == "const" else piece)

    def _say(self, piece: str) -> None:
        self._out.append(self._between(piece[0]) + piece)
        self._last, self._blank = piece, ""

    def _between(self, first: str) -> str:
        if not self._blank:
            return ""
        last = self._last[-1]
        if self._blank == "\n" and last not in _OPEN and first not in _CLOSED:
            return "\n"
        return " " if (_in_a_word(last) and _in_a_word(first)) or last + first in _JOINED else ""

    def _begins_a_pattern(self) -> bool:
        if self._last == "}":
            raise ValueError(f"a slash after }}: {self._text[self._at - 20 : self._at + 20]!r}")
        if _in_a_word(self._last[-1]):
            return self._last in _BEFORE_A_PATTERN
        return self._last not in {")", "]", "`"} and self._last[0] not in "\"'"

    def _template(self) -> None:
        """Its words stay, without what indents them; what it holds is squeezed like all else.

        In those of `html` a tag's end need not name it, a value of one word needs no quotes, and blanks before `/>` and
        the end of a line beside a tag mean nothing (htm, "Syntax").
        """
        markup = self._last == "html"
        self._say("`")
        text, start, words = self._text, self._at, list[str]()
        places: list[int] = []
        while text[self._at] != "`":
            if text[self._at] == "\\":
                self._at += 2
            elif text.startswith("${", self._at):
                words.append(text[start : self._at])
                places.append(len(self._out))
                self._out.append("${")
                self._at += 2
                self._held()
                start = self._at
            else:
                self._at += 1
        whole = _VALUE.join([*words, text[start : self._at]])
        *before, rest = (_in_markup if markup else _in_words)(whole).split(_VALUE)
        for place, said in zip(places, before, strict=True):
            self._out[place] = f"{said}${{"
        self._out.append(f"{rest}`")
        self._last, self._blank = "`", ""
        self._at += 1

    def _held(self) -> None:
        """Up to the brace that ends it."""
        self._last, self._blank, depth = "{", "", 0
        while depth or self._text[self._at] != "}":
            piece = self._text[self._at]
            self._step()
            if piece in "{}":
                depth += 1 if piece == "{" else -1
        self._say("}")
        self._at += 1


def _in_words(text: str) -> str:
    return _INDENT.sub("\n", text)


def _in_markup(text: str) -> str:
    text = _ENDED.sub("<//>", _BESIDE_A_TAG.sub("", _in_words(text)))
    return _TAG.sub(lambda tag: _NEEDLESS_IN_A_TAG.sub(lambda found: found["value"] or "", tag[0]), text)


def _in_a_word(char: str) -> bool:
    return char.isalnum() or char in "_$#"
