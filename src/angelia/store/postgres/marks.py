"""What each process has written last, by a mark that its transactions leave: so it can be asked for afterwards.

When a connection breaks between `COMMIT` and its answer, nobody knows what became of it. The server could be asked
about the number of the transaction (`pg_xact_status`), but one that crashed, or the standby that takes its place, gives
numbers out again that had not reached its disk, and then answers for somebody else's. A mark is part of what is
committed: it is there if, and only if, the rest is. Who looks for it holds the store's lock, which that transaction
held when its `COMMIT` was sent, and let go of when it was over: so nothing can come later.
"""

from uuid import uuid4

from angelia.store.port import ResultRows, StoreConnection

# One row for a process, changed by each of its transactions: with room on its page the change is one in place
# (https://www.postgresql.org/docs/current/storage-hot.html).
MARKS = (
    "CREATE TABLE marks (writer uuid PRIMARY KEY, number bigint NOT NULL, at timestamptz NOT NULL)"
    " WITH (fillfactor = 20)"
)
"""The statement that makes their table."""

_OLD = "DELETE FROM marks WHERE at < now() - interval '1 day'"
_NEW = "INSERT INTO marks VALUES (?, ?, now()) ON CONFLICT DO NOTHING"
_LEAVE = "UPDATE marks SET number = ?, at = now() WHERE writer = ? RETURNING number"
_LEFT = "SELECT number FROM marks WHERE writer = ?"


class MarkTakenAway(Exception):
    """The row of a process that was away for long is there no more: nobody knows what it wrote last."""


class Marks:
    """Those of one process; for one thread."""

    def __init__(self) -> None:
        self._writer = str(uuid4())
        self._number = 0

    def begin(self, connection: StoreConnection) -> None:
        """Within a transaction before all others: have a row, and take away those of processes that are long gone.

        From then on a row that is not there was taken away, and says nothing about what was written.
        """
        connection.execute(_OLD)
        connection.execute(_NEW, (self._writer, 0))

    def leave(self, connection: StoreConnection) -> "TransactionMark":
        """Within a transaction that holds the lock: mark it."""
        self._number += 1
        return TransactionMark(self._writer, self._number, connection.execute(_LEAVE, (self._number, self._writer)))


class TransactionMark:
    """What one transaction left."""

    def __init__(self, writer: str, number: int, left: ResultRows) -> None:
        self._writer, self._number = writer, number
        self._left = left

    def confirm(self, connection: StoreConnection) -> None:
        """Before `COMMIT` is sent: wait until the mark is made, and so the lock is held."""
        if self._left.fetchone() is None:
            connection.execute(_NEW, (self._writer, self._number))  # it was taken away

    def was_committed(self, connection: StoreConnection) -> bool:
        """Within a later transaction that holds the lock: whether this one was.

        Raises:
            MarkTakenAway: nobody knows.
        """
        row = connection.execute(_LEFT, (self._writer,)).fetchone()
        if row is None:
            raise MarkTakenAway
        return bool(row[0] == self._number)
