"""What opens media sees the system and its own code: no network, no home, nothing that can be written."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.sandboxes.local.confined_program import confined_prefix, start_confined
from angelia.sandboxes.local.confinement import Confined, confinement
from angelia.store.media.processes import MediaProcesses, program_folders
from tests.store.drawn import pdf, picture

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(confinement() != Confined("bubblewrap"), reason="bubblewrap does not confine here"),
]

LOOK = """
import json, os, socket
from pathlib import Path

def tried(act):
    try:
        return act() or "done"
    except OSError as error:
        return type(error).__name__

print(json.dumps({
    "links": sorted(name for _, name in socket.if_nameindex()),
    "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
    "secret": tried(lambda: Path(os.environ["SECRET"]).read_text()),
    "password": tried(lambda: Path("/etc/passwd").read_text()),
    "written": [tried(lambda: Path(place, "x").write_text("x")) for place in ("/usr", os.environ["CODE"])],
    "code": sorted(os.listdir(os.environ["CODE"])),
    "top": sorted(os.listdir("/")),
}))
"""


def test_it_sees_the_system_and_its_code_and_no_more(tmp_path: Path) -> None:
    code, home = tmp_path / "code", tmp_path / "home"
    for folder in (code, home):
        folder.mkdir()
        (folder / "secret.txt").write_text("the key")
    prefix = confined_prefix([*program_folders(), str(code)])
    ended = subprocess.run(
        [*prefix, sys.executable, "-I", "-B", "-c", LOOK],
        env={"SECRET": str(home / "secret.txt"), "CODE": str(code)},
        capture_output=True,
        check=True,
    )
    seen = json.loads(ended.stdout)
    assert seen["links"] == ["lo"]
    assert seen["processes"] <= 2
    assert (seen["secret"], seen["password"]) == ("FileNotFoundError", "FileNotFoundError")
    assert seen["written"] == ["OSError", "OSError"], "read-only file systems"
    assert seen["code"] == ["secret.txt"]
    assert set(seen["top"]).isdisjoint({"var", "srv", "mnt", "boot"})


def test_one_signal_reaches_all_of_it(tmp_path: Path) -> None:
    """Until bubblewrap has set everything up, its inner process does not end with the outer one."""
    os.mkfifo(begun := tmp_path / "begun")
    words = ("/bin/sh", "-c", f"echo > {begun}; exec sleep 1000")
    process = start_confined([*confined_prefix([]), "--bind", str(tmp_path), str(tmp_path), *words], 0, 100_000_000)
    begun.read_text()
    pids = [process.pid]
    while inner := Path(f"/proc/{pids[-1]}/task/{pids[-1]}/children").read_text().split():
        pids += map(int, inner)
    assert len(pids) > 2
    assert {os.getpgid(pid) for pid in pids} == {process.pid}
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_folder_that_holds_the_home_is_not_shown() -> None:
    assert "--ro-bind / /" not in " ".join(confined_prefix(["/", str(Path.home().parent), str(Path.home())]))
    assert f"--ro-bind {Path.home()} " not in " ".join(confined_prefix([str(Path.home())]))


async def test_media_are_opened_within_it() -> None:
    processes = MediaProcesses(lambda: confined_prefix(program_folders()))
    assert (await processes.check(picture((30, 20), "WEBP"))).width == 30
    assert await processes.count_pages(pdf("one", "two")) == 2
