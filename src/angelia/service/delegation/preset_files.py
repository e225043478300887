"""Helpers that files describe (`.angelia/agents/*.md`, `.claude/agents/*.md`), read as they lie there.

Front matter, and instructions after it. Of what Claude Code takes there, what cannot be followed is said; where leaving
it out would let the helper do more than the file says, the file is not used at all.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.context.prompt.visible_text import hidden_characters
from angelia.core.text import one_line
from angelia.core.visible import visible
from angelia.path_queries import is_folder, real_path
from angelia.service.delegation.settings import ChildPreset
from angelia.service.files.instruction_files import repository_of

if TYPE_CHECKING:
    from angelia.skills.front_matter import Node

FOLDERS = (".angelia/agents", ".claude/agents")
"""In a project, in this order; in a person's home the second one, and `agents` of our own home before it."""

MOST_FILES, MOST_BYTES = 50, 60_000
"""Files of one folder, and bytes of a file, that are read."""

_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_TOOL = r"[a-z][a-z0-9_]*"
_DESCRIPTION = 1_024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLLOWED = frozenset({"name", "description", "tools", "model", "max_cost", "max_steps", "maxTurns", "color"})
_TOOLS: Mapping[str, str] = {
    "Read": "read",
    "Write": "write",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Grep": "find",
    "Glob": "find",
    "LS": "find",
    "Bash": "shell",
    "BashOutput": "process",
    "KillShell": "process",
    "WebFetch": "fetch",
    "WebSearch": "search",
    "TodoWrite": "todo",
    "Skill": "use_skill",
}
"""What Claude Code calls its tools, and what ours are called (https://code.claude.com/docs/en/sub-agents)."""


class PresetFile(Struct, frozen=True):
    """One file. `version` is the SHA-256 of its bytes in hex, `text` is as it is shown, `hidden` how many of its
    characters are not seen. `preset` is None where it cannot be used; `remarks` say why, or what is not followed.
    `own`: it lies in our own home, as the settings do.
    """

    path: str
    name: str
    version: str
    text: str
    preset: ChildPreset | None
    remarks: tuple[str, ...] = ()
    own: bool = False
    hidden: int = 0


class _Unusable(Exception):
    """It cannot be used; the text goes on after “is not used:”."""


def preset_folders(workspace: Path | None, own_home: Path) -> list[Path]:
    """Those that are there, for whoever works in a folder of this machine: the project's, nearest first, then the
    person's.
    """
    found: list[Path] = []
    if workspace is not None:
        here = workspace.resolve()
        root = repository_of(here, own_home)
        above = [one for one in (here, *here.parents) if one.is_relative_to(root)]
        inside = [base / name for base in above for name in FOLDERS]
        found = [folder for folder in inside if is_folder(folder) and Path(real_path(folder)).is_relative_to(root)]
    mine = [own_home / "agents", Path.home() / FOLDERS[1]]
    return [*(folder for folder in found if folder not in mine), *(folder for folder in mine if is_folder(folder))]


def find_preset_files(workspace: Path | None, own_home: Path) -> list[PresetFile]:
    """Every file there, whether it can be used or not: what counts first first."""
    folders = preset_folders(workspace, own_home)
    return [
        read_preset_file(path, own=folder == own_home / "agents") for folder in folders for path in _files_in(folder)
    ]


def is_preset_file(path: Path) -> bool:
    """Whether a path is one where such a file lies."""
    return path.suffix == ".md" and path.parent.name == "agents"


def read_preset_file(path: Path, *, own: bool = False) -> PresetFile:
    """One file; links are not followed."""
    try:
        data = _bytes_of(path)
        whole = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, _Unusable) as error:
        why = str(error.strerror if isinstance(error, OSError) else error)
        return PresetFile(str(path), path.stem, "", "", None, (why,), own)
    version, text = sha256(data).hexdigest(), visible(whole)
    try:
        name, preset, remarks = read_preset(whole, path.stem)
    except _Unusable as error:
        return PresetFile(str(path), path.stem, version, text, None, (str(error),), own, hidden_characters(whole))
    return PresetFile(str(path), name, version, text, preset, remarks, own, hidden_characters(whole))


def read_preset(text: str, stem: str) -> tuple[str, ChildPreset, tuple[str, ...]]:
    """The name, the preset, and what of the file is not followed; `stem` is the name where it has none."""
    from angelia.skills.front_matter import BadFrontMatter, read_front_matter  # where there is a file to read

    try:
        front = read_front_matter(text)
    except BadFrontMatter as fault:
        raise _Unusable(str(fault)) from fault
    fields, remarks = front.fields, list[str]()
    if "disallowedTools" in fields:
        raise _Unusable("`disallowedTools` is not followed: name the tools that it may have, in `tools`")
    name = _word(fields, "name") or stem
    if not re.fullmatch(_NAME, name):
        raise _Unusable(f"“{one_line(visible(name), 80)}” is no name: small letters, digits and hyphens are")
    if others := sorted(set(fields) - _FOLLOWED):
        remarks.append(f"not followed: {one_line(visible(', '.join(others)), 200)}")
    model = _word(fields, "model")
    if model and ":" not in model:
        if model != "inherit":
            remarks.append(f"`{one_line(visible(model), 80)}` is no model here (provider:model): the conversation's")
        model = ""
    preset = ChildPreset(
        description=one_line(visible(_word(fields, "description")), _DESCRIPTION),
        instructions=visible(front.body.replace("\r\n", "\n")).strip(),
        model=model,
        tools=_tools(fields, remarks),
        max_cost=_number(fields, "max_cost"),
        max_steps=int(_number(fields, "max_steps") or _number(fields, "maxTurns")),
    )
    return name, preset, tuple(remarks)


def _tools(fields: "Mapping[str, Node]", remarks: list[str]) -> tuple[str, ...]:
    named = fields.get("tools", "")
    if isinstance(named, dict):
        raise _Unusable("`tools` is neither a list nor words with commas between them")
    items = named.split(",") if isinstance(named, str) else [str(one) for one in named]
    words = [word for one in items if (word := one.strip())]
    found = {word: _TOOLS.get(word, word if re.fullmatch(_TOOL, word) else "") for word in words}
    if absent := [word for word, tool in found.items() if not tool]:
        remarks.append(f"tools that there are not here: {one_line(visible(', '.join(absent)), 200)}")
    tools = tuple(dict.fromkeys(tool for tool in found.values() if tool))
    if "tools" in fields and not tools:
        raise _Unusable("none of its `tools` is one that there is here")
    return tools


def _word(fields: "Mapping[str, Node]", name: str) -> str:
    found = fields.get(name, "")
    if not isinstance(found, str):
        raise _Unusable(f"`{name}` is no text")
    return found.strip()


def _number(fields: "Mapping[str, Node]", name: str) -> float:
    word = _word(fields, name)
    try:
        number = float(word or 0)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise _Unusable(f"`{name}` is no number from 0")
    return number


def _files_in(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(path.name for path in folder.iterdir() if path.suffix == ".md" and not path.name.startswith("."))
    except OSError:
        return
    yield from (folder / name for name in names[:MOST_FILES])


def _bytes_of(path: Path) -> bytes:
    with open(os.open(path, _READ), "rb") as file:  # noqa: PTH123 - opened without following a link
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _Unusable("it is no file")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _Unusable(f"it has more than {MOST_BYTES:,} bytes")
    return data
