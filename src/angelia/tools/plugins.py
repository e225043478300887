"""The folder `plugins` of a home: packages and files of the owner's own, loaded as installed ones are."""

import os
import stat
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from angelia.tools.function_tool import FunctionTool
from angelia.tools.port import Tool

FOLDER = "plugins"


def add_plugins(home: Path) -> tuple[list[tuple[str, Tool]], list[str]]:
    """What the folder brings: tools by the names of their files, and sentences about what was not loaded.

    Packages in it (`pip install --target`) are found by their entry points from now on, in this process. A file
    `NAME.py` is imported, and each function in it with `@tool` is one. Code there runs as the person, so it is loaded
    only if nobody else could have written it.
    """
    folder = home / FOLDER
    if not folder.exists():
        return [], []
    for place in (home.resolve(), folder):  # who may write to the home could put another folder there
        if why := not_ours_alone(place):
            return [], [f"Nothing of {folder} is loaded, because of {place}: {why}. Mend it: chmod go-w {place}"]
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    found: list[tuple[str, Tool]] = []
    faults: list[str] = []
    for path in sorted(folder.glob("*.py")):
        if why := not_ours_alone(path):
            faults.append(f"The plugin {path} is not loaded: {why}. Mend it: chmod go-w {path}")
            continue
        try:
            found += [(path.stem, one) for one in _tools_in(path)]
        except Exception as error:  # noqa: BLE001 - theirs may raise anything; it is reported, not hidden
            faults.append(f"The plugin {path} could not be loaded: {type(error).__name__}: {error}.")
    return found, faults


def not_ours_alone(path: Path) -> str:
    """Why somebody else could have written this; empty if nobody else could.

    >>> not_ours_alone(Path("/tmp"))
    'others may write to it'
    """
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        return "it is a link"
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return "" if about.st_uid == os.geteuid() else "it belongs to somebody else"


def _tools_in(path: Path) -> list[Tool]:
    spec = spec_from_file_location(f"angelia_plugin_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return [one for one in vars(module).values() if isinstance(one, FunctionTool)]
