"""Who works in a log now, for what cannot be done while anybody does."""

from angelia.store.port import LogStore, StoreConnection
from angelia.store.presence import alive


def at_work(connection: StoreConnection, db: LogStore) -> list[str]:
    """Those who drive a conversation, on whichever machine, and the processes of this one that may; sorted. A process
    elsewhere that drives nothing is not seen.
    """
    leases = connection.execute("SELECT holder, presence, boot, expires FROM leases").fetchall()
    held = db.presence.held(connection, [(presence, clock, expires) for _, presence, clock, expires in leases])
    driving = {holder for (holder, *_), is_held in zip(leases, held, strict=True) if is_held}
    return sorted(driving | set(alive(db.home / "alive")))
