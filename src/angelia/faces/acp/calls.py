"""Tool calls as an editor shows them: what kind they are, where they work, and what came of them."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from angelia.core.content import CallStatus, Media, Text, ToolCall
from angelia.core.content import Content as Part
from angelia.core.entry import Diff, ToolFinished, WorkEnded
from angelia.core.errors import UNREADABLE
from angelia.core.text import clean, fenced
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.faces.words.call_lines import call_in_words

KINDS = {
    "shell": "execute",
    "process": "execute",
    "read": "read",
    "look_again": "read",
    "find": "search",
    "write": "edit",
    "edit": "edit",
    "fetch": "fetch",
    "todo": "think",
}
"""The protocol's kind of each tool; a third-party one is `other`."""

_VERBATIM = frozenset({"shell", "process", "read", "find"})
"""Tools whose results are no Markdown."""

DEEPEST = 100
"""Levels of arguments that are sent as an object: serde_json, by which clients in Rust read, takes 128 in a message."""

TAIL = 4_000
"""Characters of a running command's output that are shown."""


def made(call: ToolCall, workspace: str) -> o.CallMade:
    """A call that the model wants."""
    return o.CallMade(
        tool_call_id=call.id,
        title=call_in_words(call),
        kind=kind_of(call),
        locations=places(call, workspace),
        raw_input=arguments(call),
    )


def finished(call: ToolCall, fact: ToolFinished, workspace: str, terminal: str = "") -> o.CallChanged:
    """What came of it: diffs first, then what the model was told; or the terminal in which it can be seen."""
    told_in_words = [o.AcpShown(shown(part, call.name)) for part in fact.parts]
    content: list[o.Piece] = [
        *_diffs(fact.diffs, workspace),
        *([o.InTerminal(terminal)] if terminal else told_in_words),
    ]
    told = "\n".join(part.text for part in fact.parts if isinstance(part, Text))
    return o.CallChanged(
        tool_call_id=call.id,
        status="completed" if fact.status is CallStatus.OK else "failed",
        content=tuple(content),
        raw_output={"status": str(fact.status), "seconds": fact.seconds, "text": told},
    )


def in_terminal(call: ToolCall, terminal: str) -> o.CallChanged:
    """A call whose command runs in a terminal of the client."""
    return o.CallChanged(call.id, status="in_progress", content=(o.InTerminal(terminal),))


def ended(call: ToolCall, fact: WorkEnded) -> o.CallChanged:
    """What the work came to that went on behind a call."""
    status = "completed" if fact.status is CallStatus.OK else "failed"
    return o.CallChanged(
        call.id, status=status, content=tuple(o.AcpShown(shown(part, call.name)) for part in fact.parts)
    )


def working(call: ToolCall, tail: str, media: Media | None = None) -> o.CallChanged:
    """A call that runs, with the end of what it has put out so far, and the last medium that it showed."""
    words = clean(tail[-TAIL:])
    said = (o.AcpShown(o.AcpWords(fenced(words))),) if words.strip() else ()
    seen = (o.AcpShown(o.Unopened(media)),) if media else ()
    return o.CallChanged(call.id, status="in_progress", content=(*said, *seen) or None)


def in_question(call: ToolCall, workspace: str, about: str) -> r.CallInQuestion:
    """A call that a person is asked about, with what it would change where its arguments tell.

    `about` is shown whole; the title is short, and says nothing that `about` does not.
    """
    return r.CallInQuestion(
        tool_call_id=call.id,
        title=call_in_words(call),
        kind=kind_of(call),
        content=(o.AcpShown(o.AcpWords(about)), *_wanted_changes(call, workspace)),
        locations=places(call, workspace),
        raw_input=arguments(call),
    )


def kind_of(call: ToolCall) -> str:
    """The protocol's kind of a call."""
    return KINDS.get(call.name, "other")


def places(call: ToolCall, workspace: str) -> tuple[o.AcpPlace, ...]:
    """The file that a call works on, as an absolute path."""
    given = _object(call)
    path, line = given.get("path"), given.get("offset")
    if not isinstance(path, str) or not path or path.startswith(("blob:", "call:")) or call.name == "fetch":
        return ()
    return (o.AcpPlace(_absolute(path, workspace), line if isinstance(line, int) and line > 0 else None),)


def arguments(call: ToolCall) -> Any:
    """The arguments as an object, or as the text they are if they are none, or nested deeper than clients read."""
    try:
        given = msgspec.json.decode(call.arguments)
    except UNREADABLE:
        return call.arguments
    return call.arguments if _deeper(given, DEEPEST) else given


def shown(part: Part, tool: str) -> o.Content:
    """A piece of a result."""
    if isinstance(part, Media):
        return o.Unopened(part)
    return o.AcpWords(fenced(part.text) if tool in _VERBATIM else part.text)


def _diffs(diffs: Sequence[Diff], workspace: str) -> list[o.AcpChanged]:
    return [o.AcpChanged(_absolute(diff.path, workspace), diff.new, diff.old or None) for diff in diffs]


def _wanted_changes(call: ToolCall, workspace: str) -> tuple[o.AcpChanged, ...]:
    match call.name, _object(call):
        case "write", {"path": str(path), "content": str(content)}:
            return (o.AcpChanged(_absolute(path, workspace), content),)
        case "edit", {"path": str(path), "old": str(old), "new": str(new)}:
            return (o.AcpChanged(_absolute(path, workspace), new, old),)
        case _:
            return ()


def _absolute(path: str, workspace: str) -> str:
    return posixpath.normpath(posixpath.join(workspace, path))


def _deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_deeper(one, levels - 1) for one in inner)


def _object(call: ToolCall) -> Mapping[str, Any]:
    given = arguments(call)
    return given if isinstance(given, dict) else {}
