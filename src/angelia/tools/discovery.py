"""Where tools come from: our own folder, and other packages' entry points."""

import os
import sys
from collections.abc import Iterator, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from angelia.tools.port import Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "angelia.tools"
"""The entry-point group. Each entry names a class or function that makes a `Tool` when called without arguments."""


def own_tools() -> tuple[Tool, ...]:
    """The tools that come with Angelia, in the order in which the model reads them."""
    from angelia.tools.files import edit, find, read, write
    from angelia.tools.people import ask_user, look_again, send_file, todo
    from angelia.tools.shell import process, shell
    from angelia.tools.web import fetch

    return (
        shell.Shell(),
        process.ProcessTool(),
        read.Read(),
        write.Write(),
        edit.Edit(),
        find.Find(),
        fetch.Fetch(),
        look_again.LookAgain(),
        send_file.SendFile(),
        todo.Todo(),
        ask_user.AskUser(),
    )


def third_party_tools(taken: Set[str]) -> tuple[list[Tool], tuple[str, ...]]:
    """Other packages' tools, sorted by name, and a sentence for each that could not be had."""
    tools: dict[str, Tool] = {}
    faults = []
    for entry in _entries():
        try:
            made: Any = entry.load()
            tool: Tool = made()
            if tool.name in taken or tool.name in tools:
                faults.append(f"The tool {tool.name!r} of {_package(entry)} is not used: that name is taken.")
                continue
            tools[tool.name] = tool
        except Exception as error:  # noqa: BLE001 - third-party code may raise anything; it is reported, not hidden
            faults.append(
                f"The tool {entry.name!r} of {_package(entry)} could not be loaded: {type(error).__name__}: {error}. "
                f"Update or uninstall that package."
            )
    return [tools[name] for name in sorted(tools)], tuple(faults)


def _entries() -> "list[EntryPoint]":
    """The group's entry points. `importlib.metadata` costs 40 ms to import, so it is asked only if there are any."""
    if not any(_mentions(folder) for folder in sys.path):
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value))


def _mentions(folder: str) -> bool:
    return any(f"[{GROUP}]".encode() in listed for listed in _entry_point_files(folder or "."))


def _entry_point_files(folder: str) -> Iterator[bytes]:
    try:
        with os.scandir(folder) as entries:
            metadata = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:  # a path on sys.path that is a zip file or does not exist holds no installed package
        return
    for path in metadata:
        try:
            yield (Path(path) / "entry_points.txt").read_bytes()
        except OSError:  # most packages have none
            continue


def _package(entry: "EntryPoint") -> str:
    return entry.dist.name if entry.dist else entry.value
