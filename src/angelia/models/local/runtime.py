"""The library that runs the embedded model: whether it is installed, and whether this machine can load it."""

import re
from importlib.util import find_spec
from typing import Any

from angelia.core.errors import MissingLibrary, MissingPart

_NEED = "The embedded model"
_PACKAGES = {"libgomp.so.1": ("libgomp1", "libgomp"), "libstdc++.so.6": ("libstdc++6", "libstdc++")}
"""Packages that hold what llama.cpp needs of the system: of Debian and Ubuntu, and of Fedora and Alpine."""


def installed() -> bool:
    """Whether the extra is there; nothing is loaded."""
    return find_spec("xllamacpp") is not None


def load_runtime() -> Any:
    """The module of llama.cpp, imported (65 ms, once in a process).

    Raises:
        MissingPart: it is not installed.
        MissingLibrary: it is, and a library that it needs is not; names the system's package.
    """
    if not installed():
        raise MissingPart(_NEED, "local")
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingLibrary(_NEED, f"{error}.", _remedy(str(error))) from error
    return xllamacpp


def _remedy(said: str) -> str:
    """What to install.

    >>> _remedy("libgomp.so.1: cannot open shared object file: No such file or directory")
    'Install the package libgomp1 (Debian, Ubuntu) or libgomp (Fedora, Alpine), such as: sudo apt install libgomp1'
    """
    found = re.match(r"(\S+\.so[.\d]*): cannot open", said)
    if found and (names := _PACKAGES.get(found[1])):
        debian, others = names
        package = f"Install the package {debian} (Debian, Ubuntu) or {others} (Fedora, Alpine)"
        return f"{package}, such as: sudo apt install {debian}"
    return "Install the package of your system that holds it, or set a key of another model: angelia setup"
