"""Permissions that a person gave for longer than once."""

from msgspec import Struct

from angelia.core import codec
from angelia.core.days import DAY_MS
from angelia.core.entry import ApprovalAsked, ApprovalGiven, Entry, Scope
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to


class Grant(Struct, frozen=True):
    """A yes to `pattern`, for work that is done for `principal` in `sandbox` and `workspace`.

    `conversation` is empty unless the yes holds for that one alone. `given_at` and `until` are Unix milliseconds;
    `until` is 0 for no end.
    """

    id: int
    principal: Principal
    sandbox: str
    workspace: str
    conversation: str
    pattern: str
    given_by: Principal
    given_at: int
    until: int


class Grants:
    """What was granted; `Transcript.append` adds to it, in the commit that holds the yes."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def matching(
        self, principal: Principal, sandbox: str, workspace: str, conversation: ConversationId
    ) -> list[Grant]:
        """The grants that hold now for work in this conversation; the caller compares their patterns."""
        where = f"principal = ? AND sandbox = ? AND workspace = ? AND conversation IN ('', ?) AND {_HOLDS}"
        values = (str(principal), sandbox, workspace, conversation, *_at(self._db.clock()))
        return await self._db.read(lambda connection: _grants(connection, where, values))

    async def list(self, viewer: Principal) -> list[Grant]:
        """Every grant that holds now for work that they may see, oldest first."""
        theirs, values = visible_to(viewer, "principal")
        where, at = f"{theirs} AND {_HOLDS}", _at(self._db.clock())
        return await self._db.read(lambda connection: _grants(connection, where, (*values, *at)), viewer)

    async def take_back_given_after(self, latest: int) -> tuple[Grant, ...]:
        """Take back those for a time that were given after a moment to come: a clock was ahead, and once it is then in
        truth, they would hold again.
        """
        given = "until <> 0 AND given_at > ?"

        def taken(connection: StoreConnection) -> tuple[Grant, ...]:
            found = tuple(_grants(connection, given, (latest,)))
            connection.execute(f"DELETE FROM grants WHERE {given}", (latest,))  # noqa: S608 - fixed text
            return found

        return await self._db.write(taken)

    async def require(self, viewer: Principal, number: int) -> None:
        """Raises NotFound where no grant that holds and that they may see has this id."""
        if all(one.id != number for one in await self.list(viewer)):
            raise _no_grant(number)

    async def revoke(self, viewer: Principal, number: int) -> None:
        """Take a grant back.

        Raises:
            NotFound: there is none with this id, or none that they may see.
        """
        theirs, values = visible_to(viewer, "principal")
        gone = await self._db.write(
            lambda connection: (
                connection.execute(f"DELETE FROM grants WHERE id = ? AND {theirs}", (number, *values)).rowcount  # noqa: S608
            )
        )
        if not gone:
            raise _no_grant(number)


def _no_grant(number: int) -> NotFound:
    return NotFound(f"There is no grant {number}.", then="`angelia grants` lists them.")


_HOLDS = "(until = 0 OR until > ? AND given_at <= ?)"
"""Those without an end, and those that are within their time: not such as were given while a clock was ahead, which
would hold until long after it. Clocks may differ by a day.
"""


def _at(now: int) -> tuple[int, int]:
    return now, now + DAY_MS


def grant(connection: StoreConnection, conversation: ConversationId, entry: Entry) -> None:
    """Within the transaction that appends `entry`: if it is a yes that holds for longer, remember it.

    The pattern is that of the question with the same call and digest; without one, or where the yes is from somebody
    who may not give it, there is nothing to remember.
    """
    given = entry.fact
    if not isinstance(given, ApprovalGiven) or given.scope is Scope.ONCE:
        return
    pattern = _pattern(connection, conversation, given)
    if not pattern:
        return
    connection.execute(
        "INSERT INTO grants (principal, sandbox, workspace, conversation, pattern, given_by, given_at, until)"
        " SELECT owner, sandbox, workspace, ?, ?, ?, ?, ? FROM conversations WHERE id = ?",
        (
            conversation if given.scope is Scope.CONVERSATION else "",
            pattern,
            str(given.by),
            entry.at,
            given.until,
            conversation,
        ),
    )


def _pattern(connection: StoreConnection, conversation: ConversationId, given: ApprovalGiven) -> str:
    rows = connection.execute(
        "SELECT version, body FROM entries WHERE conversation = ? AND kind = 'ApprovalAsked' ORDER BY seq DESC",
        (conversation,),
    )
    for version, body in rows:
        asked = codec.decode(body, version=version)
        if isinstance(asked, ApprovalAsked) and (asked.call, asked.digest) == (given.call, given.digest):
            return asked.pattern if given.by in asked.approvers else ""
    return ""


def _grants(connection: StoreConnection, where: str, values: tuple[object, ...]) -> list[Grant]:
    columns = ", ".join(Grant.__struct_fields__)
    rows = connection.execute(f"SELECT {columns} FROM grants WHERE {where} ORDER BY id", values)  # noqa: S608 - fixed text
    return [
        Grant(number, Principal.parse(whose), sandbox, workspace, conversation, pattern, Principal.parse(by), at, until)
        for number, whose, sandbox, workspace, conversation, pattern, by, at, until in rows
    ]
