"""Reads the entries of some kinds of one conversation, and leaves the others where they lie."""

from collections.abc import Sequence

from angelia.core import codec
from angelia.core.entry import Entry, Fact
from angelia.core.ids import ConversationId
from angelia.store.port import StoreConnection


def entries_of_kinds(
    connection: StoreConnection, conversation: ConversationId, kinds: Sequence[type[Fact]], after: int, upto: int
) -> list[Entry]:
    """The entries of these kinds with numbers above `after` and up to `upto`, in order.

    Nobody looks whether they are what was stored, since those between them are not read: whoever reads the whole
    conversation is told.

    Raises:
        CodecError: a newer version wrote one.
    """
    rows = connection.execute(
        "SELECT seq, at, version, body FROM entries WHERE conversation = ? AND seq > ? AND seq <= ?"  # noqa: S608
        f" AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY seq",
        (conversation, after, upto, *(kind.__name__ for kind in kinds)),
    ).fetchall()
    where = f"An entry of {conversation}"
    return [Entry(seq, at, codec.decode(body, version=version, where=where)) for seq, at, version, body in rows]
