"""Where the environment is not what programs are used to: few open files, no home, no locale, names with blanks."""

import os
import resource
import shlex
import socket
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


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /dev/full")
COMMANDS = {"config": ["config"], "help": ["--help"], "answer": ["ask", "--model", MODEL, "Hello?"]}


@LINUX
@pytest.mark.parametrize("where", ["full", "closed"])
@pytest.mark.parametrize("what", COMMANDS)
def test_output_that_cannot_be_written_is_told_and_is_no_fault_of_ours(tmp_path: Path, what: str, where: str) -> None:
    redirected = {"full": ">/dev/full", "closed": ">&-"}[where]
    with serving(tmp_path, [say("Hello.")]) as place:
        ended = shell(place, f"angelia {' '.join(COMMANDS[what])} {redirected}")
        again = place.run("ask", "--continue") if what == "answer" else None
    assert ended.returncode == 1
    assert "could not be written to standard output" in ended.stderr
    assert not (place.home / "angelia.log").exists()
    assert again is None or again.out == "Hello.\n"


@LINUX
@pytest.mark.parametrize("more", ["--json", "--stream"])
def test_entries_that_could_not_be_written_are_no_success(tmp_path: Path, more: str) -> None:
    with serving(tmp_path, [say("Hello.")]) as place:
        ended = shell(place, f"angelia ask --model {MODEL} {more} Hello? >/dev/full")
    assert ended.returncode == 1
    assert "the answer is kept, and shown by: angelia ask --resume" in ended.stderr
    assert not (place.home / "angelia.log").exists()


@pytest.mark.parametrize("streams", ["<&-", "2>&-", "<&- 2>&-", pytest.param("2>/dev/full", marks=LINUX)])
def test_an_answer_needs_neither_input_nor_a_place_for_errors(tmp_path: Path, streams: str) -> None:
    with serving(tmp_path, [say("Hello.")]) as place:
        ended = shell(place, f"angelia ask --model {MODEL} Hello? {streams}")
    assert (ended.returncode, ended.stdout) == (0, "Hello.\n"), ended.stderr


@pytest.mark.parametrize("command", ["ask hello", "backup there", "new skill sow"])
def test_a_folder_that_is_gone_is_said(tmp_path: Path, command: str) -> None:
    (work := tmp_path / "work").mkdir()
    ended = shell(Place(tmp_path / "home", work), f"mkdir gone; cd gone; rmdir ../gone; angelia {command}")
    assert ended.returncode == 2
    assert ended.stderr.endswith("The folder in which this began is not there any more. Go to one that is: cd\n")


def test_a_home_within_a_file_is_said_in_words(tmp_path: Path) -> None:
    (file := tmp_path / "file").touch()
    ended = Place(file, tmp_path).run("sessions")
    assert ended.code == 1
    assert "Not a directory" in ended.err
    assert "Errno" not in ended.err


BEYOND = str(1 << 80)


@pytest.mark.parametrize(
    "typed",
    [
        ["notes", "show", BEYOND],
        ["notes", "keep", BEYOND],
        ["grants", "revoke", BEYOND],
        ["ask", "--max-cost", "nan", "Hello?"],
        ["ask", "--max-steps", BEYOND, "Hello?"],
        ["ask", "--set", "limits.max_cost=inf", "Hello?"],
        ["config", "set", "limits.max_cost", "inf"],
        ["config", "set", "limits.max_steps", "-5"],
        ["config", "set", "timeouts.connect", "-1"],
        ["ask", "--set", "context.old_media=-5", "Hello?"],
        ["config", "set", "limits.max_steps", BEYOND],
        ["web", "keys", "add", "ide", "--day-cost", "nan"],
        ["web", "--no-open", "--listen", "127.0.0.1:99999"],
        ["mcp", "serve", "--http", "127.0.0.1:99999"],
    ],
    ids=" ".join,
)
def test_a_number_beyond_reason_is_refused_in_words(place: Place, typed: list[str]) -> None:
    ended = place.run(*typed)
    assert ended.code in (1, 2), ended.err
    assert ended.out == ""
    assert "Something went wrong" not in ended.err


def test_an_audit_since_the_year_one_is_the_whole(place: Place) -> None:
    assert place.run("audit", "--since", "0001-01-01").code == 0


def test_an_address_that_is_taken_is_said_to_programs_too(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = place.run("mcp", "serve", "--http", address)
    assert ended.code == 1
    assert f"The address {address} cannot be had" in ended.err


@pytest.mark.parametrize("asking", [["backup", "--passphrase"], ["channels", "add", "telegram"]])
def test_a_question_that_nobody_is_there_to_answer_is_said(tmp_path: Path, asking: list[str]) -> None:
    (work := tmp_path / "work").mkdir()
    ended = Place(tmp_path / "home", work).run(*asking)
    assert ended.code == 130
    assert ended.err.endswith("angelia: This was asked, and nobody is here to answer. Nothing more was done.\n")
    assert "Warning" not in ended.err


def shell(place: Place, line: str) -> "subprocess.CompletedProcess[str]":
    """A line of a shell in which `angelia` is the program."""
    function = f'angelia() {{ {shlex.quote(sys.executable)} -P -m angelia "$@"; }}; {line}'
    env = {**place.environment({}), "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        ["/bin/sh", "-c", function], cwd=place.work, env=env, capture_output=True, text=True, check=False
    )
