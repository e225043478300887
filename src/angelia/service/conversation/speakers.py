"""Who has a say in the running turn of a conversation: whoever opened it, and the guests who spoke in it."""

from angelia.core import entry as e
from angelia.core.principal import OWNER, Principal
from angelia.service.conversation.session import Session


def guests_in(session: Session) -> tuple[Principal, ...]:
    """Everybody but the owner who spoke in the running turn, or opened it; each once, as the log names them. Whose
    message waits until it has ended has no say in it.
    """
    first, opened = session.turn.opener, session.turn.opened
    waits = {one.seq for one in session.turn.unread if one.queued}
    since = [entry for entry in session.log.entries[opened:] if entry.seq not in waits] if opened else []
    said = [one.fact.sender for one in since if isinstance(one.fact, e.Opening)]
    return tuple(dict.fromkeys(one for one in [*([first.principal] if first else []), *said] if one != OWNER))
