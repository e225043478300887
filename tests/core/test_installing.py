"""What is missing is installed with a command that is really there."""

import subprocess
from pathlib import Path

from angelia.core.errors import installing

ROOT = Path(__file__).parents[2]


def test_the_command_for_a_clone_is_a_target_of_its_makefile() -> None:
    line = installing("slack").partition("(in a clone: ")[2].rstrip(")")
    shown = subprocess.run([*line.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "sync" in shown.stdout
    assert "--extra slack" in shown.stdout
