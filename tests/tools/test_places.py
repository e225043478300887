"""Where a path really leads."""

import os

import pytest

from angelia.core.errors import BadInput
from angelia.sandboxes.port import AccessRefused
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.files.paths import resolve

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(bench: ToolHarness) -> ToolHarness:
    """src/a.py, and links of every kind."""
    (bench.root / "src").mkdir()
    (bench.root / "src" / "a.py").touch()
    for name, target in {
        "inner": "src",
        "absolute": f"{bench.root}/src",
        "twice": "inner/../inner",
        "outer": "/etc",
        "up": "../..",
        "loop": "loop",
        "dangling": "gone/too",
        "new\nline": "src",
        "--help": "src",
    }.items():
        (bench.root / name).symlink_to(target)
    return bench


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        (".", ""),
        ("src/a.py", "/src/a.py"),
        ("./src//a.py", "/src/a.py"),
        ("src/../src/a.py", "/src/a.py"),
        ("new.txt", "/new.txt"),
        ("new/deep/file.txt", "/new/deep/file.txt"),
        ("inner/a.py", "/src/a.py"),
        ("absolute/a.py", "/src/a.py"),
        ("twice/a.py", "/src/a.py"),
        ("dangling", "/gone/too"),
        ("new\nline/a.py", "/src/a.py"),
        ("--help/a.py", "/src/a.py"),
    ],
)
async def test_paths_that_stay_inside(tree: ToolHarness, path: str, leads: str) -> None:
    assert await resolve(tree.sandbox, path) == f"{tree.root}{leads}"
    assert await resolve(tree.sandbox, f"{tree.root}/{path}") == f"{tree.root}{leads}"


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("outer/passwd", "/etc/passwd"),
        ("/etc/passwd", "/etc/passwd"),
        ("inner/../../../../../../../../../../../etc", "/etc"),
        ("/", "/"),
    ],
)
async def test_paths_that_lead_outside_say_where(tree: ToolHarness, path: str, leads: str) -> None:
    assert await resolve(tree.sandbox, path) == leads


async def test_a_link_behind_a_link_upwards_is_still_followed(tree: ToolHarness) -> None:
    inside = os.path.relpath(tree.root, tree.root.parent.parent)
    assert await resolve(tree.sandbox, f"up/{inside}/outer/x") == "/etc/x"


@pytest.mark.parametrize("path", ["", "a\0b", "loop/x"])
async def test_what_is_no_path_is_refused(tree: ToolHarness, path: str) -> None:
    with pytest.raises(BadInput):
        await resolve(tree.sandbox, path)


@pytest.mark.parametrize("path", ["gone/../src", "/etc/../etc/passwd"])
async def test_two_dots_behind_what_cannot_be_looked_into_are_refused(tree: ToolHarness, path: str) -> None:
    with pytest.raises(AccessRefused):
        await resolve(tree.sandbox, path)
