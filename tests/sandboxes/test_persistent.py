"""Containers that outlive us are found again, by those they belong to alone, and go when nobody uses them."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.persistent import end, found
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.shared.persistent import PersistentPlace, Use, owner
from angelia.testing.sandboxes.acts import script, shell

from .daemon import IMAGE, Daemon, live_and_be_killed

pytestmark = [pytest.mark.anyio, pytest.mark.real("docker")]

Contain = Callable[..., DockerSandbox]


@pytest.fixture
async def contain(docker: Daemon, person: Path, own: Path, tmp_path: Path) -> AsyncIterator[Contain]:
    """Makes sandboxes of a home of ours; closed after the test, and then no container is left."""
    made: list[DockerSandbox] = []
    (tmp_path / "work").mkdir()

    def contain(
        conversation: str = "one", state: Path = own / "run", *, visit: bool = False, **settings: object
    ) -> DockerSandbox:
        place = SandboxContext(conversation, str(tmp_path / "work"), own, state, visit=visit)
        chosen = DockerSettings(socket=docker.socket, **settings)  # type: ignore[arg-type]
        made.append(DockerSandbox(IMAGE, place, settings=chosen))
        return made[-1]

    yield contain
    for sandbox in made:
        await sandbox.close()
    assert docker.containers() == []


async def ours(docker: Daemon, state: Path) -> list[PersistentPlace]:
    settings = [DockerSettings(socket=docker.socket, cpus=cpus) for cpus in (1, 2)]
    return list(await found(state, [*settings, DockerSettings(socket="/no/docker.sock")]))


async def gone(sandbox: DockerSandbox, name: str) -> None:
    """Wait until a container has been removed."""
    query = {"condition": "removed"}
    await sandbox._engine.call("POST", f"/containers/{name}/wait", query=query, deed="wait for the container's end")


async def test_a_container_is_found_with_its_conversation_and_whether_it_is_used(
    contain: Contain, docker: Daemon, own: Path, tmp_path: Path
) -> None:
    await live_and_be_killed(tmp_path, docker, "echo ready; sleep 1000")
    await shell(contain("two"), "true")
    seen = {place.place: place for place in await ours(docker, own / "run")}
    assert {place.name for place in seen.values()} == set(docker.containers())
    assert {name: (place.use, place.what) for name, place in seen.items()} == {
        "one": (Use.IDLE, IMAGE),
        "two": (Use.IN_USE, IMAGE),
    }
    assert abs(seen["one"].since - seen["two"].since) < 600
    await end(seen["one"])
    await end(seen["one"])
    assert docker.containers() == [seen["two"].name]


async def test_nobody_elses_container_is_ever_seen(contain: Contain, docker: Daemon, own: Path, tmp_path: Path) -> None:
    label = f"angelia.home={owner(own / 'run')}"
    docker.docker("create", "--name", "never-started", "--label", "angelia=mine", "--label", label, IMAGE)
    docker.docker("create", "--name", "a-strangers", "--label", "angelia=one", IMAGE)
    docker.docker("create", "--name", "no-labels", IMAGE)
    await shell(contain("one", tmp_path / "other"), "true")
    seen = await ours(docker, own / "run")
    assert [(place.name, place.use) for place in seen] == [("never-started", Use.ENDED)]
    docker.docker("rm", "never-started", "a-strangers", "no-labels")


async def test_a_copy_of_a_home_is_another_owner_and_the_name_stays(tmp_path: Path) -> None:
    first = owner(tmp_path / "a")
    assert first == owner(tmp_path / "a")
    assert first != owner(tmp_path / "b")


async def test_without_a_daemon_there_are_no_containers(tmp_path: Path) -> None:
    assert not await found(tmp_path, [DockerSettings(socket="/no/docker.sock")])


async def test_a_container_that_is_held_and_not_used_goes_and_its_files_stay(contain: Contain, docker: Daemon) -> None:
    sandbox = contain(idle_minutes=0)
    running = await sandbox.start(script("echo kept >~/note; echo ready; sleep 1000"))
    assert await anext(running.output()) == b"ready\n"
    (name,) = docker.containers()
    assert sandbox._idle._timer is not None
    sandbox._idle._over()  # the time is up, and a command still runs
    assert sandbox._idle._resting is None
    assert docker.containers() == [name]
    await running.kill()
    await gone(sandbox, name)
    assert await shell(sandbox, "cat ~/note; hostname") == "kept\nsandbox"


async def test_what_lies_in_memory_is_not_let_go(contain: Contain, docker: Daemon) -> None:
    sandbox = contain(workspace="tmpfs")
    await shell(sandbox, "echo kept >note")
    await sandbox._rest()
    assert await shell(sandbox, "cat note") == "kept"
    assert len(docker.containers()) == 1


@pytest.mark.soak
async def test_closing_leaves_a_container_that_somebody_else_uses(contain: Contain, docker: Daemon) -> None:
    first, second = contain(), contain()
    await shell(first, "echo kept >/tmp/note")
    assert await shell(second, "cat /tmp/note") == "kept"
    await second.close()
    assert await shell(first, "cat /tmp/note") == "kept"
    await first.close()
    assert docker.containers() == []


@pytest.mark.soak
async def test_resting_leaves_a_container_that_somebody_else_uses(contain: Contain, docker: Daemon) -> None:
    first, second = contain(), contain()
    await shell(first, "echo kept >/tmp/note")
    running = await second.start(script("echo ready; sleep 1000"))
    assert await anext(running.output()) == b"ready\n"
    await first._rest()  # as when we have not used it for an hour, and a person's shell is open there
    assert await shell(second, "cat /tmp/note") == "kept"
    assert await shell(first, "cat /tmp/note") == "kept", "the next use finds it again"
    await first._rest()
    await running.kill()
    await second._rest()
    assert docker.containers() == [], "the last one who rests removes it"


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("kind", ["bind", "tmpfs"])
async def test_a_visit_leaves_an_idle_container_as_it_was_and_keeps_none_from_its_end(
    contain: Contain, docker: Daemon, kind: str
) -> None:
    host, guest = contain(workspace=kind), contain(visit=True, workspace=kind)
    await shell(host, "echo kept | tee note >/tmp/note")
    assert host._keeper is not None
    await host._keeper.close()  # as when we die
    await host._keeper.status()
    assert await shell(guest, "cat note /tmp/note") == "kept\nkept"
    await guest.close()
    late = contain(visit=True, workspace=kind)
    assert await shell(late, "cat note /tmp/note") == "kept\nkept"
    await late.close()
    again, beside = contain(workspace=kind), contain(visit=True, workspace=kind)
    assert await shell(again, "cat /tmp/note") == "kept"
    await shell(beside, "true")
    await again.close()
    await beside.close()
    assert docker.containers() == [], "what others used when we came goes with the last of them"


async def test_what_lies_in_memory_is_known_as_the_only_copy(contain: Contain, docker: Daemon, own: Path) -> None:
    await shell(contain("one"), "true")
    await shell(contain("two", workspace="tmpfs"), "true")
    seen = {place.place: place.only_copy for place in await ours(docker, own / "run")}
    assert seen == {"one": False, "two": True}
