"""Megabytes of a command's output: kept whole, in the memory that a program needs anyhow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.model.steps import call, say
from tests.examples import TIMES
from tests.faces.angelia import MODEL, serving
from tests.house.sources import ROOT

LINES = 11_111_112 if TIMES else 4_000_000
"""Of ten bytes each: more than a program may take of memory beside its own."""
PEAK = 60_000
"""Kilobytes that the whole program may take at its peak."""

_MEASURED = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(child.pid, 0)
print(used.ru_maxrss // (1024 if sys.platform == "darwin" else 1), file=sys.stderr)
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
"""Runs a program and tells its peak memory; small itself, since Linux counts what a child had before it became it."""


@pytest.mark.soak
def test_megabytes_of_output_are_kept_whole_and_the_program_stays_small(tmp_path: Path) -> None:
    steps = [call("shell", {"command": f"seq 100000000 {99_999_999 + LINES - 1}"}), say("There.")]
    with serving(tmp_path, steps) as place:
        ended = subprocess.run(
            [sys.executable, "-c", _MEASURED, sys.executable, "-m", "angelia", "ask", "--model", MODEL, "count"],
            cwd=place.work,
            env=place.environment({"ANGELIA_SANDBOX__CONFINE": "off", "PYTHONPATH": str(ROOT / "src")}),
            capture_output=True,
            check=False,
        )
        assert ended.stdout == b"There.\n", ended.stderr
        result = next(fact for fact in place.log() if fact["kind"] == "ToolFinished")
        assert result["full"]["size"] == 10 * (LINES - 1)
        assert f"of {LINES} lines" in json.dumps(result)
        assert "dropped" not in ended.stderr.decode()
    assert int(ended.stderr.split()[-1]) < PEAK
