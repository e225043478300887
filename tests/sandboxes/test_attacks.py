"""No path leads a tool where it may not go, in any sandbox; each try is refused, and the model is told why."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, Text, ToolCall
from angelia.core.ending import Answered
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, calls, say
from angelia.testing.sandboxes.acts import shell
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

from .attacked import CANARY, MOUNTED, SECOND_NAMES, Attack, Scene
from .daemon import IMAGE, Daemon
from .sshd import Server

pytestmark = pytest.mark.anyio

OF_ANOTHER = b"what another conversation was given"
REFUSED = {CallStatus.REFUSED, CallStatus.ERROR, CallStatus.BAD_CALL}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where it happens: not in /tmp, which a container has one of its own of."""
    with TemporaryDirectory(dir="/var/tmp", prefix="attacks") as name:
        monkeypatch.setenv("HOME", f"{name}/person")
        yield Path(name).resolve()


async def attacked(folder: Path, *sets: str, tools: str = "rws", in_memory: bool = False) -> str:
    """Everything that did not go as it should when a model tries all attacks in one reply, a line each. In memory they
    are laid out by a command.
    """
    replies: list[Step] = []
    async with ModelServer(by_replies(replies)) as server:
        place, scene = Place(folder, server, sets=sets), the_scene(folder)
        if not in_memory:
            scene.lay_out()
        async with conversation(place) as one:
            other = await one.app.blobs.put(OF_ANOTHER)
            unknown = SECOND_NAMES if in_memory or "ssh" in sets[0] else ()
            attacks = scene.attacks(other.sha256, tools=tools, without=unknown)
            if in_memory:
                await shell(one.app.conversations.sandbox_of(one.session), scene.script())
                attacks = [attack for attack in attacks if attack.path.partition("/")[0] in scene.inside()]
            return "\n".join([*await tried(one, replies, attacks), *(f"written: {path}" for path in scene.changed())])


def the_scene(folder: Path) -> Scene:
    """As a `Place` in this folder has it."""
    return Scene(folder / "workspace", folder / "outside", folder / "home", folder / "person")


async def tried(one: Conversation, replies: list[Step], attacks: Sequence[Attack]) -> list[str]:
    """Let the model make all these calls in one reply; see `broken`."""
    replies += [calls(*((attack.tool, attack.arguments()) for attack in attacks)), say("Done.")]
    await one.say("Do it.")
    assert isinstance(await one.ending(), Answered)
    return broken(one, attacks)


def broken(one: Conversation, attacks: Sequence[Attack]) -> list[str]:
    """What was not refused, or not for its reason; and what was seen or sent of what nobody may have."""
    made = [part.id for fact in one.facts(e.ModelSaid) for part in fact.parts if isinstance(part, ToolCall)]
    results = {result.call: result for result in one.facts(e.ToolFinished)}
    found = []
    for name, attack in zip(made[-len(attacks) :], attacks, strict=True):
        said = words(results[name])
        if results[name].status not in REFUSED or not attack.fits(said):
            found.append(f"{attack.trick}: {attack.tool} {attack.path!r} is {results[name].status}: {said[:300]}")
    seen = [text for text in map(words, results.values()) if CANARY in text or OF_ANOTHER.decode() in text]
    sent = [part.name for fact in one.facts(e.DeliveryQueued) for part in fact.parts if isinstance(part, Media)]
    return [*found, *(f"seen: {text[:300]}" for text in seen), *(f"sent: {name}" for name in sent)]


def words(result: e.ToolFinished) -> str:
    """What the model reads."""
    return "".join(part.text for part in result.parts if isinstance(part, Text))


def test_there_are_over_forty_of_them() -> None:
    scene = Scene(Path("/w"), Path("/o"), Path("/own"), Path("/p"))
    assert len({attack.path for attack in scene.attacks("0" * 64)}) > 60


@pytest.mark.real("bwrap")
async def test_on_this_machine_confined(folder: Path) -> None:
    assert not await attacked(folder, "sandbox.confine=auto")


async def test_on_this_machine_unconfined(folder: Path) -> None:
    assert not await attacked(folder, "sandbox.confine=off")


@pytest.mark.soak
@pytest.mark.real("docker")
async def test_in_a_container_with_the_workspace_bound_in(folder: Path, docker: Daemon) -> None:
    assert not await attacked(
        folder, f"sandbox.spec=docker:{IMAGE}", f"sandbox.docker.socket={docker.socket}", tools="s"
    )


@pytest.mark.real("docker")
@pytest.mark.soak
async def test_in_a_container_with_the_workspace_in_memory(folder: Path, docker: Daemon) -> None:
    sets = (f"sandbox.docker.socket={docker.socket}", "sandbox.docker.workspace=tmpfs")
    assert not await attacked(folder, f"sandbox.spec=docker:{IMAGE}", *sets, tools="r", in_memory=True)


@pytest.mark.real("ssh")
async def test_on_another_machine(folder: Path, sshd: Server) -> None:
    sshd.introduce(folder / "person")
    assert not await attacked(folder, f"sandbox.spec=ssh:box:{folder}/workspace", "sandbox.confine=off")


async def in_a_world_with_mounts(folder: Path) -> str:
    """What did not go as it should where secrets are mounted into the workspace."""
    replies: list[Step] = []
    async with (
        ModelServer(by_replies(replies)) as server,
        conversation(Place(folder, server, sets=("sandbox.confine=off",))) as one,
    ):
        return "\n".join(await tried(one, replies, [Attack(*each) for each in MOUNTED]))


@pytest.mark.real("bwrap")
async def test_where_secrets_are_mounted_into_the_workspace(folder: Path) -> None:
    scene = the_scene(folder)
    mounts = scene.mounts()
    (scene.person / ".ssh/known").write_text(CANARY)
    line = "import asyncio, pathlib, sys, tests.sandboxes.test_attacks as t; "
    line += "sys.stdout.write(asyncio.run(t.in_a_world_with_mounts(pathlib.Path(sys.argv[1]))))"
    world = ("bwrap", "--dev-bind", "/", "/", *mounts, "--die-with-parent", sys.executable, "-c", line, str(folder))
    process = await asyncio.create_subprocess_exec(*world, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    assert (process.returncode, said.decode()) == (0, "")
    assert not (scene.person / ".ssh/new").exists()


SWAP = """
import os, sys
os.chdir(sys.argv[1])
while True:
    os.symlink(".env", "link"); os.rename("link", "y")
    os.symlink("../outside/secret.txt", "link"); os.rename("link", "x")
    open("file", "w").write("inside"); os.rename("file", "x")
    open("file", "w").write("inside"); os.rename("file", "y")
    os.rename("d", "d2"); os.symlink("../outside", "d")
    os.unlink("d"); os.rename("d2", "d")
"""


async def raced(folder: Path, *sets: str) -> None:
    """Read and send, while what stands there is swapped all the time for a link that leads out."""
    replies: list[Step] = []
    async with ModelServer(by_replies(replies)) as server:
        place, scene = Place(folder, server, sets=sets), the_scene(folder)
        for inside in (scene.work / "d", scene.outside):
            inside.mkdir()
        for secret in (scene.outside / "secret.txt", scene.work / ".env"):
            secret.write_text(CANARY)
        for swapped in ("x", "y"):
            (scene.work / swapped).write_text("inside")
        (scene.work / "d/secret.txt").write_text("inside")
        async with conversation(place) as one:
            swapper = await asyncio.create_subprocess_exec(sys.executable, "-c", SWAP, str(scene.work))
            paths = [(tool, {"path": path}) for path in ("x", "y", "d/secret.txt") for tool in ("read", "send_file")]
            replies += [calls(*paths * 8), say("Done.")]
            await one.say("Do it.")
            ending = await one.ending()
            swapper.kill()
            await swapper.wait()
            assert isinstance(ending, Answered)
            results = one.facts(e.ToolFinished)
            assert not [words(result) for result in results if CANARY in words(result)]
            assert {result.status for result in results} <= {CallStatus.OK, CallStatus.REFUSED, CallStatus.ERROR}
            sent = [part for fact in one.facts(e.DeliveryQueued) for part in fact.parts if isinstance(part, Media)]
            assert {await one.app.blobs.get(part.blob.sha256) for part in sent} <= {b"inside"}


@pytest.mark.real("bwrap")
async def test_a_link_swapped_in_leads_nowhere_on_this_machine(folder: Path) -> None:
    await raced(folder, "sandbox.confine=auto")


@pytest.mark.real("docker")
async def test_a_link_swapped_in_leads_nowhere_in_a_container(folder: Path, docker: Daemon) -> None:
    await raced(folder, f"sandbox.spec=docker:{IMAGE}", f"sandbox.docker.socket={docker.socket}")


@pytest.mark.real("ssh")
async def test_a_link_swapped_in_leads_nowhere_on_another_machine(folder: Path, sshd: Server) -> None:
    sshd.introduce(folder / "person")
    await raced(folder, f"sandbox.spec=ssh:box:{folder}/workspace", "sandbox.confine=off")
