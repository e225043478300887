"""The tables: one log, what is derived from it, and the little that is kept beside it."""

from collections.abc import Sequence

from angelia.store.sql.day_sums import AS_VIEWS, DAY_SUMS, IN_SQLITE
from angelia.store.sql.visibility import APART, RECORDS

VERSION = 9
"""`PRAGMA user_version` of a database that this Angelia writes."""

APPLICATION = 0x416E6731
"""`PRAGMA application_id`, "Ang1": tells our file from somebody else's."""
UNKEPT = 0x416E6765
"""The same of versions before the first release, whose formats are not kept."""

# `never` stays empty, so a mark in `erasing` breaks a deferred foreign key: no transaction can commit with it,
# and the only way on is to delete the conversation in the transaction that marked it.
_LOG = (
    # Since when there is this log, Unix seconds by the system's clock: bytes that are older were another log's.
    """
    CREATE TABLE born (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER NOT NULL) STRICT
    """,
    "INSERT INTO born VALUES (1, CAST(strftime('%s', 'now') AS INTEGER))",
    """
    CREATE TABLE never (id INTEGER PRIMARY KEY, CHECK (false)) STRICT
    """,
    """
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY,
        opened_at INTEGER NOT NULL,
        door TEXT NOT NULL,
        owner TEXT NOT NULL,
        workspace TEXT NOT NULL,
        sandbox TEXT NOT NULL,
        place TEXT NOT NULL,
        title TEXT NOT NULL DEFAULT '',
        last_seq INTEGER NOT NULL DEFAULT 0,
        last_at INTEGER NOT NULL DEFAULT 0,
        tip BLOB NOT NULL DEFAULT x'',
        erasing INTEGER REFERENCES never (id) DEFERRABLE INITIALLY DEFERRED
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation TEXT NOT NULL REFERENCES conversations (id) DEFERRABLE INITIALLY DEFERRED,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        sum BLOB NOT NULL,
        UNIQUE (conversation, seq)
    ) STRICT
    """,
    """
    CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
    BEGIN SELECT RAISE (ABORT, 'the log is append-only: an entry never changes'); END
    """,
    """
    CREATE TRIGGER entries_only_follow BEFORE INSERT ON entries
    WHEN EXISTS (SELECT 1 FROM entries WHERE conversation = NEW.conversation AND seq >= NEW.seq)
        OR EXISTS (SELECT 1 FROM entries WHERE id = NEW.id)
    BEGIN SELECT RAISE (ABORT, 'the log is append-only: an entry comes after all others'); END
    """,
    """
    CREATE TRIGGER entries_stay BEFORE DELETE ON entries
    WHEN NOT EXISTS (SELECT 1 FROM conversations WHERE id = OLD.conversation AND erasing IS NOT NULL)
    BEGIN SELECT RAISE (ABORT, 'the log is append-only: only a whole conversation can be erased'); END
    """,
)

_PROJECTIONS = (
    """
    CREATE TABLE inbox (
        door TEXT NOT NULL,
        key TEXT NOT NULL,
        conversation TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (door, key)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX inbox_by_conversation ON inbox (conversation)",
    """
    CREATE TABLE outbox (
        conversation TEXT NOT NULL,
        id TEXT NOT NULL,
        place INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        door TEXT NOT NULL,
        origin TEXT NOT NULL,
        status TEXT NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 0,
        platform_id TEXT NOT NULL DEFAULT '',
        detail TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (conversation, id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX outbox_pending ON outbox (door, place) WHERE status IN ('queued', 'sending')",
    # One row for each message of a delivery that was begun; piece -1 is the preview. `doubts` counts the sends of which
    # nobody knows whether they arrived; it means nothing once there is a platform_id.
    """
    CREATE TABLE pieces (
        conversation TEXT NOT NULL,
        id TEXT NOT NULL,
        piece INTEGER NOT NULL,
        platform_id TEXT NOT NULL DEFAULT '',
        doubts INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (conversation, id, piece)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX pieces_by_platform_id ON pieces (platform_id) WHERE platform_id <> ''",
    # One row for each thing that a network told later of a message it had taken.
    """
    CREATE TABLE reached (
        conversation TEXT NOT NULL,
        id TEXT NOT NULL,
        platform_id TEXT NOT NULL,
        reached TEXT NOT NULL,
        why TEXT NOT NULL,
        PRIMARY KEY (conversation, id, platform_id, reached, why)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE doors (
        door TEXT NOT NULL,
        chat TEXT NOT NULL,
        thread TEXT NOT NULL,
        person TEXT NOT NULL,
        conversation TEXT NOT NULL,
        place INTEGER NOT NULL,
        PRIMARY KEY (door, chat, thread, person)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX doors_by_conversation ON doors (conversation)",
    """
    CREATE TABLE spending (
        at INTEGER NOT NULL,
        conversation TEXT NOT NULL,
        seq INTEGER NOT NULL,
        principal TEXT NOT NULL,
        model TEXT NOT NULL,
        cost INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        PRIMARY KEY (at, conversation, seq)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE blob_refs (
        sha256 TEXT NOT NULL,
        conversation TEXT NOT NULL,
        PRIMARY KEY (sha256, conversation)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX blob_refs_by_conversation ON blob_refs (conversation)",
    # What becomes of a note is appended to the log that proposed it. A note is superseded while one is kept that
    # replaces it, which is asked and not stored: so it counts again when that one is dropped, or erased.
    """
    CREATE TABLE notes (
        number INTEGER PRIMARY KEY,
        conversation TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        owner TEXT NOT NULL,
        scope TEXT NOT NULL,
        about TEXT NOT NULL,
        what TEXT NOT NULL,
        text TEXT NOT NULL,
        outside INTEGER NOT NULL,
        replaces INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'waits',
        settled_by TEXT NOT NULL DEFAULT '',
        settled_at INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE INDEX notes_by_scope ON notes (scope, about, owner, state, number)",
    "CREATE INDEX notes_by_conversation ON notes (conversation)",
    "CREATE INDEX notes_replacing ON notes (replaces) WHERE state = 'kept' AND replaces > 0",
    # Every occurrence up to `upto` has its fact; `changed` is the place of the last fact about a schedule, `counted`
    # the one after which failures in a row are counted. `source` is what begins it from outside, empty for a clock.
    """
    CREATE TABLE schedules (
        conversation TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        place INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        counted INTEGER NOT NULL,
        state TEXT NOT NULL,
        why TEXT NOT NULL,
        upto INTEGER NOT NULL,
        source TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX schedules_by_change ON schedules (changed)",
    "CREATE INDEX schedules_by_source ON schedules (source, place) WHERE source <> ''",
    # One row for each fact of an occurrence: `ending` is empty while its turn is open, `missed`, `unchanged` or
    # `unseen` where there was none, else the name of the ending. `conversation` is where the turn is, or the schedule's
    # own log.
    """
    CREATE TABLE occurrences (
        schedule TEXT NOT NULL,
        place INTEGER NOT NULL,
        due INTEGER NOT NULL,
        last INTEGER NOT NULL,
        count INTEGER NOT NULL,
        why TEXT NOT NULL,
        conversation TEXT NOT NULL,
        seq INTEGER NOT NULL,
        ending TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (schedule, place)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX occurrences_open ON occurrences (conversation) WHERE ending = ''",
    "CREATE INDEX occurrences_by_conversation ON occurrences (conversation)",
    # What waits for a person; a row goes when it is answered, or the call or the turn has ended without.
    """
    CREATE TABLE questions (
        conversation TEXT NOT NULL,
        call TEXT NOT NULL,
        place INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (conversation, call)
    ) STRICT, WITHOUT ROWID
    """,
    # Contentless: the text is in the log. `rowid` is the entry's id.
    # Without the index of beginnings, one letter of a million messages takes three seconds.
    """
    CREATE VIRTUAL TABLE words USING fts5
        (text, content = '', tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2')
    """,
    # How many messages hold each word of that index.
    "CREATE VIRTUAL TABLE terms USING fts5vocab (words, 'row')",
    """
    CREATE TABLE indexed (one INTEGER PRIMARY KEY CHECK (one = 1), upto INTEGER NOT NULL) STRICT
    """,
    "INSERT INTO indexed VALUES (1, 0)",
)

# What was paid stays counted when the conversation is erased, or deleting would be a way around a daily cap.
_KEPT_BESIDE = (
    """
    CREATE TABLE spending_erased (
        at INTEGER NOT NULL,
        principal TEXT NOT NULL,
        model TEXT NOT NULL,
        cost INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX spending_erased_by_time ON spending_erased (at)",
    """
    CREATE TABLE leases (
        conversation TEXT PRIMARY KEY,
        epoch INTEGER NOT NULL,
        holder TEXT NOT NULL,
        presence TEXT NOT NULL,
        boot TEXT NOT NULL,
        expires INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE grants (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        principal TEXT NOT NULL,
        sandbox TEXT NOT NULL,
        workspace TEXT NOT NULL,
        conversation TEXT NOT NULL,
        pattern TEXT NOT NULL,
        given_by TEXT NOT NULL,
        given_at INTEGER NOT NULL,
        until INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX grants_by_principal ON grants (principal, sandbox, workspace)",
    # Who may speak besides those in the configuration. `code` is a hash, empty once it was used.
    """
    CREATE TABLE pairings (
        principal TEXT PRIMARY KEY,
        door TEXT NOT NULL,
        name TEXT NOT NULL,
        code TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        approved_by TEXT NOT NULL DEFAULT '',
        role TEXT NOT NULL DEFAULT 'guest'
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE remembered (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID
    """,
)

FIRST = (*_LOG, *_PROJECTIONS, *_KEPT_BESIDE)
"""The statements that make a database of version 1."""

SECOND = (
    # Unix milliseconds by the clock of who took it; 0 for those that were taken before this was noted.
    "ALTER TABLE leases ADD COLUMN since INTEGER NOT NULL DEFAULT 0",
    # The gateways of one log. `wants` are the parts that one can serve, a line each; `load` is what its processors have
    # to do, in thousandths of what they can. `drain` is -1, or within how many seconds its turns are to end.
    """
    CREATE TABLE machines (
        name TEXT PRIMARY KEY,
        version TEXT NOT NULL,
        wants TEXT NOT NULL DEFAULT '',
        load INTEGER NOT NULL DEFAULT 0,
        drain INTEGER NOT NULL DEFAULT -1
    ) STRICT, WITHOUT ROWID
    """,
)
"""What makes one of version 2 of it; every store reads these statements alike."""

DECISIONS = (
    *("Administered", "ApprovalGiven", "ApprovalRefused", "NoteKept", "NoteDropped", "ScheduleChanged"),
    *("FilesTakenBack", "DeliveryLetBe", "CancelAsked", "WordsErased"),
)
"""The kinds of `audit_trail.Decision`."""

DECIDED = f"epoch >= 0 AND ({' OR '.join(f'kind = {kind!r}' for kind in DECISIONS)})"
"""What was decided, and is no copy of it: whoever asks for it by just these words asks the index. Each entry that is
added is held against them, where SQLite makes the set of an `IN` anew each time: that took two fifths of a fork.
"""

THIRD = (
    # What the request that is under way in a conversation may cost at most, millionths of a dollar: it counts against a
    # day's cap for as long as the lease is held.
    "ALTER TABLE leases ADD COLUMN may_cost INTEGER NOT NULL DEFAULT 0",
)
"""What makes one of version 3 of it."""

FOURTH = (
    "DROP INDEX IF EXISTS entries_decided",  # version 3 had another one of this name
    f"CREATE INDEX entries_decided ON entries (id) WHERE {DECIDED}",
)
"""What makes one of version 4 of it."""

FIFTH = (
    "DROP TRIGGER entries_only_follow",
    # SQLite takes -1 for an id that is yet to be given: to look for that took a tenth of what a fork's copying takes.
    """
    CREATE TRIGGER entries_only_follow BEFORE INSERT ON entries
    WHEN EXISTS (SELECT 1 FROM entries WHERE conversation = NEW.conversation AND seq >= NEW.seq)
        OR (NEW.id > 0 AND EXISTS (SELECT 1 FROM entries WHERE id = NEW.id))
    BEGIN SELECT RAISE (ABORT, 'the log is append-only: an entry comes after all others'); END
    """,
)
"""What makes one of version 5 of it; PostgreSQL gives ids by itself."""

HOUR_MS = 3_600_000
SPOKEN = f"door NOT IN {RECORDS} AND door NOT IN {APART}"
"""The conversations in which people speak: whoever asks for them by just these words asks the index."""


def _by_use(column: str) -> tuple[str, ...]:
    return (
        f"CREATE INDEX conversations_by_use ON conversations ({column}) WHERE {SPOKEN}",
        f"CREATE INDEX conversations_by_owner ON conversations (owner, {column}, door)",
        f"CREATE INDEX conversations_by_workspace ON conversations (workspace, {column})",
        f"CREATE INDEX conversations_by_door ON conversations (door, {column})",
    )


_BY_LAST_HOUR = _by_use("last_hour")
LISTED = (
    *_BY_LAST_HOUR,
    "CREATE INDEX conversations_by_place ON conversations (place)",
    "CREATE INDEX outbox_by_place ON outbox (place)",
    "CREATE INDEX outbox_doubtful ON outbox (door, status) WHERE status IN ('failed', 'unknown')",
    "CREATE INDEX spending_by_conversation ON spending (conversation)",
    "CREATE INDEX leases_with_cost ON leases (conversation) WHERE may_cost > 0",
)
"""By which lists, sums and looks read what they show and no whole table, however many conversations there are.

Conversations are by when they were used last, since version 8 to the minute: a list reads those of some minutes. An
index of `last_at` itself is written with each entry: four of them made a bare append dearer by a third, and in
PostgreSQL all other indexes of the table are written then as well.
"""

_HOURS = f"UPDATE conversations SET last_hour = last_at / {HOUR_MS}"  # noqa: S608 - a number of ours
_BY_HOUR = f"""
    CREATE TRIGGER conversations_by_hour AFTER UPDATE OF last_at ON conversations
    WHEN NEW.last_at / {HOUR_MS} <> NEW.last_hour
    BEGIN UPDATE conversations SET last_hour = NEW.last_at / {HOUR_MS} WHERE id = NEW.id; END
"""  # noqa: S608 - a number of ours
SIXTH = ("ALTER TABLE conversations ADD COLUMN last_hour INTEGER NOT NULL DEFAULT 0", _HOURS, _BY_HOUR, *LISTED)
"""What makes one of version 6 of it; PostgreSQL keeps that column by itself."""

SEVENTH = (*DAY_SUMS, *IN_SQLITE)
"""What makes one of version 7 of it."""

MINUTE_MS = 60_000
NOT_BY_HOUR = tuple(f"DROP INDEX {index.split()[2]}" for index in _BY_LAST_HOUR)
BY_LAST_MINUTE = _by_use("last_minute")
"""What was used in one hour was sorted whole by each list; in a minute less is written than a list should mind."""
EIGHTH = (
    "DROP TRIGGER conversations_by_hour",
    *NOT_BY_HOUR,
    # Processes of an earlier version, which go on beside this one, still ask for it; computed as they do.
    "ALTER TABLE conversations DROP COLUMN last_hour",
    f"ALTER TABLE conversations ADD COLUMN last_hour INTEGER GENERATED ALWAYS AS (last_at / {HOUR_MS}) VIRTUAL",
    "ALTER TABLE conversations ADD COLUMN last_minute INTEGER NOT NULL DEFAULT 0",
    f"UPDATE conversations SET last_minute = last_at / {MINUTE_MS}",  # noqa: S608 - a number of ours
    # SQLite writes the indexes of each column that a statement names, changed or not: this is a statement of its own.
    f"""
    CREATE TRIGGER conversations_by_minute AFTER UPDATE OF last_at ON conversations
    WHEN NEW.last_at / {MINUTE_MS} <> NEW.last_minute
    BEGIN UPDATE conversations SET last_minute = NEW.last_at / {MINUTE_MS} WHERE id = NEW.id; END
    """,  # noqa: S608 - a number of ours
    *BY_LAST_MINUTE,
)
"""What makes one of version 8 of it; PostgreSQL keeps that column by itself."""
_BEFORE_EIGHTH = (
    f"CREATE TEMP VIEW conversations AS SELECT *, last_at / {MINUTE_MS} AS last_minute FROM main.conversations"  # noqa: S608
)

NINTH = (
    # Up to which entry nothing is open in a conversation, as who drove it has seen; 0 where nobody has.
    "ALTER TABLE leases ADD COLUMN rested INTEGER NOT NULL DEFAULT 0",
)
"""What makes one of version 9 of it."""

STEPS: tuple[Sequence[str], ...] = (FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH, NINTH)
"""`STEPS[n]` leads from version `n` to `n + 1`; version 0 is an empty file."""

TABLES = tuple(one for one in FIRST if one.split()[:2] in (["CREATE", "TABLE"], ["CREATE", "INDEX"]))
"""Those of `FIRST` that make tables and indexes; the others are triggers, the full-text index, and first rows."""


def read_as_now(version: int) -> Sequence[str]:
    """The statements by which a connection that changes nothing reads an earlier version as if it were this one."""
    before_eighth = (_BEFORE_EIGHTH,) if 0 < version < 8 else ()
    return (*before_eighth, *(AS_VIEWS if 0 < version < 7 else ()))
