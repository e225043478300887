"""Deliveries that are being sent: what is known of each of their messages."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.channels.outgoing import Outgoing
from angelia.core import entry as e
from angelia.core.ids import DeliveryId
from angelia.service.chats.messages import CannotSend
from angelia.store.tables.outbox import Progress, Receipt


class Delivered(Struct, frozen=True):
    """The message is there, under this id."""

    platform_id: str


class SendFailed(Struct, frozen=True):
    """It is not there and will not be, because of `why`; `spent` says that every try was used, and none refused."""

    why: str
    spent: bool = False


class Unknown(Struct, frozen=True):
    """Nobody knows whether it is there."""

    why: str


Outcome = Delivered | SendFailed | Unknown


class Underway:
    """One delivery: its messages, and what became of those before."""

    def __init__(self, receipt: Receipt, planned: Sequence[Outgoing | CannotSend], progress: Progress) -> None:
        self.receipt, self.planned = receipt, planned
        self.progress = progress
        self.outcomes: dict[int, Outcome] = {at: Delivered(name) for at, name in progress.arrived.items()}

    @property
    def missing(self) -> "list[Place]":
        """The messages of which it is not known what became."""
        return [Place(self, number) for number in range(len(self.planned)) if number not in self.outcomes]

    def arrived_before(self, number: int) -> bool:
        """Whether everything before a message is known to be there."""
        return all(isinstance(self.outcomes.get(before), Delivered) for before in range(number))

    def settlement(self) -> e.DeliverySettled:
        """What became of it, from what became of its messages."""
        return settlement(self.receipt.id, [self.outcomes[number] for number in sorted(self.outcomes)])


class Place(Struct, frozen=True):
    """One message of a delivery."""

    delivery: Underway
    number: int

    @property
    def receipt(self) -> Receipt:
        """The delivery, as the store has it."""
        return self.delivery.receipt

    @property
    def message(self) -> Outgoing | CannotSend:
        """What goes out."""
        return self.delivery.planned[self.number]

    @property
    def doubts(self) -> int:
        """The sends in earlier lives of which nobody knows whether they arrived."""
        return self.delivery.progress.doubts.get(self.number, 0)

    @property
    def key(self) -> str:
        """The message's name at a network that absorbs repeats."""
        return f"{self.receipt.id}.{self.number}"


def settlement(delivery: DeliveryId, outcomes: Sequence[Outcome]) -> e.DeliverySettled:
    """What became of a delivery, from what became of its messages."""
    failed = [outcome.why for outcome in outcomes if isinstance(outcome, SendFailed)]
    unknown = [outcome.why for outcome in outcomes if isinstance(outcome, Unknown)]
    arrived = [outcome.platform_id for outcome in outcomes if isinstance(outcome, Delivered)]
    status = e.DeliveryStatus.FAILED if failed else e.DeliveryStatus.UNKNOWN if unknown else e.DeliveryStatus.SENT
    return e.DeliverySettled(delivery, status, arrived[0] if arrived else "", "; ".join(failed + unknown))
