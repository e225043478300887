"""Who has a say in the running turn of a conversation: whoever opened it, and the guests who spoke in it."""

from angelia.core import entry as e
from angelia.core.principal import OWNER, Principal
from angelia.service.conversation.session import Session


def guests_in(session: Session) -> tuple[Principal, ...]:
    """Everybody but the owner who spoke in the running turn, or opened it; each once, as the log names them."""
    first, opened = session.turn.opener, session.turn.opened
    since = [entry.fact for entry in session.log.entries[opened:]] if opened else []
    said = [*([first.principal] if first else []), *(fact.sender for fact in since if isinstance(fact, e.Opening))]
    return tuple(dict.fromkeys(one for one in said if one != OWNER))
