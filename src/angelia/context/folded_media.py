"""The media of a fold: which stay in sight, and the line that stands for each of the others.

A summariser's words may forget a picture. So these lines are made here, from the log alone, and stand beside the
summary whoever wrote it: what each medium is, where it lies in the workspace, and the call that shows it again.
"""

from collections.abc import Sequence

import msgspec

from angelia.context.media_forms import label
from angelia.context.tokens import text_tokens
from angelia.core import entry as e
from angelia.core.content import Media, ToolCall
from angelia.core.errors import UNREADABLE
from angelia.core.ids import CallId
from angelia.core.media_parts import media_parts

_MOST_TOKENS = 2_000
_SHARE = 16
"""The lines take at most a sixteenth of a window, and 2,000 tokens: 12 lines at 8,000 tokens, some 50 from 32,000."""


def newest_with_media(log: Sequence[e.Entry], before: int) -> tuple[int, ...]:
    """The entries before `before` that keep the newest media in sight: the newest person's message with media and the
    newest reply whose results have any, the latter with all its results. Of each side, none if a later one stands at
    or behind `before`.
    """
    newest_said = next((x.seq for x in reversed(log) if isinstance(x.fact, e.Opening) and media_parts(x.fact)), 0)
    kept = {newest_said}
    shown = next((x for x in reversed(log) if isinstance(x.fact, e.ToolFinished) and media_parts(x.fact)), None)
    if shown and isinstance(shown.fact, e.ToolFinished):
        kept.update(_reply_with(log, shown.seq, shown.fact.call))
    return tuple(sorted(seq for seq in kept if 0 < seq < before))


def _reply_with(log: Sequence[e.Entry], at: int, call: CallId) -> list[int]:
    """The reply that made a call, and the results of all its calls; nothing if a file of an answer was the call."""
    for entry in reversed(log[:at]):
        if not isinstance(entry.fact, e.ModelSaid):
            continue
        calls = {part.id for part in entry.fact.parts if isinstance(part, ToolCall)}
        if call in calls:
            results = (x for x in log[entry.seq :] if isinstance(x.fact, e.ToolFinished))
            return [entry.seq, *(x.seq for x in results if isinstance(x.fact, e.ToolFinished) and x.fact.call in calls)]
    return []


def folded_media(log: Sequence[e.Entry], cut: int, kept: Sequence[int] = ()) -> tuple[e.Aged, ...]:
    """The line of every medium before `cut` that is not kept, oldest first, each once; a pure function of the log."""
    before, stay = log[: max(cut - 1, 0)], set(kept)
    paths = _paths(before)
    lines: dict[str, e.Aged] = {}
    for entry in before:
        for index, media in media_parts(entry.fact) if entry.seq not in stay else ():
            path = paths.get((entry.seq, index), "")
            if path or media.blob.sha256 not in lines:  # seen again, it says where it lies if that is known
                lines[media.blob.sha256] = e.Aged(entry.seq, index, _line(media, path))
    return tuple(lines.values())


def _paths(log: Sequence[e.Entry]) -> dict[tuple[int, int], str]:
    """Where media lie in the workspace: as the inbox put them there, or as the call named them that showed them."""
    paths: dict[tuple[int, int], str] = {}
    made: dict[CallId, str] = {}
    for entry in log:
        match entry.fact:
            case e.FilesPlaced(seq=said, files=files):
                paths.update(((said, file.part), file.path) for file in files if file.path)
            case e.ModelSaid(parts=parts):
                made.update((part.id, part.arguments) for part in parts if isinstance(part, ToolCall))
            case e.ToolFinished(call=call):
                found = media_parts(entry.fact)
                if len(found) == 1 and (path := _path_in(made.get(call, ""))):
                    paths[entry.seq, found[0][0]] = path
            case _:
                pass
    return paths


def _path_in(arguments: str) -> str:
    """The path that a call was made with, so that what it showed can be found again; empty without one."""
    try:
        given = msgspec.json.decode(arguments) if arguments else None
    except UNREADABLE:
        return ""
    path = given.get("path") if isinstance(given, dict) else None
    return path if isinstance(path, str) else ""


def _line(media: Media, path: str) -> str:
    where = f", {path}" if path else ""
    return f'[{label(media)}{where}: look_again("{media.blob.sha256[:12]}") shows it]'


def told_media(lines: Sequence[e.Aged], window: int) -> str:
    """What a model reads of folded media beside the summary: the newest ones' lines, as many as the budget holds, and
    how to have all of them.
    """
    budget = min(_MOST_TOKENS, window // _SHARE) if window else _MOST_TOKENS
    told: list[str] = []
    for one in reversed(lines):
        budget -= text_tokens(one.line)
        if budget < 0 and told:
            break
        told.append(one.line)
    older = len(lines) - len(told)
    more = [f'[{older} older ones are not listed here: look_again("") lists all]'] if older else []
    return "\n".join([*more, *reversed(told)])
