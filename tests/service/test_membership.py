"""A machine lets go of a part of the work only once nothing of that goes on there."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.service.cluster.membership import Membership, MembershipDeps
from angelia.store.sql.database import Database
from angelia.store.tables.machines import Machines

pytestmark = pytest.mark.anyio
PART = "channel:bird"


class Part:
    """One that ends when it is told to; see `PartPort`."""

    def __init__(self) -> None:
        self.begun, self.ending, self.ends = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def begin(self) -> None:
        self.begun.set()

    async def end(self, seconds: float) -> None:
        self.ending.set()
        await self.ends.wait()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(tmp_path / "home")
    yield opened
    opened.close()


async def test_a_part_is_held_until_nothing_of_it_goes_on_here(db: Database) -> None:
    part, machines = Part(), Machines(db)

    async def held() -> bool:
        return [one.held for one in (await machines.state()).parts if one.name == PART] == [True]

    async def finish(seconds: float) -> None:
        """Nothing is under way."""

    deps = MembershipDeps(db, machines, {PART: part}, frozenset, finish, lambda state: None)
    membership = Membership(deps)
    await membership.join()
    working = asyncio.create_task(membership.work())
    await asyncio.wait_for(part.begun.wait(), 60)
    working.cancel()
    handing = asyncio.create_task(membership.hand_over(1.0))
    await asyncio.wait_for(part.ending.wait(), 60)
    assert await held()
    part.ends.set()
    await handing
    assert not await held()
    await membership.leave()
