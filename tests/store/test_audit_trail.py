"""What was decided is found without reading through all that was said."""

from typing import get_args

import pytest

from angelia.core import entry as e
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import ANGELIA, OWNER
from angelia.store.log.audit_trail import AuditQuery, Decision, audit_trail, newest_decisions
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.schema import DECISIONS

pytestmark = pytest.mark.anyio


def test_the_index_of_decisions_names_every_kind() -> None:
    assert set(DECISIONS) == {kind.__name__ for kind in get_args(Decision)}


async def test_the_trail_is_read_by_its_index(
    db: LogStore, transcript: Transcript, conversation: ConversationId, monkeypatch: pytest.MonkeyPatch
) -> None:
    await transcript.append(conversation, [e.CancelAsked(OWNER)])
    asked: list[str] = []

    def plan(connection: StoreConnection) -> str:
        query = f"EXPLAIN QUERY PLAN {asked[0]}"
        return str(connection.execute(query, (0, 0, 1)).fetchall())

    class Noting:
        """Notes what it is asked, and passes it on."""

        def __init__(self, connection: StoreConnection) -> None:
            self._connection = connection

        def execute(self, statement: str, values: tuple[object, ...] = ()) -> object:
            asked.append(statement)
            return self._connection.execute(statement, values)

    read = db.read
    monkeypatch.setattr(db, "read", lambda job, *viewer: read(lambda connection: job(Noting(connection)), *viewer))
    async for found in audit_trail(db, AuditQuery()):
        assert [one.fact for one in found] == [e.CancelAsked(OWNER)]
        break
    monkeypatch.undo()
    assert "entries_decided" in await db.read(plan)


async def test_the_newest_come_first_and_page_by_page(
    db: LogStore, transcript: Transcript, conversation: ConversationId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("angelia.store.log.audit_trail._AT_ONCE", 3)
    ours = e.ApprovalRefused(CallId("c1_0"), ANGELIA, "Nobody was there.")
    for _ in range(3):  # what nobody decided is passed over, however much of it there is
        await transcript.append(conversation, [e.CancelAsked(OWNER), *[ours] * 4])
    first = await newest_decisions(db, AuditQuery(), 0, 2)
    assert [one.seq for one in first] == [12, 7]
    assert [one.seq for one in await newest_decisions(db, AuditQuery(), first[-1].place, 2)] == [2]
    assert await newest_decisions(db, AuditQuery(), first[-1].place - 9, 2) == []
