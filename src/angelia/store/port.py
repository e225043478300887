"""What a store of the log is: a database that runs jobs in transactions, one after the other, and tells who lives.

Everything stored is written once over this port, as statements that SQLite and PostgreSQL read alike: `?` for values,
`ON CONFLICT`, `RETURNING`, no function that one of them lacks. `store/sql/` and `store/postgres/` are the two that
there are, and `angelia.testing.stores` says whether another one keeps the promise.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from angelia.core.ids import Clock, ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.store.sql.tips import Tip, Tips

T = TypeVar("T")
C = TypeVar("C")

ALL_ROWS = 2**62
"""As a `LIMIT`: no limit."""
UNSTORED = "unstored"
"""The folder of the home in which replies lie that the database could not take."""


class Haste(Enum):
    """When a job is to be done."""

    PATIENT = auto()
    """With the next one that is not, or after some milliseconds: it has no commit of its own that others wait for."""
    USUAL = auto()
    """In its turn."""
    URGENT = auto()
    """Before all that wait in this process: others go by how soon it is done."""


class ResultRows(Protocol):
    """What a statement gave, in its order."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:
        """The next row, a tuple; None after the last."""

    def fetchall(self) -> list[Any]:
        """The rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class StoreConnection(Protocol):
    """A transaction that is under way. Numbers are ints, texts str, bytes bytes; true and false are told by `bool`."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> ResultRows:
        """Run one statement."""

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> object:
        """Run it once for each row of values."""


Job = Callable[[StoreConnection], T]
"""What is done within one transaction. It runs in a thread, so it must not touch what the event loop touches; and it
may be run again if the transaction failed, so it must leave nothing behind that is not in the store.
"""


Condition = Callable[[StoreConnection], Callable[[], None]]
"""Asks, and gives what judges by the answers, which raises where it does not hold: a store that has to wait for answers
can go on with the jobs meanwhile.
"""


class AskingJob(ABC, Generic[T]):
    """A job that begins with a question which several of its class can ask as one; a store that waits for each answer
    lets those do so that stand together in a transaction.
    """

    @abstractmethod
    def __call__(self, connection: StoreConnection) -> T:
        """Do it, as every job."""

    @classmethod
    @abstractmethod
    def asked_together(cls, connection: StoreConnection, jobs: "Sequence[Any]") -> Sequence[Job[T]]:
        """Ask for all of `jobs`, which are of this class; what is left to do of each, right after this and in their
        order. If one of them fails that has written, the others are to be run anew, and as they were.
        """


def under(condition: Callable[[C], None] | None, job: Callable[[C], T]) -> Callable[[C], T]:
    """A job that begins with a condition."""
    if condition is None:
        return job
    required = condition

    def both(connection: C) -> T:
        required(connection)
        return job(connection)

    return both


LeaseEnd = tuple[str, str, int]
"""Under which presence a lease was taken or renewed, and by which clock it ends when: what `Presences.until` gave."""


class Presences(Protocol):
    """Which processes live, as leases have to know it: who is dead is outdated at once, who hangs after `ttl_ms`."""

    @property
    def ttl_ms(self) -> int:
        """Milliseconds for which a lease holds without renewal."""

    @property
    def here(self) -> str:
        """Which process this is, as those are told who wait for it: its number, and its machine if there are others."""

    def name(self, holder: str) -> str:
        """How others ask about this process, which they are told is `holder`."""

    def lives(self, connection: StoreConnection, presence: str) -> bool:
        """Whether the process of that name still runs, on whichever machine."""

    def until(self, connection: StoreConnection, ttl_ms: int) -> tuple[str, int]:
        """By which clock, and when by it, a lease ends that is taken or renewed now. Nobody can set that clock."""

    def held(self, connection: StoreConnection, leases: Sequence[LeaseEnd]) -> list[bool]:
        """Of each lease, whether who took it has it still."""

    def left_ms(self, connection: StoreConnection, leases: Sequence[LeaseEnd]) -> list[int]:
        """Of each lease, in how many milliseconds it ends unless it is renewed; 0 where that time is over."""


class Ends(Protocol):
    """Where the log of each conversation ended, kept where losing the log does not lose it."""

    def read(self) -> Tips:
        """All that is known; read it before the log that it is held against."""

    def read_end(self) -> Tips:
        """What was known last, the newest among it; however many conversations there are."""

    def of(self, conversation: ConversationId) -> Tip | None:
        """The end of one conversation; None if it is not known, or is being erased."""

    def follow(self, tip: Tip) -> None:
        """Within a write: this entry is the last one once it is committed."""

    def erasing(self, conversation: ConversationId) -> None:
        """Within a write: from now on the end of this conversation binds no more."""

    def rewriting(self, conversation: ConversationId, upto: int) -> None:
        """Within a write: entries of it are written anew, the last with the number `upto`; ends so far bind no more."""


class WordIndex(Protocol):
    """The full-text index, a table `words` with a `rowid` for each entry and `terms` with a row for each word.

    Expressions are those of `word_index.expression`: texts in quotes, perhaps with `*`, with AND or OR between them.
    """

    @property
    def matches(self) -> str:
        """A condition on `words`, with a place for an expression."""

    def newest(self, connection: StoreConnection, query: str, values: Sequence[object], most: int) -> list[int]:
        """The greatest `rowid`s of `words` that `query` gives, which ends with a condition; the greatest first, and so
        many at most. It takes about as long for a word that nobody said as for one that everybody says.
        """

    def relevance(self, connection: StoreConnection, expression: str) -> tuple[str, tuple[object, ...]]:
        """How little a match has to do with the expression, for `ORDER BY`, and its values: bm25, below zero, so that
        half of it is less relevant.
        """

    def expression(self, expression: str) -> str:
        """The value for `matches`."""

    def put(self, connection: StoreConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Let entries be found by these texts, which `word_index.cut` has cut."""

    def take_out(self, connection: StoreConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Let entries be found no longer by the texts that they were put in with."""

    def clear(self, connection: StoreConnection) -> None:
        """Forget all texts."""

    def count(self, connection: StoreConnection) -> int:
        """How many entries it knows."""

    def tidy(self, connection: StoreConnection) -> int:
        """Do some of what lets words of erased entries leave the disk; returns 0 when nothing is left to do."""


class Numbers(Protocol):
    """The numbers that rows of `entries` and `grants` are given as they come: none twice, whatever was erased."""

    @property
    def brought(self) -> str:
        """What stands before `VALUES` where rows bring numbers of their own, as only a copy does."""

    def highest(self, table: str) -> str:
        """A question, as a part of one, for the highest that was ever given in a table; 0 for none. Within a write the
        next row is given the one after it.
        """

    def last(self, connection: StoreConnection, table: str) -> int:
        """The highest that was ever given in a table; 0 for none."""

    def go_on_after(self, connection: StoreConnection, table: str, number: int) -> None:
        """Within a write: give higher ones than `number` from now on."""


class LogStore(Protocol):
    """The log of a home with what is derived from it and kept beside it. One for each process and home."""

    @property
    def home(self) -> Path:
        """The folder in which this machine keeps what it has of the home."""

    @property
    def clock(self) -> Clock:
        """What dates entries."""

    @property
    def presence(self) -> Presences:
        """Who lives."""

    @property
    def tips(self) -> Ends:
        """Where logs ended."""

    @property
    def words(self) -> WordIndex:
        """The full-text index."""

    @property
    def numbers(self) -> Numbers:
        """The numbers of its rows."""

    @property
    def writable(self) -> bool:
        """Whether it was opened to be written."""

    async def write(self, job: Job[T], haste: Haste = Haste.USUAL) -> T:
        """Run `job` inside a transaction, after all that were committed before it, in whatever process, and return its
        result once that is durably committed. Cancelling the wait does not undo the write.

        Raises:
            StoreFull, StoreReadOnly, StoreBusy, StoreDamaged: nothing was written. And whatever `job` raises.
        """

    def require(self, condition: Condition | None) -> None:
        """Let every write of this process depend on `condition` from now on, or on none any more: what that raises is
        raised to whoever writes, and nothing is written.
        """

    def require_space(self) -> None:
        """Require room for what is paid for now and is to be stored when it comes, as far as this machine can tell.

        Raises:
            StoreFull: there may be none by then.
        """

    async def read(self, job: Job[T], viewer: Principal = OWNER, haste: Haste = Haste.USUAL) -> T:
        """Run `job` on a consistent state that holds every write acknowledged so far. It asks itself for what `viewer`
        may see; a store may hold back the rest from it, as a second wall.

        Raises:
            StoreBusy, StoreDamaged: it cannot be read. And whatever `job` raises.
        """

    async def data_version(self) -> int:
        """A number that changes when anybody, this process or another, has committed something."""

    async def next_commit(self, after: int, longest_s: float) -> None:
        """Return when `data_version` may be another than `after`, at the latest after so many seconds."""

    async def faults(self) -> list[str]:
        """What the database itself finds wrong with what it holds, a sentence each."""

    async def index_faults(self) -> str:
        """What it finds wrong with the full-text index; empty if nothing."""

    async def checkpoint(self) -> None:
        """Let nothing that was erased linger where the store puts down what it is about to write."""

    def close(self) -> None:
        """Finish queued writes, then let go. Further calls raise."""
