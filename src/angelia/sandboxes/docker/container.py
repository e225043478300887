"""One container: found by its name, or made; its image pulled where it is missing; gone by itself when idle."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from angelia.sandboxes.docker.engine import DaemonRefused, DockerEngine
from angelia.sandboxes.docker.pull import pull
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.local.confinement import Share
from angelia.sandboxes.port import SandboxGone, SandboxMissing
from angelia.sandboxes.shared.bound_folders import HOME
from angelia.sandboxes.shared.volumes import Volume

LABEL = "angelia"
"""Its value is the place's id."""
HOME_LABEL = f"{LABEL}.home"
"""Its value is whose container it is (`sandboxes.shared.persistent.owner`)."""
MEMORY_LABEL = f"{LABEL}.memory"
"""It is there if workspace and home lie in the container alone, and go with it."""
TMP = "/tmp"  # noqa: S108 - the container's own

LOOK = 5
"""Seconds between two looks whether anybody is there."""
_LIVE = f"n=0; while [ $n -lt $0 ]; do sleep {LOOK}; set -- /proc/[0-9]*; "
_LIVE += f"if [ $# -gt 1 ]; then n=0; else n=$((n + {LOOK})); fi; done"
"""The container's first process: ends, and the container with it, when it has been alone for $0 seconds."""
_NOT_YET = ("created", "initialized")
"""Before it runs; the second word is Podman's (podman-ps(1), `--filter status`)."""
_AS_ROOT = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID")
"""What package managers need of root, where the image's own root may be changed (capabilities(7))."""
_TRIES = 8
_PAUSE = 0.05
"""Seconds until the second look, and twice as many each time: a name is taken before its container can be seen."""


class ContainerPlan(Struct, frozen=True):
    """What a container is to be. `workspace` and what is hidden are paths on both sides, `home` is one outside; in the
    image's own folder they say nothing.

    `nothing` is an empty folder outside, laid over hidden folders. (Podman copies what it covers into a tmpfs.)
    """

    name: str
    place: str
    image: str
    settings: DockerSettings
    workspace: str
    home: str
    uid: int
    gid: int
    volumes: tuple[Volume, ...] = ()
    guarded: tuple[Share, ...] = ()
    hidden_folders: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    nothing: str = ""
    owner: str = ""


async def ensure(engine: DockerEngine, plan: ContainerPlan, progress: Callable[[str], None]) -> str:
    """The id of a running container that is as planned; the same one for everybody who asks for this name.

    Raises:
        SandboxMissing: its image cannot be had, or the daemon cannot make such a container.
        Unreachable: the daemon does not answer.
    """
    body = await _body(engine, plan)
    for attempt in range(_TRIES):
        try:
            if found := await _found(engine, plan, body["Labels"]):
                return found
            made = await engine.call(
                "POST", "/containers/create", body, query={"name": plan.name}, deed=f"make a container of {plan.image}"
            )
            await engine.call("POST", f"/containers/{made['Id']}/start", deed="start the container")
            return str(made["Id"])
        except DaemonRefused as error:
            if error.status == 404 and "image" in error.said.lower():
                await pull(engine, plan.image, progress)
            elif not _was_somebody_else(error):
                await remove(engine, plan.name)
                raise SandboxMissing(
                    f"The container daemon could not start a container of {plan.image}: {error.said}.",
                    then="Change the limits under [sandbox.docker], or see what `docker info` says.",
                ) from error
            else:
                await asyncio.sleep(_PAUSE * 2**attempt)
    raise SandboxGone(f"The container {plan.name} comes and goes.", "Something else makes and removes it all the time.")


async def workplace(engine: DockerEngine, image: str, progress: Callable[[str], None]) -> str:
    """The folder in which an image works; it is fetched if it is not here.

    Raises:
        SandboxMissing: it cannot be had.
        Unreachable: the daemon does not answer.
    """
    path, deed = f"/images/{image}/json", "look at an image"
    try:
        known = await engine.call("GET", path, deed=deed)
    except DaemonRefused as error:
        if error.status != 404:
            raise
        await pull(engine, image, progress)
        known = await engine.call("GET", path, deed=deed)
    return str(known["Config"].get("WorkingDir") or "/")


def _was_somebody_else(error: DaemonRefused) -> bool:
    """Who has just removed it (404), or made it (409; Podman has no number for that)."""
    return error.status in (404, 409) or "already in use" in error.said


async def remove(engine: DockerEngine, name: str) -> None:
    """End it and remove it; one that is gone already is fine."""
    try:
        await engine.call("DELETE", f"/containers/{name}", query={"force": "1", "v": "1"}, deed="remove the container")
    except DaemonRefused as error:
        if error.status not in (404, 409):  # 409: it is being removed
            raise


async def _found(engine: DockerEngine, plan: ContainerPlan, labels: Mapping[str, str]) -> str:
    """The id of a container of that name that runs and is as planned; others of that name are removed."""
    try:
        known = await engine.call("GET", f"/containers/{plan.name}/json", deed="look for the container")
    except DaemonRefused as error:
        if error.status == 404:
            return ""
        raise
    if known["Config"]["Labels"] | dict(labels) == known["Config"]["Labels"]:
        if known["State"]["Running"]:
            return str(known["Id"])
        if known["State"]["Status"] in _NOT_YET:  # it is being started, or whoever made it died before that
            await engine.call("POST", f"/containers/{known['Id']}/start", deed="start the container")
            return str(known["Id"])
    await remove(engine, plan.name)
    return ""


async def _body(engine: DockerEngine, plan: ContainerPlan) -> dict[str, Any]:
    """The request (API reference, "Create a container"); its own hash is a label, so that a change is noticed."""
    info = await engine.call("GET", "/info", deed="tell about itself")
    # without root, the person is root inside, and everybody else a stranger outside
    rootless = info.get("Rootless") or any("rootless" in option for option in info.get("SecurityOptions") or ())
    if rootless and info.get("CgroupVersion") == "1":
        _refuse_limits(plan.settings)
    uid, gid = (0, 0) if rootless else (plan.uid, plan.gid)
    # Podman (podman-run(1), `--tmpfs`) gives a tmpfs to the user by a word of its own; it tells of Buildah, Docker not
    owner = "U" if "BuildahVersion" in info else f"uid={uid},gid={gid}"
    idle = max(plan.settings.idle_minutes * 60, LOOK)
    walls = _walls(plan, uid, gid, owner)
    body: dict[str, Any] = {
        **walls,
        "Image": plan.image,
        "Entrypoint": ["/bin/sh", "-c", _LIVE, str(idle)],
        "Cmd": [],
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "HostConfig": {
            **walls["HostConfig"],
            "AutoRemove": True,
            "NetworkMode": plan.settings.network,
            "SecurityOpt": ["no-new-privileges"],
            "Memory": plan.settings.memory_mb * 1_000_000,
            "MemorySwap": plan.settings.memory_mb * 1_000_000,
            "NanoCpus": round(plan.settings.cpus * 1e9),
            "PidsLimit": plan.settings.processes,
        },
    }
    digest = hashlib.sha256(msgspec.json.encode(body)).hexdigest()[:16]
    labels = {LABEL: plan.place, HOME_LABEL: plan.owner, f"{LABEL}.plan": digest}
    in_memory = {} if plan.settings.outlives_container else {MEMORY_LABEL: ""}
    return body | {"Labels": labels | in_memory}


def _walls(plan: ContainerPlan, uid: int, gid: int, owner: str) -> dict[str, Any]:
    """Who commands are, and what they may change: next to nothing, or all of the image."""
    if plan.settings.workspace == "image":
        return {"HostConfig": {"CapDrop": ["ALL"], "CapAdd": list(_AS_ROOT), "Mounts": _mounts(plan)}}
    host = {"ReadonlyRootfs": True, "CapDrop": ["ALL"], "Mounts": _mounts(plan), "Tmpfs": _tmpfs(plan, owner)}
    return {"User": f"{uid}:{gid}", "HostConfig": host}


def _refuse_limits(settings: DockerSettings) -> None:
    """Such a daemon ignores them in silence (docs.docker.com/engine/security/rootless, "Limiting resources")."""
    if settings.memory_mb or settings.cpus or settings.processes:
        raise SandboxMissing(
            "This container daemon cannot limit memory, cpus and processes: it runs without root, with cgroups v1.",
            "A container without the limits that are set is not made in silence.",
            "Set memory_mb, cpus and processes to 0 under [sandbox.docker], or start the machine with cgroups v2.",
        )


def _mounts(plan: ContainerPlan) -> list[dict[str, Any]]:
    places = list(plan.volumes)
    if plan.settings.workspace == "bind":
        places += [Volume(plan.workspace, plan.workspace, writable=True), Volume(plan.home, HOME, writable=True)]
        places += [Volume(str(share.path), str(share.path), share.writable) for share in plan.guarded]
        places += [Volume("/dev/null", path) for path in plan.hidden_files]
        places += [Volume(plan.nothing, path) for path in plan.hidden_folders]
    return [
        {"Type": "bind", "Source": place.outside, "Target": place.inside, "ReadOnly": not place.writable}
        for place in places
    ]


def _tmpfs(plan: ContainerPlan, owner: str) -> dict[str, str]:
    size = f"size={plan.settings.tmp_mb * 1_000_000}"
    own = f"rw,exec,nosuid,nodev,{size},{owner}"
    places = {TMP: f"rw,exec,nosuid,nodev,{size},mode=1777"}
    if plan.settings.workspace == "tmpfs":
        return places | {plan.workspace: f"{own},mode=755", HOME: f"{own},mode=700"}
    return places
