"""The page's files: what is vendored, how much there is, what is never written in them."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.npm import installed
from tests.web.page.fake import STATIC

HERE = Path(__file__).parent
SOURCES = sorted(STATIC.glob("js/**/*.js"))
MOST = 90_000


def test_what_is_vendored_is_what_the_packages_hold() -> None:
    """Each file is its package's by hash, but for the names of imports that are listed."""
    listed = json.loads((STATIC / "vendor" / "vendor.json").read_text())["files"]
    for one in listed:
        text = (STATIC / "vendor" / one["file"]).read_text()
        for theirs, ours in one["replaced"]:
            assert text.count(ours) == 1
            text = text.replace(ours, theirs)
        assert hashlib.sha256(text.encode()).hexdigest() == one["sha256"], one["file"]
        assert (STATIC / "vendor" / one["licence_file"]).is_file()
    assert {one["file"] for one in listed} == {file.name for file in (STATIC / "vendor").glob("*.js")}


def test_the_page_does_not_grow() -> None:
    """Everything that a browser fetches, each file gzipped by itself; the aim is 60 kB, and this only goes down."""
    files = [file for file in STATIC.rglob("*") if file.suffix in {".html", ".js", ".css", ".svg", ".webmanifest"}]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= MOST


def test_no_html_string_and_no_style_attribute_is_written() -> None:
    """Elements are made by name; what would need a policy of trusted types does not stand anywhere."""
    for file in SOURCES:
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|\bstyle=",
            file.read_text(),
        )
        assert not found, f"{file.name}: {found}"


def test_every_module_says_what_it_is_for() -> None:
    """In its first line."""
    for file in SOURCES:
        assert file.read_text().startswith("// "), file.name


def test_what_the_page_names_is_there() -> None:
    """Imports, styles and signs; nothing comes from another place."""
    for file in SOURCES:
        for name in re.findall(r'(?:from|import) "([^"]+)"', file.read_text()):
            assert (file.parent / name).is_file(), f"{file.name} imports {name}"
    text = (STATIC / "index.html").read_text() + (STATIC / "manifest.webmanifest").read_text()
    for name in re.findall(r'"/static/([^"]+)"', text):
        assert (STATIC / name).is_file(), name
    assert "http:" not in text
    assert "https:" not in text


@pytest.mark.real("npm")
def test_the_types_hold(tmp_path: Path) -> None:
    """By `tsc --checkJs`, against what we use of Preact."""
    cache = installed("page", HERE / "package.json")
    shutil.copytree(STATIC / "js", tmp_path / "js")
    shutil.copytree(HERE / "types", tmp_path / "vendor")
    shutil.copy(HERE / "tsconfig.json", tmp_path)
    words = [str(cache / "node_modules" / ".bin" / "tsc"), "--project", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
