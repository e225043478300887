"""Wheels built out of this checkout, as it is or with something changed on purpose, and commands that must succeed."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.house.sources import ROOT

UV = ROOT / ".tools/bin/uv"


def run(*words: object, **environment: str) -> str:
    """What a command that must succeed said on stdout."""
    ended = subprocess.run(
        [*map(str, words)], env=environment or None, capture_output=True, text=True, check=False, timeout=240
    )
    assert ended.returncode == 0, f"{words}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    return ended.stdout


def build_wheel(folder: Path, checkout: Path = ROOT) -> Path:
    """The wheel of a checkout, put into a folder."""
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, checkout)
    (found,) = folder.glob("*.whl")
    return found


def build_changed(folder: Path, version: str, changes: Mapping[str, tuple[str, str]]) -> Path:
    """A wheel of another version, in which texts of files (beneath `src/angelia`) are replaced by others."""
    copy = folder / "checkout"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    replace(copy / "pyproject.toml", 'version = "0.1.0"', f'version = "{version}"')
    replace(copy / "src/angelia/core/version.py", '"0.1.0"', f'"{version}"')
    for name, (old, new) in changes.items():
        replace(copy / "src/angelia" / name, old, new)
    return build_wheel(folder / "dist", copy)


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
