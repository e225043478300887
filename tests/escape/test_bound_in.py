"""The same guard over a folder that is bound into a container or an instance: what is left there is taken back."""

import pytest

from angelia.sandboxes.apptainer.sandbox import ApptainerSandbox
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.guard.sandbox import guarded
from angelia.sandboxes.port import Command, Sandbox
from angelia.testing.sandboxes.acts import said
from tests.sandboxes.apptainer import Images
from tests.sandboxes.conftest import apptainer, docker
from tests.sandboxes.daemon import IMAGE, Daemon

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
