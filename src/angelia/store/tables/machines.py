"""The gateways that share one log: which are there, what each can serve, and what is held by whom."""

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.ids import ConversationId
from angelia.store.port import Haste, LogStore, StoreConnection

CLOCK = "clock"
"""The part of who begins what is scheduled."""
_CHANNEL, _MACHINE = "channel ", "machine "
NO_DRAIN = -1
"""As `Machine.drain`: it takes part in the work."""
_LEASES = "SELECT conversation, holder, presence, boot, expires, since FROM leases"


class Machine(Struct, frozen=True):
    """A gateway that is there: since when (Unix milliseconds) and in which process. `wants` are the parts that it can
    serve, `load` is what its processors have to do, in thousandths of what they can. `drain` is `NO_DRAIN`, or within
    how many seconds its turns are to end. `left_ms` is in how many milliseconds its lease ends unless it is renewed.
    """

    name: str
    process: str
    since: int
    version: str
    wants: frozenset[str]
    load: int
    drain: int
    left_ms: int


class ClusterPart(Struct, frozen=True):
    """What one machine holds for all: a channel, the clock. `machine` has it, or had it last where it is not `held`;
    `given_up` says that it let go of it by itself. `left_ms` is in how many milliseconds its lease ends unless it is
    renewed: 0 where that was not done in time.
    """

    name: str
    machine: str
    since: int
    held: bool
    given_up: bool
    left_ms: int


class DrivenConversation(Struct, frozen=True):
    """A conversation that somebody drives now: in which process, and since when (Unix milliseconds)."""

    conversation: ConversationId
    process: str
    since: int


class ClusterState(Struct, frozen=True):
    """Everything at one moment; machines and parts in the order of their names."""

    machines: tuple[Machine, ...]
    parts: tuple[ClusterPart, ...]


def channel_part(door: str) -> str:
    """The part of who is connected to a channel."""
    return f"{_CHANNEL}{door}"


def door_of(part: str) -> str:
    """The channel of a part; empty for another one."""
    return part.removeprefix(_CHANNEL) if part.startswith(_CHANNEL) else ""


def machine_lease(name: str) -> str:
    """The lease by which a machine is there under its name."""
    return f"{_MACHINE}{name}"


class Machines:
    """What is kept beside the leases about those that hold them."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def tell(self, name: str, version: str, wants: frozenset[str], load: int) -> None:
        """How a machine is. It takes part in the work from the first time on."""
        await self._db.write(
            lambda connection: connection.execute(
                "INSERT INTO machines VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
                " version = excluded.version, wants = excluded.wants, load = excluded.load",
                (name, version, "\n".join(sorted(wants)), load, NO_DRAIN),
            ),
            Haste.URGENT,
        )

    async def forget(self, name: str) -> None:
        """A machine is not there any more, or not yet: what was asked of an earlier one is over."""
        await self._db.write(lambda connection: connection.execute("DELETE FROM machines WHERE name = ?", (name,)))

    async def drain(self, name: str, seconds: int) -> None:
        """Have a machine hand over all that it holds, and end its turns within so many seconds; `NO_DRAIN` lets it
        take part again.
        """
        await self._db.write(
            lambda connection: connection.execute("UPDATE machines SET drain = ? WHERE name = ?", (seconds, name))
        )

    async def state(self) -> ClusterState:
        """Who is there, and who has what."""
        return await self._db.read(self._state, haste=Haste.URGENT)

    async def driven(self) -> list[DrivenConversation]:
        """Every conversation that somebody drives, whatever for, the longest first."""
        return await self._db.read(self._driven)

    def _state(self, connection: StoreConnection) -> ClusterState:
        rows = connection.execute("SELECT name, version, wants, load, drain FROM machines ORDER BY name").fetchall()
        wants = {name: frozenset(parts.split("\n")) - {""} for name, _, parts, _, _ in rows}
        leases = self._leases(connection, [*map(machine_lease, wants), *sorted(frozenset().union(*wants.values()))])
        machines = []
        for name, version, _, load, drain in rows:
            lease = leases.get(machine_lease(name))
            if lease and lease.held:
                facts = version, wants[name], load, drain, lease.left_ms
                machines.append(Machine(name, lease.machine, lease.since, *facts))
        nobody = ClusterPart("", "", 0, held=False, given_up=True, left_ms=0)
        wanted = sorted({part for one in machines for part in one.wants})
        return ClusterState(tuple(machines), tuple(leases.get(part) or replace(nobody, name=part) for part in wanted))

    def _leases(self, connection: StoreConnection, names: list[str]) -> dict[str, ClusterPart]:
        """Those that were ever taken, by their names; as the one who holds it, a machine's own names its process."""
        query = f"{_LEASES} WHERE conversation IN ({', '.join('?' * len(names))})"
        rows = connection.execute(query, names).fetchall() if names else []
        ends = [(presence, clock, end) for _, _, presence, clock, end, _ in rows]
        held, left_ms = self._db.presence.held(connection, ends), self._db.presence.left_ms(connection, ends)
        return {
            name: ClusterPart(name, holder, since, is_held, given_up=not presence, left_ms=left)
            for (name, holder, presence, _, _, since), is_held, left in zip(rows, held, left_ms, strict=True)
        }

    def _driven(self, connection: StoreConnection) -> list[DrivenConversation]:
        rows = connection.execute(
            "SELECT l.conversation, holder, presence, boot, expires, since FROM leases AS l"
            " JOIN conversations AS c ON c.id = l.conversation WHERE presence <> '' ORDER BY since"
        ).fetchall()
        held = self._db.presence.held(connection, [(presence, clock, end) for _, _, presence, clock, end, _ in rows])
        return [
            DrivenConversation(ConversationId(one), holder, since)
            for (one, holder, *_, since), is_held in zip(rows, held, strict=True)
            if is_held
        ]
