"""Both stores keep the promise of the port."""

from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from angelia.store.port import LogStore
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.sql.database import Database
from angelia.testing.stores.checks import StoreCheck, StoreUnderTest, checks
from tests.store.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio


def open_sqlite(home: str) -> LogStore:
    return Database.open(Path(home))


def open_postgres(given: str) -> LogStore:
    home, address = map(unquote, given.split(" "))
    return PostgresDatabase.open(address, Path(home))


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
async def test_sqlite_keeps_the_promise(check: StoreCheck, tmp_path: Path) -> None:
    await check.run(StoreUnderTest(open_sqlite, f"{__name__}:open_sqlite", str(tmp_path / "home")))


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
async def test_postgresql_keeps_the_promise(check: StoreCheck, tmp_path: Path, postgres: PostgresServer) -> None:
    given = f"{quote(str(tmp_path / 'home'))} {quote(postgres.fresh())}"
    await check.run(StoreUnderTest(open_postgres, f"{__name__}:open_postgres", given))
