"""Lighthouse, as npm has it, looks at a page that is logged in."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from angelia.browsers.chromium.program import find_chromium
from tests.npm import installed

MANIFEST = Path(__file__).with_name("lighthouse") / "package.json"
SECONDS = 180
"""For one page: it loads it, and waits until nothing happens any more."""


def scores(address: str, cookies: Sequence[tuple[str, str]], *categories: str, desk: bool) -> dict[str, float]:
    """What it gives for each category, from 0 to 1, at a `desk` or on a phone that is four times as slow as this
    machine.
    """
    found = find_chromium()
    assert found is not None
    folder = installed("lighthouse", MANIFEST)
    cookie = "; ".join(f"{name}={value}" for name, value in cookies)
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        words = [
            *(str(folder / "node_modules" / ".bin" / "lighthouse"), address, "--quiet", "--output=json"),
            *(f"--output-path={report}", f"--only-categories={','.join(categories)}"),
            *("--extra-headers", json.dumps({"Cookie": cookie}), "--chrome-flags=--headless=new --no-sandbox"),
            *(["--preset=desktop"] if desk else []),
        ]
        env = {**os.environ, "CHROME_PATH": str(found.path)}
        done = subprocess.run(words, env=env, cwd=place, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        told = json.loads(report.read_text())
    assert told["finalDisplayedUrl"] == address, told["finalDisplayedUrl"]
    return {name: one["score"] for name, one in told["categories"].items()}
