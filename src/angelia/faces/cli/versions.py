"""The folder in which versions stand side by side, each in an environment of its own; a link says which one counts.

    versions/0.1.0-20261123T081500Z/    what `install.sh` or an update made
    current -> versions/0.1.0-…         what `~/.local/bin/angelia` and the service start

An update puts a version beside the others and moves the link, which is one rename: the version before stays as it was,
so going back is the same rename.
"""

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from angelia.core.errors import AngeliaError, BadInput
from angelia.core.ids import sortable_id
from angelia.faces.cli.other_programs import Ran, run
from angelia.installation import PACKAGE

_PIP = ("-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")


class Version(Struct, frozen=True):
    """One of them."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin/python"

    def angelia(self, *words: str, home: Path) -> Ran:
        """Run a command of this version on a home."""
        return run((str(self.python), "-P", "-m", PACKAGE, *words), {"ANGELIA_HOME": str(home)})

    def try_on(self, copy: Path, *words: str) -> Ran:
        """Run one on a copy of a home, whose log lies in it: the one elsewhere is not looked at, and not migrated."""
        own = {"ANGELIA_HOME": str(copy), "ANGELIA_STORE": ""}
        return run((str(self.python), "-P", "-m", PACKAGE, *words), own)

    def number(self) -> str:
        """What it calls itself.

        Raises:
            AngeliaError: it does not start.
        """
        ran = run((str(self.python), "-P", "-m", PACKAGE, "--version"))
        if ran.code:
            raise AngeliaError("The new version does not start.", ran.last, "Nothing was changed.")
        return ran.last.rpartition(" ")[2]


class Versions(Struct, frozen=True):
    """All of them; `base` is the folder that holds `versions` and the link."""

    base: Path

    @property
    def link(self) -> Path:
        """Says which version counts."""
        return self.base / "current"

    def current(self) -> Version:
        """The one that counts."""
        return Version(self.link.resolve())

    def add(self, wheel: str, extras: Sequence[str], find: Path | None) -> Version:
        """Install a wheel (a URL) beside the others, with its dependencies: from the index, or from a folder alone.

        Raises:
            AngeliaError: it cannot be installed; says why. The others are as they were.
        """
        folder = self.base / "versions" / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        named = f"{PACKAGE}[{','.join(extras)}] @ {wheel}" if extras else f"{PACKAGE} @ {wheel}"
        where = ("--no-index", "--find-links", str(find)) if find else ()
        for words in (
            (sys.executable, "-P", "-m", "venv", str(folder)),
            (str(folder / "bin/python"), *_PIP, *where, named),
        ):
            ran = run(words)
            if ran.code:
                shutil.rmtree(folder, ignore_errors=True)
                raise AngeliaError("The new version cannot be installed.", ran.last, "Nothing was changed.")
        return Version(folder)

    def switch(self, to: Version) -> None:
        """Let this one count from now on."""
        beside = self.base / f".current-{sortable_id()}"
        beside.symlink_to(to.folder.relative_to(self.base))
        beside.replace(self.link)

    def tidy(self, *keep: Version) -> None:
        """Remove all but these."""
        kept = {version.folder.name for version in keep}
        for folder in (self.base / "versions").iterdir():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def wheel_at(place: str) -> tuple[str, Path | None]:
    """The wheel that somebody named: its URL, and the folder that holds what it needs, if they named a folder.

    Raises:
        BadInput: there is none.
    """
    if "://" in place:
        return place, None
    path = Path(place).expanduser().absolute()
    if path.is_dir():
        found = sorted(path.glob(f"{PACKAGE}-*.whl"), key=lambda one: one.stat().st_mtime)
        if not found:
            raise BadInput(f"There is no wheel of Angelia in {path}.", then="`make wheel` in a checkout builds one.")
        alone = len(list(path.glob("*.whl"))) == len(found)
        return found[-1].as_uri(), None if alone else path
    if path.suffix != ".whl" or not path.is_file():
        raise BadInput(f"{path} is no wheel, and no folder with one.", then="`make wheel` in a checkout builds one.")
    return path.as_uri(), None
