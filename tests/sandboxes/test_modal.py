"""Sandboxes at Modal: saved and restored, found again after a crash, and what was lost is said."""

import asyncio
import itertools
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from angelia.core.errors import ConfigError, MissingPart
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.modal import persistent
from angelia.sandboxes.modal import sandbox as modal_sandbox
from angelia.sandboxes.modal.sandbox import ModalSandbox, open_sandbox
from angelia.sandboxes.modal.saved import Note, Saved
from angelia.sandboxes.modal.service import Service
from angelia.sandboxes.modal.settings import ModalSettings
from angelia.sandboxes.port import AccessRefused, Command, Reach, SandboxError, SandboxGone, SandboxMissing
from angelia.sandboxes.shared.persistent import PersistentPlace, Use
from angelia.testing.sandboxes.acts import arrives, place, refused, shell
from tests.faces.angelia import Place as Person

from .modal_cloud import Cloud

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap"), pytest.mark.soak]  # the kit meets it in every run

Enter = Callable[..., ModalSandbox]

told: list[str] = []
"""What was said about the progress."""


def where(tmp_path: Path, conversation: str = "one") -> SandboxContext:
    """The place of a conversation."""
    return SandboxContext(conversation, "/workspace", tmp_path / "own", tmp_path / "own/run", told.append)


def note(tmp_path: Path, conversation: str = "one") -> Note:
    """What is noted of it."""
    return Note(tmp_path / "own/run/modal" / conversation)


@pytest.fixture
async def enter(modal: Cloud, tmp_path: Path) -> AsyncIterator[Enter]:
    """Makes sandboxes; closed after the test, and what they saved is deleted."""
    made: list[ModalSandbox] = []

    def enter(image: str = modal.image, conversation: str = "one", **settings: object) -> ModalSandbox:
        made.append(ModalSandbox(image, where(tmp_path, conversation), settings=ModalSettings(**settings)))  # type: ignore[arg-type]
        return made[-1]

    told.clear()
    yield enter
    for sandbox in made:
        await sandbox.close()
    for known in await places(tmp_path):
        await persistent.end(known)
    assert await places(tmp_path) == []


async def places(tmp_path: Path) -> list[PersistentPlace]:
    """Those of this home."""
    return list(await persistent.found(tmp_path / "own/run", []))


async def test_what_was_closed_comes_back_with_its_files(enter: Enter, tmp_path: Path) -> None:
    from modal.exception import NotFoundError
    from modal.experimental import image_delete

    first = enter()
    await shell(first, "echo kept >file; echo tool >/usr-tool; mkdir -p ~/deep && echo home >~/deep/file")
    (open_now,) = await places(tmp_path)
    assert (open_now.place, open_now.use) == ("one", Use.IN_USE)
    await first.close()
    (saved,) = await places(tmp_path)
    assert saved.use is Use.IDLE
    snapshot = (note(tmp_path).read() or Saved("", "")).snapshot
    again = enter()
    assert await shell(again, "cat file /usr-tool ~/deep/file") == "kept\ntool\nhome"
    await again.close()
    with pytest.raises(NotFoundError):  # nobody needs it any more
        await image_delete.aio(snapshot)
    third = enter()
    assert await arrives(third, "file") == b"kept\n"
    assert "ended without being saved" not in " ".join(told)


async def test_one_that_nobody_uses_is_saved_and_ended_and_comes_back(enter: Enter, tmp_path: Path) -> None:
    sandbox = enter()
    await place(sandbox, "file", b"some bytes")
    await sandbox._rest()  # as when it has not been used for 15 minutes
    saved = note(tmp_path).read()
    assert saved is not None
    assert not saved.running
    assert await sandbox._service.find(modal_sandbox.name_of(where(tmp_path))) is None
    assert await arrives(sandbox, "file") == b"some bytes"


async def test_two_who_hold_one_sandbox_do_not_take_it_from_each_other(enter: Enter) -> None:
    first, second = enter(), enter()
    await asyncio.gather(shell(first, "echo 1 >one"), shell(second, "echo 2 >two"))
    await first.close()
    assert await shell(second, "cat one two; ls ~ >/dev/null") == "1\n2"


async def test_it_has_no_network_unless_that_is_set(enter: Enter) -> None:
    sandbox = enter()
    assert (await shell(sandbox, "tail -n +3 /proc/net/dev")).split(":")[0].strip() == "lo"
    for reach in (Reach.NETWORK, Reach.OUTSIDE):
        await refused(sandbox.start(Command(shell="echo no", reach=reach)), AccessRefused)
    assert (await sandbox.describe()).network == "off, and it cannot be had"
    open_one = enter(conversation="two", network="on")
    assert (await open_one.describe()).always_networked


async def test_its_limits_are_asked_for_and_told(enter: Enter, modal: Cloud) -> None:
    sandbox = enter(memory_mb=500, cpus=1.5, idle_minutes=3)
    (told_limits,) = [note for note in (await sandbox.describe()).notes if "at most" in note]
    assert told_limits == "All that runs here has at most 500 MB of memory and 1.5 processor cores."
    if not modal.environ:
        pytest.skip("Modal's own service does not say inside what was asked for")
    asked = await shell(sandbox, "tr '\\0' '\\n' </proc/1/environ | sed -n s/ASKED=//p")
    assert asked == "idle 180 s, 477 to 477 MiB, 1500 to 1500 mcpu"
    unlimited = enter(conversation="two")
    assert "Modal chooses how much memory and how many processor cores there are." in (await unlimited.describe()).notes


async def lose(sandbox: ModalSandbox) -> None:
    """It ends at Modal, and nobody has saved it."""
    assert sandbox._sandbox is not None
    await sandbox._sandbox.terminate.aio()


async def test_what_was_lost_is_said_to_the_model_and_the_person(enter: Enter) -> None:
    sandbox = enter()
    await shell(sandbox, "echo old >file")
    await sandbox._rest()
    await sandbox.describe()
    await shell(sandbox, "echo new >file")
    await lose(sandbox)
    await refused(sandbox.start(Command(shell="cat file")), SandboxError)
    lost = await refused(sandbox.start(Command(shell="cat file")), SandboxGone)
    assert "ended without being saved" in str(lost)
    assert "ended without being saved" in told[-1]
    assert await shell(sandbox, "cat file") == "old"


async def test_what_was_lost_between_two_lives_stands_in_the_description(enter: Enter) -> None:
    first = enter()
    await shell(first, "echo x >file")
    await lose(first)
    again = enter()
    notes = (await again.describe()).notes
    assert any("ended without being saved" in line for line in notes)
    assert await shell(again, "ls") == ""


async def test_a_snapshot_that_is_gone_is_an_error_and_no_fresh_image_takes_its_place(
    enter: Enter, tmp_path: Path
) -> None:
    first = enter()
    await shell(first, "echo x >file")
    await first.close()
    saved = note(tmp_path).read()
    assert saved is not None
    await Service(ModalSettings()).forget(saved.snapshot)
    error = await refused(enter().describe(), SandboxMissing)
    assert saved.snapshot in str(error)
    assert str(tmp_path / "own/run/modal/one") in error.then


async def test_an_image_that_cannot_be_had_explains_itself(enter: Enter) -> None:
    error = await refused(enter("no/such:image", "three").describe(), SandboxMissing)
    assert "no/such:image" in str(error)
    assert "manifest unknown" in str(error)


LIFE = """
import asyncio, pathlib, sys
from angelia.sandboxes.modal import heartbeat
from angelia.sandboxes.modal.sandbox import ModalSandbox
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Command

async def main(folder, image, line):
    heartbeat.EVERY = 0.5
    sandbox = ModalSandbox(image, SandboxContext("one", "/workspace", folder / "own", folder / "own/run"))
    running = await sandbox.start(Command(shell=line))
    async for chunk in running.output():
        print(chunk.decode(), end="", flush=True)

asyncio.run(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
"""


async def test_after_a_crash_the_sandbox_is_found_again_and_its_commands_have_ended(
    enter: Enter, modal: Cloud, tmp_path: Path
) -> None:
    line = "mkfifo beat; exec 9<>beat; setsid sleep 1000 & echo kept >/tmp/kept; echo ready; sleep 1000"
    words = (sys.executable, "-c", LIFE, str(tmp_path), modal.image, line)
    life = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert life.stdout is not None
    assert await life.stdout.readline() == b"ready\n"
    life.send_signal(signal.SIGKILL)
    await life.wait()
    sandbox = enter()
    assert await shell(sandbox, "cat /tmp/kept") == "kept"
    # no sign of life has come for three seconds: nobody holds the FIFO any more
    waiting = "for p in /proc/[0-9]*; do ls -l $p/fd 2>/dev/null | grep -q beat && exit 1; done; :"
    await shell(sandbox, f"until ({waiting}); do sleep 0.2; done")
    assert told == []


@pytest.mark.parametrize("words", [b"no json", b'{"app": 1}'])
async def test_a_note_that_cannot_be_read_is_no_fresh_beginning(enter: Enter, tmp_path: Path, words: bytes) -> None:
    folder = tmp_path / "own/run/modal/one"
    folder.mkdir(parents=True)
    (folder / "saved.json").write_bytes(words)
    error = await refused(enter().describe(), SandboxError)
    assert "saved.json" in str(error)
    (folder / "saved.json").unlink()


async def test_what_is_not_named_or_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="No image is named"):
        open_sandbox("", where(tmp_path), None)
    monkeypatch.setattr(modal_sandbox, "find_spec", lambda _: None)
    with pytest.raises(MissingPart, match=r"needs a part that is not installed. Install it: .*modal"):
        open_sandbox("python:3.12", where(tmp_path), None)


def test_doctor_asks_modal_and_says_how_to_get_in(modal: Cloud, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    person = Person(tmp_path / "home", tmp_path / "work")
    strangers = dict.fromkeys(modal.environ, "") | {"MODAL_CONFIG_PATH": str(tmp_path / "none")}
    rows = []
    for environ in (modal.environ, strangers):
        lines = person.run("doctor", "--set", f"sandbox.spec=modal:{modal.image}", **environ).out.splitlines()
        rows += [(line[0], line + after) for line, after in itertools.pairwise(lines) if " modal:" in line]
    assert [mark for mark, _ in rows] == ["✔", "✘"], rows
    assert "nothing was started there" in rows[0][1]
    assert "modal setup" in rows[1][1]


async def test_one_that_is_not_found_at_once_and_runs_was_not_lost(
    enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = enter()
    assert await shell(first, "echo here >/tmp/here; cat /tmp/here") == "here"
    find, looks = Service.find, []

    async def at_second_look(self: Service, name: str) -> object:
        looks.append(name)
        return None if len(looks) == 1 else await find(self, name)

    monkeypatch.setattr(Service, "find", at_second_look)
    again = enter()
    assert await shell(again, "cat /tmp/here") == "here"
    assert len(looks) == 2
    assert not [sentence for sentence in told if "without being saved" in sentence]
