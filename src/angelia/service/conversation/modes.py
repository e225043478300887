"""How freely each conversation works."""

from angelia.core.ids import ConversationId
from angelia.policy.situation import Mode
from angelia.service.conversation.session import Session


class ConversationModes:
    """How freely each conversation works: as configured, until somebody says otherwise."""

    def __init__(self, configured: Mode) -> None:
        self._configured = configured
        self._chosen: dict[ConversationId, Mode] = {}

    def of(self, session: Session) -> Mode:
        """As of now; a child's is that of the conversation it works for."""
        root = self._chosen.get(session.root, self._configured)
        return self._chosen.get(session.conversation, root)

    def choose(self, session: Session, mode: Mode) -> None:
        """From the next call on, in this process."""
        self._chosen[session.conversation] = mode
