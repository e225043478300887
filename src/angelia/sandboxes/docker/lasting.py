"""The containers of this home: found by their labels, never anybody else's. See `sandboxes.lasting.Keeper`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from angelia.sandboxes.docker.container import HOME_LABEL, LABEL, remove
from angelia.sandboxes.docker.engine import Engine, Refused
from angelia.sandboxes.docker.settings import DockerSettings, socket_of
from angelia.sandboxes.lasting import Lasting, Use, owner
from angelia.sandboxes.port import AccessRefused, SandboxMissing

_RUNS = "running"


async def found(state: Path, settings: object) -> Sequence[Lasting]:
    """See the port. Without a daemon there are none."""
    try:
        engine = _engine(settings)
    except (SandboxMissing, AccessRefused):
        return ()
    try:
        filters = msgspec.json.encode({"label": [f"{HOME_LABEL}={owner(state)}"]}).decode()
        query = {"all": "1", "filters": filters}
        rows = await engine.call("GET", "/containers/json", query=query, deed="list its containers")
        return [await _seen(engine, row) for row in rows]
    finally:
        await engine.close()


async def end(name: str, settings: object) -> None:
    """See the port."""
    engine = _engine(settings)
    try:
        await remove(engine, name)
    finally:
        await engine.close()


def _engine(settings: object) -> Engine:
    return Engine(socket_of(settings if isinstance(settings, DockerSettings) else DockerSettings()))


async def _seen(engine: Engine, row: dict[str, Any]) -> Lasting:
    return Lasting(
        room="docker",
        name=str(row["Names"][0]).removeprefix("/"),
        conversation=str(row["Labels"][LABEL]),
        what=str(row["Image"]),
        use=await _use(engine, str(row["Id"])) if row["State"] == _RUNS else Use.ENDED,
        since=float(row["Created"]),
    )


async def _use(engine: Engine, container: str) -> Use:
    """Whoever holds it, or runs a command in it, has a process there that its first one did not start."""
    known = await _told(engine, f"/containers/{container}/json")
    commands = [await _told(engine, f"/exec/{name}/json") for name in known.get("ExecIDs") or ()]
    return Use.IN_USE if any(command.get("Running") for command in commands) else Use.IDLE


async def _told(engine: Engine, path: str) -> dict[str, Any]:
    """What the daemon knows of something; nothing if that has ended since it was listed."""
    try:
        known: dict[str, Any] = await engine.call("GET", path, deed="tell of a container")
    except Refused as error:
        if error.status == 404:
            return {}
        raise
    return known
