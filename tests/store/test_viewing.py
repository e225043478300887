"""The second wall: a role of the server's that reads for one person sees what is theirs, whatever it is asked."""

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from angelia.core.errors import ConfigError
from angelia.core.principal import OWNER, Principal
from angelia.store.log import ranked_search
from angelia.store.port import StoreConnection
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.postgres.viewing import SHOWN, proof_of
from tests.store.postgres_server import PostgresServer
from tests.store.test_canaries import ANN, BEN, QUERIES, Kept, _found_or_not, furnish

if TYPE_CHECKING:
    import psycopg

pytestmark = pytest.mark.anyio

_ROLES = count(1)
OF_OTHER_VALUES = {
    "what they can take back",  # which writes, and so is done by the owner of the tables
    "what a remembered yes covers",
    "the notes of a scope",
    "the newest of them",
    "the notes that a prompt holds",
    "trusted files",
}
"""Queries whose condition is no `visible_to`."""


def role(server: PostgresServer, how: str = "") -> str:
    """A fresh role that may log in."""
    import psycopg

    name = f"viewer{next(_ROLES)}"
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN {how}".encode())
    return name


@pytest.fixture
def viewed(postgres: PostgresServer, home: Path) -> Iterator[PostgresDatabase]:
    db = PostgresDatabase.open(postgres.fresh(), home)
    db.read_for_others_as(role(postgres), "")
    yield db
    db.close()


def everything(connection: StoreConnection) -> dict[str, str]:
    """All rows of all tables that this role may read of."""
    return {table: str(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in SHOWN}


async def test_a_connection_of_one_person_reads_nothing_of_another_by_any_sql(viewed: PostgresDatabase) -> None:
    await furnish(viewed)
    seen = await viewed.read(everything, BEN)
    shown = "\n".join(seen.values())
    assert not [word for word in ("canary", "ann", "63616e617279") if word in shown]
    assert not {table for table, rows in seen.items() if rows == "[]"}
    assert "canary" in "\n".join((await viewed.read(everything, ANN)).values())
    strangers = await viewed.read(everything, Principal("chat", "cy"))
    assert {table for table, rows in strangers.items() if rows != "[]"} == set()


def _refused(connection: "psycopg.Connection[Any]", statement: str) -> bool:
    import psycopg

    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


async def test_it_writes_nothing_and_becomes_nobody_else(viewed: PostgresDatabase) -> None:
    import psycopg

    await furnish(viewed)
    viewing = viewed._viewing
    assert viewing is not None
    with psycopg.connect(viewing.address, autocommit=True) as raw:
        asked = "SELECT set_config('angelia.viewer', %s, false), set_config('angelia.proof', %s, false)"
        raw.execute(asked, (str(BEN), proof_of(viewing.key, BEN, raw.info.backend_pid)))
        here = "relkind = 'r' AND relnamespace = current_schema()::regnamespace"
        tables = [name for (name,) in raw.execute(f"SELECT relname FROM pg_class WHERE {here}".encode())]
        assert set(tables) > {*SHOWN, "viewing_key", "remembered", "terms", "words"}
        tried = [f"SELECT * FROM {table}" for table in tables if table not in SHOWN]
        tried += ["SET ROLE angelia", "SET SESSION AUTHORIZATION angelia"]
        tried += ["SET LOCAL row_security = off; TABLE entries", "DROP POLICY theirs ON entries"]
        for table in tables:
            tried += [f"DELETE FROM {table}", f"TRUNCATE {table}", f"INSERT INTO {table} DEFAULT VALUES"]
            tried += [f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"]
        assert [one for one in tried if not _refused(raw, one)] == []
        assert "crumb" in str(raw.execute(b"TABLE notes").fetchall())
        raw.execute(b"RESET ROLE")
        raw.execute(b"SELECT set_config('angelia.viewer', 'chat:ann', false)")  # with the proof of Ben's
        assert not [one for one in SHOWN if raw.execute(f"TABLE {one}".encode()).fetchall()]


async def test_without_the_applications_own_check_still_nobody_finds_what_is_somebody_elses(
    viewed: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = await furnish(viewed)
    for module in [one for name, one in sys.modules.items() if name.startswith("angelia.store.")]:
        if hasattr(module, "visible_to"):
            monkeypatch.setattr(module, "visible_to", lambda *_: ("true", ()))
    monkeypatch.setattr(ranked_search, "_ours", lambda _: ("true", ()))
    found = {name: str(await _found_or_not(QUERIES[name](kept, BEN, kept.ann))) for name in QUERIES}
    leaked = {name for name, seen in found.items() if "canary" in seen or "ann" in seen}
    assert leaked - OF_OTHER_VALUES == set()
    plain = Kept(PostgresDatabase.open(viewed._address, viewed.home), kept.ann, kept.ben)
    without = {name for name in QUERIES if "canary" in str(await _found_or_not(QUERIES[name](plain, BEN, kept.ann)))}
    plain.db.close()
    assert len(without - OF_OTHER_VALUES) > 15  # the check was taken out


@pytest.mark.parametrize("query", ["search", "search by rank", "what was paid to whom", "receipts", "notes"])
async def test_behind_it_everybody_finds_what_is_their_own(viewed: PostgresDatabase, query: str) -> None:
    kept = await furnish(viewed)
    for viewer in (ANN, OWNER):
        assert ("canary" in str(await QUERIES[query](kept, viewer, kept.ann))) is (viewer == ANN or "rank" not in query)


@pytest.mark.parametrize("how", ["SUPERUSER", "BYPASSRLS", "IN ROLE angelia", "nobody"])
def test_a_role_that_the_policies_do_not_hold_is_refused(postgres: PostgresServer, home: Path, how: str) -> None:
    name = how if how == "nobody" else role(postgres, how)
    db = PostgresDatabase.open(postgres.fresh(), home)
    with pytest.raises(ConfigError, match="There is no role nobody" if how == "nobody" else "sees whatever it likes"):
        db.read_for_others_as(name, "")
    db.close()
