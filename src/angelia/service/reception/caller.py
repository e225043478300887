"""Somebody who may speak, as they stand before us with one message; and what comes of a verb or an answer."""

from msgspec import Struct

from angelia.core import entry as e
from angelia.service.judging import OWNER
from angelia.service.line import Line
from angelia.service.reception.people import Spot
from angelia.service.sessions import Session


class Caller(Struct, frozen=True):
    """Who speaks, from where, and the conversation of that spot, None before its first.

    `key` is the envelope's; `reply_to` is empty where answers stand alone.
    """

    line: Line
    spot: Spot
    person: str
    key: str
    reply_to: str
    private: bool
    session: Session | None


class Outcome(Struct, frozen=True):
    """What a verb comes to: facts for one commit, and the words of its answer.

    `session` is the conversation that they belong to, None for the caller's own.
    """

    reply: str
    facts: tuple[e.AnyFact, ...] = ()
    session: Session | None = None
    choices: tuple[e.Choice, ...] = ()


def may_answer(person: str, session: Session) -> bool:
    """Whether somebody may answer a conversation's questions: its owner, ours, and whoever opened the running turn."""
    opened = session.turn.opened
    said = session.log.entries[opened - 1].fact if opened else None
    asks = said.sender if isinstance(said, e.UserSaid) else ""
    return person in {OWNER, session.owner, asks}
