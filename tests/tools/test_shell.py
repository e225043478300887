"""Commands in the foreground and in the background."""

import asyncio
import re
from pathlib import Path

import pytest
from msgspec import structs

from angelia.core.content import CallStatus
from angelia.core.entry import ToolFinished, WorkEnded, WorkKind
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import CallId
from angelia.policy.verdict import RunCommand
from angelia.sandboxes.local.confinement import Unconfined
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import SandboxGone
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.port import Work
from angelia.tools.shell.output import SHOWN
from angelia.tools.shell.shell import MOST_RUNNING, ShellArguments

pytestmark = pytest.mark.anyio
OK, ERROR = CallStatus.OK, CallStatus.ERROR


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("echo out; echo err >&2", OK, "out\nerr\n[exit status 0]"),
        ("true", OK, "(no output)\n[exit status 0]"),
        ("exit 3", ERROR, "(no output)\n[exit status 3]"),
        (
            "echo last; kill -9 $$",
            ERROR,
            "last\n[ended by signal 9 (SIGKILL): by somebody, or for using more memory than it may]",
        ),
        (r"printf 'a\377b\n'", OK, "a\ufffdb\n[exit status 0]"),
        (r"printf '\033[31mred\033[0m 10%%\rred 99%%\n'", OK, "red 99%\n[exit status 0]"),
        ("cat", OK, "(no output)\n[exit status 0]"),
        ("no-such-program", ERROR, re.compile(r"not found\n\[exit status 127\]$")),
        ("echo $PAGER", OK, "cat\n[exit status 0]"),
        ("echo on; sleep 60 >/dev/null &", OK, re.compile(r"^on\n\[whatever & left running was ended.*\]\n\[exit")),
        ("true && echo 2>&1 'this & that'", OK, "this & that\n[exit status 0]"),
    ],
)
async def test_how_commands_end(
    bench: ToolHarness, command: str, status: CallStatus, said: str | re.Pattern[str]
) -> None:
    text = await bench.said("shell", status, command=command)
    assert said.search(text) if isinstance(said, re.Pattern) else text == said


async def test_a_time_out_is_said_with_its_length(bench: ToolHarness) -> None:
    text = await bench.said("shell", ERROR, command="echo begun; sleep 60", seconds=1)
    assert text.startswith("begun\n[timed out after 1 s")


async def test_a_person_sees_the_output_while_the_command_runs(bench: ToolHarness) -> None:
    await bench.run("shell", command="printf '\\033[1mone\\033[0m\\n'; echo two")
    assert "".join(map(str, bench.seen)) == "one\ntwo\n"


async def test_a_command_runs_in_the_folder_it_names(bench: ToolHarness) -> None:
    (bench.root / "a b").mkdir()
    assert (await bench.said("shell", command="pwd", cwd="a b")).startswith(f"{bench.root}/a b\n")


async def test_the_effect_names_command_folder_and_reach(bench: ToolHarness) -> None:
    (bench.root / "real").mkdir()
    (bench.root / "link").symlink_to("real")
    effects = await bench.effects("shell", command="make", cwd="link", reach="network")
    assert effects == (RunCommand("make", f"{bench.root}/real", "network"),)


async def test_the_effect_names_the_hosts_as_they_are_compared(bench: ToolHarness) -> None:
    effects = await bench.effects("shell", command="make", reach="network", hosts=["PyPI.org.", "a.org", "a.org"])
    assert effects == (RunCommand("make", str(bench.root), "network", ("a.org", "pypi.org")),)


@pytest.mark.parametrize("reach", ["confined", "outside"])
async def test_hosts_hold_for_the_network_alone(bench: ToolHarness, reach: str) -> None:
    with pytest.raises(BadInput, match="holds for the reach `network` alone"):
        await bench.effects("shell", command="make", reach=reach, hosts=["a.org"])


@pytest.mark.real("bwrap")
@pytest.mark.real("curl")
async def test_what_the_network_refused_is_told_above_the_exit_status(confined: ToolHarness) -> None:
    url = "http://b.org/"
    text = await confined.said("shell", command=f"curl -s {url} >/dev/null", reach="network", hosts=["a.org"])
    assert text.startswith("(no output)\n[network: b.org is not among the hosts")
    assert text.endswith("\n[exit status 0]")


async def test_a_flood_is_bounded_and_the_whole_can_be_read(bench: ToolHarness) -> None:
    outcome = await bench.run("shell", command="i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done")
    text = text_of(outcome)
    assert len(text) < SHOWN + 200
    assert text.startswith("line 0\n")
    assert text.endswith("line 4999\n[exit status 0]")
    assert outcome.full is not None
    assert bench.blobs.kept[outcome.full.sha256].count(b"\n") == 5000
    bench.log(ToolFinished(bench.context().call, OK, outcome.parts, full=outcome.full))
    pointer = re.search(r"read (blob:[0-9a-f]+)", text)
    assert pointer is not None
    assert "2001\tline 2000" in await bench.said("read", path=pointer[1], offset=2001, limit=1)


@pytest.mark.soak
async def test_a_hundred_megabytes_are_kept(bench: ToolHarness) -> None:
    outcome = await bench.run("shell", command="yes 0123456789abcdef | head -c 100000000")
    assert outcome.full is not None
    assert outcome.full.size == 100_000_000


async def test_a_daemon_that_keeps_the_output_open_does_not_keep_the_call(bench: ToolHarness) -> None:
    text = await bench.said("shell", command="sleep 1000 & echo started")
    assert text.startswith("started\n[whatever & left running was ended with its command;")
    assert text.endswith("\n[exit status 0]")


async def test_a_cancelled_call_leaves_nothing_running(bench: ToolHarness) -> None:
    ready = asyncio.Event()
    context = structs.replace(bench.context(), progress=lambda text: ready.set())
    arguments = ShellArguments(command="echo $$ > pid; echo ready; exec sleep 1000")
    running = asyncio.create_task(bench.tool("shell").run(arguments, context))
    await ready.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    text = await bench.said("shell", ERROR, command="kill -0 $(cat pid)")
    assert "exit status 1" in text


async def test_a_background_process_is_polled_waited_for_and_forgotten(bench: ToolHarness) -> None:
    outcome = await bench.run(
        "shell", command="echo one; while [ ! -e go ]; do sleep 0.01; done; echo two", background=True
    )
    name = text_of(outcome).split()[-1]
    text = ""
    while "one" not in text:
        text = await bench.said("process", action="poll", id=name)
    assert text == "one\n[still running]"
    assert await bench.said("process", action="poll", id=name) == "(no new output)\n[still running]"
    (bench.root / "go").touch()
    assert await bench.said("process", action="wait", id=name, seconds=60) == "two\n[exit status 0]"
    with pytest.raises(NotFound, match="Its end was told already"):
        await bench.run("process", action="poll", id=name)


async def test_killing_a_background_process_says_how_it_ended(bench: ToolHarness) -> None:
    outcome = await bench.run("shell", command="sleep 1000", background=True)
    name = text_of(outcome).split()[-1]
    assert await bench.said("process", ERROR, action="kill", id=name) == "(no output)\n[ended by signal 15 (SIGTERM)]"


async def test_a_background_process_has_a_time_out_only_where_one_was_given(bench: ToolHarness) -> None:
    outcome = await bench.run("shell", command="sleep 1000", background=True, seconds=1)
    name = text_of(outcome).split()[-1]
    assert "[timed out after 1 s" in await bench.said("process", ERROR, action="wait", id=name)


async def test_an_end_that_nobody_looked_at_is_handed_in_once(bench: ToolHarness) -> None:
    outcome = await bench.run("shell", command="while [ ! -e go ]; do sleep 0.01; done; echo made", background=True)
    assert outcome.goes_on == Work(WorkKind.PROCESS, "while [ ! -e go ]; do sleep 0.01; done; echo made")
    (bench.root / "go").touch()
    end = await bench.end()
    assert (end.status, text_of(end)) == (OK, "made\n[exit status 0]")
    name = CallId(text_of(outcome).split()[-1])
    bench.log(WorkEnded(name, WorkKind.PROCESS, OK, end.parts))
    assert "a note tells you how" in await bench.said("process", action="poll", id=name)


async def test_an_end_that_a_look_has_told_is_not_handed_in(bench: ToolHarness) -> None:
    outcome = await bench.run("shell", command="sleep 1000", background=True)
    name = text_of(outcome).split()[-1]
    killed = await bench.run("process", action="kill", id=name)
    assert killed.ended == name
    await bench.close()
    assert bench.ends == []


async def test_what_ends_with_its_sandbox_is_handed_in_too(bench: ToolHarness) -> None:
    await bench.run("shell", command="sleep 1000", background=True)
    await bench.sandbox.close()
    end = await bench.end()
    assert "ended by signal" in text_of(end)
    with pytest.raises(SandboxGone):
        await bench.run("shell", command="true")


async def test_an_unknown_process_is_answered_with_those_there_are(bench: ToolHarness) -> None:
    outcome = await bench.run("shell", command="sleep 1000", background=True)
    name = text_of(outcome).split()[-1]
    with pytest.raises(NotFound, match=rf"There are: {name} \(sleep 1000\)"):
        await bench.run("process", action="poll", id="p9")
    await bench.run("process", action="kill", id=name)


async def test_there_is_an_end_to_background_processes(bench: ToolHarness) -> None:
    names = [
        text_of(await bench.run("shell", command="sleep 1000", background=True)).split()[-1]
        for _ in range(MOST_RUNNING)
    ]
    with pytest.raises(BadInput, match=f"{MOST_RUNNING} background processes run already"):
        await bench.run("shell", command="sleep 1000", background=True)
    for name in names:
        await bench.run("process", action="kill", id=name)


class Unable(LocalSandbox):
    """A machine that cannot confine commands."""

    def confinement(self) -> Unconfined:
        return Unconfined("there is no bubblewrap", "install it")


async def test_where_nothing_can_be_confined_an_allowed_command_still_runs(bench: ToolHarness, tmp_path: Path) -> None:
    bench.sandbox = Unable(bench.root, home=tmp_path / "home", state=tmp_path / "state")
    (bench.root / "link").symlink_to(".")
    assert await bench.said("shell", command="echo yes", cwd="link") == "yes\n[exit status 0]"
    await bench.sandbox.close()


@pytest.mark.real("bwrap")
async def test_a_confined_command_sees_its_folder_and_not_the_home_of_the_sandbox(confined: ToolHarness) -> None:
    (confined.root / "a").write_text("inside\n")
    text = await confined.said("shell", ERROR, command="cat a; ls ../home")
    assert text.startswith("inside\n")
    assert text.endswith("[exit status 2]")


async def test_a_nul_in_a_command_is_refused_before_anything_runs(bench: ToolHarness) -> None:
    with pytest.raises(BadInput, match="NUL"):
        await bench.effects("shell", command="a\0b")
