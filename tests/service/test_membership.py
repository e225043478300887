"""A machine lets go of a part of the work only once nothing of that goes on there."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.service.cluster import membership
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


class Wordless(Machines):
    """They tell how they are once, and never come to it again."""

    told = False

    async def tell(self, name: str, version: str, wants: frozenset[str], load: int) -> None:
        if self.told:
            await asyncio.Event().wait()
        self.told = True
        await super().tell(name, version, wants, load)


async def test_a_machine_that_cannot_tell_how_it_is_takes_what_falls_to_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def finish(seconds: float) -> None:
        """Nothing is under way."""

    monkeypatch.setattr(membership, "_TELL_S", 0.0)
    part = Part()
    deps = MembershipDeps(db, Wordless(db), {PART: part}, frozenset, finish, lambda state: None)
    member = Membership(deps)
    await member.join()
    working = asyncio.create_task(member.work())
    async with asyncio.timeout(20):
        assert await part.begun.wait()
    working.cancel()
    await member.leave()


async def test_a_part_is_held_until_nothing_of_it_goes_on_here(db: Database) -> None:
    part, machines = Part(), Machines(db)

    async def held() -> bool:
        return [one.held for one in (await machines.state()).parts if one.name == PART] == [True]

    async def finish(seconds: float) -> None:
        """Nothing is under way."""

    deps = MembershipDeps(db, machines, {PART: part}, frozenset, finish, lambda state: None)
    member = Membership(deps)
    await member.join()
    working = asyncio.create_task(member.work())
    await asyncio.wait_for(part.begun.wait(), 60)
    working.cancel()
    handing = asyncio.create_task(member.hand_over(1.0))
    await asyncio.wait_for(part.ending.wait(), 60)
    assert await held()
    part.ends.set()
    await handing
    assert not await held()
    await member.leave()
