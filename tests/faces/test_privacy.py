"""What we write in our own home is for its owner alone; what lies in a workspace has the modes that the umask says."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import MODEL, serving


def modes(folder: Path) -> dict[str, int]:
    """The permission bits of a folder and of all that it holds, but links."""
    return {
        str(path.relative_to(folder)): path.lstat().st_mode & 0o7777
        for path in (folder, *folder.rglob("*"))
        if not path.is_symlink()
    }


@pytest.mark.real("bwrap")
@pytest.mark.parametrize(
    ("umask", "file", "folder"), [(0o000, 0o644, 0o755), (0o022, 0o644, 0o755), (0o077, 0o600, 0o700)]
)
def test_our_home_is_private_and_the_workspace_is_as_the_umask_says(
    tmp_path: Path, umask: int, file: int, folder: int
) -> None:
    steps = [
        call("write", {"path": "made/by-tool", "content": "x"})
        + call("shell", {"command": "mkdir new; echo x > new/by-command"}),
        say("Here:\n\nMEDIA:made/by-tool"),
    ]
    with serving(tmp_path, steps) as place:
        (tmp_path / "home").mkdir(mode=0o755)
        (place.work / "photo.txt").write_text("a text that is attached")
        words = (sys.executable, "-m", "angelia", "ask", "--model", MODEL, "--file", "photo.txt", "go")
        subprocess.run(words, cwd=place.work, env=place.environment({}), umask=umask, check=True, capture_output=True)
        loose = {name: oct(mode) for name, mode in modes(place.home).items() if mode & 0o077}
        assert not loose
        assert (place.home / "outbox/by-tool").read_text() == "x"
        assert stat.S_IMODE((place.work / "made/by-tool").stat().st_mode) == file
        assert stat.S_IMODE((place.work / "made").stat().st_mode) == folder
        assert stat.S_IMODE((place.work / "new").stat().st_mode) == 0o777 & ~umask
