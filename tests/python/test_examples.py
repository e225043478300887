"""Every program in `examples` does what its first line says, with a scripted model."""

import ast
import csv
import io
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pexpect
import pytest

from angelia.testing.model.steps import Step, call, say
from tests.faces.angelia import SECONDS, Ended, Place, requests, serving
from tests.house.sources import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"


def run(place: Place, name: str, *words: str, stdin: str = "", **more: str) -> Ended:
    """One of the programs, to its end, as somebody runs it who has a key."""
    ended = subprocess.run(
        [sys.executable, EXAMPLES / name, *words], cwd=place.work,
        env=place.environment({"ANGELIA_MODEL": "openai-chat:test", **more}),
        input=stdin, capture_output=True, text=True, check=False, timeout=2 * SECONDS,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def test_one_question_in_five_lines(tmp_path: Path) -> None:
    with serving(tmp_path, [call("read", {"path": "notes.md"}), say("Notes on compost.")]) as place:
        (place.work / "garden").mkdir()
        (place.work / "garden/notes.md").write_text("Compost in March.")
        assert run(place, "ask.py", "garden", "What is in here?").out == "Notes on compost.\n"
    assert "Compost in March." in json.dumps(requests(place)[-1])
    tree = ast.parse((EXAMPLES / "ask.py").read_text())
    lines = (EXAMPLES / "ask.py").read_text().splitlines()
    assert len([line for line in lines[tree.body[0].end_lineno or 0 :] if line]) == 4


def test_a_receipt_becomes_a_line_of_the_table(tmp_path: Path) -> None:
    kept = call("keep_receipt", {"shop": "Baker", "day": "2026-11-21", "total": 4.5, "what": "food"})
    with serving(tmp_path, [kept, call("receipts"), say("Kept.")]) as place:
        (place.home / "plugins").mkdir(parents=True, mode=0o700)
        plugin = place.home / "plugins/receipts.py"
        plugin.write_text((EXAMPLES / "receipts.py").read_text())
        plugin.chmod(0o600)
        asked = place.ask("Here is a receipt.", RECEIPTS=str(tmp_path / "receipts.csv"))
    assert asked.out == "Kept.\n", asked.err
    table = (tmp_path / "receipts.csv").read_text()
    assert table == "day,shop,what,total,currency\n2026-11-21,Baker,food,4.50,EUR\n"
    assert "Baker" in json.dumps(requests(place)[-1]["body"]["messages"][-1])


def test_a_night_has_its_report_or_the_reason_why_not(tmp_path: Path) -> None:
    steps = [call("write", {"path": "evil", "content": "x"}), call("read", {"path": "shop.log"}), say("Two failed.")]
    with serving(tmp_path, steps) as place:
        (place.work / "logs").mkdir()
        (place.work / "logs/shop.log").write_text("ERROR card declined")
        assert run(place, "nightly_report.py", "logs").code == 0
        (report,) = place.work.glob("report-*.md")
        assert report.read_text() == "Two failed.\n"
        assert not (place.work / "logs/evil").exists(), "it may change nothing"
    (tmp_path / "second").mkdir()
    with serving(tmp_path / "second", [], "--echo", "--key", "another") as place:
        (place.work / "logs").mkdir()
        assert run(place, "nightly_report.py", "logs").code == 1
        (report,) = place.work.glob("report-*.md")
        assert report.read_text().startswith("No report tonight: The key for openai-chat:test was rejected.")


def test_what_has_to_be_fixed_fails_the_build(tmp_path: Path) -> None:
    def found(severity: str) -> Step:
        return call("finding", {"path": "shop.py", "line": 3, "severity": severity, "what": "Division by zero."})

    with serving(tmp_path, [found("must fix"), found("consider"), say("One thing to fix.")]) as place:
        reviewed = run(place, "review.py", stdin="+ return total / 0\n")
    assert reviewed.code == 1
    assert reviewed.out.splitlines() == [
        "::error file=shop.py,line=3::Division by zero.",
        "::notice file=shop.py,line=3::Division by zero.",
        "One thing to fix.",
    ]
    assert "+ return total / 0" in json.dumps(requests(place)[0])
    (tmp_path / "second").mkdir()
    with serving(tmp_path / "second", [found("consider"), say("Fine.")]) as place:
        assert run(place, "review.py", stdin="+ pass\n").code == 0


def test_a_call_that_does_not_fit_never_reaches_the_table(tmp_path: Path) -> None:
    good = {"file": "a.txt", "number": "17", "day": "2026-11-02", "net": 100, "tax": 19}
    with serving(
        tmp_path, [call("invoice", {**good, "day": "soon"}), call("invoice", good), say("Recorded.")]
    ) as place:
        (place.work / "a.txt").write_text("Invoice 17")
        written = run(place, "extract.py", "a.txt")
    assert list(csv.reader(io.StringIO(written.out)))[1:] == [["a.txt", "17", "2026-11-02", "100.0", "19.0"]]
    assert "a.txt: Recorded." in written.err


def test_every_yes_is_asked_at_the_keyboard(tmp_path: Path) -> None:
    steps = [
        call("write", {"path": "a", "content": "1"}), call("write", {"path": "b", "content": "2"}),
        call("ask_user", {"question": "Which drafts?", "choices": ["old", "all"]}), say("Tidy."),
    ]  # fmt: skip
    with serving(tmp_path, steps) as place:
        child = pexpect.spawn(
            sys.executable, [str(EXAMPLES / "approve.py"), ".", "Tidy up."], cwd=str(place.work), encoding="utf-8",
            env=place.environment({"ANGELIA_MODEL": "openai-chat:test"}), timeout=SECONDS,
        )  # fmt: skip
        child.expect_exact("Write a?")
        child.expect_exact("or why not: ")
        child.sendline("y")
        child.expect_exact("Write b?")
        child.expect_exact("or why not: ")
        child.sendline("b is mine")
        child.expect_exact("1  old")
        child.expect_exact("your answer: ")
        child.sendline("old")
        child.expect_exact("Tidy.")
        child.expect(pexpect.EOF)
        child.close()
    assert (place.work / "a").read_text() == "1"
    assert not (place.work / "b").exists()
    assert "b is mine" in json.dumps(requests(place)[-1])


def test_a_page_shows_an_answer_as_it_grows(tmp_path: Path) -> None:
    with serving(tmp_path, [call("read", {"path": "a"}), say("Good morning.")]) as place:
        (place.work / "a").write_text("1")
        with subprocess.Popen(
            [sys.executable, EXAMPLES / "stream_to_browser.py"], cwd=place.work, stderr=subprocess.PIPE, text=True,
            env=place.environment({"ANGELIA_MODEL": "openai-chat:test", "PORT": "0"}),
        ) as server:  # fmt: skip
            assert server.stderr is not None
            address = server.stderr.readline().strip()
            try:
                with urlopen(address, timeout=SECONDS) as page:
                    assert page.read().decode() == "\n[read]\nGood morning."
            finally:
                server.terminate()


def test_many_folders_are_asked_and_one_that_cannot_be_is_told(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--echo") as place:
        for name in ("one", "two"):
            (place.work / name).mkdir()
        said = run(place, "many_folders.py", "What is this?", "one", "two", "gone")
    assert said.out.count("What is this?") == 2
    assert re.search(r"## gone\n\nNo answer: .*gone", said.out), said.out


def test_a_long_job_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "echo x >> done; sleep 30"}), say("All pages are simple.")]
    with serving(tmp_path, steps) as place:
        (place.work / "pages").mkdir()
        words = [sys.executable, str(EXAMPLES / "go_on.py"), "pages/", "Rewrite them."]
        environment = place.environment(
            {"ANGELIA_MODEL": "openai-chat:test", "ANGELIA_CONFINE": "off", "ANGELIA_MODE": "autonomous"}
        )
        with subprocess.Popen(words, cwd=place.work, env=environment) as job:
            watched(place.work / "pages/done", job)
            job.kill()
        again = subprocess.run(words, cwd=place.work, env=environment, capture_output=True, text=True, check=False)
    assert again.stdout == "All pages are simple.\n", again.stderr
    assert again.stderr == "Going on.\n"
    assert (place.work / "pages/done").read_text() == "x\n"
    assert not (place.work / "pages.job").exists()


def watched(path: Path, running: "subprocess.Popen[bytes]") -> None:
    """Wait until a file has something in it, as long as what writes it runs."""
    while not (path.exists() and path.stat().st_size):
        with suppress(subprocess.TimeoutExpired):
            running.wait(0.05)
            pytest.fail(f"it ended before: {running.returncode}")


def test_what_each_question_costs_is_a_table(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--echo") as place:
        (place.work / "questions.txt").write_text("How are you?\nAnd now?\n")
        table = list(csv.reader(io.StringIO(run(place, "costs.py", "questions.txt").out)))
    assert [row[:2] for row in table[1:]] == [["How are you?", "an answer"], ["And now?", "an answer"]]
    assert {row[5] for row in table[1:]} == {"unknown"}
    assert all(int(row[2]) > 0 for row in table[1:])


@pytest.mark.soak
def test_the_history_of_a_repository_is_a_batch(tmp_path: Path) -> None:
    """Only the commit that brought a test is a task, and the batch begins before it, without its mending."""
    repo = tmp_path / "work/calc"
    versions = [
        ("Adds", {"calc.py": "def add(a, b):\n    return abs(a) + b\n"}),
        ("Is told of", {"README.md": "Adds.\n"}),
        ("Adds what is negative", {
            "calc.py": "def add(a, b):\n    return a + b\n",
            "test_calc.py": "from calc import add\n\n\ndef test_negative():\n    assert add(-1, -2) == -3\n",
        }),
    ]  # fmt: skip
    with serving(tmp_path, [say("Done.")]) as place:
        repo.mkdir()
        git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, "init", "-q"], check=True)
        for message, files in versions:
            for name, text in files.items():
                (repo / name).write_text(text)
            subprocess.run([*git, "add", "."], check=True)
            subprocess.run([*git, "commit", "-qm", message], check=True)
        written = run(place, "history_tasks.py", "calc", "50")
        (place.work / "calc.jsonl").write_text(written.out)
        ran = place.run("batch", "calc.jsonl", "--model", "openai-chat:test", "--json")
    (task,) = [json.loads(line) for line in written.out.splitlines()]
    assert task["FAIL_TO_PASS"] == ["test_calc.py::test_negative"], written.err
    (result,) = [json.loads(line) for line in ran.out.splitlines()]
    assert result["outcome"] == "failed", ran.err
    assert result["why"].startswith("0 of 1 mended, 0 broken")
    (left,) = (place.work / "calc-batch/work").glob("*/*/calc.py")
    assert "abs(a)" in left.read_text()


def test_every_example_is_listed_and_run_here() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == set(re.findall(r"^\| \[(\w+\.py)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    here = Path(__file__).read_text()
    assert {name for name in names if f'"{name}"' in here} == names
    assert len(names) == 11
