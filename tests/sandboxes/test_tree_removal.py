"""A folder that a command left goes, however deep it is and whatever was done to its permissions."""

import os
from pathlib import Path

import pytest

from angelia.sandboxes.shared.tree_removal import remove_tree


def dig(folder: Path, deep: int) -> None:
    """Folders within each other, with a file in each: deeper than any path can say."""
    folder.mkdir()
    at = os.open(folder, os.O_RDONLY)
    for _ in range(deep):
        os.mkdir("d", dir_fd=at)
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


@pytest.mark.parametrize("deep", [0, 3, 1_100])
def test_a_tree_of_any_depth_goes(deep: int, tmp_path: Path) -> None:
    dig(tmp_path / "tree", deep)
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_what_may_not_be_written_goes_and_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    inner = tmp_path / "tree/closed/inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("stays")
    (inner / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "tree/link").symlink_to(tmp_path / "kept")
    inner.chmod(0)
    inner.parent.chmod(0)
    remove_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept/file").read_text() == "stays"


def test_a_link_in_the_place_of_a_tree_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("stays")
    (tmp_path / "tree").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "tree")
    assert (tmp_path / "kept/file").exists()
