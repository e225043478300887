"""JSON as editors keep it, with comments and trailing commas: members are put in, and all else stays as it is."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from angelia.core.errors import BadInput

_ASIDE = re.compile(
    r"""  "(?:\\.|[^"\\])*+"                              # a string, which stays
        | //[^\n]*+ | /\*.*?\*/                         # a comment
        | ,(?=(?:\s|//[^\n]*+|(?>/\*.*?\*/))*+[}\]])    # a comma after which nothing comes
    """,
    re.DOTALL | re.VERBOSE,
)
_REST_OF_LINE = re.compile(r"(?:[ \t]*//[^\n]*?(?=\r?\n))?")
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


class _Member(Struct, frozen=True):
    """A member of an object, and where its value stands."""

    name: str
    value: Any
    start: int
    end: int


class _Edit(Struct, frozen=True):
    """What comes in place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def put_in(text: str, wanted: Mapping[str, Any]) -> str:
    """`text` with the members of `wanted` in its outermost object; an empty text begins one.

    An object that stands there already is gone into and keeps what else it holds, a list stays as it stands, and
    any other value becomes the one that is wanted. Comments and layout stay as they are.

    Raises:
        BadInput: the text is no such JSON, or what stands where an object is wanted is none.
    """
    if not plain(text).strip():
        text = f"{text.rstrip()}\n{{}}\n".lstrip("\n")
    newline = "\r\n" if "\r\n" in text else "\n"
    while edit := next(_edits(text, wanted), None):
        text = text[: edit.start] + edit.text.replace("\n", newline) + text[edit.end :]
    return text


def plain(text: str) -> str:
    """The text with blanks for its comments and trailing commas; every other character stays in its place."""
    return _ASIDE.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text)


def _edits(text: str, wanted: Mapping[str, Any]) -> Iterator[_Edit]:
    """What is to be changed, outermost first; each holds for the text as it is now."""
    bare = plain(text)
    try:
        tree = json.loads(bare)
    except json.JSONDecodeError as error:
        raise BadInput(f"Line {error.lineno} is not as JSON has it, comments aside: {error.msg}.") from None
    if not isinstance(tree, dict):
        raise BadInput("What it holds is not an object.")
    yield from _edits_in(text, bare, _after_space(bare, 0), wanted, 1)


def _edits_in(text: str, bare: str, at: int, wanted: Mapping[str, Any], depth: int) -> Iterator[_Edit]:
    """The same for the object that begins at `at`."""
    members = {member.name: member for member in _members(bare, at)}
    for name, value in wanted.items():
        stands = members.get(name)
        if stands is None:
            yield _insertion(text, at, {name: value}, depth, empty=not members)
        elif isinstance(value, Mapping):
            if not isinstance(stands.value, dict):
                raise BadInput(f"`{name}` is not an object.")
            yield from _edits_in(text, bare, stands.start, value, depth + 1)
        elif stands.value != value and not isinstance(stands.value, list):
            yield _Edit(stands.start, stands.end, json.dumps(value, ensure_ascii=False))


def _members(bare: str, at: int) -> Iterator[_Member]:
    """The members of the object that begins at `at`, which is known to be whole."""
    at = _after_space(bare, at + 1)
    while bare[at] != "}":
        name, end = _DECODER.raw_decode(bare, at)
        start = _after_space(bare, _after_space(bare, end) + 1)
        value, end = _DECODER.raw_decode(bare, start)
        yield _Member(name, value, start, end)
        at = _after_space(bare, end)
        if bare[at] == ",":
            at = _after_space(bare, at + 1)


def _insertion(text: str, brace: int, member: Mapping[str, Any], depth: int, *, empty: bool) -> _Edit:
    """A first member for the object that begins at `brace`; a comment on the line of that brace stays there."""
    at = _after(_REST_OF_LINE, text, brace + 1)
    unit = _unit(text)
    lines = json.dumps(member, indent=unit, ensure_ascii=False)[1:-2]  # without the braces, and the newline at the end
    body = lines.replace("\n", "\n" + unit * (depth - 1)) + ("" if empty else ",")
    if not text[at:].lstrip(" \t\r").startswith("\n"):
        body += "\n" + unit * (depth - empty)
    return _Edit(at, at, body)


def _unit(text: str) -> str:
    """What the outermost members are indented by; two blanks where that cannot be seen."""
    bare = plain(text)
    member = _after_space(bare, _after_space(bare, 0) + 1)
    lead = text[text.rfind("\n", 0, member) + 1 : member]
    return lead if lead and not lead.strip(" \t") and bare[member] == '"' else "  "


def _after_space(bare: str, at: int) -> int:
    return _after(_SPACE, bare, at)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of what stands at `at`; the pattern matches the empty text too."""
    found = pattern.match(text, at)
    return found.end() if found else at
