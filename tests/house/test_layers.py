"""Imports run downwards: the contract in pyproject.toml holds, and it can be broken."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.sources import ROOT

CONTRACT = ROOT / "pyproject.toml"
LINT = Path(sys.executable).with_name("lint-imports")


def lint(root: Path, config: Path) -> subprocess.CompletedProcess[str]:
    """What import-linter says about the package beneath `root`."""
    return subprocess.run(
        [LINT, "--config", config, "--no-cache"],
        cwd=root,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_layers_contract_is_kept() -> None:
    said = lint(ROOT / "src", CONTRACT)
    assert said.returncode == 0, said.stdout


def test_an_upward_import_and_one_between_siblings_break_the_contract(tmp_path: Path) -> None:
    copy = tmp_path / "angelia"
    shutil.copytree(ROOT / "src/angelia", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "context/upward.py").write_text("import angelia.engine.machine\n")
    (copy / "store/sideways.py").write_text("import angelia.policy.verdict\n")
    said = lint(tmp_path, CONTRACT)
    assert said.returncode == 1
    assert "angelia.context.upward -> angelia.engine.machine" in said.stdout
    assert "angelia.store.sideways -> angelia.policy.verdict" in said.stdout
