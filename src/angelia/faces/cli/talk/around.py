"""What stands around the input of a conversation: what happens now, what is attached, and how it stands."""

from typing import TYPE_CHECKING

from angelia.core.ids import wall_clock
from angelia.core.visible import visible_line
from angelia.faces.cli.talk.input import Surroundings
from angelia.faces.cli.widths import cut, wrapped

if TYPE_CHECKING:
    from angelia.faces.cli.talk.talk import Talk


def around(talk: "Talk") -> Surroundings:
    """What the input shows around itself."""
    return Surroundings(
        lambda columns, rows: _above(talk, columns, rows), lambda: _before(talk), lambda columns: _below(talk, columns)
    )


def _above(talk: "Talk", columns: int, rows: int) -> list[tuple[str, str]]:
    names = f"attached: {visible_line(', '.join(talk.attached_names))}" if talk.attached_names else ""
    attached = [("class:running", f"{line}\n") for line in wrapped(names, columns)]
    shown = talk.watching.now.shown(columns, max(rows - len(attached), 1)) if talk.opened.is_set() else []
    return [("", "\n"), *shown, *attached]


def _before(talk: "Talk") -> str:
    if talk.asks:
        return "y/n › "
    return "answer › " if talk.ready.is_set() and talk.session.questions() else "› "


def _below(talk: "Talk", columns: int) -> str:
    if not talk.ready.is_set():
        return cut(" looking for a model…" if talk.opened.is_set() else " opening…", columns)
    turn, mode = talk.session.turn, talk.house.mode(talk.session)
    where = talk.session.preset or talk.session.sandbox
    words = [talk.spec, *([where] if where != "local" else [])]
    words += [*talk.watching.tally.words(talk.profile.window), str(mode)]
    if talk.session.questions():
        words.append("waiting for your answer")
    elif turn.cancelled_at:
        words.append("stopping…")
    elif turn.opened:
        seconds = max(wall_clock() - turn.started_at - turn.waited, 0) // 1000
        words.append(f"working… {seconds} s")
    return cut(visible_line(f" {' · '.join(words)}"), columns)
