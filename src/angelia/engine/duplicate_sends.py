"""A file that is on its way to somebody since earlier in the turn is not sent twice; pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.tools.port import Delivery, ToolOutcome


def without_repeats(log: Sequence[e.Entry], outcome: ToolOutcome) -> ToolOutcome:
    """The outcome without deliveries whose file is on its way to the same address since this turn."""
    fresh = tuple(delivery for delivery in outcome.deliveries if not _on_its_way(log, delivery))
    if fresh == outcome.deliveries:
        return outcome
    said = Text("This file is on its way to the person since earlier in this turn; it is not sent twice.")
    return replace(outcome, parts=(said,), deliveries=fresh)


def _on_its_way(log: Sequence[e.Entry], delivery: Delivery) -> bool:
    wanted = _blobs(delivery.parts)
    failed: set[str] = set()
    for entry in reversed(log):
        match entry.fact:
            case e.TurnClosed():
                return False
            case e.DeliverySettled(id=number, status=e.DeliveryStatus.FAILED):
                failed.add(number)
            case e.DeliveryQueued(id=number, address=address, parts=parts) if number not in failed:
                if address == delivery.address and wanted and wanted <= _blobs(parts):
                    return True
            case _:
                pass
    return False


def _blobs(parts: Sequence[object]) -> set[str]:
    return {part.blob.sha256 for part in parts if isinstance(part, Media)}
