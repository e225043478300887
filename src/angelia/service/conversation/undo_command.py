"""What `/undo` says and does: a word to look, another to do it."""

from datetime import UTC, datetime

from angelia.core.errors import BadInput
from angelia.core.principal import Principal
from angelia.core.text import clean, one_line
from angelia.service.conversation.session import Session
from angelia.service.conversation.undo import BACK, preview, take_back, undoable_turns
from angelia.service.conversation.undo_services import UndoPreview, UndoServices

_LISTED = 20


async def undo_command(undo: UndoServices, session: Session, word: str, *, by: Principal) -> str:
    """Answer `/undo` in words: without one, or with a turn's number or `back`, it only shows.

    Raises:
        BadInput: it cannot be done; says why.
    """
    match word.strip().lower():
        case "list":
            return await listed(undo, session)
        case "yes":
            shown = undo.shown.pop(session.conversation, None)
            if shown is None:
                raise BadInput("Nothing was shown that could be taken back.", then="/undo shows it; /undo yes does it.")
            return await take_back(undo, session, shown, by=by)
        case which:
            found = await preview(undo, session, which)
            if not found.empty:
                undo.shown[session.conversation] = found
            return "\n".join([heading(found), *found.lines, *([] if found.empty else ["/undo yes does this."])])


def heading(found: UndoPreview) -> str:
    """What is about to be looked at."""
    what = f"turn {found.turn}" if found.turn else "what was taken back last"
    return f"Everything is as it was before {what}." if found.empty else f"Taking back {what}:"


async def listed(undo: UndoServices, session: Session) -> str:
    """The turns that can be taken back, one line each, the latest first."""
    turns = await undoable_turns(undo, session)
    lines = [
        f"{turn.number}  {datetime.fromtimestamp(turn.at / 1000, UTC):%Y-%m-%d %H:%M}  "
        f"{one_line(clean(turn.title), 60) or 'without words'}"
        for turn in reversed(turns[-_LISTED:])
    ]
    return "\n".join(lines or ["Nothing is kept that could be taken back."]) + f"\n/undo {BACK} puts back the last one."
