"""Events of a Matrix room that are no messages and that somebody said all the same: polls, and kinds not known here."""

from typing import Any

from angelia.channels.lenient import within
from angelia.channels.matrix.payloads import Body

_POLLS = ("m.poll.start", "org.matrix.msc3381.poll.start")
_SILENT = ("m.room.", "m.call.", "m.key.", "m.poll.", "m.beacon", "org.matrix.msc3381.poll.", "org.matrix.msc3672.")
"""What clients show as no message of its own: the room's doings, signals of calls, votes, and places that move."""


def words_of(kind: str, event: Body) -> str:
    """What such an event says in words; empty for what says nothing to anybody (state, and what stands above)."""
    content: Body = within(event, "content", default=Body())
    if kind in _POLLS:
        poll: Body = within(content, "m.poll", default=within(content, _POLLS[1], default=Body()))
        answers: list[Any] = within(poll, "answers", default=list[Any]())
        lines = [f"• {_text(one)}" for one in answers if isinstance(one, dict)]
        return "\n".join([f"Poll: {_text(within(poll, 'question', default=Body()))}", *lines])
    if "state_key" in event or not content or kind.startswith(_SILENT):
        return ""
    body = within(content, "body", default="") or _text(content)
    return body or f"(something of the kind “{kind}”, which is not read here)"


def _text(block: Body) -> str:
    """The words of an extensible event's block (MSC1767), in the forms in which clients send them."""
    for name in ("m.text", "org.matrix.msc1767.text", "body"):
        match block.get(name):
            case str(text):
                return text
            case [{"body": str(text)}, *_]:
                return text
            case _:
                continue
    return ""
