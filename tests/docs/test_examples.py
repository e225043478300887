"""The examples in the documents run, and do what the text around them says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.core.codec import from_json_lines
from angelia.testing.model.steps import Step, call, load_steps, say
from tests.docs.read_documents import Block, blocks
from tests.faces.angelia import MODEL, serving

pytestmark = pytest.mark.slow

EXAMPLES = {block.text.partition("\n")[0].removeprefix("# "): block for block in blocks("python")}
"""Every Python block by the file name on its first line."""

TESTS = {
    "test_my_sandbox.py": ["-k", "odd or links or whole"],
    "test_my_channel.py": ["-k", "words or photo"],
    "test_a_turn.py": [],
    "test_decisions.py": [],
    "test_counters.py": [],
    "test_my_objects.py": [],
}
"""Examples that are tests, and what of them is run here."""

CONFTEST = 'import pytest\n@pytest.fixture\ndef anyio_backend() -> str:\n    return "asyncio"\n'


def block_of(document: str, language: str, holding: str = "") -> Block:
    """The one block of a language in a document that holds a text."""
    found = [one for one in blocks(language) if one.document == document and holding in one.text]
    assert len(found) == 1, f"{document} has {len(found)} such blocks"
    return found[0]


def installed(folder: Path, module: str, document: str) -> Path:
    """An example as an installed package: its module, and the entry point that the document shows."""
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / f"{module}.py").write_text(EXAMPLES[f"{module}.py"].text)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    shown = block_of(document, "toml", f'= "{module}:').text
    group, name, value = re.fullmatch(r'\[project\.entry-points\."(.+)"\]\n(\w+) = "(.+)"\n', shown).groups()  # type: ignore[union-attr]  # a mismatch fails the test
    (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    return folder


PROGRAMS: dict[str, tuple[list[Step], str]] = {
    "ask_the_garden.py": ([say("The south bed.")], "The south bed.\n"),
    "first_lines.py": ([say("The south bed.")], "The south bed.\n"),
    "prices.py": ([call("price", {"item": "beans"}), say("2.50.")], "2.50.\n"),
    "ask_or_say_why.py": ([say("Sorted.")], "Sorted.\n"),
    "talk.py": (
        [say("Peas."), say("In the south bed.")],
        "Peas.\nIn the south bed.\nGo on with it: angelia chat --resume ",
    ),
    "watch.py": (
        [call("read", {"path": "harvest.csv"}), say("South.")],
        '[read {"path": "harvest.csv"}]\nSouth.\n',
    ),
    "book.py": (
        [call("free_tables", {"day": "Monday"}), call("book", {"day": "Monday"}), say("Monday it is.")],
        "Monday it is.\n",
    ),
}
"""Examples that are programs: what the model says, and how what they print begins."""


def test_every_example_has_a_name_and_is_run_here() -> None:
    assert set(EXAMPLES) == {*TESTS, *PROGRAMS, "count_words.py", "counters.py", "parrot.py", "check_numbers.py"}


@pytest.mark.real("bwrap")
def test_the_check_of_the_example_tells_right_from_wrong(tmp_path: Path) -> None:
    """The tasks are those that the page shows; a model that writes 56.5 for both has one of them right."""
    steps = [call("write", {"path": "answer.txt", "content": "56.5"}), say("It is in answer.txt.")]
    (shown,) = [one.text for one in blocks("console") if one.document == "docs/how-to/batches.md"]
    with serving(tmp_path, steps) as place:
        (place.work / "harvest.csv").write_text("bed,kg\nsouth,33\nnorth,23.5\n")
        (place.work / "check_numbers.py").write_text(EXAMPLES["check_numbers.py"].text)
        rows = [line for line in shown.splitlines() if line.startswith("{")]
        (place.work / "numbers.jsonl").write_text("\n".join(rows))
        ran = place.run("batch", "numbers.jsonl", "--check", "check_numbers.py", "--model", MODEL, "--json")
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert [(one["task"], one["outcome"]) for one in told] == [("sum", "passed"), ("most", "failed")], ran.err
    assert told[1]["why"] == "answer.txt holds '56.5'"


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_that_is_a_program_prints_what_it_should(name: str, tmp_path: Path) -> None:
    steps, prints = PROGRAMS[name]
    with serving(tmp_path, steps) as place:
        (lines,) = [one.text for one in blocks("sh") if one.document == "docs/tutorials/python.md"]
        subprocess.run(lines.splitlines()[1], shell=True, cwd=place.work, check=True)
        (place.work / name).write_text(EXAMPLES[name].text)
        ran = subprocess.run(
            [sys.executable, name],
            cwd=place.work,
            env=place.environment({"ANGELIA_MODEL": MODEL}),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.stdout.startswith(prints), ran.stderr


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("name", TESTS)
def test_an_example_that_is_a_test_passes(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(EXAMPLES[name].text)
    (tmp_path / "counters.py").write_text(EXAMPLES["counters.py"].text)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    # a place of its own for temporary files: in the common one it would take away those of earlier runs, which is long
    own = ("-c", os.devnull, "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'own'}")
    words = [sys.executable, "-m", "pytest", "-q", *own, name, *TESTS[name]]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout


def test_the_tool_of_the_example_counts(tmp_path: Path) -> None:
    package = installed(tmp_path / "package", "count_words", "docs/how-to/add-a-tool.md")
    with serving(tmp_path, [call("count_words", {"path": "notes.md"}), say("Counted.")]) as place:
        (place.work / "notes.md").write_text("Compost in March.")
        asked = place.ask("--set", "sandbox.confine=off", "How many?", PYTHONPATH=str(package))
        assert "3 words" in asked.err
        listed = place.run("tools", PYTHONPATH=str(package)).out.splitlines()
    at = listed.index("count_words")
    assert listed[at + 1] == "    Count the words of a text file."


def test_the_toolset_of_the_example_counts_and_says_so_in_the_prompt(tmp_path: Path) -> None:
    package = installed(tmp_path / "package", "counters", "docs/how-to/add-a-tool.md")
    with serving(tmp_path, [call("count_up"), call("count_up"), say("Counted.")]) as place:
        asked = place.ask("Count twice.", PYTHONPATH=str(package))
        assert "2" in [line.split()[-1] for line in asked.err.splitlines() if "count_up" in line]
        shown = place.run("show", "--prompt", PYTHONPATH=str(package)).out
        assert "About the tools of counters:\nThe counter begins at 0 in each conversation." in shown


def test_the_model_room_of_the_example_answers(tmp_path: Path) -> None:
    document = "docs/how-to/add-a-model-provider.md"
    package = installed(tmp_path / "package", "parrot", document)
    with serving(tmp_path, [], "--instant") as place:
        place.home.mkdir()
        (place.home / "config.toml").write_text(block_of(document, "toml", "[vendors.parrot]").text)
        asked = place.run("ask", "--model", "parrot:grey", "good morning", PYTHONPATH=str(package))
    assert asked.out in block_of(document, "console").text
    assert asked.out == "GOOD MORNING\n"


def test_the_vendor_of_the_example_is_asked(tmp_path: Path) -> None:
    shown = block_of("docs/how-to/add-a-vendor.md", "toml", "[vendors.greenhouse]")
    with serving(tmp_path, [], "--echo", "--key", "green") as place:
        place.home.mkdir()
        (place.home / "config.toml").write_text(shown.text)
        more = {"GREENHOUSE_BASE_URL": f"{place.url}/v1", "GREENHOUSE_API_KEY": "green"}
        assert place.run("ask", "--model", "greenhouse:tomato-7b", "hello", stdin=b"", **more).out == "hello\n"


def told(lines: str) -> list[str]:
    """Entries without what differs from run to run."""
    entries = from_json_lines(line.encode() for line in lines.splitlines())
    blurred = "\n".join(f"{entry.seq} {entry.fact}" for entry in entries)
    for differs in (
        r"sha256='\w+', size=\d+",
        r"workspace='[^']+'",
        r"\w{26}\.t2",
        r"seconds=[\d.]+",
        r"usage=Usage\([^)]*\)",
    ):
        blurred = re.sub(differs, "…", blurred)
    return blurred.replace(MODEL, "openai-chat:scripted").splitlines()


def names_in(line: str) -> list[str]:
    """What a fact is written with."""
    return list(json.loads(line)["fact"])


def test_the_tour_shows_what_the_program_prints(tmp_path: Path) -> None:
    steps = load_steps(block_of("docs/tour.md", "json").text.encode())
    shown = "".join(block.text for block in blocks("jsonl") if block.document == "docs/tour.md")
    with serving(tmp_path, steps) as place:
        (place.work / "harvest.csv").write_text(block_of("docs/tour.md", "text", "harvest_kg").text)
        asked = place.ask("--json", "Which bed brought more?")
        again = place.ask("Which bed brought more?")
    assert told(shown) == told(asked.out)
    assert [names_in(line) for line in shown.splitlines()] == [names_in(line) for line in asked.out.splitlines()]
    readme = block_of("docs/how-to/use-in-the-terminal.md", "console", 'ask "Which bed brought more?"').text
    slow = re.compile(r" · [\d.]+ s(?= ·|$)")  # what took long says so, on a machine that is busy
    assert readme.splitlines()[1:] == [slow.sub("", line) for line in (again.err + again.out).splitlines()]
