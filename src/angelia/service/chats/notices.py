"""What we say of our own accord: how a conversation is introduced to a chat's network, and notices."""

from angelia.channels.describe_channel import channel_description
from angelia.channels.incoming import Envelope
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.principal import Principal
from angelia.core.text import clean
from angelia.service.chats.delivery import NOTICE
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.people import ChatKey
from angelia.service.settings.config import GatewaySettings


def introduction(line: OpenChannel, chat_key: ChatKey, person: Principal, settings: GatewaySettings) -> list[e.AnyFact]:
    """A conversation's first words in a chat: that it is reached there, and what can be done there."""
    can = channel_description(
        line.channel.door, line.channel.capabilities, settings.link_hours if settings.links else 0
    )
    return [e.DoorMoved(chat_key.address, person, chat_key.person), e.SystemSaid(can)]


def notice(conversation: ConversationId, envelope: Envelope, text: str) -> e.DeliveryQueued:
    """A word of ours in answer to an envelope, said once."""
    reply_to = "" if envelope.private else envelope.message
    parts = (Text(clean(text)),)
    return e.DeliveryQueued(answer_id(conversation, envelope), envelope.address, parts, NOTICE, reply_to)


def answer_id(conversation: ConversationId, envelope: Envelope) -> DeliveryId:
    """The delivery that answers an envelope: one at most."""
    return DeliveryId(f"{conversation}.k{envelope.key}")
