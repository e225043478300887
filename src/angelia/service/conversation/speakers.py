"""Who has a say in the running turn of a conversation: whoever opened it, and the guests who spoke in it."""

from angelia.core import entry as e
from angelia.service.conversation.judging import OWNER
from angelia.service.conversation.session import Session


def opener(session: Session) -> e.UserSaid | None:
    """The message that the running turn answers, or the last one before a turn that no message opened."""
    entries, opened = session.log.entries, session.turn.opened
    for entry in reversed(entries[:opened] if opened else entries):
        if isinstance(entry.fact, e.UserSaid):
            return entry.fact
    return None


def guests_in(session: Session) -> tuple[str, ...]:
    """Everybody but the owner who spoke in the running turn, or opened it; each once, as the log names them."""
    first, opened = opener(session), session.turn.opened
    since = [entry.fact for entry in session.log.entries[opened:]] if opened else []
    said = [fact.sender for fact in (first, *since) if isinstance(fact, e.UserSaid)]
    return tuple(dict.fromkeys(one for one in said if one != OWNER))
