"""What we say of our own accord: how a conversation is introduced to a chat's network, and notices."""

from angelia.channels.describe_channel import channel_description
from angelia.channels.incoming import Envelope
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import AngeliaError
from angelia.core.ids import ConversationId, DeliveryId, delivery_id
from angelia.core.principal import Principal
from angelia.core.text import clean
from angelia.engine.state import Turn
from angelia.service.chats.delivery import NOTICE
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.people import ChatKey
from angelia.service.settings.config import GatewaySettings

_TRIED_AGAIN = "Write again, and it is tried once more."


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


def left_lying(conversation: ConversationId, turn: Turn, why: str) -> e.DeliveryQueued | None:
    """That what an earlier life left open is not gone on with, to whoever waits for it; the same one for the same turn.

    None where nobody waits.
    """
    opener = turn.opener if turn.opened else next((one.opener for one in turn.unread), None)
    if opener is None:
        return None
    since = turn.opened or turn.unread[0].seq
    parts = (Text(clean(f"What you wrote here is not answered yet, and is not gone on with: {why}\n{_TRIED_AGAIN}")),)
    return e.DeliveryQueued(delivery_id(conversation, f"l{since}"), opener.address, parts, NOTICE, opener.reply_to)


def begun_anew(address: e.Address, before: ConversationId, error: AngeliaError) -> e.DeliveryQueued:
    """That a chat goes on in a new conversation, since the log of the one before cannot be read."""
    told = (
        "What we said here so far cannot be read any more, so I begin anew and know nothing of it. What was under way "
        f"is not gone on with.\n{error}"
    )
    return e.DeliveryQueued(delivery_id(before, "anew"), address, (Text(clean(told)),), NOTICE)


def answer_id(conversation: ConversationId, envelope: Envelope) -> DeliveryId:
    """The delivery that answers an envelope: one at most."""
    return DeliveryId(f"{conversation}.k{envelope.key}")
