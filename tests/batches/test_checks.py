"""A check may do whatever it likes: it comes to an outcome by name, and nobody else is harmed."""

import os
from pathlib import Path

import pytest

from angelia.core.entry import Checked
from angelia.service.batches.check_process import CheckProcesses
from angelia.service.batches.checks import CheckedWork, checked
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.steps import Step, call, say
from tests.batches.runs import by_task, ran, tasks_of, two_steps

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

CHECKS = """
import asyncio, os, sys, time


async def check(context):
    return await globals()[context.task](context)


async def good(context):
    assert await context.list() == ["answer.txt", "deep/", "given.txt"], await context.list()
    assert await context.read("given.txt") == "of the task"
    assert await context.read("deep/a.txt") == "of the check"
    await context.write("made.txt", "made by the check")
    ran = await context.run("cat made.txt answer.txt; pwd")
    assert ran.status == 0, ran
    assert ran.output.startswith("made by the checkgood"), ran
    await context.get("made.txt", os.environ["PLACE"] + "/got.txt")
    await context.put(os.environ["PLACE"] + "/got.txt", "put.txt")
    assert await context.read_bytes("put.txt") == b"made by the check"
    kinds = [entry["fact"]["kind"] for entry in await context.log()]
    assert kinds[:2] == ["ConversationOpened", "UserSaid"], kinds
    return context.answer == "It is in answer.txt." and context.ending == "Answered", "all of it"


async def says_no(context):
    return False, "it is not so"


async def half(context):
    return 0.5


async def asserts(context):
    assert 1 + 1 == 3, "arithmetic"


async def misses(context):
    await context.read("away.txt")


async def lies(context):
    return "certainly"


async def raises(context):
    raise KeyError("here")


async def leaves(context):
    sys.exit(0)


async def dies(context):
    print("last words", flush=True)
    os._exit(7)


async def hangs(context):
    os.system("sleep 600 &")
    while True:
        pass


async def floods(context):
    while True:
        sys.stdout.write("x" * 1_000_000)


async def deletes(context):
    await context.run("rm -rf ./* ./.[!.]*")
    await context.read("answer.txt")


async def forks(context):
    context.answer = "mine"
    return (await context.run("exit 3")).status == 3


async def gives_up(context):
    try:
        await asyncio.wait_for(context.run("touch begun; sleep 600; echo late"), 0.5)
    except TimeoutError:
        return await context.read("answer.txt") == "gives_up", "another reply came"


async def asks_at_once(context):
    replies = await asyncio.gather(*(context.run(f"echo {number}") for number in range(5)))
    return [int(one.output) for one in replies] == [0, 1, 2, 3, 4]


async def leaves_asking(context):
    asyncio.create_task(context.run("sleep 600"))
    asyncio.create_task(context.run("sleep 600"))
    await context.list()
    return True


async def stops_itself(context):
    raise asyncio.CancelledError


async def says_much(context):
    return 10**30, chr(0xDCFF)
"""
ASKED_WRONG = {
    "word": ("run(['ls', 5])", "got `int` - at `$.argv[1]`"),
    "seconds": ("run('true', seconds='5')", "got `str` - at `$.seconds`"),
    "nothing": ("run([])", "without a word"),
    "bytes": ("write('made.txt', 5)", "got `int` - at `$.data`"),
    "sent": ("save(SentDelivery(9, 'a', 'b', 1), 'a')", "so many were sent: 0"),
}
"""What no check can mean, by the name of its task, and what it is told."""
WANTED = {
    "good": ("passed", "all of it"),
    "says_no": ("failed", "it is not so"),
    "half": ("scored", ""),
    "asserts": ("failed", "arithmetic"),
    "misses": ("failed", "away.txt"),
    "lies": ("unclear", "certainly"),
    "raises": ("crashed", "KeyError: 'here'"),
    "leaves": ("crashed", "SystemExit"),
    "dies": ("crashed", "exit code 7"),
    "hangs": ("hung", "within 1 s"),
    "floods": ("flooded", "10 MB"),
    "deletes": ("failed", "answer.txt"),
    "forks": ("passed", ""),
    "gives_up": ("passed", ""),
    "asks_at_once": ("passed", ""),
    "leaves_asking": ("passed", ""),
    "stops_itself": ("crashed", "CancelledError"),
    "says_much": ("unclear", "1" + 30 * "0"),
}


async def test_whatever_a_check_does_has_an_outcome_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", str(tmp_path))
    (tmp_path / "check.py").write_text(CHECKS)
    (tmp_path / "hidden.txt").write_text("of the check")
    more: dict[str, dict[str, object]] = {
        "good": {"texts": {"given.txt": "of the task"}, "check_files": {"deep/a.txt": "hidden.txt"}},
        "hangs": {"check_seconds": 1},
    }
    tasks = tasks_of(
        tmp_path, *({"id": name, **more.get(name, {})} for name in WANTED), check=str(tmp_path / "check.py")
    )
    runner, _ = await ran(tmp_path, tasks, parallel=3)
    found = by_task(runner)
    assert {name: one.outcome for name, one in found.items()} == {name: wanted for name, (wanted, _) in WANTED.items()}
    assert {name: why for name, (_, why) in WANTED.items() if why not in found[name].why} == {}
    assert "last words" in found["dies"].why
    assert not runner.left
    assert (tmp_path / "got.txt").read_text() == "made by the check"
    mine = [one.name for one in Path("/proc").iterdir() if one.name.isdecimal() and _ours(one.name, tmp_path)]
    assert mine == []


def _ours(pid: str, folder: Path) -> bool:
    """Whether a process works for a check: it, or what it has started. The nursery that serves all tests does not."""
    try:
        ours = f"PLACE={folder}".encode() in Path("/proc", pid, "environ").read_bytes()
        return ours and int(pid) != os.getpid() and b"tests.nursery" not in Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return False


async def test_what_a_check_cannot_mean_is_told_to_it_and_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "check.py").write_text(
        "from angelia.service.batches.check_context import SentDelivery\n"
        "async def check(context):\n"
        "    return await eval('context.' + context.data['asked'])\n"
    )
    rows = ({"id": name, "data": {"asked": asked}} for name, (asked, _) in ASKED_WRONG.items())
    runner, _ = await ran(tmp_path, tasks_of(tmp_path, *rows, check=str(tmp_path / "check.py")))
    found = by_task(runner)
    assert {name: one.outcome for name, one in found.items()} == dict.fromkeys(ASKED_WRONG, "crashed")
    assert {name: why for name, (_, why) in ASKED_WRONG.items() if why not in found[name].why} == {}


async def test_a_check_that_cannot_be_started_leaves_its_trial_and_no_descriptor(tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()
    (there / "check.py").write_text("async def check(context):\n    return True\n")
    tasks = tasks_of(tmp_path, {"id": "a"}, {"id": "b"}, check=str(there / "check.py"))
    (there / "check.py").unlink()
    there.rmdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    runner, _ = await ran(tmp_path, tasks)
    assert [why for why in runner.left.values() if "cannot be started: No such file" in why] == [*runner.left.values()]
    assert len(runner.left) == 2
    assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_a_fault_at_one_trial_is_told_there_and_ends_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def faulty(work: CheckedWork, processes: CheckProcesses) -> Checked:
        if work.trial.task.id == "b":
            raise LookupError("nobody foresaw it")
        return await checked(work, processes)

    monkeypatch.setattr("angelia.service.batches.runner.checked", faulty)
    rows = ({"id": name, "check": "true"} for name in "abc")
    runner, _ = await ran(tmp_path, tasks_of(tmp_path, *rows), parallel=1)
    assert {name: one.outcome for name, one in by_task(runner).items()} == {"a": "passed", "c": "passed"}
    (why,) = runner.left.values()
    assert "A fault of ours, code" in why


async def test_commands_check_where_the_model_worked_and_are_ended_as_well(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"id": "right", "check": "grep -qx right answer.txt"},
        {"id": "wrong", "check": "grep -x right answer.txt || { echo not there; exit 4; }"},
        {"id": "part", "check": "echo score=0.75"},
        {"id": "long", "check": "sleep 60", "check_seconds": 0.5},
        {"id": "loud", "check": "yes | head -c 1000000000"},
        {"id": "none"},
    ]
    runner, _ = await ran(tmp_path, tasks_of(tmp_path, *rows))
    told = {name: (one.outcome, one.score) for name, one in by_task(runner).items()}
    assert told == {
        "right": ("passed", 1.0),
        "wrong": ("failed", 0.0),
        "part": ("scored", 0.75),
        "long": ("hung", 0.0),
        "loud": ("flooded", 0.0),
        "none": ("", 0.0),
    }
    assert by_task(runner)["wrong"].why == "exit 4: not there"


@pytest.mark.parametrize("asked", ["run('true')", "read('answer.txt')", "list()"])
async def test_a_sandbox_that_goes_under_a_check_that_has_used_it_is_told(tmp_path: Path, asked: str) -> None:
    (tmp_path / "check.py").write_text(
        "import shutil\n"
        "async def check(context):\n"
        "    shutil.rmtree((await context.run('pwd')).output.strip())\n"
        f"    return bool(await context.{asked})\n"
    )
    runner, _ = await ran(tmp_path, tasks_of(tmp_path, {"id": "gone"}, check=str(tmp_path / "check.py")))
    assert by_task(runner)["gone"].outcome == "sandbox_gone"


async def test_a_sandbox_that_is_gone_is_told_and_others_go_on(tmp_path: Path) -> None:
    """The check in Python removes the workspace itself, which is a folder of this machine."""
    (tmp_path / "check.py").write_text(
        "import shutil, pathlib\n"
        "async def check(context):\n"
        f"    work = next(pathlib.Path({str(tmp_path)!r}, 'batch/work', context.task).iterdir())\n"
        "    if context.task == 'gone':\n"
        "        shutil.rmtree(work)\n"
        "    return (await context.run('true')).status == 0\n"
    )
    tasks = tasks_of(tmp_path, {"id": "gone"}, {"id": "there"}, check=str(tmp_path / "check.py"))
    runner, _ = await ran(tmp_path, tasks, parallel=1)
    assert {name: one.outcome for name, one in by_task(runner).items()} == {"gone": "sandbox_gone", "there": "passed"}


async def test_a_check_gets_the_files_that_were_sent(tmp_path: Path) -> None:
    def script(request: ReceivedRequest) -> Step:
        steps = [
            call("write", {"path": "a.txt", "content": "sent"}),
            call("send_file", {"path": "a.txt"}),
            say("There."),
        ]
        return steps[request.heard.replies]

    (tmp_path / "check.py").write_text(
        "async def check(context):\n"
        "    (sent,) = context.deliveries\n"
        f"    there = await context.save(sent, {str(tmp_path / 'saved.txt')!r})\n"
        "    return sent.name == 'a.txt' and there.read_text() == 'sent'\n"
    )
    runner, _ = await ran(tmp_path, tasks_of(tmp_path, {"id": "send"}, check=str(tmp_path / "check.py")), script)
    assert by_task(runner)["send"].passed


async def test_no_task_is_offered_what_other_tries_have_found(tmp_path: Path) -> None:
    _, server = await ran(tmp_path, tasks_of(tmp_path, {"id": "a"}))
    offered = {tool["function"]["name"] for tool in server.requests[0].body["tools"]}
    assert offered & {"search_past", "recall", "remember", "ask_user", "schedule"} == set()
    assert {"write", "shell"} <= offered


async def test_two_steps_are_two_requests(tmp_path: Path) -> None:
    runner, server = await ran(tmp_path, tasks_of(tmp_path, {"id": "a"}, {"id": "b"}), two_steps, tries=2)
    assert len(server.requests) == 8
    assert sorted((one.task, one.number, one.steps) for one in runner.results) == [
        ("a", 1, 2),
        ("a", 2, 2),
        ("b", 1, 2),
        ("b", 2, 2),
    ]
