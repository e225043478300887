"""The containers of this home: found by their labels, never anybody else's; see `Keeper`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from angelia.sandboxes.docker.container import HOME_LABEL, LABEL, MEMORY_LABEL, remove
from angelia.sandboxes.docker.engine import DaemonRefused, DockerEngine
from angelia.sandboxes.docker.settings import DockerSettings, socket_of
from angelia.sandboxes.port import AccessRefused, SandboxMissing
from angelia.sandboxes.shared.persistent import PersistentPlace, Use, owner

_RUNS = "running"


async def found(state: Path, settings: Sequence[object]) -> Sequence[PersistentPlace]:
    """See the port. Without a daemon there are none."""
    sockets = {socket_of(known) for known in settings if isinstance(known, DockerSettings)}
    return [place for socket in sorted(sockets) for place in await _found_at(socket, owner(state))]


async def end(place: PersistentPlace) -> None:
    """See the port."""
    engine = DockerEngine(place.at)
    try:
        await remove(engine, place.name)
    finally:
        await engine.close()


async def in_use(engine: DockerEngine, container: str) -> bool:
    """Whether anybody but `engine` holds it, or runs a command in it: a process that its first one did not start."""
    return await _runs_more(engine, await _told(engine, f"/containers/{container}/json"))


async def is_idle(engine: DockerEngine, container: str) -> bool:
    """Whether it runs, and nobody uses it."""
    known = await _told(engine, f"/containers/{container}/json")
    return bool(known) and known["State"]["Running"] and not await _runs_more(engine, known)


async def _runs_more(engine: DockerEngine, known: Mapping[str, Any]) -> bool:
    others = set(known.get("ExecIDs") or ()) - engine.begun
    commands = [await _told(engine, f"/exec/{name}/json") for name in others]
    return any(command.get("Running") for command in commands)


async def _found_at(socket: str, whose: str) -> list[PersistentPlace]:
    try:
        engine = DockerEngine(socket)
    except (SandboxMissing, AccessRefused):
        return []
    try:
        filters = msgspec.json.encode({"label": [f"{HOME_LABEL}={whose}"]}).decode()
        query = {"all": "1", "filters": filters}
        rows = await engine.call("GET", "/containers/json", query=query, deed="list its containers")
        return [await _seen(engine, row) for row in rows]
    finally:
        await engine.close()


async def _seen(engine: DockerEngine, row: dict[str, Any]) -> PersistentPlace:
    use = Use.ENDED
    if row["State"] == _RUNS:
        use = Use.IN_USE if await in_use(engine, str(row["Id"])) else Use.IDLE
    return PersistentPlace(
        kind="docker",
        at=engine.socket,
        name=str(row["Names"][0]).removeprefix("/"),
        place=str(row["Labels"][LABEL]),
        what=str(row["Image"]),
        use=use,
        since=float(row["Created"]),
        only_copy=MEMORY_LABEL in row["Labels"] and use is not Use.ENDED,  # what ended has lost its memory
    )


async def _told(engine: DockerEngine, path: str) -> dict[str, Any]:
    """What the daemon knows of something; nothing if that has ended since it was listed."""
    try:
        known: dict[str, Any] = await engine.call("GET", path, deed="tell of a container")
    except DaemonRefused as error:
        if error.status == 404:
            return {}
        raise
    return known
