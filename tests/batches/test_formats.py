"""Task folders of Terminal-Bench and instances of SWE-bench are done and judged as their own harnesses do."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.service.batches.tasks import Task, read_tasks
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.steps import Step, call, say
from tests.batches.runs import by_task, ran
from tests.sandboxes.conftest import docker
from tests.sandboxes.daemon import IMAGE, Daemon

__all__ = ("docker",)


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


HARBOR = {
    "instruction.md": "Write the sum of numbers.txt into /app/sum.txt, and your name into /etc/who.\n",
    "task.toml": 'version = "1.0"\n[agent]\ntimeout_sec = 90.0\n'
    '[verifier]\ntimeout_sec = 60.0\nenv = { WANTED = "6" }\n',
    "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nCOPY numbers.txt .\n",
    "environment/numbers.txt": "1\n2\n3\n",
    "solution/solve.sh": "echo 6 >/app/sum.txt\n",
    "tests/test.sh": "#!/bin/sh\n[ -e /etc/who ] || { echo nobody; echo 0 >/logs/verifier/reward.txt; exit; }\n"
    '[ "$(cat sum.txt)" = "$WANTED" ] && r=1 || r=0.5\necho $r >/logs/verifier/reward.txt; cat /tests/data/said\n',
    "tests/data/said": "the end\n",
}
OLD = {
    "task.yaml": "# before Harbor\ninstruction: |-\n  Write 6 into sum.txt.\n\n  Nothing else.\ndifficulty: easy\n"
    "tags:\n  - shell\nparser_name: pytest\nmax_agent_timeout_sec: 90.0\nmax_test_timeout_sec: 60.0\n",
    "Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\n",
    "docker-compose.yaml": "services:\n  client:\n    build: .\n",
    "run-tests.sh": "#!/bin/sh\nsh $TEST_DIR/test_outputs.sh\n",
    "tests/test_outputs.sh": "echo '=== short test summary info ==='; echo PASSED test_outputs.py::test_there\n"
    '[ "$(cat /app/sum.txt)" = 6 ] && echo PASSED test_outputs.py::test_six || '
    "echo 'FAILED test_outputs.py::test_six - assert 5 == 6'\n",
}


def of(tasks: Path, **files: Mapping[str, str]) -> tuple[Task, ...]:
    for name, content in files.items():
        write(tasks / name.replace("_", "-"), content)
    return read_tasks(tasks)


def test_a_folder_of_harbor_is_a_task_in_the_image_that_it_describes(tmp_path: Path) -> None:
    (task,) = of(tmp_path, add_up=HARBOR)
    assert task.prompt == HARBOR["instruction.md"].strip()
    assert (task.id, task.sandbox, task.workspace) == ("add-up", f"docker:{tmp_path}/add-up/environment", "image")
    assert (task.max_seconds, task.check_seconds) == (90, 60.0)
    assert read_tasks(tmp_path / "add-up") == (task,), "a task alone is a batch of one"
    named = HARBOR | {"task.toml": '[environment]\ndocker_image = "somebody/add-up:2"\n'}
    (other,) = of(tmp_path / "named", one=named)
    assert (other.sandbox, other.check_seconds) == ("docker:somebody/add-up:2", 600.0)


def test_a_folder_before_harbor_is_one_as_well(tmp_path: Path) -> None:
    (task,) = of(tmp_path, six=OLD)
    assert task.prompt == "Write 6 into sum.txt.\n\nNothing else."
    assert (task.sandbox, task.max_seconds, task.check_seconds) == (f"docker:{tmp_path}/six", 90, 60.0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"task.toml": '[[steps]]\nname = "a"\n'}, "has several steps"),
        ({"task.toml": '[verifier]\nenv = { KEY = "${OPENAI_API_KEY}" }\n'}, "want KEY of this machine"),
        ({"task.toml": '[environment]\nos = "windows"\n'}, "another system"),
        ({"task.toml": '[verifier]\nenvironment_mode = "separate"\n'}, "a container of their own"),
        ({"task.toml": '[environment]\nworkdir = "/srv"\n'}, "works in another folder"),
        ({"environment/docker-compose.yaml": "services: {}\n"}, "several containers"),
        ({"tests/test.sh": None}, "no tests"),
        ({"environment/Dockerfile": None}, "no image"),
    ],
)
def test_a_task_that_asks_for_more_is_refused_and_not_done_by_half(
    tmp_path: Path, changed: Mapping[str, str | None], said: str
) -> None:
    files = {name: text for name, text in {**HARBOR, **changed}.items() if text is not None}
    with pytest.raises(BadInput, match=said):
        of(tmp_path, one=files)


def test_what_is_not_done_here_is_left_out_by_name_and_the_others_stay(tmp_path: Path) -> None:
    of(tmp_path / "good", one=HARBOR)
    with pytest.raises(BadInput, match=r"several steps.*--leave-out"):
        of(tmp_path / "good", two=HARBOR | {"task.toml": '[[steps]]\nname = "a"\n'})
    left_out: list[BadInput] = []
    (task,) = read_tasks(tmp_path / "good", left_out=left_out)
    assert task.id == "one"
    assert [str(tmp_path / "good/two") in str(why) for why in left_out] == [True]
    rows = [instance("abc"), instance("def", FAIL_TO_PASS=[])]
    left_out.clear()
    assert len(read_tasks(lines(tmp_path, *rows), left_out=left_out)) == 1
    assert ["no test that has to pass" in str(why) for why in left_out] == [True]


def add_up(request: ReceivedRequest) -> Step:
    """Adds up; of the task `wrong` it does so badly, and for `nobody` it forgets the second half."""
    if request.heard.replies:
        return say("Done.")
    wrong = "Nothing else" in request.heard.last_words and "badly" in request.heard.last_words
    return call("shell", {"command": f"echo {5 if wrong else 6} >sum.txt; echo me >/etc/who"})


@pytest.mark.anyio
@pytest.mark.real("docker")
@pytest.mark.soak
async def test_they_are_done_in_their_containers_and_judged_by_their_own_tests(tmp_path: Path, docker: Daemon) -> None:
    lazy = HARBOR | {"tests/test.sh": "#!/bin/sh\necho 'no reward'\n"}
    half = HARBOR | {"task.toml": '[verifier]\nenv = { WANTED = "7" }\n'}
    planted = HARBOR | {
        "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nCOPY numbers.txt /logs/verifier/reward.txt\n",
        "tests/test.sh": "#!/bin/sh\n",
    }
    rewards = 'echo \'{"a": 1, "b": 0.5}\' >/logs/verifier/reward.json; echo 0 >/logs/verifier/reward.txt'
    several = HARBOR | {"tests/test.sh": f"#!/bin/sh\n{rewards}\n"}
    badly = OLD | {"task.yaml": OLD["task.yaml"].replace("Nothing else.", "Nothing else, badly.")}
    tasks = of(
        tmp_path / "tasks", good=HARBOR, half=half, lazy=lazy, planted=planted, several=several, six=OLD, bad=badly
    )
    with pytest.raises(BadInput, match=r"sandbox\.docker\.workspace=image"):
        await ran(tmp_path, tasks, add_up)
    sets = (f"sandbox.docker.socket={docker.socket}", "sandbox.docker.workspace=image", "sandbox.docker.idle_minutes=0")
    runner, _ = await ran(tmp_path, tasks, add_up, sets=sets)
    results = by_task(runner)
    assert runner.left == {}
    assert {name: (result.outcome, result.score) for name, result in results.items()} == {
        "good": ("scored", 1.0),
        "half": ("scored", 0.5),
        "lazy": ("crashed", 0.0),
        "planted": ("crashed", 0.0),
        "several": ("scored", 0.75),
        "six": ("scored", 1.0),
        "bad": ("scored", 0.0),
    }
    assert results["good"].passed
    assert results["good"].why == "reward 1; the end"
    assert "no reward" in results["lazy"].why
    assert results["bad"].why == "1 of 2 tests passed. test_outputs.py::test_six"
    assert docker.containers() == []


PATCH = """diff --git a/test_calc.py b/test_calc.py
--- a/test_calc.py
+++ b/test_calc.py
@@ -6,2 +6,5 @@
     def test_small(self):
         self.assertEqual(add(1, 1), 2)
+
+    def test_negative(self):
+        self.assertEqual(add(-1, -2), -3)
"""
TESTS = """import unittest
from calc import add


class Tests(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 1), 2)
"""


def repository(folder: Path) -> str:
    """A small one, in which a later commit holds the mending; what is asked is of the one before."""
    write(
        folder,
        {
            "calc.py": "def add(a, b):\n    return abs(a) + b\n",
            "test_calc.py": TESTS,
        },
    )

    def git(*words: str) -> str:
        line = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words)
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "before")
    base = git("rev-parse", "HEAD")
    write(folder, {"calc.py": "def add(a, b):\n    return a + b\n"})
    git("commit", "-qam", "the mending")
    return base


def instance(base: str, **more: object) -> dict[str, object]:
    return {
        "repo": "calc",
        "instance_id": "me__calc-1",
        "base_commit": base,
        "problem_statement": "add(-1, -2) gives -1.",
        "test_patch": PATCH,
        "FAIL_TO_PASS": '["test_negative (test_calc.Tests.test_negative)"]',
        "PASS_TO_PASS": '["test_small (test_calc.Tests.test_small)"]',
        "patch": "what solves it, which the model is not shown",
        **more,
    }


def lines(folder: Path, *rows: Mapping[str, object]) -> Path:
    file = folder / "instances.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_an_instance_without_a_folder_is_done_in_the_image_of_swe_bench(tmp_path: Path) -> None:
    row = instance("abc", repo="django/django", test_patch=PATCH.replace("test_calc.py", "tests/auth/test_views.py"))
    (task,) = read_tasks(lines(tmp_path, row))
    assert task.sandbox == "docker:swebench/sweb.eval.x86_64.me_1776_calc-1:latest"
    assert task.data["command"].endswith("--parallel 1 auth.test_views")
    assert "add(-1, -2) gives -1." in task.prompt
    assert "solves it" not in task.prompt
    (other,) = read_tasks(lines(tmp_path, instance("abc", repo="a/b", image_name="x/y:1", test_cmd=["make", "t"])))
    assert (other.sandbox, other.workspace, other.data["command"]) == ("docker:x/y:1", "image", "make && t")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"FAIL_TO_PASS": "[]"}, "names no test"),
        ({"FAIL_TO_PASS": "test_x"}, "no JSON"),
        ({"base_commit": "$(reboot)"}, "names no commit"),
        ({"log_parser": "parse_log_jest"}, "known are those of pytest"),
    ],
)
def test_an_instance_that_is_not_whole_says_so(tmp_path: Path, changed: Mapping[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_tasks(lines(tmp_path, instance("abc", **changed)))


def mend(request: ReceivedRequest) -> Step:
    """Mends it, or breaks what worked, or spoils the tests, by the words of the issue; first looks what Git knows."""
    asked = request.heard.last_words if not request.heard.replies else ""
    if not asked:
        return say("Done.")
    line = "git log --oneline --all | wc -l >.git/known; git cat-file --batch-check --batch-all-objects >.git/every; "
    if "spoil" in asked:
        return call("shell", {"command": line + "echo 'def test_negative(): pass' >test_calc.py"})
    how = "a - b if a > 0 else a + b" if "break" in asked else "a + b"
    return call("shell", {"command": f"{line}printf 'def add(a, b):\\n    return {how}\\n' >calc.py"})


@pytest.mark.anyio
@pytest.mark.real("bwrap")
async def test_an_instance_passes_by_its_hidden_tests_and_the_mending_is_not_lying_there(tmp_path: Path) -> None:
    base = repository(tmp_path / "calc")
    unittest = {"test_cmd": "python3 -m unittest -v test_calc", "log_parser": "parse_log_django"}
    rows = [
        instance(base, instance_id=f"me__{how}-1", problem_statement=how, **unittest)
        for how in ("mend", "break", "spoil")
    ]
    runner, _ = await ran(tmp_path, read_tasks(lines(tmp_path, *rows)), mend)
    assert runner.left == {}
    results = by_task(runner)
    assert {name: result.outcome for name, result in results.items()} == {
        "me__mend-1": "passed",
        "me__break-1": "failed",
        "me__spoil-1": "failed",
    }, {name: result.why for name, result in results.items()}
    assert results["me__mend-1"].why == "1 of 1 mended, 0 broken"
    assert results["me__break-1"].why == "1 of 1 mended, 1 broken: test_small (test_calc.Tests.test_small)"
    work = next((tmp_path / "batch/work/me__mend-1").iterdir())
    assert (work / ".git/known").read_text().strip() == "1"
    assert sum("commit" in row for row in (work / ".git/every").read_text().splitlines()) == 1
