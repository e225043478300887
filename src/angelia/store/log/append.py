"""One append to the log, as a job of the store: where the log ends, what comes after it, and what follows from that."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from angelia.core import codec
from angelia.core.entry import AnyFact, ConversationOpened, Entry, ModelFailed, ModelSaid
from angelia.core.errors import BadInput, NotFound, StoreError
from angelia.core.ids import ConversationId
from angelia.store.log import lease as leases
from angelia.store.log import word_index
from angelia.store.log.chain import FIRST, checksum
from angelia.store.log.lease import Lease
from angelia.store.log.projections import derive
from angelia.store.log.references import blobs_in, referred_among
from angelia.store.log.repeats import is_repeat
from angelia.store.media.blobs import BlobStore
from angelia.store.port import AskingJob, Job, LogStore, Numbers, StoreConnection
from angelia.store.sql.tips import Tip
from angelia.store.tables import grants

_INSERT = """
    INSERT INTO entries (conversation, seq, at, epoch, version, kind, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


class Overtaken(StoreError):
    """Others have appended to the log since it was read; nothing was appended."""


class Draft(NamedTuple):
    """A fact that is to be appended, and as what; `at` is when it happened, Unix milliseconds, 0 for now."""

    fact: AnyFact
    kind: str
    body: bytes
    at: int


class Addition(NamedTuple):
    """Facts for one of several logs that are appended to in one commit; `seen` is the last entry that they go by."""

    conversation: ConversationId
    facts: Sequence[AnyFact]
    seen: int


class _End(NamedTuple):
    """The number and the checksum of the last entry of a log, and the epoch of its lease if there is one."""

    seq: int
    sum: bytes
    epoch: int | None


class _Ends:
    """Where logs end, and the last place of all logs, as one transaction has found them.

    Nobody else is given a place before that transaction ends, so the places that follow are its own.
    """

    def __init__(self, connection: StoreConnection, numbers: Numbers, some: Sequence[ConversationId]) -> None:
        # One query for all of it, since with a server an append costs as much as it waits for answers. The number of
        # marks is a power of two, so that there are few statements for the server to prepare.
        marks = ", ".join("?" * (1 << (len(some) - 1).bit_length()))
        rows = connection.execute(
            f"SELECT c.id, c.last_seq, c.tip, l.epoch, ({numbers.highest('entries')})"  # noqa: S608 - fixed text, marks
            f" FROM conversations AS c LEFT JOIN leases AS l ON l.conversation = c.id WHERE c.id IN ({marks})",
            (*some, *[some[-1]] * (marks.count("?") - len(some))),
        ).fetchall()
        self.of = {ConversationId(own): _End(seq, bytes(tip), epoch) for own, seq, tip, epoch, _ in rows}
        self.place = int(rows[0][4]) if rows else numbers.last(connection, "entries")


class Append(AskingJob[list[Entry]]):
    """See `Transcript.append`; the result is the entries with their places."""

    def __init__(
        self,
        db: LogStore,
        blobs: BlobStore,
        conversation: ConversationId,
        drafts: Sequence[Draft],
        lease: Lease | None,
        seen: int,
    ) -> None:
        self.db, self.blobs = db, blobs
        self.conversation, self.seen = conversation, seen
        self.drafts, self.lease = drafts, lease

    def __call__(self, connection: StoreConnection) -> list[Entry]:
        """Append them."""
        return self.after(_Ends(connection, self.db.numbers, [self.conversation]), connection)

    @classmethod
    def asked_together(cls, connection: StoreConnection, jobs: "Sequence[Append]") -> Sequence[Job[list[Entry]]]:
        """One query finds where all their logs end; each append then goes by what the ones before it have added."""
        ends = _Ends(connection, jobs[0].db.numbers, [job.conversation for job in jobs])
        return [partial(job.after, ends) for job in jobs]

    def after(self, ends: _Ends, connection: StoreConnection) -> list[Entry]:
        """Append them, given where the logs end."""
        if any(is_repeat(connection, self.conversation, draft.fact) for draft in self.drafts):
            return []
        end = self._end(connection, ends)
        now, epoch, before, place = self.db.clock(), self.lease.epoch if self.lease else 0, end.sum, ends.place
        entries = [Entry(seq, draft.at or now, draft.fact) for seq, draft in enumerate(self.drafts, end.seq + 1)]
        for entry, draft in zip(entries, self.drafts, strict=True):
            for ref in blobs_in(draft.fact):
                self.blobs.require(ref, lambda: bool(referred_among(connection, [ref.sha256])))  # noqa: B023
            row = (self.conversation, entry.seq, entry.at, epoch, codec.VERSION, draft.kind, draft.body)
            before = checksum(before, row)
            connection.execute(_INSERT, (*row, before))
            place += 1
            derive(connection, self.conversation, place, entry, before)
            grants.grant(connection, self.conversation, entry)
        if self.lease is not None and any(isinstance(draft.fact, ModelSaid | ModelFailed) for draft in self.drafts):
            leases.put_nothing_aside(connection, self.lease)
        if place % word_index.STRIDE < len(self.drafts):
            word_index.catch_up(connection, self.db.words)
        if entries:
            self.db.tips.follow(Tip(self.conversation, entries[-1].seq, place, before))
            ends.of[self.conversation], ends.place = _End(entries[-1].seq, before, end.epoch), place
        return entries

    def require_end(self, connection: StoreConnection) -> None:
        """Raise what this append would because of where the log ends; nothing is written."""
        self._end(connection, _Ends(connection, self.db.numbers, [self.conversation]))

    def _end(self, connection: StoreConnection, ends: _Ends) -> _End:
        """The entry after which the drafts come, once it is certain that they may."""
        known = ends.of.get(self.conversation)
        if self.lease is not None and not (known and self.lease.holds(self.conversation, known.epoch)):
            leases.check(connection, self.lease)
        begins = bool(self.drafts) and isinstance(self.drafts[0].fact, ConversationOpened)
        if begins and known:
            raise BadInput(f"The conversation {self.conversation} exists already; nothing was appended.")
        if not begins and not known:
            raise NotFound(f"There is no conversation {self.conversation}.", then="`angelia sessions` lists them.")
        end = known or _End(0, FIRST, None)
        if self.seen and end.seq != self.seen:
            raise Overtaken(f"The conversation {self.conversation} has grown since it was read.", then="Read it again.")
        return end


def together(appends: Sequence[Append]) -> Job[list[list[Entry]]]:
    """All of them or none: none, too, where what the first brings is a repeat. The result is the entries of each."""

    def append_all(connection: StoreConnection) -> list[list[Entry]]:
        for one in appends:  # before the first has noted its tip, which is not taken back where a later one fails
            one.require_end(connection)
        first, *others = appends
        added = first(connection)
        return [added, *(one(connection) for one in others)] if added else []

    return append_all
