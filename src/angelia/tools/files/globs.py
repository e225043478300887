"""Path patterns as people write them (`*.py`, `src/**/*.{ts,tsx}`), as regular expressions."""

import re

from angelia.core.errors import BadInput


def glob_regex(glob: str) -> re.Pattern[str]:
    """Matches relative paths with `/`. Without a slash the pattern is for the last name, at any depth.

    `*` and `?` stay within one name, `**` spans folders, `[ab]` and `{a,b}` are alternatives, as in gitignore(5).

    >>> bool(glob_regex("*.py").fullmatch("a/b/c.py")), bool(glob_regex("src/*.py").fullmatch("src/a/b.py"))
    (True, False)

    Raises:
        BadInput: a range in brackets runs backwards.
    """
    anchored = "/" in glob.rstrip("/")
    pattern = glob.strip("/") if anchored else f"**/{glob.rstrip('/')}"
    out, at, depth = [], 0, 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        word = token[0] if token else pattern[at]
        at += len(word)
        depth += word == "{"
        out.append(_SPANS[word] if token and token["spans"] else _written(word, depth))
        depth -= word == "}" and depth > 0
    try:
        return re.compile("".join(out) + ")" * depth, re.DOTALL)
    except re.error as error:
        raise BadInput(f"{glob!r} is not a pattern for paths: {error}.") from error


_TOKEN = re.compile(r"(?P<spans>(?<![^/{,])\*\*(?:/|(?=$|[},])))|\*+|\[[!^]?\]?[^\]/]+\]|\\.", re.DOTALL)
"""`**` spans folders only where it is a whole name; other runs of stars are one star (gitignore(5))."""

_DOUBLED = re.compile(r"([-&~|])\1")
"""Signs that Python keeps for operations on sets, where they stand twice."""

_SPANS = {"**/": "(?:.*/)?", "**": ".*"}


def _written(word: str, depth: int) -> str:
    """One token as a regular expression; `depth` counts the open braces around it."""
    match word:
        case "?":
            return "[^/]"
        case "{":
            return "(?:"
        case "}" if depth:
            return ")"
        case "," if depth:
            return "|"
    if word.startswith("*"):
        return "[^/]*"
    if word.startswith("[") and len(word) > 1:
        inner = _DOUBLED.sub(r"\1\\\1", word[1:-1].replace("\\", "\\\\").replace("[", "\\["))
        return f"[^/{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    return re.escape(word.removeprefix("\\") or "\\")
