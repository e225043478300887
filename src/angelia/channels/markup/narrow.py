"""Wide tables as lists, for networks without tables: on a phone their lines would break, and no column be one."""

from angelia.channels.markup.columns import widest
from angelia.channels.markup.tree import Block, Inline, ListItem, Paragraph, PlainWords, Span, Style, Table

NARROW = 40
"""Columns of a table that a phone still shows beside each other: about what fits into a message in portrait."""


def narrowed(block: Block) -> tuple[Block, ...]:
    """A wide table as an item for each row: its first cell, and beneath it the others, each after its column's head."""
    if not isinstance(block, Table) or not block.headed or widest(block.lines) <= NARROW or len(block.rows) < 2:
        return (block,)
    head, *rows = block.rows
    return tuple(item for row in rows for item in _row(head, row))


def _row(head: tuple[tuple[Inline, ...], ...], row: tuple[tuple[Inline, ...], ...]) -> tuple[Block, ...]:
    title = (Span(Style.STRONG, row[0]),) if row[0] else ()
    items = [_item(title, 0)]
    for name, cell in zip(head[1:], row[1:], strict=True):
        if cell:
            items.append(_item((*name, PlainWords(": "), *cell) if name else cell, 1))
    return tuple(items)


def _item(inner: tuple[Inline, ...], depth: int) -> ListItem:
    return ListItem((Paragraph(inner),) if inner else (), "•", depth)
