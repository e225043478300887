"""What became of deliveries, as rows for every door."""

from collections.abc import Sequence

from angelia.core.content import Media, Text
from angelia.core.text import one_line
from angelia.store.tables.outbox import Receipt

HEAD = ("STATUS", "TO", "AS", "WHAT")


def receipt_rows(receipts: Sequence[Receipt]) -> list[tuple[str, ...]]:
    """A head and a row for each delivery: status, where to, what for, what; no head where there is none.

    What was sent ends with the network's name for it, anything else with the reason why it was not.
    """
    rows = [(one.status, _place(one), one.origin, _what(one)) for one in receipts]
    return [HEAD, *rows] if rows else []


def _place(receipt: Receipt) -> str:
    address = receipt.address
    return "/".join(part for part in (address.door, address.chat, address.thread) if part)


def _what(receipt: Receipt) -> str:
    words = [part.name or part.media.value for part in receipt.parts if isinstance(part, Media)]
    words += [one_line(part.text, 60) for part in receipt.parts if isinstance(part, Text)]
    more = receipt.detail or receipt.platform_id
    return " · ".join([*words, *([more] if more else [])])
