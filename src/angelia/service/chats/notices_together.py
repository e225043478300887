"""Notices of deliveries that did not arrive, one behind the other, go as one message that names them all; pure.

Ten files that met one outage are one thing to be told of. Each notice keeps its own receipt, as files of an album do.
"""

from collections.abc import Sequence

from angelia.channels.outgoing import OutText
from angelia.core.ids import DeliveryId
from angelia.service.chats.messages import AGAIN
from angelia.service.chats.underway import Place
from angelia.store.tables.outbox import Receipt

_TOLD = ".told"
_MARK_BYTES = 2 * len(AGAIN.encode())
"""What a mark takes at most, with its markup."""


def told_id(receipt: Receipt) -> DeliveryId:
    """The id of the notice that tells what became of a delivery: it is told once."""
    return DeliveryId(f"{receipt.id}{_TOLD}")


def tells_of_another(receipt: Receipt) -> bool:
    """Whether it is such a notice."""
    return receipt.id.endswith(_TOLD)


def notices_together(places: Sequence[Place], text_limit: int) -> Sequence[Place]:
    """The first of them, and those right behind it that fit into one message. Bytes are counted, which are never fewer
    than characters or UTF-16 units.
    """
    run, left = list(places[:1]), text_limit - _MARK_BYTES - sum(map(_bytes, places[:1]))
    for place in places[1:]:
        left -= _bytes(place)
        if left < 0 or not _stands_with_others(place) or place.doubts != run[0].doubts:
            break
        run.append(place)
    return run


def joined(places: Sequence[Place]) -> OutText:
    """One message of them all, a paragraph each."""
    texts = [place.message for place in places if isinstance(place.message, OutText)]
    marked = [text.marked for text in texts]
    return OutText("\n\n".join(text.plain for text in texts), "\n\n".join(marked) if all(marked) else "")


def _stands_with_others(place: Place) -> bool:
    return tells_of_another(place.receipt) and isinstance(place.message, OutText)


def _bytes(place: Place) -> int:
    text = place.message
    return 2 + max(len(text.plain.encode()), len(text.marked.encode())) if isinstance(text, OutText) else 0
