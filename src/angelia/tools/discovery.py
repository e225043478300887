"""Where tools come from: our own folder, and other packages' entry points."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from angelia.tools.port import Tool, Toolset
from angelia.tools.registry import Registry, made
from angelia.tools.standalone import Standalone

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from angelia.browsers.address import RemoteAddress

TOOLS = "angelia.tools"
"""The group of single tools: each names a function with `@angelia.tool`, or what makes a `Tool` without arguments."""

TOOLSETS = "angelia.toolsets"
"""The group of toolsets: each names what makes a `Toolset` without arguments, once for each conversation."""

_METADATA = (".dist-info", ".egg-info")
"""What folders of installed packages end with that say what is in them."""

MakeToolset = Callable[[], Toolset]


class FoundToolsets(Struct, frozen=True):
    """What makes the toolsets of a conversation, in the order in which the model reads their tools.

    `faults` are sentences about third-party packages that could not be had.
    """

    makers: tuple[MakeToolset, ...]
    faults: tuple[str, ...] = ()


def found_toolsets(home: Path | None = None, browser: "RemoteAddress | None" = None) -> FoundToolsets:
    """Our own, then single tools of other packages by their names, then toolsets by those of their entry points.

    `browser` is one that runs elsewhere, if that is to be used. With a `home` what lies in its
    `plugins` is among them.
    """
    plugins, unloaded = _plugins(home)
    singles, faults = _third_party_tools(plugins)
    toolsets, more = _third_party_toolsets()
    return FoundToolsets((*own_toolsets(browser), *singles, *toolsets), (*unloaded, *faults, *more))


def _plugins(home: Path | None) -> tuple[list[tuple[str, Tool]], list[str]]:
    if home is None or not (home / "plugins").exists():
        return [], []
    from angelia.tools.plugins import add_plugins

    return add_plugins(home)


def default_registry(home: Path | None = None) -> Registry:
    """What there is without a conversation: our own tools, those of other packages, and of the home's plugins."""
    found = found_toolsets(home)
    toolsets, faults = made(found.makers)
    return Registry.of(toolsets, (*found.faults, *faults))


def own_toolsets(browser: "RemoteAddress | None" = None) -> tuple[MakeToolset, ...]:
    """Those that come with Angelia."""
    from angelia.tools.browser.toolset import BrowserTools
    from angelia.tools.delegation.toolset import DelegationTools
    from angelia.tools.files.toolset import FileTools
    from angelia.tools.notes.toolset import NoteTools
    from angelia.tools.past.toolset import PastTools
    from angelia.tools.people import ask_user, look_again, send_file, todo
    from angelia.tools.schedule import schedules, stay_silent
    from angelia.tools.shell.toolset import ShellTools
    from angelia.tools.web.toolset import WebTools

    timed = (schedules.Schedule(), schedules.ListSchedules(), schedules.Unschedule(), stay_silent.StaySilent())
    people = (look_again.LookAgain(), send_file.SendFile(), todo.Todo(), ask_user.AskUser())
    return (
        ShellTools,
        FileTools,
        WebTools,
        partial(BrowserTools, browser),
        lambda: Standalone("people", *people),
        NoteTools,
        lambda: Standalone("schedule", *timed),
        PastTools,
        DelegationTools,
    )


def _third_party_tools(tools: list[tuple[str, Tool]]) -> tuple[list[MakeToolset], tuple[str, ...]]:
    """Those of packages, beside `tools` that were found already."""
    tools, faults = [*tools], []
    for entry in _entries(TOOLS):
        try:
            loaded: Any = entry.load()
            tools.append((_package(entry), loaded if _is_function_tool(loaded) else loaded()))
        except Exception as error:  # noqa: BLE001 - third-party code may raise anything; it is reported, not hidden
            faults.append(_fault(f"The tool {entry.name!r}", entry, error))
    tools.sort(key=lambda found: found[1].name)
    return [partial(Standalone, package, tool) for package, tool in tools], tuple(faults)


def _is_function_tool(loaded: Any) -> bool:
    from angelia.tools.function_tool import FunctionTool

    return isinstance(loaded, FunctionTool)


def _third_party_toolsets() -> tuple[list[MakeToolset], tuple[str, ...]]:
    makers: list[MakeToolset] = []
    faults = []
    for entry in _entries(TOOLSETS):
        try:
            makers.append(entry.load())
        except Exception as error:  # noqa: BLE001 - as above
            faults.append(_fault(f"The toolset {entry.name!r}", entry, error))
    return makers, tuple(faults)


def _fault(what: str, entry: "EntryPoint", error: Exception) -> str:
    why = f"{type(error).__name__}: {error}"
    return f"{what} of {_package(entry)} could not be loaded: {why}. Update or uninstall that package."


def _entries(group: str) -> "list[EntryPoint]":
    """The group's entry points. `importlib.metadata` costs 40 ms to import, so it is asked only if there are any."""
    if not any(_mentions(folder, group) for folder in sys.path):
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value))


def _mentions(folder: str, group: str) -> bool:
    where = Path(folder).absolute()
    try:
        return group in _groups_named_in(where, where.stat().st_mtime_ns)
    except OSError:  # a path on sys.path that does not exist
        return False


@lru_cache(maxsize=64)
def _groups_named_in(folder: Path, changed: int) -> frozenset[str]:
    """Which of our groups the packages in a folder name: hundreds of files, read once for as long as nothing is
    installed there or removed, which changes the folder's time.
    """
    listed = tuple(_entry_point_files(folder))
    return frozenset(group for group in (TOOLS, TOOLSETS) if any(f"[{group}]".encode() in one for one in listed))


def _entry_point_files(folder: Path) -> Iterator[bytes]:
    try:
        with os.scandir(folder) as entries:
            metadata = [f"{entry.path}/entry_points.txt" for entry in entries if entry.name.endswith(_METADATA)]
    except OSError:  # a path on sys.path that is a zip file holds no installed package
        return
    for path in metadata:
        try:
            with open(path, "rb", 0) as file:  # noqa: PTH123 - a path object for each takes as long as to look
                yield file.read()
        except OSError:  # most packages have none
            continue


def _package(entry: "EntryPoint") -> str:
    return entry.dist.name if entry.dist else entry.value
