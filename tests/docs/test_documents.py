"""What the documents say is so: links lead somewhere, settings load, commands parse, examples run."""

import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import click
import msgspec
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


WRITTEN = [path for path in documents() if path.parent.name != "reference" and path.name != "CHANGELOG.md"]
"""What is not printed from the code, and speaks of today."""

SET = re.compile(r'(?:settings=\{"|--set |config set |`)([a-z_]+(?:\.[a-z_]+)+)(?:[ =:"][^`]*)?[`"\s]')
"""Where a setting is named: as an argument, at the command line, in prose."""

NO_SETTINGS = {"gateway.env", "context.later", "context.submitted", "context.blobs.put"}
"""Other things that are named as a setting of one of the sections would be."""


def settings_of(section: type[msgspec.Struct], before: str = "") -> dict[str, object]:
    """By their names, sections included; what is a table of names stands there once."""
    own = {f"{before}{field.name}": field.type for field in msgspec.structs.fields(section)}
    sections = {name: kind for name, kind in own.items() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)}
    return own | {name: kind for one, kinds in sections.items() for name, kind in settings_of(kinds, f"{one}.").items()}


@pytest.mark.parametrize("path", WRITTEN, ids=by_name)
def test_every_setting_that_is_named_is_one(path: Path) -> None:
    known = settings_of(Config)
    sections = {name.partition(".")[0] for name in known if "." in name}
    named = {name for name in SET.findall(path.read_text("utf-8")) if name.partition(".")[0] in sections}
    assert {name for name in named - NO_SETTINGS if name not in known and not name.endswith((".py", ".json"))} == set()


OPTION = re.compile(r"`(--[a-z][a-z-]+)")

THEIR_OPTIONS = {
    *("--cleanenv", "--containall", "--ak", "--user-data-dir", "--api", "--local"),  # Apptainer, Harbor, Chrome, …
    *("--extras",),  # install.sh
    *("--body-limit", "--by-replies", "--colour", "--echo", "--key", "--rounds", "--script", "--window"),  # the model
}
"""Options of other programs, and of those that are no command of `angelia`."""


def options_of(command: click.Command, context: click.Context) -> set[str]:
    own = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    names = command.list_commands(context) if isinstance(command, click.Group) else ()
    below = (command.get_command(context, name) for name in names) if isinstance(command, click.Group) else ()
    return own.union(*(options_of(one, context) for one in below if one))


def test_every_option_that_is_named_is_one() -> None:
    with click.Context(angelia, info_name="angelia", **angelia.context_settings) as context:
        known = options_of(angelia, context) | THEIR_OPTIONS
    named = {(name, path.name) for path in WRITTEN for name in OPTION.findall(without_blocks(path))}
    assert {(name, document) for name, document in named if name not in known} == set()


def test_every_optional_part_has_its_row_where_installing_is_told() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`[^|]+) \|", (ROOT / "docs/how-to/install.md").read_text("utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    assert set(extras) - {"all", "testing", "inspect"} <= named  # the last two are told of where they are used
