"""Where the environment is not what programs are used to: few open files, no home, no locale, names with blanks."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import MODEL, Place, serving
from tests.faces.few_files import FEW
from tests.house.sources import ROOT


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= FEW, reason="nobody may have more files here")
@pytest.mark.parametrize("door", ["gateway", "acp"])
def test_who_serves_many_begins_with_as_many_files_as_it_may_have(tmp_path: Path, door: str) -> None:
    (work := tmp_path / "work").mkdir()
    env = Place(tmp_path / "home", work).environment({})
    argv = [sys.executable, "-m", "tests.faces.few_files", door]
    env = {**env, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    ended = subprocess.run(argv, cwd=work, env=env, input=b"", capture_output=True, check=False)
    assert int(ended.stderr.split()[-1]) > FEW, ended.stderr


def test_without_a_home_or_a_locale_and_with_closed_folders_and_blanks_a_command_runs_and_is_answered(
    tmp_path: Path,
) -> None:
    made = call("shell", {"command": "printf 'grün\\n' > 'a b.txt'; cat 'a b.txt'; ls -ld \"$TMPDIR\" >&2"})
    with serving(tmp_path, [made, say("Grüße.")]) as place:
        for name in ("closed", "with blank", "t m p"):
            (tmp_path / name).mkdir(mode=0o000 if name == "closed" else 0o700)
        env = {
            "PATH": f"{tmp_path / 'closed'}:{tmp_path / 'with blank'}:/nowhere:/usr/bin:/bin",
            "LC_ALL": "C",
            "TMPDIR": str(tmp_path / "t m p"),
            "ANGELIA_HOME": str(tmp_path / "h ome"),
            "OPENAI_BASE_URL": f"{place.url}/v1",
            "OPENAI_API_KEY": "k",
            "PYTHONPATH": str(ROOT / "src"),
        }
        argv = [sys.executable, "-m", "angelia", "ask", "--model", MODEL, "Grün?"]
        ended = subprocess.run(argv, cwd=place.work, env=env, umask=0o077, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout.decode()) == (0, "Grüße.\n"), ended.stderr.decode()
    assert "grün" in ended.stderr.decode()
    assert (place.work / "a b.txt").read_bytes() == "grün\n".encode()
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "h ome").rglob("*")}
    assert modes == {0}
    assert os.listdir(tmp_path / "t m p") == []  # noqa: PTH208 - names are all that is asked for
