"""What a network tells later of a message it had taken: for receipts, and for the model if it was given up."""

from angelia.channels import incoming
from angelia.core import entry as e
from angelia.core.text import clean
from angelia.service.chats.sessions import ChatSessions

_REACHED = {
    incoming.ReachedUpdate.DELIVERED: e.DeliveryReach.DELIVERED,
    incoming.ReachedUpdate.READ: e.DeliveryReach.READ,
    incoming.ReachedUpdate.FAILED: e.DeliveryReach.FAILED,
    incoming.ReachedUpdate.TOO_LATE: e.DeliveryReach.FAILED,
}


async def confirm(chat_sessions: ChatSessions, door: str, told: incoming.Confirmed) -> None:
    """Write down how far a message came, once for each step; what nobody here sent is passed over.

    What was told before is absorbed by the store (`Transcript.append`), so that nothing of the log is read for it.
    """
    found = await chat_sessions.services.outbox.by_platform_id(door, told.message)
    if found is None:
        return
    conversation, delivery = found
    fact = e.DeliveryReached(delivery, told.message, _REACHED[told.reached], clean(told.why))
    await chat_sessions.services.transcript.append(conversation, [fact])
