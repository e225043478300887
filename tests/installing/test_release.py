"""A release has a note of its own, and checksums that check."""

import subprocess
import tomllib
from pathlib import Path

import pytest
from docs.release import NEXT, ROOT, documented, note, sums, version

import angelia

LOG = (
    "# Changelog\n\n## [Unreleased]\n{}\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A thing.\n\n## [0.1.0]\n\n- First.\n"
)


def test_the_note_of_a_version_is_its_section_of_the_changelog() -> None:
    assert note(LOG.format(""), "0.2.0") == "# Angelia 0.2.0\n\n### Added\n\n- A thing.\n"
    assert note(LOG.format(""), "0.1.0") == "# Angelia 0.1.0\n\n- First.\n"


@pytest.mark.parametrize(
    ("unreleased", "wanted", "said"), [("\n- More.\n", "0.2.0", r"\[Unreleased\]"), ("", "0.3.0", r"no section")]
)
def test_nothing_is_released_without_a_word(unreleased: str, wanted: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        note(LOG.format(unreleased), wanted)


def test_documents_with_changes_that_belong_to_no_version_are_those_of_the_next() -> None:
    assert documented(LOG.format(""), "0.2.0") == "0.2.0"
    assert documented(LOG.format("\n- More.\n"), "0.2.0") == NEXT


def test_the_version_is_said_once() -> None:
    assert version() == angelia.__version__
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    assert [one["version"] for one in locked if one["name"] == "angelia"] == [version()], "run: uv lock"


def test_the_checksums_check(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    (tmp_path / ".gitignore").write_text("*")  # uv makes it, and nobody gets it
    (tmp_path / "SHA256SUMS").write_text(sums(tmp_path))
    assert "gitignore" not in sums(tmp_path)
    check = ("sha256sum", "--check", "SHA256SUMS")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "a.whl").write_bytes(b"another")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1
