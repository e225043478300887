"""What a network tells later of a message it had taken: for receipts, and for the model if it was given up."""

from angelia.channels import incoming
from angelia.core import entry as e
from angelia.core.text import clean
from angelia.service.reception.desk import Desk

_REACHED = {
    incoming.Reached.DELIVERED: e.Reached.DELIVERED,
    incoming.Reached.READ: e.Reached.READ,
    incoming.Reached.FAILED: e.Reached.FAILED,
    incoming.Reached.TOO_LATE: e.Reached.FAILED,
}


async def confirm(desk: Desk, door: str, told: incoming.Confirmed) -> None:
    """Write down how far a message came, once for each step; what nobody here sent is passed over."""
    found = await desk.house.outbox.by_platform_id(door, told.message)
    if found is None:
        return
    conversation, delivery = found
    fact = e.DeliveryReached(delivery, told.message, _REACHED[told.reached], clean(told.why))
    entries = await desk.house.transcript.entries(conversation)
    if all(entry.fact != fact for entry in entries):
        await desk.house.transcript.append(conversation, [fact])
