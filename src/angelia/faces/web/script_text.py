"""A module's text without what only its readers need: comments, and blanks that mean nothing.

It is not understood, only cut into strings, templates, patterns, comments, words and signs; names and everything else
stay as they are, but for what says the same in fewer signs: `const` is `let` (the test of types sees that nothing is
assigned again), declarations one after the other are one, a name in parentheses of its own stands without, and nothing
separates what is last from the bracket that closes. A blank stays between two words, and between signs that would
become another one. The end of a line stays wherever a statement could end by it.
"""

import re

from msgspec import Struct

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
_NAME_ALONE = re.compile(r"\((?:\s|/\*(?:(?!\*/).)*\*/)*([A-Za-z_$][\w$]*(?:\.[\w$]+)*|\[\])\s*\)", re.DOTALL)
_VALUE = "\0"
"""Stands for each value between a template's words."""
_BEFORE_A_PATTERN = frozenset({"return", "typeof", "case", "of", "in", "await", "void", "delete", "else"})
"""Words after which a slash begins one, and does not divide."""
_BEFORE_A_STATEMENT = frozenset({"if", "for", "while", "with"})
"""Words after whose parentheses one stands, which may be empty: a semicolon alone."""
_OPEN, _CLOSED = ";{,([", "})],;"
"""After the ones and before the others no line has to end."""
_ENDS = {")": "(", "]": "[", "}": "{"}
_JOINED = frozenset({"++", "--", "//", "/*"})


def squeezed(text: str) -> str:
    """The same, smaller.

    Raises:
        ValueError: a slash stands after `}`, where it may divide or begin a pattern.
    """
    return _Squeeze(text).whole()


class _Within(Struct):
    """The brackets that are open; whether what follows them is a statement; whether the last one in them declares."""

    bracket: str
    leads: bool = False
    declares: bool = False


class _Squeeze:
    """One pass through a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._out: list[str] = []
        self._last = ";"
        self._blank = ""
        self._within = [_Within("{")]
        self._needless = False
        """Whether what was said last only separates."""
        self._led = False
        """Whether what was said last leads to a statement."""

    def whole(self) -> str:
        while self._at < len(self._text):
            self._step()
        return "".join(self._out)

    def _step(self) -> None:
        text = self._text
        match = _PIECE.match(text, self._at)
        assert match is not None
        piece = match[0]
        if match.lastgroup == "blank":
            self._blank = "\n" if "\n" in piece or self._blank == "\n" else " "
            self._at = match.end()
        elif piece == "`":
            self._template()
        elif piece == "/" and self._begins_a_pattern():
            found = _PATTERN.match(text, self._at)
            if found is None:
                raise ValueError(f"a slash that begins nothing: {text[self._at : self._at + 40]!r}")
            self._say(found[0])
        elif piece == "(" and self._begins_a_value() and (alone := _NAME_ALONE.match(text, self._at)):
            self._say(alone[1])
            self._at, self._blank = alone.end(), " "
        elif piece in {"const", "let"}:
            self._declare(piece)
        else:
            self._say(piece)

    def _say(self, piece: str) -> None:
        between = self._between(piece[0])
        if self._last == ";" or between == "\n":
            self._within[-1].declares = False
        leads = self._close(piece) if piece in _ENDS else False
        if piece in _ENDS.values():
            self._within.append(_Within(piece, self._last in _BEFORE_A_STATEMENT))
        self._needless = (piece == ";" and not self._led) or (piece == "," and self._last not in {",", "["})
        self._led = leads or piece == "else"
        self._out.append(between + (piece.replace("_", "") if piece[0].isdigit() else piece))
        self._last, self._blank = piece, ""
        self._at += len(piece)

    def _declare(self, word: str) -> None:
        within = self._within[-1]
        if self._last == ";" and within.declares:
            self._out[-1] = self._last = ","
        else:
            self._out.append(f"{self._between('l')}let")
            self._last = "let"
        self._at += len(word)
        self._blank = ""
        self._needless = self._led = False
        within.declares = within.bracket == "{"

    def _close(self, bracket: str) -> bool:
        """Whether what follows it is a statement."""
        if self._needless and (self._last == "," or bracket == "}"):
            self._out.pop()
        return self._within.pop().leads

    def _between(self, first: str) -> str:
        if not self._blank:
            return ""
        last = self._last[-1]
        if self._blank == "\n" and last not in _OPEN and first not in _CLOSED:
            return "\n"
        return " " if (_in_a_word(last) and _in_a_word(first)) or last + first in _JOINED else ""

    def _begins_a_value(self) -> bool:
        return not _in_a_word(self._last[-1]) and self._last[-1] not in ")]}.*`\"'"

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
        self._within.append(_Within("{"))
        while depth or self._text[self._at] != "}":
            piece = self._text[self._at]
            self._step()
            if piece in "{}":
                depth += 1 if piece == "{" else -1
        self._say("}")


def _in_words(text: str) -> str:
    return _INDENT.sub("\n", text)


def _in_markup(text: str) -> str:
    text = _ENDED.sub("<//>", _BESIDE_A_TAG.sub("", _in_words(text)))
    return _TAG.sub(lambda tag: _NEEDLESS_IN_A_TAG.sub(lambda found: found["value"] or "", tag[0]), text)


def _in_a_word(char: str) -> bool:
    return char.isalnum() or char in "_$#"
