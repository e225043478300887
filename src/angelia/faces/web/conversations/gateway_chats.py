"""The chats of a gateway in this process, for a page that is served beside it."""

from angelia.core.ids import ConversationId
from angelia.service.chats.gateway import Gateway
from angelia.service.conversation.session import Session


class GatewayChats:
    """See `web_conversations.DrivesChats`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def drive(self, conversation: ConversationId, door: str) -> Session | None:
        """As the gateway drives it: with its channel's model, people and questions."""
        return await self._gateway.chat_sessions.driven(conversation, door)
