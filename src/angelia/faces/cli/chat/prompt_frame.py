"""What stands around the input of a conversation: what happens now, what is attached, and how it stands."""

from typing import TYPE_CHECKING

from angelia.core.ids import wall_clock
from angelia.core.visible import visible_line
from angelia.faces.cli.chat.input import PromptFrame
from angelia.faces.words.widths import cut, wrapped

if TYPE_CHECKING:
    from angelia.faces.cli.chat.app import ChatApp


def prompt_frame(chat: "ChatApp") -> PromptFrame:
    """What the input shows around itself."""
    return PromptFrame(
        lambda columns, rows: _above(chat, columns, rows), lambda: _before(chat), lambda columns: _below(chat, columns)
    )


def _above(chat: "ChatApp", columns: int, rows: int) -> list[tuple[str, str]]:
    names = f"attached: {visible_line(', '.join(chat.attached_names))}" if chat.attached_names else ""
    attached = [("class:running", f"{line}\n") for line in wrapped(names, columns)]
    shown = chat.watching.now.shown(columns, max(rows - len(attached), 1)) if chat.opened.is_set() else []
    return [("", "\n"), *shown, *attached]


def _before(chat: "ChatApp") -> str:
    if chat.asks:
        return "y/n › "
    return "answer › " if chat.ready.is_set() and chat.session.questions() else "› "


def _below(chat: "ChatApp", columns: int) -> str:
    if not chat.ready.is_set():
        return cut(" looking for a model…" if chat.opened.is_set() else " opening…", columns)
    turn, mode = chat.session.turn, chat.app.modes.of(chat.session)
    where = chat.session.preset or chat.session.sandbox
    words = [chat.spec, *([where] if where != "local" else [])]
    words += [*chat.watching.usage_meter.words(chat.profile.window), str(mode)]
    if chat.session.questions():
        words.append("waiting for your answer")
    elif turn.cancelled_at:
        words.append("stopping…")
    elif turn.opened:
        seconds = max(wall_clock() - turn.started_at - turn.waited, 0) // 1000
        words.append(f"working… {seconds} s")
    return cut(visible_line(f" {' · '.join(words)}"), columns)
