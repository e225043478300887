"""Wheels built out of this checkout, as it is or with something changed on purpose, and commands that must succeed."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distribution
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

import angelia
from tests.house.sources import ROOT

NOW = angelia.__version__
"""The version of this checkout."""
UV = ROOT / ".tools/bin/uv"


def run(*words: object, **environment: str) -> str:
    """What a command that must succeed said on stdout."""
    ended = subprocess.run(
        [*map(str, words)], env=environment or None, capture_output=True, text=True, check=False, timeout=240
    )
    assert ended.returncode == 0, f"{words}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    return ended.stdout


def newest_python() -> Path:
    """The newest Python of this machine that is newer than the one of these tests, else that one."""
    newer = [Path("/usr/bin").glob("python3.1[2-9]"), Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python")]
    found = {run(path, "-c", "import sys; print(*sys.version_info[:3])"): path for path in chain(*newer)}
    found[" ".join(map(str, sys.version_info[:3]))] = Path(sys.executable)
    return found[max(found, key=lambda version: [int(part) for part in version.split()])]


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, put into a folder."""
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    (found,) = folder.glob("*.whl")
    return found


def later(patches: int) -> str:
    """A version after this one, by so many patches."""
    *release, patch = NOW.split(".")
    return ".".join((*release, str(int(patch) + patches)))


def copy_what_a_package_needs(copy: Path) -> None:
    """What a package is built out of beside its code."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns("pictures", "*.py"))


def build_changed(folder: Path, version: str, changes: Mapping[str, tuple[str, str]]) -> None:
    """Put a wheel of another version into a folder, with texts of files (beneath `src/angelia`) replaced by others."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
        copy_what_a_package_needs(copy)
        replace(copy / "pyproject.toml", f'version = "{NOW}"', f'version = "{version}"')
        replace(copy / "src/angelia/core/version.py", f'"{NOW}"', f'"{version}"')
        for name, (old, new) in changes.items():
            replace(copy / "src/angelia" / name, old, new)
        run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, copy)


def build_needed(folder: Path) -> None:
    """A wheel of each package that ours needs without its extras, out of what is installed here: no index is asked."""
    for found in _needed("angelia", (), {}).values():
        tags = [line.removeprefix("Tag: ") for line in (found.read_text("WHEEL") or "").splitlines() if "Tag: " in line]
        sets = (".".join(dict.fromkeys(parts)) for parts in zip(*(tag.split("-") for tag in tags), strict=True))
        name = "-".join((found.name.replace("-", "_"), found.version, *sets))
        with zipfile.ZipFile(folder / f"{name}.whl", "w") as wheel:
            for file in found.files or ():
                if ".." not in file.parts and file.suffix != ".pyc" and file.name not in ("INSTALLER", "REQUESTED"):
                    wheel.write(str(file.locate()), str(file))


def _needed(name: str, extras: Iterable[str], known: dict[str, Distribution]) -> dict[str, Distribution]:
    found = distribution(name)
    for line in found.requires or ():
        wanted = Requirement(line)
        given = [{"extra": extra} for extra in ("", *extras)]
        if wanted.name not in known and (not wanted.marker or any(map(wanted.marker.evaluate, given))):
            known[wanted.name] = distribution(wanted.name)
            _needed(wanted.name, wanted.extras, known)
    return known


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def indexes() -> dict[str, str]:
    """Where this machine gets packages from, and keeps them; the rest of its environment stays here."""
    names = ("PIP_CERT", "PIP_INDEX_URL", "SSL_CERT_FILE", "UV_DEFAULT_INDEX", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
    caches = {"PIP_CACHE_DIR": str(Path.home() / ".cache/pip"), "UV_CACHE_DIR": run(UV, "cache", "dir").strip()}
    return {**caches, **{name: value for name in names if (value := os.environ.get(name))}}
