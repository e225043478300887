"""What stands around the input of a conversation: what happens now, what is attached, and how it stands."""

from typing import TYPE_CHECKING

from angelia.core.ids import wall_clock
from angelia.core.visible import visible_line
from angelia.faces.cli.chat.input import PromptFrame
from angelia.faces.words.widths import cells, cut, wrapped

if TYPE_CHECKING:
    from angelia.faces.cli.chat.app import ChatApp


def prompt_frame(chat: "ChatApp") -> PromptFrame:
    """What the input shows around itself."""
    return PromptFrame(
        lambda columns, rows: _above(chat, columns, rows),
        lambda: _before(chat),
        lambda columns: _below(chat, columns),
        lambda: _busy(chat),
    )


def _above(chat: "ChatApp", columns: int, rows: int) -> list[tuple[str, str]]:
    names = f"attached: {visible_line(', '.join(chat.parts.names))}" if chat.parts.names else ""
    attached = [[("class:dim", line)] for line in wrapped(names, columns)]
    live = []
    if chat.opened.is_set():
        from angelia.faces.cli.chat.live_rows import live_rows

        live = live_rows(chat.watching.now, columns, max(rows - len(attached) - 2, 1), plan_turned=chat.plan_turned)
    shown = [piece for row in (*live, *attached) for piece in (*row, ("", "\n"))]
    gap = [("", "\n")]
    return [*gap, *shown, *(gap if live and not attached else [])]


def _busy(chat: "ChatApp") -> bool:
    if chat.asks:
        return False
    return not chat.ready.is_set() or (bool(chat.session.turn.opened) and not chat.session.questions())


def _before(chat: "ChatApp") -> str:
    if chat.asks:
        return "y/n › "
    return "answer › " if chat.ready.is_set() and chat.session.questions() else "› "


def _below(chat: "ChatApp", columns: int) -> str:
    """The state first, and it is whole; then what fits, the most used first."""
    if not chat.ready.is_set():
        return cut(" looking for a model…" if chat.opened.is_set() else " opening…", columns)
    line = " "
    for number, words in enumerate(_status(chat, columns)):
        more = visible_line(words) if number == 0 else f" · {visible_line(words)}"
        if number and cells(line) + cells(more) > columns:
            break
        line += more
    return cut(line, columns)


def _status(chat: "ChatApp", columns: int) -> list[str]:
    mode, watching = str(chat.app.modes.of(chat.session)), chat.watching
    where = chat.session.preset or chat.session.sandbox
    place = [where] if where != "local" else []
    used = watching.usage_meter.words(chat.profile.window)
    return [*_state(chat), mode, *place, chat.spec, *used]


def _state(chat: "ChatApp") -> list[str]:
    turn, now = chat.session.turn, chat.watching.now
    seconds = max(wall_clock() - turn.started_at - turn.waited, 0) // 1000
    if chat.session.questions():
        return ["waiting for your answer"]
    if turn.cancelled_at:
        return ["stopping"]
    if chat.talking and (state := chat.talking.state):
        return [state, "Enter sends, Esc leaves" if state == "listening" else "Esc stops"]
    if turn.opened:
        word = "waiting" if now.resting or now.awaiting else "writing" if now.writes else "working"
        return [f"{word} {seconds} s", "Esc stops"]
    return ["ready"]
