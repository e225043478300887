"""Somebody else's machine: a PATH that leads where nobody may go, no home, no place for temporary files, odd words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import MODEL, Place, serving
from tests.undo.trees import furnish, tree

pytestmark = pytest.mark.real("bwrap")
NOT_ROOT = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", "1234", "--gid", "1234"]
"""As root nothing is forbidden; in a namespace of its own the same files belong to somebody without rights."""


def asked(place: Place, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = ["-m", "angelia", "ask", "--model", MODEL, "--set", "sandbox.confine=off", "what is it?"]
    return subprocess.run(
        [*NOT_ROOT, sys.executable, *words],
        cwd=place.work,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def as_nobody_special(place: Place, *words: str) -> subprocess.CompletedProcess[str]:
    """The program, run by somebody without special rights."""
    return subprocess.run(
        [*NOT_ROOT, sys.executable, "-m", "angelia", *words],
        cwd=place.work,
        env=place.environment({}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def taken_back(place: Place, *words: str) -> None:
    ended = as_nobody_special(place, *words)
    assert ended.returncode == 0, ended.stderr
    assert "NOT taken back" not in ended.stdout + ended.stderr


def modes(folder: Path) -> dict[str, tuple[int, int]]:
    """What stands below a folder, as far as nothing has to be read: some of it may not be."""
    return {str(path): (path.lstat().st_mode, path.lstat().st_size) for path in folder.rglob("*")}


def test_an_ordinary_users_commands_are_watched_and_can_be_taken_back(tmp_path: Path) -> None:
    """The supervisor of a process that hides its memory sees nothing of it where it has no special rights."""
    line = (
        "echo one > a.txt; echo two > src/b.txt; chmod 000 notes.txt src/main.py; "
        "rm -f src/main.py; chmod -R a-w src; chmod 500 pair; rm nothing"
    )
    with serving(tmp_path, [call("shell", {"command": line}), say("Done.")]) as place:
        furnish(place.work)
        before = tree(place.work)
        ended = as_nobody_special(place, "ask", "--model", MODEL, "do it")
        assert (ended.returncode, ended.stdout) == (0, "Done.\n"), ended.stderr
        assert (place.work / "a.txt").read_text() == "one\n", ended.stderr
        assert "FilesChanged" in place.kinds()
        changed = modes(place.work)
        taken_back(place, "undo", "--yes")
        assert tree(place.work) == before
        taken_back(place, "undo", "back", "--yes")
        assert modes(place.work) == changed


def hostile(tmp_path: Path) -> str:
    """Folders that may not be entered, one below such a one, a file, what is not there, nothing, and the usual ones."""
    locked = tmp_path / "locked"
    (locked / "bin").mkdir(parents=True)
    (tmp_path / "file").write_text("no folder")
    locked.chmod(0)
    odd = [locked, locked / "bin", tmp_path / "file", tmp_path / "not-there", ".", ""]
    return os.pathsep.join([*map(str, odd), os.environ["PATH"]])


STRANGE = {
    "a PATH that may not be entered": {},
    "no home": {"HOME": None},
    "a home that is not there": {"HOME": "/nowhere/at/all"},
    "a place for temporary files that is not there": {"TMPDIR": "/nowhere/tmp"},
    "a language that nobody knows": {"LANG": "xx_YY.UTF-16", "LC_ALL": "xx_YY.UTF-16", "PYTHONUTF8": None},
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE.keys())
def test_a_question_is_answered_for_a_strange_user(tmp_path: Path, strange: dict[str, str | None]) -> None:
    with serving(tmp_path, [call("shell", {"command": "echo here"}), say("Forty-two.")]) as place:
        given = place.environment({"PATH": hostile(tmp_path), "ANGELIA_HOME": str(place.home)})
        environment = {name: value for name, value in {**given, **strange}.items() if value is not None}
        before = os.umask(0)
        try:
            ended = asked(place, environment)
        finally:
            os.umask(before)
        (tmp_path / "locked").chmod(0o700)
        assert (ended.returncode, ended.stdout) == (0, "Forty-two.\n"), ended.stderr
        assert place.home.stat().st_mode & 0o077 == 0, "whatever the umask says"
