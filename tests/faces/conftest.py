"""Places for the tests of doors."""

from pathlib import Path

import pytest

from tests.faces.angelia import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a folder, and no model server at all."""
    (tmp_path / "work").mkdir()
    return Place(tmp_path / "home", tmp_path / "work")
