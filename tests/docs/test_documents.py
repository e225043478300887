"""What the documents say is so: links lead somewhere, settings load, commands parse, examples run."""

import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest

from angelia.faces.cli.main import angelia
from angelia.models.catalog.credentials import KEY_PLACES
from angelia.models.catalog.vendors import vendors
from angelia.service.settings.config import Config, load
from angelia.service.settings.rules import remedies_table
from tests.docs.read_documents import ROOT, Block, blocks, documents, without_blocks

LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]*)(?:#([\w-]+))?\)")


def by_name(thing: Block | Path) -> str:
    return thing.name if isinstance(thing, Block) else str(thing.relative_to(ROOT))


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", without_blocks(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", documents(), ids=by_name)
def test_every_link_within_the_project_leads_somewhere(path: Path) -> None:
    for target, anchor in LINK.findall(without_blocks(path)):
        if target.startswith("http"):
            continue
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), f"{target} in {path.name}"
        assert not anchor or anchor in anchors(there), f"#{anchor} in {path.name}"


NOT_OURS = {
    *("count_words.py", "parrot.py", "test_my_channel.py", "test_my_sandbox.py", "test_a_turn.py", "test_decisions.py"),
    *("counters.py", "test_counters.py", "test_my_objects.py", "tables.py", "discord.py"),
    *("check_numbers.py", "check.py", "my_sandbox.py"),
    *("ask_the_garden.py", "ask_or_say_why.py", "talk.py", "watch.py", "book.py", "first_lines.py", "prices.py"),
}
"""Files that a how-to has its reader write, and a library."""


@cache
def our_programs() -> frozenset[str]:
    tops = ("src", "tests", "bench", "docs", "examples")
    files = [*ROOT.glob("*.py"), *(file for top in tops for file in (ROOT / top).rglob("*.py"))]
    return frozenset(str(file.relative_to(ROOT)) for file in files)


@pytest.mark.parametrize("path", documents(), ids=by_name)
def test_every_file_of_ours_that_a_document_names_exists(path: Path) -> None:
    named = set(re.findall(r"(?<![\w./-])((?:[a-z_]+/)*[a-z_0-9]+\.py)\b", path.read_text("utf-8")))
    missing = {name for name in named if not any(f"/{one}".endswith(f"/{name}") for one in our_programs())}
    assert {name for name in missing if name.rpartition("/")[2] not in NOT_OURS} == set()


HERE_FIRST = re.compile(r"""(?:python[\w.]*|[}"])['"]?\s+-m\s+(?:angelia|pip|piper)\b""")
"""A Python that is to run a module of an installation, and looks for it first in the folder where it is typed."""


def test_no_line_that_is_told_to_be_typed_takes_modules_from_where_it_is_typed() -> None:
    """Who follows an advice is in the folder of a project, in which a model works: its `pip.py` would be run."""
    papers = [path for path in documents() if path.name != "SECURITY.md"]  # which says what would come of it
    told = [*papers, *(ROOT / "src").rglob("*.py"), ROOT / "install.sh", *(ROOT / "deploy").rglob("*.y*ml")]
    assert HERE_FIRST.search("/opt/bin/python -m pip install x")
    assert HERE_FIRST.search("{python} -m pip install x")
    assert not HERE_FIRST.search("/opt/bin/python3.12 -P -m angelia backup")
    lines = [(path.name, line) for path in told for line in path.read_text("utf-8").splitlines()]
    assert [(name, line) for name, line in lines if HERE_FIRST.search(line)] == []


def test_a_newcomer_finds_the_turn_in_two_hops() -> None:
    readme, architecture = ((ROOT / name).read_text("utf-8") for name in ("README.md", "ARCHITECTURE.md"))
    assert "(ARCHITECTURE.md)" in readme
    for path, holds in {
        "engine/machine.py": "def decide(",
        "policy/judge.py": "def judge(",
        "models/wires/openai_chat.py": "def encode(",
        "store/media/pictures.py": "def encode(",
        "service/chats/delivery.py": "def deliver",
        "service/conversation/terminal_delivery.py": "def deliver(",
    }.items():
        assert f"`{path}`" in architecture
        assert holds in (ROOT / "src/angelia" / path).read_text("utf-8"), path


def test_every_table_that_the_architecture_names_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*/[a-z_0-9]+\.toml)`", text))
    assert {
        name for name in named if not any((ROOT / base / name).exists() for base in ("src/angelia", "", "src"))
    } == set()


def test_every_folder_of_the_source_has_its_place_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    folders = {path.parent.name for path in (ROOT / "src/angelia").glob("*/__init__.py")}
    assert not {folder for folder in folders if f"`{folder}/`" not in text}


@pytest.mark.parametrize("block", blocks("toml"), ids=by_name)
def test_every_setting_that_is_shown_can_be_set(block: Block, tmp_path: Path) -> None:
    if "project" in tomllib.loads(block.text):
        return
    (tmp_path / "config.toml").write_text(block.text)
    config = load(tmp_path, {}).config
    assert config != Config()
    plain = {name: {key: row[key] for key in row if key not in KEY_PLACES} for name, row in config.vendors.items()}
    assert vendors(plain)
    assert remedies_table(config.remedies)


SHOWN = [line for block in blocks("console") for line in block.text.splitlines() if line.startswith("$ angelia")]


@pytest.mark.parametrize("line", dict.fromkeys(SHOWN))
def test_every_command_that_is_shown_is_one(line: str) -> None:
    words = shlex.split(line.removeprefix("$ angelia"))
    with click.Context(angelia, info_name="angelia", **angelia.context_settings) as context:
        command = angelia.get_command(context, words[0])
        assert command is not None, f"there is no command {words[0]}"
        assert command.make_context(words[0], words[1:], parent=context).command is command
