"""Packages of npm for tests: installed once into a cache, from a manifest in the tests."""

import os
import subprocess
from pathlib import Path


def installed(name: str, manifest: Path) -> Path:
    """The folder in which the manifest's packages lie in `node_modules`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "angelia-tests" / name
    wanted = manifest.read_text()
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / "package.json"
    if not kept.exists() or kept.read_text() != wanted or not (cache / "node_modules").exists():
        kept.write_text(wanted)
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund"]
        subprocess.run(words, cwd=cache, check=True, capture_output=True, timeout=300)
    return cache
