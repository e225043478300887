"""What became of deliveries, as rows for every door; those that failed can be let be."""

from collections.abc import Sequence

from angelia.core.content import Media, Text
from angelia.core.entry import DeliveryLetBe
from angelia.core.errors import BadInput
from angelia.core.principal import Principal
from angelia.core.text import one_line
from angelia.store.log.transcript import Transcript
from angelia.store.tables.outbox import Receipt

HEAD = ("STATUS", "TO", "AS", "WHAT")
DOUBTFUL = ("failed", "unknown")
"""What became of a delivery that asks for somebody: to be sent again, or to be let be."""


async def let_be(transcript: Transcript, receipt: Receipt, by: Principal) -> None:
    """They want to hear no more of it. It stays as it is in the log, and can still be sent again.

    Raises:
        BadInput: it neither failed nor may have.
    """
    if receipt.status not in DOUBTFUL:
        raise BadInput(f"This delivery is {_status(receipt)}; only one that failed, or may have, can be let be.")
    await transcript.append(receipt.conversation, [DeliveryLetBe(receipt.id, by)])


def receipt_rows(receipts: Sequence[Receipt]) -> list[tuple[str, ...]]:
    """A head and a row for each delivery: status, where to, what for, what; no head where there is none.

    What was sent ends with the network's name for it, anything else with the reason why it was not.
    """
    rows = [(_status(one), _place(one), one.origin, _what(one)) for one in receipts]
    return [HEAD, *rows] if rows else []


def words_in_a_line(text: str, most: int) -> str:
    r"""How a message begins, without the marks of its Markdown.

    >>> words_in_a_line("# Harvest\n\nThe **south** bed brought `33 kg`.", 40)
    'Harvest The south bed brought 33 kg.'
    """
    from angelia.channels.markup.cutting import plain
    from angelia.channels.markup.reader import read_markdown

    return one_line(plain(read_markdown(text[: most * 4])), most)


def _status(receipt: Receipt) -> str:
    return receipt.status.replace("_", " ")


def _place(receipt: Receipt) -> str:
    address = receipt.address
    return "/".join(part for part in (address.door, address.chat, address.thread) if part)


def _what(receipt: Receipt) -> str:
    words = [part.name or part.media.value for part in receipt.parts if isinstance(part, Media)]
    words += [words_in_a_line(part.text, 60) for part in receipt.parts if isinstance(part, Text)]
    more = receipt.detail or receipt.platform_id
    return " · ".join([*words, *([more] if more else [])])
