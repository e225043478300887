"""What Angelia starts outside of every sandbox ends with it, also if it is killed, and with it all of its group."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import pytest

from angelia.held_folder import HeldFolder
from angelia.models.program import run_program
from angelia.service.delegation.snapshots import Snapshots
from angelia.tied_program import SHELL, TiedProgram
from tests.promise.lives import ROOT
from tests.promise.pipes import ends, is_alive, pipes, written

pytestmark = pytest.mark.anyio

KINDS = {
    "listens": """
from angelia.models.speech.command import configured
asyncio.run(configured(line + "; : {file}").listen(place / "git", "audio/ogg", ""))
""",
    "speaks": """
from angelia.models.speakers.command import CommandSpeaker
asyncio.run(CommandSpeaker(line).speak("Five.", "", ""))
""",
    "paints": """
from angelia.models.pictures.command import CommandPainter
from angelia.models.pictures.port import PaintWish
painter = CommandPainter(line + "; : {prompt} {out}", 900, 0)
asyncio.run(painter.paint(PaintWish("A boat."), None, None))
""",
    "plays": """
from angelia.faces.cli.sound import play
asyncio.run(play(b"RIFF"))
""",
    "judges": """
from angelia.service.hooks.program import run_hook
asyncio.run(run_hook(line, b"", 900, Path("/")))
""",
    "copies": """
from angelia.service.delegation.snapshots import Snapshots
asyncio.run(Snapshots(place / "kept").listed(place))
""",
    "installs": """
from angelia.channels.whatsapp.bridge.install import install
asyncio.run(install(place / "modules"))
""",
}
"""What is begun, and what begins it: with `line` as its command, or as the program of that name in `place`."""

BEGIN = """
import asyncio, sys
from pathlib import Path
line, place = sys.argv[1], Path(sys.argv[2])
"""


@pytest.mark.parametrize("kind", KINDS)
async def test_it_ends_with_all_that_it_began_when_angelia_is_killed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipes(tmp_path, "begun")
    line = f"sleep 1000 & echo $$ $! > {tmp_path / 'begun'}; wait"
    for name in ("pw-play", "git", "npm"):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    words = (sys.executable, "-P", "-c", BEGIN + KINDS[kind], line, str(tmp_path))
    angelia = await asyncio.create_subprocess_exec(*words, env={**env, "TMPDIR": str(tmp_path)}, cwd="/")
    numbers = [int(number) for number in (await written(tmp_path / "begun")).split()]
    assert [is_alive(number) for number in numbers] == [True, True]
    angelia.kill()
    await angelia.wait()
    for number in numbers:
        await asyncio.to_thread(ends, number)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    HeldFolder().close()
    assert not list(tmp_path.glob("angelia-*")), "nor is anything left that it was handed"


async def test_what_a_program_leaves_behind_by_itself_goes_on(tmp_path: Path) -> None:
    pipes(tmp_path, "begun", "over")
    server = f"(read -r word < {tmp_path / 'over'}; echo $word > {tmp_path / 'begun'}) >/dev/null 2>&1 &"
    assert await run_program((*SHELL, f"{server} cat"), b"said", "speaks") == b"said"
    await asyncio.to_thread((tmp_path / "over").write_text, "served\n")
    assert await written(tmp_path / "begun") == "served\n"


async def test_a_program_is_its_own_shell_in_number_status_and_input(tmp_path: Path) -> None:
    program = await TiedProgram.begin((*SHELL, 'echo "$$ $1"; cat; exit 7', "sh", "a b"), tmp_path)
    said, errors = await program.process.communicate(b"given")
    await program.end()
    assert (said, errors) == (f"{program.process.pid} a b\ngiven".encode(), b"")
    assert program.process.returncode == 7


async def test_one_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such program"):
        await TiedProgram.begin(("/nowhere/at/all",), tmp_path)
    with pytest.raises(FileNotFoundError):
        await TiedProgram.begin(("true",), tmp_path / "nowhere")


async def test_a_copy_is_compared_though_git_was_killed_while_it_did(tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    (folder / "a.txt").write_text("a")
    snapshots = Snapshots(tmp_path / "kept")
    base = await snapshots.taken(folder, await snapshots.listed(folder))
    for name in ("index.lock", "index-now.lock"):  # as one leaves that was killed
        (snapshots.folder / name).touch()
    (folder / "b.txt").write_text("b")
    now = await snapshots.taken(folder, await snapshots.listed(folder, base), base)
    assert [one.path for one in await snapshots.changed(base, now)] == ["b.txt"]
