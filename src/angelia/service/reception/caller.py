"""Somebody who may speak, as they stand before us with one message; and what comes of a verb or an answer."""

from msgspec import Struct

from angelia.core import entry as e
from angelia.service.judging import OWNER
from angelia.service.line import Line
from angelia.service.reception.people import Spot
from angelia.service.sessions import Session
from angelia.service.speakers import opener


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


def may_stop(caller: Caller, session: Session) -> bool:
    """Whether somebody may end the running turn: the owner, and whoever opened it."""
    first = opener(session)
    return caller.person == OWNER or (first is not None and first.sender == caller.person)


def may_change(caller: Caller) -> bool:
    """Whether somebody may say which conversation a chat is in, and how it works: alone with us, everybody.

    In a group that shares one conversation the owner alone; where a channel has none, whoever began it.
    """
    if caller.private or caller.spot.person or caller.person == OWNER or caller.session is None:
        return True
    return not caller.line.settings.owners and caller.session.owner == caller.person
