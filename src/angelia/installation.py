"""How this copy of Angelia came onto the machine, and the commands with which that way changes it.

Each way leaves a mark: an editable install its folder (PEP 610, `direct_url.json`), `uv tool` a `uv-receipt.toml`, pipx
a `pipx_metadata.json`, what runs out of a cache a `CACHEDIR.TAG` above it (uvx), our install script a link `current`
beside the folder `versions`, our image a variable. Whatever has none of these was installed by pip, or by uv where
there is no pip.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterable
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

PACKAGE = "angelia"
IMAGE = "ANGELIA_IMAGE"
"""The variable that our container image sets."""


class InstallWay(StrEnum):
    """Who installed it."""

    CHECKOUT = "a checkout"
    SCRIPT = "install.sh"
    UV_TOOL = "uv tool"
    UVX = "uvx"
    PIPX = "pipx"
    UV = "uv"
    PIP = "pip"
    IMAGE = "a container image"


class Installation(Struct, frozen=True):
    """`prefix` is the environment, `source` the folder of a checkout or the URL of a wheel, empty for the index.

    `extras` are the optional parts that are there already.
    """

    way: InstallWay
    prefix: Path
    source: str = ""
    extras: tuple[str, ...] = ()

    @property
    def python(self) -> Path:
        """Its interpreter, by a path that an update leaves valid."""
        if self.way is InstallWay.SCRIPT:
            return self.prefix.parent.parent / "current/bin/python"
        return self.prefix / "bin/python"

    def adding(self, extra: str) -> str:
        """The command that adds an optional part, and keeps those that are there."""
        alone, wanted = shlex.quote(f"{PACKAGE}[{extra}]"), _spec(self.source, (*self.extras, extra))
        match self.way:
            case InstallWay.CHECKOUT:
                return f"make -C {shlex.quote(self.source)} add PART={extra}"
            case InstallWay.IMAGE:
                return f"docker build --build-arg EXTRAS={','.join(sorted({*self.extras, extra}))} …"
            case InstallWay.UV_TOOL:
                return f"uv tool install --force {wanted}"
            case InstallWay.PIPX:
                return f"pipx install --force {wanted}"
            case InstallWay.UVX:
                return f"uvx --from {wanted} {PACKAGE}"
            case InstallWay.UV:
                return f"uv pip install --python {shlex.quote(str(self.python))} {alone}"
            case InstallWay.PIP | InstallWay.SCRIPT:
                return f"{shlex.quote(str(self.python))} -P -m pip install {alone}"

    def anew(self) -> str:
        """What pip is given to put this very copy into another environment, for a shell."""
        return f"-e {shlex.quote(self.source)}" if self.way is InstallWay.CHECKOUT else _spec(self.source, ())

    def unattended(self) -> tuple[str, ...]:
        """The words that begin a command of ours where no shell of the person's is, as with cron."""
        if self.way is InstallWay.IMAGE:
            return ("docker", "compose", "--file", "/…/compose.yaml", "exec", "-T", PACKAGE, PACKAGE)
        return (str(self.python), "-P", "-m", PACKAGE)

    def gateway(self) -> str:
        """The command that lets the gateway run."""
        return "docker compose up --detach" if self.way is InstallWay.IMAGE else f"{PACKAGE} gateway"

    def updating(self) -> str:
        """The command that brings a newer version; what came as a wheel is brought by another wheel, `NEW`."""
        newer = _spec(_WHEEL.sub(rf"{PACKAGE}-NEW-", self.source), self.extras)
        match self.way:
            case InstallWay.CHECKOUT:
                return f"git -C {shlex.quote(self.source)} pull && make -C {shlex.quote(self.source)} setup"
            case InstallWay.IMAGE:
                return "docker compose up --detach --build"
            case InstallWay.UV_TOOL:
                return f"uv tool install --force {newer}" if self.source else f"uv tool upgrade {PACKAGE}"
            case InstallWay.PIPX:
                return f"pipx install --force {newer}" if self.source else f"pipx upgrade {PACKAGE}"
            case InstallWay.UVX:
                return f"uvx --from {newer} {PACKAGE}" if self.source else f"uvx --refresh {PACKAGE}"
            case InstallWay.UV:
                return f"uv pip install --upgrade --python {shlex.quote(str(self.python))} {newer}"
            case InstallWay.PIP:
                return f"{shlex.quote(str(self.python))} -P -m pip install --upgrade {newer}"
            case InstallWay.SCRIPT:
                return f"{PACKAGE} update"

    def removing(self) -> str:
        """The command that takes the program away; the home stays."""
        match self.way:
            case InstallWay.CHECKOUT:
                return f"rm -r {shlex.quote(self.source)}"
            case InstallWay.IMAGE:
                return "docker compose down"
            case InstallWay.UV_TOOL:
                return f"uv tool uninstall {PACKAGE}"
            case InstallWay.PIPX:
                return f"pipx uninstall {PACKAGE}"
            case InstallWay.UVX:
                return f"uv cache clean {PACKAGE}"
            case InstallWay.UV:
                return f"uv pip uninstall --python {shlex.quote(str(self.python))} {PACKAGE}"
            case InstallWay.PIP:
                return f"{shlex.quote(str(self.python))} -P -m pip uninstall {PACKAGE}"
            case InstallWay.SCRIPT:
                return f"rm -r {shlex.quote(str(self.prefix.parent.parent))} ~/.local/bin/{PACKAGE}"


def _spec(source: str, extras: Iterable[str]) -> str:
    """What to install, for a shell: with these parts, from where it came (PEP 508)."""
    parts = ",".join(sorted(set(extras)))
    named = f"{PACKAGE}[{parts}]" if parts else PACKAGE
    return shlex.quote(f"{named} @ {source}" if source else named)


_WHEEL = re.compile(rf"{PACKAGE}-[^-/]+-(?=[^/]+\.whl$)")


def installing(extra: str) -> str:
    """The command that adds an optional part to this copy."""
    return installation().adding(extra)


def installation() -> Installation:
    """How the copy that runs was installed."""
    prefix = Path(sys.prefix)
    try:
        found = distribution(PACKAGE)
    except PackageNotFoundError:  # run out of a folder, such as by PYTHONPATH
        return Installation(InstallWay.CHECKOUT, prefix, str(Path(__file__).parents[2]))
    origin = msgspec.json.decode(found.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    extras = present(found.requires or ())
    if origin.get("dir_info", {}).get("editable"):
        return Installation(InstallWay.CHECKOUT, prefix, unquote(urlsplit(url).path), extras)
    return Installation(_way(prefix), prefix, url, extras)


def _way(prefix: Path) -> InstallWay:
    if os.environ.get(IMAGE):
        return InstallWay.IMAGE
    if (prefix / "uv-receipt.toml").exists():
        return InstallWay.UV_TOOL
    if (prefix / "pipx_metadata.json").exists():
        return InstallWay.PIPX
    if (prefix.parent.parent / "current").is_symlink() and prefix.parent.name == "versions":
        return InstallWay.SCRIPT
    if any((folder / "CACHEDIR.TAG").exists() for folder in prefix.parents):
        return InstallWay.UVX
    return InstallWay.PIP if find_spec("pip") else InstallWay.UV


_REQUIREMENT = re.compile(r"""([\w.-]+).*\bextra\s*==\s*['"]([\w-]+)['"]""")


def present(requirements: Iterable[str]) -> tuple[str, ...]:
    """The extras all of whose requirements are installed, of lines such as `websockets>=15; extra == 'slack'`.

    Where all are, `all` stands for them.
    """
    needs: dict[str, set[str]] = {}
    for line in requirements:
        if named := _REQUIREMENT.match(line):
            needs.setdefault(named[2], set()).add(named[1])
    there = tuple(extra for extra, names in needs.items() if all(_installed(name) for name in names - {PACKAGE}))
    return ("all",) if "all" in there else there


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
