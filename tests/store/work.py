"""How much work SQLite has with what a store is asked: by its own steps, whatever the machine does meanwhile."""

from collections.abc import Awaitable, Callable

import pytest

from angelia.store.port import LogStore, StoreConnection

Look = Callable[[LogStore], Awaitable[object]]


async def steps(db: LogStore, look: Look, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many steps SQLite takes for it."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    def counted(connection: StoreConnection, job: Callable[[StoreConnection], object]) -> object:
        connection.set_progress_handler(step, 1)  # type: ignore[attr-defined]  # SQLite's
        try:
            return job(connection)
        finally:
            connection.set_progress_handler(None, 1)  # type: ignore[attr-defined]  # SQLite's

    read = db.read
    with monkeypatch.context() as patched:
        patched.setattr(db, "read", lambda job, *viewer: read(lambda one: counted(one, job), *viewer))
        await look(db)
    return taken
