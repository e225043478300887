"""The same guard over a folder that is bound into a container or an instance: what is left there is taken back."""

import asyncio
from collections.abc import Callable

import pytest

from angelia.sandboxes.apptainer.sandbox import ApptainerSandbox
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.guard.guard import guard_of
from angelia.sandboxes.guard.sandbox import LIVES_ON, guarded
from angelia.sandboxes.port import Command, Sandbox
from angelia.testing.sandboxes.acts import said
from tests.sandboxes.apptainer import Images
from tests.sandboxes.conftest import apptainer, docker
from tests.sandboxes.daemon import IMAGE, Daemon
from tests.sandboxes.test_open_input import until

from .conftest import Person
from .outside import lives_on

__all__ = ["apptainer", "docker"]
pytestmark = pytest.mark.anyio

PLANT = [
    "mkdir -p .vscode .husky a/b; echo 'touch {marker}' > .envrc; echo 'touch {marker}' > a/b/.envrc",
    (
        "mkdir -p x/.git/objects x/.git/refs; echo ref: refs/heads/main > x/.git/HEAD; "
        "printf '[core]\\n repositoryformatversion = 0\\n fsmonitor = touch {marker}; false\\n' > x/.git/config"
    ),
    (
        'printf \'{{"tasks": [{{"command": "touch {marker}", "runOptions": {{"runOn": "folderOpen"}}}}]}}\' '
        "> .vscode/tasks.json"
    ),
]


def place_of(person: Person) -> SandboxContext:
    return SandboxContext("one", str(person.work), person.own, person.own / "run", person.hear)


async def nothing_is_left(person: Person, inner: Sandbox) -> None:
    """Plant, and go on with the day."""
    sandbox = guarded(inner, person.work, person.own, person.hear)
    line = "; ".join(PLANT).format(marker=person.marker)
    try:
        output, end = await said(sandbox, Command(shell=line))
        assert end.status == 0, output
        taken = [".envrc", "a/b/.envrc", ".vscode/tasks.json", "x/.git/config"]
        assert [path for path in taken if not any(f"`{path}` was moved" in note for note in end.notes)] == []
        assert [path for path in taken if (person.work / path).exists()] == []
        report = lives_on(person)
        assert not person.marker.exists(), report
    finally:
        await sandbox.close()


async def test_what_a_container_leaves_in_the_workspace_is_taken_back(docker: Daemon, person: Person) -> None:
    await nothing_is_left(
        person, DockerSandbox(IMAGE, place_of(person), settings=DockerSettings(), socket=docker.socket)
    )


async def test_what_an_instance_leaves_in_the_workspace_is_taken_back(apptainer: Images, person: Person) -> None:
    await nothing_is_left(
        person, ApptainerSandbox(str(apptainer.folder), place_of(person), settings=ApptainerSettings())
    )


AWAY = "(env -i $(command -v setsid) sh -c 'while ! [ -e go ]; do sleep .1; done; echo evil > .envrc; {then}' "
AWAY += ">/dev/null 2>&1 </dev/null &); echo begun"


async def what_gets_away_is_looked_after(person: Person, inner: Sandbox) -> None:
    """It has no mark, session or parent of its command, and waits until that has ended."""
    sandbox = guarded(inner, person.work, person.own, person.hear)
    try:
        output, end = await said(sandbox, Command(shell=AWAY.format(then="sleep 1000")))
        assert (output, end.status) == (b"begun\n", 0)
        await heard(person, LIVES_ON)
        (person.work / "go").touch()
        await heard(person, "`.envrc` was moved")
        assert not (person.work / ".envrc").exists()
    finally:
        await sandbox.close()


async def heard(person: Person, text: str) -> None:
    async with asyncio.timeout(60):
        while not any(text in note for note in person.heard):
            person.has_heard.clear()
            await person.has_heard.wait()


async def its_next_life_believes_nothing(person: Person, opens: Callable[[], Sandbox]) -> None:
    """The one that began it was killed while no command ran, so nobody looked; what it left is not what stood."""
    (person.work / ".envrc").write_text("mine")
    guard_of(person.work, person.own).see()
    killed = opens()
    await said(killed, Command(shell=AWAY.format(then="touch done; sleep 1000")))
    (person.work / "go").touch()
    await until((person.work / "done").exists)
    later = guarded(opens(), person.work, person.own, person.hear)
    try:
        _, end = await said(later, Command(shell="true"))
        assert (person.work / ".envrc").read_text() == "mine"
        assert [note for note in end.notes if ".envrc" in note]
    finally:
        await later.close()
        await killed.close()


async def test_what_gets_away_from_its_command_in_a_container_is_looked_after(docker: Daemon, person: Person) -> None:
    await what_gets_away_is_looked_after(
        person, DockerSandbox(IMAGE, place_of(person), settings=DockerSettings(), socket=docker.socket)
    )


async def test_what_gets_away_from_its_command_in_an_instance_is_looked_after(
    apptainer: Images, person: Person
) -> None:
    await what_gets_away_is_looked_after(
        person, ApptainerSandbox(str(apptainer.folder), place_of(person), settings=ApptainerSettings())
    )


async def test_where_something_lived_on_nothing_is_believed(docker: Daemon, person: Person) -> None:
    await its_next_life_believes_nothing(
        person, lambda: DockerSandbox(IMAGE, place_of(person), settings=DockerSettings(), socket=docker.socket)
    )


async def test_once_nothing_lives_there_what_the_person_writes_stands(docker: Daemon, person: Person) -> None:
    sandbox = guarded(
        DockerSandbox(IMAGE, place_of(person), settings=DockerSettings(), socket=docker.socket),
        person.work,
        person.own,
        person.hear,
    )
    try:
        await said(sandbox, Command(shell="true"))
        await until(lambda: not [*(person.own / "guarded").glob("*/running-*")])
        (person.work / ".envrc").write_text("mine")
        _, end = await said(sandbox, Command(shell="true"))
        assert (person.work / ".envrc").read_text() == "mine"
        assert end.notes == ()
        assert person.heard == []
    finally:
        await sandbox.close()
