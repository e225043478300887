"""Which Chromium this machine has."""

import os
import sys
from pathlib import Path

from msgspec import Struct

from angelia.browsers.port import BrowserMissing

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
"""The lightest first: the headless shell starts in 0.2 s and takes half the memory of the whole browser."""

_SHELLS = NAMES[:1]

INSTALL_WINDOW = "apt install chromium (Debian, Ubuntu), dnf install chromium (Fedora), or Google Chrome"
INSTALL = "apt install chromium-headless-shell (Debian, Ubuntu), dnf install chromium-headless (Fedora)"


class Chromium(Struct, frozen=True):
    """A program, and whether it is the shell that knows no window."""

    path: Path
    shell: bool


_APPLICATIONS = ("Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome")
"""Where macOS has them, in its folder of applications."""


def find_chromium(*, window: bool = False) -> Chromium | None:
    """The first one on the PATH that lies among the system's own folders; one in a home could be anybody's.

    With `window` one that can show itself.
    """
    if sys.platform == "darwin":
        there = (Path("/Applications", name) for name in _APPLICATIONS)
        return next((Chromium(path, shell=False) for path in there if path.exists()), None)
    for name in NAMES:
        if window and name in _SHELLS:
            continue
        found = _on_path(name)
        if found and found.resolve().is_relative_to("/usr"):
            return Chromium(found, name in _SHELLS)
    return None


def _on_path(name: str) -> Path | None:
    """As `shutil.which`, whose module takes longer to import than all of them to be looked for."""
    paths = (os.path.join(folder, name) for folder in os.get_exec_path())  # noqa: PTH118 - a hundred of them
    return next((Path(path) for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), None)  # noqa: PTH113


def missing_program(*, window: bool = False) -> BrowserMissing | None:
    """That there is none, or with `window` none that can show itself; None if there is one."""
    if find_chromium(window=window) is not None:
        return None
    if window and find_chromium() is not None:
        why = "The browser of this machine knows no window."
        return BrowserMissing(why, then=f"Install one that does: {INSTALL_WINDOW}.")
    return BrowserMissing("There is no Chromium on this machine.", then=f"Install one: {INSTALL}.")
